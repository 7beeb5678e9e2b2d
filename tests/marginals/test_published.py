"""The relaxed projection as published, of what was released."""

import time
from math import sqrt

import numpy as np
import pytest

from skdp.marginals._postprocess import postprocess
from skdp.marginals._residuals import Measurement
from skdp.marginals.published._frank_wolfe import published_projection, relaxed_projection
from skdp.marginals.published._relaxation import to_parities
from tests.marginals._noisy import loss, noisy_tree


def test_every_order_is_projected_in_the_metric_of_its_noise():
    base, _ = noisy_tree(6, 3, 50, 0.05, seed=0)
    sd = base.sd * np.random.default_rng(0).uniform(0.5, 2, size=base.sd.size)
    m = Measurement(base.layout, base.values, sd, base.weights)
    made, y = (to_parities(m.layout, x) for x in (published_projection(m), m.values))
    assert made[0] == max(y[0], 10)
    for k in (1, 2, 3):
        here = m.layout.orders == k
        noise = to_parities(m.layout, sd)[here]
        np.testing.assert_allclose(noise, sd[here] * sqrt(2**k))
        want = relaxed_projection(
            y[here], m.layout.subsets[k], 6, n=made[0], weights=1 / np.square(noise)
        )
        stay = want.gap > len(noise) / np.sum(noise**-2.0)
        np.testing.assert_allclose(made[here], y[here] if stay else want.values, rtol=1e-12)


def test_an_order_that_is_not_finished_stays_as_released():
    """Noise of a few rows and thousands of rows: Frank-Wolfe would add error."""
    m, _ = noisy_tree(20, 2, 10**5, 1.0, seed=1)
    pairs = m.layout.orders == 2
    np.testing.assert_array_equal(published_projection(m)[pairs], m.values[pairs])
    noisy, _ = noisy_tree(20, 2, 300, 0.1, seed=1)
    assert np.all(published_projection(noisy)[pairs] != noisy.values[pairs])


@pytest.mark.slow
@pytest.mark.parametrize(("d", "k", "n", "ratio"), [(50, 2, 1000, 0.3), (20, 3, 200, 0.5)])
def test_it_gains_where_noise_dominates_and_the_tighter_body_gains_more(d, k, n, ratio):
    raw, published, tighter = np.zeros(3)
    for seed in range(2):
        m, truth = noisy_tree(d, k, n, 0.1, seed)
        raw += loss(m, m.values, truth)
        published += loss(m, published_projection(m), truth)
        tighter += loss(m, postprocess(m, "projection").values, truth)
    assert tighter < published < ratio * raw


def test_it_needs_columns_of_two_levels():
    m, _ = noisy_tree(3, 2, 100, 1.0, seed=2, levels=(2, 2, 3))
    with pytest.raises(ValueError, match="two levels"):
        published_projection(m)


def test_a_hundred_attributes_in_some_seconds():
    m, _ = noisy_tree(100, 2, 1000, 1.0, seed=0)
    begin = time.process_time()
    assert np.any(published_projection(m) != m.values)
    assert time.process_time() - begin < 15
