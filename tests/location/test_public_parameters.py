"""What parameters cannot do is told before anything is charged."""

from functools import partial

import numpy as np
import pytest

from skdp import (
    FriendlyCoreKMeans,
    PrivacyLedger,
    PrivateMean,
    PrivateMedian,
    PrivateMinMax,
    PrivateMinMaxScaler,
    PrivateQuantile,
    PrivateRobustScaler,
    PrivateStandardScaler,
    PrivateTrimmedMean,
    PrivateVariance,
)
from skdp.cluster import LloydKMeans
from skdp.mixture import PrivateGMM
from skdp.mixture._em import _parts

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
X = np.random.default_rng(0).normal(size=(60, 2))
PLACED = {"sensitivity": 1.0, "center": 0.0}


def refused(estimator, what, rows=X):
    ledger = PrivacyLedger(1e6, 0.0 if estimator.delta == 0 else 0.5)
    with pytest.raises(ValueError, match=what):
        estimator.set_params(ledger=ledger).fit(rows)
    assert len(ledger.entries()) == 1  # its opening


@pytest.mark.parametrize("q", [0, 1, 0.0, 1.0, 1e-9, 1 - 1e-9])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("place", [{}, PLACED])
def test_no_choice_of_extremes(q, delta, place):
    refused(PrivateQuantile(q, method="exponential", delta=delta, **place), "PrivateMinMax")
    PrivateQuantile(q, method="bounded", delta=1e-6, random_state=0).fit(X)


@pytest.mark.parametrize("q", [0.001, 0.02, 0.98, 0.999])
def test_without_rows_beyond_a_choice_is_not_drawn_far_away(q):
    """Points beyond all rows are alike in rank; most were up to 2^28 steps of the grid away."""
    rows = np.random.default_rng(0).uniform(size=(300, 1))
    far = 0
    for seed in range(40):
        fit = PrivateQuantile(
            q, method="exponential", sensitivity=0.01, center=0.5, random_state=seed
        ).fit(rows)
        far += abs(fit.location_[0] - 0.5) > 20
    assert far <= 4


@pytest.mark.parametrize("alpha", [0.4999999, 0.499999999, np.nextafter(0.5, 0)])
def test_a_trimmed_mean_of_nothing(alpha):
    refused(PrivateTrimmedMean(alpha), "alpha")


@pytest.mark.parametrize(
    "make",
    [
        PrivateMedian, PrivateQuantile, PrivateTrimmedMean, PrivateVariance, PrivateMinMax,
        PrivateStandardScaler, PrivateMinMaxScaler, PrivateRobustScaler,
    ],
)  # fmt: skip
def test_an_epsilon_that_answers_nothing(make):
    for delta in [0.0, 1e-15]:
        for epsilon in [1e-7, 1e-9, 1e-12, 1e-60]:
            refused(make(epsilon=epsilon, delta=delta), "too small to answer")
            if "sensitivity" in make().get_params():
                method = {"method": "bounded"} if "method" in make().get_params() else {}
                refused(
                    make(epsilon=epsilon, delta=delta, **PLACED, **method), "too small to answer"
                )


@pytest.mark.parametrize("epsilon", [1e-12, 1e-60])
@pytest.mark.parametrize("params", [{}, {"radius": 1.0}])
def test_an_epsilon_that_moves_no_centre(epsilon, params):
    refused(LloydKMeans(2, epsilon=epsilon, delta=0.0, **params), "too small to answer")


@pytest.mark.parametrize(
    "make", [PrivateVariance, partial(PrivateMedian, method="bounded"), PrivateTrimmedMean]
)
@pytest.mark.parametrize("d", [1, 300])
def test_at_the_smallest_epsilon_a_fit_still_answers(make, d):
    rows = np.zeros((5, d))
    for params in ({}, PLACED):
        fit = make(epsilon=d * 2.0**-19, delta=0.0, random_state=0, **params).fit(rows)
        assert np.shape(fit.noise_scale_) == (d,)


