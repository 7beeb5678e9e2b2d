"""The relaxed projection as published, as a way of post-processing."""

import time
from math import sqrt

import numpy as np
import pytest

from skdp.marginals._frank_wolfe import relaxed_projection
from skdp.marginals._layout import Measurement
from skdp.marginals._parities import to_parities
from skdp.marginals._postprocess import possible_ways, postprocess
from skdp.marginals._published import STEPS, PublishedProjection
from skdp.marginals._workload import workload_layout
from tests.marginals._noisy import loss, noisy_tree


def test_every_order_is_projected_in_the_metric_of_its_noise():
    base, _ = noisy_tree(6, 3, 50, 0.05, seed=0)
    sd = base.sd * np.random.default_rng(0).uniform(0.5, 2, size=base.sd.size)
    m = Measurement(base.layout, base.values, sd, base.weights)
    rule = PublishedProjection(m)
    made, y = to_parities(m.layout, rule(m.values)), to_parities(m.layout, m.values)
    assert made[0] == max(y[0], 10)
    for k in (1, 2, 3):
        here = m.layout.orders == k
        noise = to_parities(m.layout, sd)[here]
        np.testing.assert_allclose(noise, sd[here] * sqrt(2**k))
        want = relaxed_projection(
            y[here], m.layout.subsets[k], 6, n=made[0], weights=1 / np.square(noise), steps=STEPS
        )
        stay = want.gap > len(noise) / np.sum(noise**-2.0)
        assert rule.stay[k] == stay
        np.testing.assert_allclose(made[here], y[here] if stay else want.values, rtol=1e-12)


def test_an_order_that_is_not_finished_stays_as_released():
    """Noise of a few rows and thousands of rows: Frank-Wolfe would add error."""
    m, _ = noisy_tree(20, 2, 10**5, 1.0, seed=1)
    made = postprocess(m, "frank-wolfe")
    pairs = m.layout.orders == 2
    np.testing.assert_array_equal(made.values[pairs], m.values[pairs])
    known = np.sum(m.weights * m.sd**2)
    assert made.risk == pytest.approx(known)
    noisy, _ = noisy_tree(20, 2, 300, 0.1, seed=1)
    assert np.all(postprocess(noisy, "frank-wolfe").values[pairs] != noisy.values[pairs])


@pytest.mark.parametrize(("d", "k", "n", "ratio"), [(50, 2, 1000, 0.3), (20, 3, 200, 0.5)])
def test_it_gains_where_noise_dominates_and_the_tighter_body_gains_more(d, k, n, ratio):
    raw, published, tighter = np.zeros(3)
    for seed in range(2):
        m, truth = noisy_tree(d, k, n, 0.1, seed)
        raw += loss(m, m.values, truth)
        published += loss(m, postprocess(m, "frank-wolfe").values, truth)
        tighter += loss(m, postprocess(m, "projection").values, truth)
    assert tighter < published < ratio * raw


def test_auto_never_takes_it():
    m, _ = noisy_tree(8, 2, 100, 0.1, seed=2)
    assert "frank-wolfe" in possible_ways(m)
    assert postprocess(m).chosen != "frank-wolfe"
    risk = {name: make().risk for name, make in possible_ways(m).items() if name != "frank-wolfe"}
    assert postprocess(m).risk == min(r for name, r in risk.items() if name != "projection")


def test_what_it_needs():
    fits = PublishedProjection.fits
    assert fits(workload_layout((2,) * 100, 2)[0])
    assert fits(workload_layout((2,) * 30, [(0, 1, 2, 3), (7, 9), (29,)])[0])
    assert fits(workload_layout((2,) * 64, 3)[0])
    assert not fits(workload_layout((2, 2, 3), 2)[0])
    assert not fits(workload_layout((2,) * 46, 4)[0])


def test_a_hundred_attributes_in_some_seconds():
    m, _ = noisy_tree(100, 2, 1000, 1.0, seed=0)
    begin = time.process_time()
    assert postprocess(m, "frank-wolfe").chosen == "frank-wolfe"
    assert time.process_time() - begin < 15
