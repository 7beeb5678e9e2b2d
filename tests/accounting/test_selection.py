"""The cost of the best of a random number of runs, against truth and against the literature."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

from skdp.accounting import gaussian_epsilon
from skdp.accounting._gaussian import log_delta, log_delta_up
from skdp.accounting._selection import (
    _mixture,
    log_profile,
    selection_delta,
    selection_epsilon,
    selection_mu,
)
from skdp.mechanisms._repeats import trials_of
from tests.accounting._literature import renyi_selection_epsilon

POISSON = math.inf
GRID = list(itertools.product((0.0, 0.5, 1.0, POISSON), (2.0, 10.0, 30.0), (0.1, 0.3, 1.0)))

# RdpAccountant of dp-accounting 0.6.0 with orders 1.01 to 4096 in small steps, for
# RepeatAndSelectDpEvent(GaussianDpEvent(1 / mu), mean, eta): epsilon at delta = 1e-6 and 1e-9.
FROZEN = {
    (0.0, 2.0, 0.1): (0.598727, 0.730314),
    (0.0, 2.0, 0.3): (1.864651, 2.245365),
    (0.0, 2.0, 1.0): (6.446086, 7.671438),
    (0.0, 10.0, 0.1): (0.742773, 0.867423),
    (0.0, 10.0, 0.3): (2.292597, 2.654411),
    (0.0, 10.0, 1.0): (7.859707, 9.028178),
    (0.0, 30.0, 0.1): (0.812579, 0.93308),
    (0.0, 30.0, 0.3): (2.499562, 2.850017),
    (0.0, 30.0, 1.0): (8.541875, 9.675765),
    (0.5, 2.0, 0.1): (0.637991, 0.769577),
    (0.5, 2.0, 0.3): (1.967425, 2.348138),
    (0.5, 2.0, 1.0): (6.61367, 7.839022),
    (0.5, 10.0, 0.1): (0.824609, 0.94926),
    (0.5, 10.0, 0.3): (2.523112, 2.884926),
    (0.5, 10.0, 1.0): (8.453097, 9.621568),
    (0.5, 30.0, 0.1): (0.915593, 1.036094),
    (0.5, 30.0, 0.3): (2.793602, 3.144056),
    (0.5, 30.0, 1.0): (9.347009, 10.4809),
    (1.0, 2.0, 0.1): (0.670725, 0.802312),
    (1.0, 2.0, 0.3): (2.050537, 2.431251),
    (1.0, 2.0, 1.0): (6.715704, 7.941055),
    (1.0, 10.0, 0.1): (0.89808, 1.02273),
    (1.0, 10.0, 0.3): (2.728523, 3.090336),
    (1.0, 10.0, 1.0): (8.962799, 10.13127),
    (1.0, 30.0, 0.1): (1.012295, 1.132796),
    (1.0, 30.0, 0.3): (3.068721, 3.419175),
    (1.0, 30.0, 1.0): (10.08907, 11.222961),
    (POISSON, 2.0, 0.1): (0.542408, 0.67905),
    (POISSON, 2.0, 0.3): (1.734135, 2.126947),
    (POISSON, 2.0, 1.0): (6.364959, 7.611144),
    (POISSON, 10.0, 0.1): (0.96198, 1.113326),
    (POISSON, 10.0, 0.3): (3.027826, 3.451486),
    (POISSON, 10.0, 1.0): (10.701782, 11.969391),
    (POISSON, 30.0, 0.1): (1.837031, 2.101155),
    (POISSON, 30.0, 0.3): (5.883969, 6.526707),
    (POISSON, 30.0, 1.0): (20.853242, 22.335907),
}


def test_truncated_negative_binomial_orders_agree_with_dp_accounting():
    for (eta, mean, mu), frozen in FROZEN.items():
        if eta < POISSON:
            trials = trials_of(eta, mean)
            ours = [renyi_selection_epsilon(trials, mu, delta) for delta in (1e-6, 1e-9)]
            assert ours == pytest.approx(frozen, rel=2e-4)


def test_poisson_orders_agree_with_dp_accounting_up_to_its_delta():
    """dp-accounting bounds the delta of a run by Rényi orders too; here it is exact."""
    for (eta, mean, mu), frozen in FROZEN.items():
        if eta == POISSON:
            ours = [renyi_selection_epsilon(trials_of(eta, mean), mu, d) for d in (1e-6, 1e-9)]
            assert all(0.7 * b < a < b for a, b in zip(ours, frozen, strict=True))


def test_profiles_beat_orders_everywhere():
    for eta, mean, mu in GRID[::3]:
        trials = trials_of(eta, mean)
        for delta, known in zip((1e-6, 1e-9), FROZEN[eta, mean, mu], strict=True):
            ours = selection_epsilon(trials, mu, delta)
            assert (
                gaussian_epsilon(1 / mu, delta) < ours < renyi_selection_epsilon(trials, mu, delta)
            )
            assert ours < 0.92 * known


def test_figures_of_dp_accounting_live():
    rdp = pytest.importorskip("dp_accounting.rdp")
    dp_event = pytest.importorskip("dp_accounting.dp_event")
    for eta, mean, mu in GRID[::5]:
        accountant = rdp.RdpAccountant()
        event = dp_event.GaussianDpEvent(1 / mu)
        accountant.compose(dp_event.RepeatAndSelectDpEvent(event, mean, eta))
        known = accountant.get_epsilon(1e-6)
        assert selection_epsilon(trials_of(eta, mean), mu, 1e-6) < known
        ours = renyi_selection_epsilon(trials_of(eta, mean), mu, 1e-6)
        assert ours == pytest.approx(known, rel=3e-3) or eta == POISSON


def generating(trials, x):
    """Return f(x) for probabilities x."""
    if trials.eta == POISSON:
        return np.exp(trials.mean * (x - 1))
    gamma = 1 - trials.decay
    if trials.eta == 0:
        return np.log(1 - trials.decay * x) / math.log(gamma)
    return ((1 - trials.decay * x) ** -trials.eta - 1) / (gamma**-trials.eta - 1)


def winner(trials, p):
    """Return the law of the best of K outcomes, which are listed from worst to best."""
    sums = np.concatenate([[0.0], np.cumsum(p)])
    return np.diff(generating(trials, np.minimum(sums, 1.0)))


def cells(mu, edge=9.0, step=0.01):
    """Return the laws of a Gaussian release on two tables, cut into cells: post-processing."""
    z = np.concatenate([[-np.inf], np.arange(-edge, edge + mu, step), [np.inf]])
    return np.diff(ndtr(z)), np.diff(ndtr(z - mu)), z


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


ORDERS = {
    "the larger the better": lambda z: z,
    "the smaller the better": lambda z: -z,
    "outliers are best": np.abs,
    "the middle is best": lambda z: -np.abs(z),
    "one side, then the other": lambda z: np.where(z > 1, -z, z),
    "scores know nothing": lambda z: np.sin(1e4 * z),
}


@pytest.mark.parametrize(("eta", "mean", "mu"), GRID[::3])
def test_no_score_leaks_more_than_the_bound(eta, mean, mu):
    trials = trials_of(eta, mean)
    a, b, z = cells(mu)
    z = (np.nan_to_num(z[1:], posinf=20.0) + np.nan_to_num(z[:-1], neginf=-20.0)) / 2
    none = trials.none
    closest = 0.0
    for order in ORDERS.values():
        rank = np.argsort(order(z), kind="stable")
        for p, q in ((a, b), (b, a)):
            p, q = winner(trials, p[rank]), winner(trials, q[rank])
            assert p.sum() + none == pytest.approx(1)
            for x in (0.0, 0.5, 1.0, 2.0, 3.0):
                epsilon = x * mu * (1 + mu)
                truth = hockey_stick(p, q, epsilon)
                bound = selection_delta(trials, mu, epsilon)
                assert truth <= bound
                closest = max(closest, truth / bound if truth > 1e-12 else 0)
    assert closest > 0.05  # and it is not far from what some score leaks


def test_releases_before_the_runs_add_up_exactly():
    """A Gaussian release, then the runs: on products of cells."""
    trials, mu, before = trials_of(1.0, 5.0), 0.5, 0.3
    first, second = cells(mu * math.sqrt(before), step=0.1), cells(mu * math.sqrt(1 - before))
    for x in (0.2, 0.5, 1.0, 2.0):
        bound = selection_delta(trials, mu, x, before=before)
        for turn in (1, -1):  # which tail is best
            p, q = (winner(trials, law[::turn]) for law in second[:2])
            truth = hockey_stick(np.outer(first[0], p), np.outer(first[1], q), x)
            assert truth <= bound <= selection_delta(trials, mu, x) * (1 + 1e-9)


@pytest.mark.slow
def test_lines_lie_below_the_mixture():
    """The heart of the proof: l a(u) - a(h(u)) <= sum w_j (l - e^t_j)_+ for all l and u."""
    rng = np.random.default_rng(0)
    for eta, mean, mu in GRID:
        trials = trials_of(eta, mean)
        weights, shifts = _mixture(trials, mu)
        z = rng.normal(size=300) * 2.5
        for likelihood in np.exp(rng.normal(size=40) * 1.5):
            lines = likelihood * trials.slope(ndtr(z)) - trials.slope(ndtr(z + mu))
            above = (weights * np.maximum(likelihood - np.exp(shifts), 0)).sum()
            assert lines.max() <= above
        assert weights.sum() == pytest.approx(trials.mean + trials.none)


def test_profile_is_that_of_the_guarded_room():
    for mu in (1e-6, 0.01, 0.3, 2.0, 40.0):
        for x in (-3.0, -0.5, 0.0, 0.1, 1.0, 4.0):
            epsilon = x * mu * (1 + mu)
            got = float(log_profile(np.array([epsilon]), mu)[0])
            exact = log_delta(epsilon, mu)
            assert got >= exact - 1e-9
            assert got <= log_delta_up(epsilon, mu) + 1e-6 or epsilon / mu - mu / 2 < -5


def test_one_run_costs_one_run():
    for mu in (0.1, 1.0):
        almost_one = trials_of(1.0, 1.0001)
        assert selection_epsilon(almost_one, mu, 1e-6) == pytest.approx(
            gaussian_epsilon(1 / mu, 1e-6), rel=3e-3
        )


@pytest.mark.slow
@pytest.mark.parametrize("eta", [0.0, 1.0, POISSON])
@pytest.mark.parametrize("before", [pytest.param(0.0, marks=pytest.mark.slow), 0.2])
def test_the_largest_mu(eta, before):
    trials = trials_of(eta, 8.0)
    for epsilon, delta in ((0.1, 1e-6), (20.0, 1e-3)):
        mu = selection_mu(trials, epsilon, delta, before=before)
        assert selection_delta(trials, mu, epsilon, before=before) <= delta * (1 + 1e-9)
        assert selection_delta(trials, mu * 1.001, epsilon, before=before) > delta


def test_far_out_nothing_overflows():
    assert 100 < selection_mu(trials_of(1.0, 8.0), 1e4, 1e-6) < 137
    assert 0 < selection_mu(trials_of(1.0, 8.0), 0.01, 1e-9) < 1e-2


@pytest.mark.parametrize(("eta", "mean"), [(0.0, 3.0), (1.0, 3.0), (0.5, 2.0)])
def test_pure_runs_by_enumeration(eta, mean):
    """(2 + eta) epsilon_0, for every score, with the law that is drawn, in exact rationals."""
    base = [Fraction(n, 12) for n in (3, 1, 4, 4)]
    tilted = [Fraction(n, 12) for n in (4, 2, 3, 3)]
    ratio = max(max(p / q, q / p) for p, q in zip(base, tilted, strict=True))  # e^epsilon_0 = 2
    sums = trials_of(eta, mean)._sums
    law = [b - a for a, b in zip([0, *sums[:-1]], sums, strict=True)]  # of 1, 2, ...

    def generating(x):
        total = 0  # Horner, exact: x = n / 12
        for w in reversed(law):
            total = (total + w) * x
        return total

    worst = Fraction(0)
    for order in itertools.permutations(range(4)):
        laws = []
        for p in (base, tilted):
            at = itertools.accumulate((p[i] for i in order), initial=Fraction(0))
            laws.append([b - a for a, b in itertools.pairwise(map(generating, at))])
        for p, q in zip(*laws, strict=True):
            worst = max(worst, p / q, q / p)
    bound = (2 + eta) * math.log(ratio)
    assert 0.4 * bound < math.log(worst) <= bound * (1 + 2.0**-36)


def test_small_deltas_and_impossible_parameters():
    trials = trials_of(1.0, 10.0)
    assert 0 < selection_delta(trials, 0.1, 100.0) < 1e-300
    assert float(mpmath.log(selection_delta(trials, 1.0, 0.0))) <= 0
    for wrong in ((0.0, 1.0), (math.nan, 1.0), (1.0, -1.0)):
        with pytest.raises(ValueError, match=r"mu|epsilon"):
            selection_delta(trials, *wrong)


@pytest.mark.slow
def test_a_poisson_law_of_a_thousand_runs_has_a_price():
    """Its abscissae go down to e^-1000: products of them are zero."""
    trials = trials_of(POISSON, 1000.0)
    mu = selection_mu(trials, 1.0, 1e-6)
    assert 0.02 < mu < selection_mu(trials_of(POISSON, 30.0), 1.0, 1e-6)
    assert selection_delta(trials, mu, 1.0) <= 1e-6
    # one slope for all runs, e^r >= sup a(u) / a(h(u)), in logarithms
    z = np.linspace(-12, 12, 20001)
    r = float(np.max(1000 * (ndtr(z + mu) - ndtr(z))))
    single = math.log(1000) + log_delta(max(1.0 - r, 0), mu)
    assert math.log(selection_delta(trials, mu, 1.0)) <= max(single, 0) + 1e-9


@pytest.mark.parametrize("eta, mean", [(1.0, 1000.0), (POISSON, 300.0), (POISSON, 1000.0)])
def test_the_hull_is_below_its_points_in_the_far_tail(eta, mean):
    """Every point (a(u), a(h(u))) lies above the lines of the slopes, in 60 digits."""
    trials, mu = trials_of(eta, mean), 0.3
    weights, shifts = _mixture(trials, mu)
    assert np.all(np.diff(shifts[:-1]) >= -1e-9) and np.all(weights >= 0)
    x = np.concatenate([[0.0], np.cumsum(weights[:-1])])
    y = np.concatenate([[0.0], np.cumsum(weights[:-1] * np.exp(shifts[:-1]))])
    for z in np.linspace(-4.9, 4.9, 99):
        with mpmath.workdps(60):
            u, h = mpmath.ncdf(z), mpmath.ncdf(z + mu)
            if eta == POISSON:
                a, b = (mean * mpmath.exp(-mean * v) for v in (u, h))
            else:
                gamma = 1 - mpmath.mpf(trials.decay)
                scale = trials.slope(np.array([0.0]))[0]
                a, b = (scale * (1 + v * (1 - gamma) / gamma) ** -2 for v in (u, h))
        assert np.interp(float(a), x, y) <= float(b) * (1 + 1e-9) + 1e-300