@pytest.mark.parametrize("params", [{}, {"radius": 1.0}, {"max_iter": 200}])
def test_at_the_smallest_epsilon_centres_still_move(params):
    epsilon = 2.01 * params.get("max_iter", 6) * 2.0**-30
    fit = LloydKMeans(2, epsilon=epsilon, delta=0.0, random_state=0, **params).fit(X)
    assert np.isfinite(fit.cluster_centers_).all()


def test_parts_for_a_road_that_is_not_taken():
    refused(FriendlyCoreKMeans(2, method="density", n_parts=40), "n_parts")


@pytest.mark.slow
def test_many_rounds_leave_every_round_a_share():
    """Shares that grow by a fifth from each round to the next leave nothing for the first ones."""
    parts = _parts(1000)
    assert sum(parts) == 1 and min(parts) > 1 / 2000 and parts == sorted(parts)
    whole = sum(1.2**t for t in range(5))
    assert np.allclose([float(p) for p in _parts(5)], [1.2**t / whole for t in range(5)])
    rows = np.random.default_rng(0).normal(size=(100, 1))
    mixture = PrivateGMM(1, max_iter=100, n_init=1, method="density", random_state=0).fit(rows)
    assert mixture.n_iter_ == 100 and np.isfinite(mixture.means_).all()


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    "make",
    [
        PrivateMedian,
        partial(PrivateMedian, method="bounded"),
        partial(PrivateMedian, method="exponential"),
        PrivateTrimmedMean,
        lambda **kw: PrivateTrimmedMean(0.0, **kw),
        PrivateMinMax,
        PrivateVariance,
    ],
)
def test_columns_of_any_size_are_told_or_known_to_be_lost(make):
    """Within 12 noise scales and 4 standard errors of the table, or with an infinite scale."""
    for offset in [0.0, 1.0]:
        for size in [1e200, 1e241, 1e270, 1e300, 1e306]:
            rows = (np.random.default_rng(0).normal(size=(5000, 1)) + offset) * size
            fit = make(random_state=0).fit(rows)
            if isinstance(fit, PrivateMinMax):
                told, truth, slack = np.r_[fit.min_, fit.max_], np.r_[rows.min(), rows.max()], 2.0
            elif isinstance(fit, PrivateVariance):
                told, truth, slack = fit.var_, size * size * np.ones(1), 0.5
            else:
                told, truth, slack = fit.location_, np.median(rows, axis=0), 0.08
            sd = np.ravel(fit.noise_scale_)
            assert np.isfinite(told).all()
            with np.errstate(all="ignore"):
                near = np.abs(told / size - truth / size) <= 12 * sd / size + slack
            assert (near | np.isinf(sd)).all()
            lost = any(
                "too wide" in text or "nothing" in text for text in fit.privacy_report_.decisions
            )
            assert lost == bool(np.isinf(sd).any())


@pytest.mark.parametrize(
    ("bounds", "what"),
    [
        ((1, 0), "low below high"),
        ([(0, 1), (0, 1)], r"low below high.*\(\[low, low, \.\.\.\], \[high"),
        ([(0, 1), (0, 1), (0, 1)], r"no pair.*pass \(\[low, low"),
        ({0, 1}, "no pair"),
        ({"a": (0, 1)}, r"Got a dict: pass \(\[low, low.* in the order of the columns"),
        ((0, None), "None for one"),
        (("0", "1"), r"bounds\[0\] must hold numbers only\. Got: text"),
        ((np.datetime64("2020-01-01"), 5), "low below high"),
        (
            (0, [1, 2, 3]),
            r"bounds\[1\] .* shape \(2,\), one number per column of X\. Got shape \(3,\)\.$",
        ),
        ((0, [1, np.inf]), r"bounds\[1\] must be finite in every column\. Got 1 "),
    ],
)
def test_bounds_that_are_none_are_told_what_they_lack(bounds, what):
    refused(PrivateMean(bounds=bounds), what)
    refused(PrivateVariance(bounds=bounds), what)
