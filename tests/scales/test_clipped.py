from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from skdp.kernel._sums import BITS
from skdp.kernel._table import Table
from skdp.readers import ArrayRows
from skdp.scales import clipped_sum, count_rows
from tests._curators import canned

BAD = (np.nan, np.inf, -np.inf)


def test_rows_with_nan_or_infinity_do_not_count(rng):
    for d in [1, 2, 5, 64]:
        for order in ["C", "F"]:
            for dtype in [np.float64, np.float32]:
                for n, bad in product((0, 1, 2, 9), BAD):
                    X = np.asarray(rng.normal(size=(n, d)), dtype=dtype, order=order)
                    X[:, 0] = np.finfo(dtype).max  # large is not infinite
                    for i, j in product(range(n), range(d)):
                        Y = X.copy(order="K")
                        Y[i, j] = bad
                        with np.errstate(invalid="ignore"):
                            assert count_rows(ArrayRows(Y)) == n - 1
                    assert count_rows(ArrayRows(X)) == n


def test_strided_rows_are_counted(rng):
    X = rng.normal(size=(20, 12))
    X[4, 6] = np.nan
    with np.errstate(invalid="ignore"):
        assert count_rows(ArrayRows(X[::2, ::3])) == 9
        assert count_rows(ArrayRows(X[::-1, ::-1])) == 19
        assert count_rows(ArrayRows(X.T[3:9].T)) == 19


def test_the_sum_agrees_with_exact_fractions(rng):
    X = rng.normal(size=(40, 3)) * [1.0, 5.0, 0.1]
    X[::7] *= 100
    center, radius, scale = np.array([0.5, -1.0, 0.0]), 2.5, np.array([1.0, 4.0, 0.5])
    total, sd = clipped_sum(
        Table(ArrayRows(X), canned()),
        center=center,
        radius=radius,
        scale=scale,
        share=0.5,
        label="x",
    )
    expected = np.zeros(3)
    for row in X:
        y = [
            (Fraction(a) - Fraction(c)) / Fraction(s)
            for a, c, s in zip(row.tolist(), center.tolist(), scale.tolist(), strict=True)
        ]
        length = float(sum(v * v for v in y)) ** 0.5
        expected += [float(v) * min(1.0, radius / length) for v in y]
    # every row is off by less than 2 sqrt(d) + 1 grid units of radius / 2^20
    np.testing.assert_allclose(total, expected, atol=40 * 4.5 * radius / 2**BITS)
    assert sd == pytest.approx(radius / (canned().budget.mu * 0.5**0.5), rel=1e-12)


def test_dropped_rows_leave_no_trace():
    near, far = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 50.0], [np.nan, 0.0]])
    answers = []
    for X in (near, np.vstack([near, far])):
        curator = canned()
        with np.errstate(invalid="ignore"):
            total, _ = clipped_sum(
                Table(ArrayRows(X), curator), center=0.0, radius=2.0, share=0.5, label="x", drop=6.0
            )
        answers.append(total.tolist())
    assert answers[0] == answers[1] == [1.0, 1.0]


def test_a_tiny_share_takes_a_coarser_grid():
    # noise in grid units stays below 2^40, far from 2^46, the largest that can be drawn
    for share in (1.0, 1e-6, 1e-12, 1e-15, 1e-21):
        curator = canned()
        clipped_sum(
            Table(ArrayRows(np.ones((3, 2))), curator),
            center=0.0,
            radius=2.0,
            share=share,
            label="x",
        )
        assert curator.records[0].sensitivity in {2**bits for bits in range(1, BITS + 1)}
        assert curator.records[0].scale <= 2.0**40
