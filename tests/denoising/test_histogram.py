"""PrivateHistogram: counts, laws, ranges, users, options, and the two layers of the audit."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from skdp import PrivacyLedger, config_context
from skdp.accounting import Budget, Plan
from skdp.audit import non_interference
from skdp.denoising import (
    BayesDenoiser,
    JamesSteinDenoiser,
    PrivateHistogram,
    SoftThresholdDenoiser,
    TrendFilterDenoiser,
)
from skdp.denoising._axes import RANGE_STEPS, between, private_ranges
from skdp.exceptions import AuditFailure
from skdp.kernel import _histograms
from skdp.kernel._histograms import (
    Cells,
    HistogramCounts,
    OfUsers,
    UserCounts,
    capped_sensitivity,
)
from skdp.kernel._table import Table
from skdp.kernel._totals import Total
from skdp.mechanisms._exact import sqrt_up
from skdp.readers import ArrayRows, weighed_sum
from skdp.readers._loop import order_of_floats as _ordered
from skdp.scales import LogBins
from skdp.scales._column_noise import with_law
from skdp.scales._log_histogram import float_of_order as _float
from tests._curators import CannedCurator, FixedKeys, canned, check_replay

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


# --- cells


def counts_of(cells, X, **chunks):
    return HistogramCounts(**vars(cells), bits=0).over(ArrayRows(X, **chunks))


def test_bins_are_those_of_numpy(rng):
    x = np.concatenate([rng.normal(size=500), [-1.0, 0.0, 1.0, 0.5, 7.0]])
    edges = np.array([-1.0, 0.0, 0.5, 1.0])
    got = counts_of(Cells((0,), (edges,), (False,)), x[:, None], block_rows=7)
    assert np.array_equal(got, np.histogram(x, edges)[0])


def test_cells_of_several_columns(rng):
    X = np.column_stack([rng.normal(size=400), rng.integers(5, size=400), rng.normal(size=400)])
    cells = Cells((0, 1), (np.linspace(-1, 1, 4), np.array([1.0, 2.0, 4.0])), (False, True))
    got = counts_of(cells, X)
    for j, level in enumerate((1.0, 2.0, 4.0)):
        want = np.histogram(X[X[:, 1] == level, 0], np.linspace(-1, 1, 4))[0]
        assert np.array_equal(got[:, j], want)
    X[3, 2] = np.nan
    assert counts_of(cells, X).sum() == got.sum() - (cells.places(np.nan_to_num(X))[3] >= 0)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 0), (5, 5), (-1e300, 1e300), (1e16, 1e16 + 2), (-1.7e308, 1.7e308)]
)
def test_every_range_has_increasing_edges(low, high):
    edges = between(low, high, 50)
    assert np.all(np.diff(edges) > 0) and np.isfinite(edges).all()


# --- users


def test_the_sensitivity_of_capped_counts_is_the_largest():
    """All vectors of four cells, in exact integers."""
    for m, k in ((1, 1), (3, 1), (4, 2), (5, 2), (5, 5), (4, 3)):
        vectors = [c for c in product(range(k + 1), repeat=4) if sum(c) <= m]
        l1 = max(sum(c) for c in vectors)
        squared = max(sum(x * x for x in c) for c in vectors)
        cells = min(4, -(-m // k))  # four cells are enough unless m / k is more
        assert cells * k >= m or l1 < m
        assert capped_sensitivity(m, k)[0] == max(2, m)
        if m <= 4 * k:
            assert capped_sensitivity(m, k) == (max(2, l1), max(2, Fraction(squared)))


def capped(X, keys, m, k, **chunks):
    cap = {"per_user": m, "per_cell": k}
    view = OfUsers((1,), (np.arange(4.0),), (True,), user=0, **cap)
    users = view.over(ArrayRows(X, **chunks), FixedKeys(keys))
    return weighed_sum(users, Total(UserCounts(4, **cap, bits=0)))


def test_rows_below_the_cap_all_count(rng):
    X = np.column_stack([np.arange(50) % 10, rng.integers(4, size=50)]).astype(float)
    keys = rng.integers(0, 2**63, size=50, dtype=np.uint64)
    assert np.array_equal(capped(X, keys, 5, 5), np.bincount(X[:, 1].astype(int), minlength=4))
    assert capped(X, keys, 2, 2).sum() == 20
    order = rng.permutation(50)
    assert np.array_equal(capped(X[order], keys[order], 2, 1), capped(X, keys, 2, 1))


def test_what_caps_leave_out_may_be_forgotten_on_the_way(rng, monkeypatch):
    for _ in range(100):
        n, m = int(rng.integers(1, 90)), int(rng.integers(1, 6))
        k = int(rng.integers(1, m + 1))
        X = np.column_stack([rng.integers(4, size=n), rng.integers(5, size=n)]).astype(float)
        keys = rng.integers(0, int(rng.choice([3, 2**62])), size=n).astype(np.uint64)
        monkeypatch.setattr(_histograms, "AT_ONCE", 2**20)
        at_once = capped(X, keys, m, k, block_rows=3)
        monkeypatch.setattr(_histograms, "AT_ONCE", 4)
        assert np.array_equal(capped(X, keys, m, k, block_rows=3), at_once)


# --- the estimator


def test_the_law_is_the_one_of_less_noise():
    def law(**params):
        return PrivateHistogram(range=(0, 1), **params).plan().steps[0].mechanism

    assert law() == "laplace"
    assert law(delta=0.0) == "laplace"
    assert law(epsilon=1.0, user=0, rows_per_user=100, rows_per_cell=1) == "gaussian"
    assert law(epsilon=1.0, user=0, rows_per_user=100) == "laplace"  # l1 = l2
    assert law(denoiser=TrendFilterDenoiser()) == "gaussian"
    assert law(noise="gaussian") == "gaussian"


def test_noise_scales():
    X = np.zeros((5, 1))
    laplace = PrivateHistogram(2, range=(0, 1), epsilon=0.5).fit(X)
    assert laplace.noise_distribution_ == "laplace" and laplace.noise_scale_ == pytest.approx(2.0)
    assert laplace.privacy_report_.budget.delta == 0
    gaussian = PrivateHistogram(2, range=(0, 1), noise="gaussian").fit(X)
    assert gaussian.noise_scale_ == pytest.approx(4.22, rel=0.01)


def test_counts_are_exact_without_noise(rng):
    X = rng.normal(size=(300, 2))
    X = np.column_stack([X, rng.integers(3, size=300)])
    fit = PrivateHistogram(
        [4, [-1.0, 0.0, 2.0], 1],
        range=(-2, 2),
        categories={2: [0, 1, 2]},
        epsilon=1e5,
        integer=True,
    ).fit(X)
    edges = [np.linspace(-2, 2, 5), [-1.0, 0.0, 2.0], [-0.5, 0.5, 1.5, 2.5]]
    assert np.array_equal(fit.counts_, np.histogramdd(X, edges)[0])
    assert fit.counts_.shape == (4, 2, 3) and len(fit.edges_) == 3


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_ranges_hold_the_rows(noise, rng):
    n = 100_000
    X = np.column_stack([2013 + rng.random(n), rng.exponential(size=n), 1e6 * rng.normal(size=n)])
    fit = PrivateHistogram(noise=noise, random_state=0).fit(X)
    for x, edges in zip(X.T, fit.edges_, strict=True):
        inside = np.mean((x >= edges[0]) & (x <= edges[-1]))
        assert inside > 0.98
        assert edges[-1] - edges[0] < 3 * (np.quantile(x, 0.999) - np.quantile(x, 0.001))
    assert sum(float(c.share) for c in fit.privacy_report_.charges) == pytest.approx(1)


def test_ranges_of_laplace_noise_are_not_cut_as_if_it_were_louder(rng):
    X = np.exp(rng.normal(size=(5000, 1)))
    missed = []
    for seed in range(30):
        low, *_, high = PrivateHistogram(5, epsilon=1, random_state=seed).fit(X).edges_[0]
        missed.append(np.mean((low > X) | (high < X)))
    assert np.mean(missed) < 0.02


def test_a_denoiser_is_free(rng):
    X = rng.normal(size=(2000, 1))
    common = {"bins": 500, "range": (-50, 50), "epsilon": 0.1, "random_state": 0}
    plain, auto = (PrivateHistogram(**common, denoiser=d).fit(X) for d in (None, "auto"))
    assert np.array_equal(plain.noisy_counts_, auto.noisy_counts_)
    assert "free post-processing" in str(auto.plan())
    truth = np.histogram(X, np.linspace(-50, 50, 501))[0]
    loss = [np.square(fit.counts_ - truth).sum() for fit in (plain, auto)]
    assert loss[1] < 0.5 * loss[0]
    assert plain.risk_estimate_ == pytest.approx(500 * 2 * plain.noise_scale_**2)


def test_options(rng):
    X = rng.random((20, 1))
    fit = PrivateHistogram(50, range=(0, 1), integer=True).fit(X)
    assert fit.counts_.min() >= 0 and np.array_equal(fit.counts_, np.rint(fit.counts_))
    low, high = fit.interval()
    assert np.array_equal(low, np.rint(low)) and np.all(low <= high) and low.min() >= 0
    loose = PrivateHistogram(50, range=(0, 1), nonnegative=False).fit(X)
    assert np.array_equal(loose.counts_, loose.noisy_counts_) and loose.counts_.min() < 0


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_intervals_cover(noise, rng):
    """3000 cells; at least nominal minus 2 %, five standard errors of 0.004."""
    X = rng.random((2000, 1))
    truth = np.histogram(X, np.linspace(0, 1, 3001))[0]
    for integer in (False, True):
        fit = PrivateHistogram(3000, range=(0, 1), noise=noise, integer=integer, random_state=1)
        low, high = fit.fit(X).interval(0.95)
        assert np.mean((low <= truth) & (truth <= high)) > 0.93
        low, high = fit.interval(0.95, simultaneous=True)
        assert np.mean((low <= truth) & (truth <= high)) > 0.999


def test_the_ledger_is_charged_in_the_unit_of_the_law():
    X, epsilon = np.zeros((4, 1)), 0.5
    basic = PrivacyLedger(1.0)
    fit = PrivateHistogram(3, range=(0, 1), epsilon=epsilon, ledger=basic).fit(X)
    assert fit.noise_distribution_ == "laplace" and float(basic.spent().amount) == pytest.approx(
        0.5
    )
    composing = PrivacyLedger(1.0, 1e-6)
    fit = PrivateHistogram(3, range=(0, 1), epsilon=epsilon, delta=5e-7, ledger=composing).fit(X)
    assert fit.noise_distribution_ == "gaussian" and composing.spent().amount > 0


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"bins": [3, 4]}, "one entry per column"),
        ({"bins": [[0.0, 0.0], 3, 3]}, "increasing"),
        ({"range": (1.0, 0.0)}, "low < high"),
        ({"range": [(0, 1)] * 2 + [(0, np.inf)]}, "low < high"),
        ({"bins": 1000}, "cells"),
        ({"categories": {5: [1]}}, "different columns"),
        ({"categories": {0: [np.nan]}}, "finite numbers"),
        ({"user": 3, "rows_per_cell": 1, "range": (0, 1)}, "different columns"),
        ({"user": 0, "rows_per_cell": 1}, "must be public"),
        ({"denoiser": TrendFilterDenoiser(np.eye(3)), "range": (0, 1)}, "one node per coordinate"),
        ({"denoiser": TrendFilterDenoiser(), "noise": "laplace", "range": (0, 1)}, "Gaussian"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_charged(params, match):
    ledger = PrivacyLedger(1.0, 1e-6)
    with pytest.raises(ValueError, match=match):
        PrivateHistogram(**params, ledger=ledger).fit(np.zeros((10, 3)))
    assert ledger.spent().amount == 0


def test_plots(rng):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X = rng.random((100, 2))
    one = PrivateHistogram(5, range=(0, 1)).fit(X[:, :1]).plot(confidence=0.9)
    assert one.ax_.get_xlabel() == "column 0" and one.figure_ is one.ax_.figure
    two = PrivateHistogram(5, range=(0, 1)).fit(X).plot()
    assert two.ax_.get_ylabel() == "column 1"
    with pytest.raises(ValueError, match="one or two columns"):
        PrivateHistogram(2, range=(0, 1)).fit(rng.random((9, 3))).plot()
    matplotlib.pyplot.close("all")


def test_user_is_deprecated_where_groups_say_the_same():
    X = np.floor(np.abs(np.random.default_rng(0).normal(size=(60, 2))) * 4)
    with pytest.warns(FutureWarning, match=r"pass fit\(X, groups=\.\.\.\)"):
        PrivateHistogram(bins=3, range=(0, 9), user=0).fit(X)
    PrivateHistogram(bins=3, range=(0, 9), user=0, rows_per_cell=1).fit(X)


# --- the layers of the audit

TABLE = np.random.default_rng(3).normal(size=(120, 3)) * [1, 10, 0.1]
USERS = np.floor(np.abs(TABLE) * [4, 0.5, 30])
AUDITED = {
    "one row a user": (PrivateHistogram(bins=3, range=(0, 9), user=0, rows_per_cell=1), USERS),
    "users": (
        PrivateHistogram(
            bins=3, range=(0, 9), user=0, rows_per_user=3, rows_per_cell=2, noise="gaussian"
        ),
        USERS,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", AUDITED)
def test_non_interference(name):
    estimator, X = AUDITED[name]
    with config_context(invalid_rows="ignore"):  # users that are no whole numbers
        non_interference(estimator, X, n_transcripts=2)


def test_a_user_who_is_not_capped_is_found():
    """The layers see what the cap is for: without it the counts move too far."""

    X = np.column_stack([np.zeros(5), np.zeros(5)])
    cells = Cells((1,), (np.arange(4.0),), (True,))
    curators = []
    for table in (X, X[:0]):
        transcript = curators[0].answers if curators else "noise"
        curator = canned("counts", transcript)
        counts = counts_of(cells, table)
        curator.gaussian(counts, sensitivity=sqrt_up(2), share=1, label="counts")
        curators.append(curator)
    with pytest.raises(AuditFailure):
        check_replay(*curators)


def test_a_private_range_takes_few_looks_at_the_rows():
    """Exact counts below every threshold and around the centres, whatever the blocks."""

    class Counted(ArrayRows):
        passes = 0

        def pieces(self):
            self.passes += 1
            return super().pieces()

    X = np.random.default_rng(0).normal(size=(50, 2)) * [1, 1e9]
    X[::5, 0], X[1::5, 0], X[7, 1] = 0.0, -0.0, np.nan
    kept = X[np.isfinite(X).all(axis=1)] + 0.0
    plan = Plan(Budget.pure(1.0), with_law(Budget.pure(1.0), *RANGE_STEPS))
    for block_rows in (7, 100):
        rows, curator = Counted(X, block_rows=block_rows), CannedCurator(plan, "noise", seed=3)
        private_ranges(Table(rows, curator), [0, 1], "laplace")
        assert rows.passes == 6  # four of them for 46 levels
        low, high = np.zeros(2, np.uint64), np.full(2, 2**64 - 1, np.uint64)
        centres = [record for record in curator.records if record.label == "centre"]
        for record in centres:
            middle = low + (high - low) // np.uint64(2)
            below = [_ordered(kept[:, j]) <= middle[j] for j in (0, 1)]
            assert np.array_equal(record.value, 2 * np.sum(below, axis=1) - len(kept))
            left = np.asarray(record.answer) > 0
            high, low = np.where(left, middle, high), np.where(left, low, middle)
        distance = kept - _float(low + (high - low) // np.uint64(2))
        reach = curator.records[-1].value
        for j, column in enumerate(distance.T):
            sides = LogBins(2).counts(-column[column < 0]), LogBins(2).counts(column[column >= 0])
            assert np.array_equal(reach[j], sides)


# --- parameters at the ends of what is allowed


def _capped(rows):
    return {"rows_per_user": rows, "rows_per_cell": rows}


@pytest.mark.parametrize(
    "params",
    [
        {"epsilon": 1e-15, "range": (0, 1), "noise": "laplace"},
        {"epsilon": 1e-60, "delta": 0.0},
        {"epsilon": 1e-13, "noise": "laplace"},
        {"user": 0, "range": (0, 1), **_capped(10**30)},
        {"user": 0, "range": (0, 1), **_capped(10**300), "noise": "gaussian"},
        {"user": 0, "range": (0, 1), **_capped(np.int64(2**62))},
    ],
)
def test_noise_that_cannot_be_drawn_is_refused_before_the_charge(params):
    ledger = PrivacyLedger(1.0, composition="basic")
    estimator = PrivateHistogram(bins=2, ledger=ledger, **params)
    with pytest.raises(ValueError, match="noise would exceed"):
        estimator.fit(np.zeros((4, 2)))
    assert len(ledger.entries()) == 1  # its opening


@pytest.mark.parametrize(
    "denoiser",
    [
        BayesDenoiser(prior="normal", prior_scale=1e300),
        BayesDenoiser(prior="normal", center=1e300),
        BayesDenoiser(prior="normal", center=math.nan),
        JamesSteinDenoiser(target=-1e300),
        SoftThresholdDenoiser(threshold=1e300),
        TrendFilterDenoiser(penalty=[1.0, 1e300]),
    ],
)
def test_denoisers_whose_squares_overflow_are_refused_before_the_charge(denoiser):
    ledger = PrivacyLedger(1.0, 1e-5, composition="basic")
    estimator = PrivateHistogram(bins=5, range=(0, 1), denoiser=denoiser, ledger=ledger)
    with pytest.raises(ValueError, match="of size at most"):
        estimator.fit(np.zeros((4, 1)))
    assert len(ledger.entries()) == 1  # its opening
    with pytest.raises(ValueError, match="of size at most"):
        denoiser.set_params(noise_scale=1.0).fit(np.zeros((1, 5)))
