"""Products of rows are those of each row alone, whatever released numbers these are products with.

Sums in an order that depends on a block differ in the last bit, which cancellation makes the first.
"""

import numpy as np
import pytest

from skdp.audit._draw import AuditRandom
from skdp.audit._statistics import check_sums
from skdp.covariance._run import identity_frame
from skdp.kernel._clusters import LineCells, Nearest, NearestLifted
from skdp.kernel._coordinates import Design
from skdp.kernel._gradients import LogitStep
from skdp.kernel._lattice import LocatedBall, Subspace, projected
from skdp.kernel._statistic import Shape

WRAPS = 2**32  # the square of which is 0 in 64 bits


@pytest.mark.parametrize("seed", range(3))
def test_scores_of_a_model_beyond_floats(seed):
    rng, d = np.random.default_rng(seed), 12
    order, half = rng.permutation(d), rng.uniform(-0.25, 0.25, size=(300, d // 2))
    block = np.column_stack([np.tile(half, 2)[:, order], rng.integers(0, 3, 300)])
    h = rng.uniform(-1e17, 1e17, size=d // 2)
    B = np.zeros((d, 3))
    B[0, 0], B[:, 1] = 1.7e308, np.concatenate([h, -h])[order]  # the scores of one class cancel
    edges = np.array([[-np.inf] * d, [np.inf] * d])
    design = Design(identity_frame(np.zeros(d), np.ones(d)), edges, False)
    question = LogitStep(design, 1.0, B, 1.0, 100.0, bits=15)
    question.check(Shape(d + 1))
    check_sums(question, block, AuditRandom(seed))


def test_projections_on_integers_whose_squares_wrap():
    rng = np.random.default_rng(0)
    Q = rng.integers(-(2**22), 2**22, size=(100, 9)).astype(np.float64)
    W = rng.choice([WRAPS + 1, -WRAPS - 1, WRAPS + 12345], size=(9, 2))
    alone = np.concatenate([projected(Q[i : i + 1], W) for i in range(len(Q))])
    np.testing.assert_array_equal(projected(Q, W), alone)
    np.testing.assert_array_equal(alone, projected(Q, W.astype(np.float64)))


@pytest.mark.parametrize("whole", [WRAPS, float(WRAPS)])
def test_lengths_that_wrap_are_refused(whole):
    ball, one = LocatedBall(10.0, 1.0, np.zeros(1), 1.0, 1.0), np.ones(1)
    lifted = NearestLifted(ball, (Subspace(None, np.array([whole])),), (np.zeros((1, 1)),))
    with pytest.raises(ValueError, match="a box of moderate size"):
        lifted.check(Shape(1))
    rule, cells = Nearest(ball, np.zeros((1, 1))), np.array([4])
    line = LineCells(rule, np.zeros((1, 1)), one, np.array([[whole]]), cells, one)
    with pytest.raises(ValueError, match="directions of length 1"):
        line.check(Shape(1))
