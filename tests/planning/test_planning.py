import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    JamesSteinDenoiser,
    LloydKMeans,
    MarginalReleaser,
    PrivacyLedger,
    PrivateAdditiveClassifier,
    PrivateCount,
    PrivateCovariance,
    PrivateGMM,
    PrivateHistogram,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateMedian,
    PrivateMinMax,
    PrivateMinMaxScaler,
    PrivatePCA,
    PrivateQuantile,
    PrivateRobustScaler,
    PrivateSearchCV,
    PrivateStandardScaler,
    PrivateSum,
    PrivateTrimmedMean,
    PrivateVariance,
    SensitivityPreprocessor,
    config_context,
    gaussian_sigma,
    make_private_pipeline,
)
from skdp.planning._expected import Simulation
from skdp.planning._families import FAMILIES
from skdp.planning._measures import KINDS
from tests._estimators import ESTIMATORS

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

FAST = {"n_sims": 3}
HISTOGRAM = PrivateHistogram(8, range=(-4, 4), delta=0.0)


def rows_of(estimator, n_features=None, family=None, like=None):
    return Simulation(estimator, n_features, family, like, None, 1, 0).rows


# -- nothing private ------------------------------------------------------------------------------


class Watched(PrivateMean):
    fits = []

    def fit(self, X, y=None):
        Watched.fits.append((self, np.array(X)))
        return super().fit(X, y)


def test_plans_read_made_up_rows_only_and_cost_nothing():
    ledger = PrivacyLedger(1.0, 1e-6)
    mean = Watched(ledger=ledger, epsilon=0.7)
    before, lines = dict(vars(mean)), len(ledger.entries())
    mean.expected_error(400, 2, **FAST)
    mean.epsilon_for(0.5, 400, 2, **FAST)
    mean.n_rows_for(0.5, None, 2, **FAST)
    made_up = rows_of(mean, 2)
    assert vars(mean) == before and ledger.spent().amount == 0
    assert Watched.fits and len(ledger.entries()) == lines
    for copy, X in Watched.fits:
        assert copy is not mean and copy.ledger is None
        assert any(np.array_equal(X, made_up.draw(i, len(X))[0]) for i in range(3))


def test_plans_are_the_same_twice():
    first, again, other = (
        PrivateMean().expected_error(300, random_state=seed, **FAST) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.errors, again.errors)
    assert not np.array_equal(first.errors, other.errors)


def test_tables_and_noise_are_the_same_for_every_budget():
    errors = [PrivateCovariance(epsilon=e).expected_error(800, **FAST).errors for e in (1, 1.01)]
    np.testing.assert_allclose(*errors, rtol=0.1)


# -- what is known exactly ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator, shape",
    [
        (PrivateCount(), (1,)),
        (PrivateCount(delta=0.0), (1,)),
        (PrivateSum((-3, [1, 5])), (2,)),
        (PrivateHistogram(5, noise="gaussian"), (1,)),
        (MarginalReleaser(2), (4,)),
    ],
    ids=str,
)
def test_noise_that_no_row_moves_is_told_exactly(estimator, shape):
    rng = np.random.default_rng(0)
    expected = estimator.expected_error(300, *shape, n_sims=2)
    for scale in (1e-3, 1e5):
        rows = scale * rng.normal(size=(rng.integers(5, 2000), *shape))
        fitted = estimator.set_params(random_state=0).fit(rows)
        factor = np.sqrt(2) if getattr(fitted, "noise_distribution_", "") == "laplace" else 1
        np.testing.assert_allclose(expected.noise_scale, factor * fitted.noise_scale_)
    assert "exactly" in str(expected)
    assert PrivateMean().expected_error(300, **FAST).noise_scale is None


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_errors_of_known_laws_have_the_planned_size(delta):
    n, total = 1000, PrivateSum((-2, 2), delta=delta)
    expected = total.expected_error(n, 1)
    X = rows_of(total, 1).draw(0, n)[0]
    assert np.sqrt(np.mean(expected.errors**2)) == pytest.approx(
        expected.noise_scale[0] / (n * X.std()), rel=0.04
    )


def test_the_budget_of_a_count_has_a_closed_form():
    sigma, half = 5.0, ndtri(0.75)
    count = PrivateCount(delta=1e-6)
    epsilon = count.epsilon_for(half * sigma / 2000, 2000)
    assert gaussian_sigma(epsilon, 1e-6) == pytest.approx(sigma, rel=0.05)
    n = count.n_rows_for(half * gaussian_sigma(1.0, 1e-6) / 5000)
    assert n == pytest.approx(5000, rel=0.05)
    assert count.epsilon_for(0.01, 500, quantile=0.9) > 1.5 * count.epsilon_for(0.01, 500)


# -- what errors are ------------------------------------------------------------------------------

# Estimator, number of columns, error that is small without privacy.
MEASURED = [
    (PrivateMean(), 3, 0.01),
    (PrivateMean(bounds=(-5, 5)), 3, 0.01),
    (PrivateMedian(), 2, 0.05),
    (PrivateQuantile(0.9), 2, 0.1),
    (PrivateTrimmedMean(), 2, 0.05),
    (PrivateVariance(), 2, 0.05),
    (PrivateMinMax(), 2, 1.0),
    (PrivateCount(), 1, 1e-3),
    (PrivateSum((-3, 3)), 2, 1e-3),
    (PrivateStandardScaler(), 2, 0.03),
    (PrivateRobustScaler(), 2, 0.1),
    (PrivateMinMaxScaler(), 2, 0.3),
    (HISTOGRAM, 1, 1e-3),
    (MarginalReleaser(2), 4, 0.01),
    (FriendlyCoreKMeans(3, n_init=1), 2, 0.3),
    (LloydKMeans(3), 2, 0.3),
    (PrivateGMM(2), 2, 0.2),
    (PrivateCovariance(), 3, 0.02),
    (PrivatePCA(1), 3, 0.02),
    (PrivateLinearRegression(), 3, 0.01),
    (PrivateLogisticRegression(classes=[0, 1]), 3, 0.02),
    (PrivateLogisticRegression(classes=["a", "b", "c"]), 3, 0.05),
    (PrivateAdditiveClassifier(classes=[0, 1]), 3, 0.05),
]


@pytest.mark.slow
@pytest.mark.parametrize("estimator, d, small", MEASURED, ids=str)
def test_errors_vanish_without_privacy_and_grow_with_it(estimator, d, small):
    free, dear = (
        estimator.expected_error(500, d, epsilon=epsilon, n_sims=2) for epsilon in (1e3, 0.3)
    )
    assert abs(free.median) <= small
    assert dear.median > free.median
    assert dear.low <= dear.median <= dear.high and dear.measure == free.measure


def test_every_estimator_has_a_measure_or_a_reason():
    named = {type(e).__name__ for e in ESTIMATORS if getattr(e, "_target", None) is None}
    assert named - set(KINDS) == {
        "FriendlyCoreFilter",
        "PrivateKBinsDiscretizer",  # of codes, and of numbers of several kinds
        "PrivatePipeline",
        "PrivateSearchCV",
        "PrivateSimpleImputer",
        "PrivateSummary",
    }
    with pytest.raises(ValueError, match="error of a FriendlyCoreFilter is"):
        FriendlyCoreFilter().expected_error(100)
    bounded = make_private_pipeline(SensitivityPreprocessor("mean", sensitivity=1.0))
    with pytest.raises(ValueError, match="Pass error="):
        bounded.expected_error(100)


def test_an_error_of_ones_own():
    def worst(fitted, X, y):
        return np.abs(fitted.location_ - X.mean(axis=0)).max()

    expected = PrivateMean().expected_error(500, 2, error=worst, **FAST)
    assert expected.measure == "worst" and np.all(expected.errors > 0)


@pytest.mark.slow
def test_of_chains_the_last_part_is_measured_on_what_it_has_seen():
    rng = np.random.default_rng(0)
    like = rng.normal(size=(2000, 4)) * [1, 10, 100, 1000]
    chain = make_private_pipeline(PrivateStandardScaler(), PrivateMean(), epsilon=2.0)
    expected = chain.expected_error(1500, like=like, n_sims=2)
    assert 0.001 < expected.median < 0.1
    denoised = make_private_pipeline(PrivateMean(), JamesSteinDenoiser(target="mean"), epsilon=0.15)
    plain = make_private_pipeline(PrivateMean(), epsilon=0.15)
    equal = np.ones(20) * 3 + rng.normal(size=(1000, 20))
    helped, raw = (p.expected_error(1000, like=equal, n_sims=7) for p in (denoised, plain))
    assert helped.median < 0.5 * raw.median


@pytest.mark.slow
def test_models_and_searches_are_measured_inside():
    model = make_private_pipeline(PrivateStandardScaler(), PrivateLogisticRegression(), epsilon=9.0)
    assert abs(model.expected_error(1000, 2, n_sims=2).median) < 0.2
    search = PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, mean_trials=2, epsilon=4.0)
    assert search.expected_error(500, 2, n_sims=1).measure == KINDS["PrivateMean"].name


# -- public rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_families_have_mean_zero_and_variance_one(family):
    scale = []
    for i in range(20):
        law, rows = np.random.default_rng([i, 0]), np.random.default_rng([i, 1])
        z = FAMILIES[family](law, rows, (4000, 3), 4)
        assert z.shape == (4000, 3) and np.isfinite(z).all()
        scale.append((z.mean(), z.var()))
    if family == "binary":
        assert set(np.unique(z)) == {0.0, 1.0}
    elif family != "clusters":  # of which one table is somewhere
        np.testing.assert_allclose(np.mean(scale, axis=0), (0, 1), atol=0.2)


def test_rows_lie_between_public_bounds():
    low, high = np.array([-1.0, 0.0]), np.array([1.0, 1e6])
    for estimator in (
        PrivateMean(bounds=(low, high)),
        PrivateHistogram(3, range=[(-1, 1), (0, 1e6)]),
        PrivateLinearRegression(feature_range=(low, high), target_range=(0, 1)),
        make_private_pipeline(PrivateMean(bounds=(low, high)), JamesSteinDenoiser()),
    ):
        rows = rows_of(estimator)
        X, y = rows.draw(0, 500)
        assert rows.n_features == 2 and np.array_equal(X, np.clip(X, low, high))
        assert np.all(np.ptp(X, axis=0) > (high - low) / 3)
        assert y is None or (y.min() >= 0 and y.max() <= 1)
    X, _ = rows_of(PrivateMean(center=1e6, radius=2.0)).draw(0, 500)
    assert np.abs(X - 1e6).max() < 8


def test_rows_take_the_public_levels_and_classes():
    X, _ = rows_of(MarginalReleaser(1, domain={"town": ["n", "s"], "k": 3})).draw(0, 200)
    assert isinstance(X, pd.DataFrame) and set(X["town"]) == {"n", "s"}
    assert set(X["k"]) == {0, 1, 2}
    codes = MarginalReleaser(2, domain={0: 3, 2: [5, 7]})
    assert rows_of(codes).draw(0, 100)[0].shape == (100, 3)
    assert 0 < codes.expected_error(500, **FAST).median < 0.1
    with pytest.raises(ValueError, match="like="):
        MarginalReleaser(1, domain={"a": ["x", ...]}).expected_error(100, **FAST)
    _, y = rows_of(PrivateLogisticRegression(classes=["a", "b", "c"])).draw(0, 300)
    assert set(y) == {"a", "b", "c"}


def test_rows_like_a_public_table():
    X, y = np.arange(60.0).reshape(30, 2), np.arange(30) % 2
    rows = rows_of(PrivateLogisticRegression(), like=(X, y))
    few, many = rows.draw(0, 10), rows.draw(0, 100)
    assert len(np.unique(few[0], axis=0)) == 10 and len(np.unique(many[0], axis=0)) <= 30
    for drawn in (few, many, rows.test(0, 10)):
        np.testing.assert_array_equal(drawn[1], drawn[0][:, 0] // 2 % 2)
    assert "public table" in str(rows)
    frame = pd.DataFrame({"a": ["x", "y"] * 20, "b": [0, 1] * 20})
    releaser = MarginalReleaser(1, domain={"a": ["x", "y", ...], "b": 2})
    assert 0 < releaser.expected_error(200, like=frame, **FAST).median < 1


def test_a_family_may_be_a_function():
    def ages(rng, n_rows, n_features):
        return rng.integers(18, 90, size=(n_rows, n_features)).astype(float)

    expected = PrivateMean().expected_error(500, 2, family=ages, **FAST)
    assert "ages rows" in str(expected) and expected.median < 0.5


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"n_rows": 0}, "n_rows must be"),
        ({"n_features": 1.5}, "n_features must be"),
        ({"n_sims": 0}, "n_sims must be"),
        ({"family": "gaussian"}, "family must be one of normal"),
        ({"family": [{0: 1, 1: 2}] * 3, "n_features": 2}, "one dict of quantiles for each of 2"),
        ({"group_size": 0}, "group_size must be"),
        ({"random_state": None}, "random_state must be"),
    ],
)
def test_what_cannot_be_planned_is_said(wrong, message):
    with pytest.raises(ValueError, match=message):
        HISTOGRAM.expected_error(**{"n_rows": 100} | wrong)


# -- how much epsilon, how many rows --------------------------------------------------------------


@pytest.mark.slow
def test_the_epsilon_that_is_found_is_enough_on_other_rows():
    epsilon = HISTOGRAM.epsilon_for(0.01, 2000)
    other = HISTOGRAM.expected_error(2000, epsilon=epsilon, random_state=1, n_sims=100)
    assert other.median == pytest.approx(0.01, rel=0.15)


def test_the_number_of_rows_that_is_found_is_enough_on_other_rows():
    n = HISTOGRAM.n_rows_for(0.01, 0.5)
    other = HISTOGRAM.expected_error(n, epsilon=0.5, random_state=1, n_sims=100)
    assert other.median == pytest.approx(0.01, rel=0.15)


@pytest.mark.slow
def test_pipelines_are_planned_as_a_whole():
    chain = make_private_pipeline(PrivateStandardScaler(), PrivateMean(), epsilon=0.4)
    epsilon = chain.epsilon_for(0.1, 900, 3, n_sims=5)
    enough, little = (
        chain.expected_error(900, 3, epsilon=e, n_sims=5).median for e in (epsilon, epsilon / 3)
    )
    assert enough < 0.11 and little > 0.1


def test_out_of_reach_is_said_with_the_way_out():
    with pytest.raises(ValueError, match="no epsilon up to 100 is enough for 1e-07 with 50 rows"):
        HISTOGRAM.epsilon_for(1e-7, 50, **FAST)
    with pytest.raises(ValueError, match="300 rows are too few for 1e-05"):
        HISTOGRAM.n_rows_for(1e-5, max_rows=300, **FAST)
    with pytest.raises(ValueError, match="target must be"):
        HISTOGRAM.epsilon_for(-1, 100)
    with pytest.raises(ValueError, match="quantile must be"):
        HISTOGRAM.n_rows_for(0.1, quantile=1.0)


@pytest.mark.slow
def test_how_well_the_median_is_known_is_told():
    expected = HISTOGRAM.expected_error(200, n_sims=40)
    low, high = expected.median_range
    ordered = np.sort(expected.errors)
    assert (low, high) == (ordered[14], ordered[25])  # P(14 or fewer of 40 below the median) < 0.05
    assert f"40 simulated fits: the median is known to {low:.3g} to {high:.3g}" in str(expected)
    assert "4000 draws of the noise" in str(PrivateCount().expected_error(100))
    few = HISTOGRAM.expected_error(200, n_sims=3)
    assert few.median_range == (few.errors.min(), few.errors.max())
    truth = np.median(HISTOGRAM.expected_error(200, n_sims=300, random_state=1).errors)
    plans = [HISTOGRAM.expected_error(200, n_sims=9, random_state=2 + i) for i in range(20)]
    covering = [low <= truth <= high for low, high in (plan.median_range for plan in plans)]
    assert sum(covering) >= 15


def test_columns_stand_where_real_ones_do():
    rows = rows_of(PrivateMean(), 400)
    X = np.vstack(
        [rows.draw(i, 300)[0].mean(axis=0) / rows.draw(i, 300)[0].std(axis=0) for i in (0, 1)]
    )
    assert np.median(X) == pytest.approx(1.8, rel=0.2) and np.mean(X > 9) < 0.2


def test_fits_that_are_worth_little_are_counted():
    expected = PrivateMean().expected_error(30, 5, epsilon=0.05, **FAST)
    assert expected.useless == 1 and "100% of fits" in str(expected)
    assert PrivateMean().expected_error(5000, **FAST).useless == 0


def test_models_are_judged_on_other_rows_of_the_same_law():
    def line(rng, n_rows, n_features):
        w, X = rng.normal(size=n_features), rng.normal(size=(n_rows, n_features))
        return X, X @ w + 1

    for family in (line, "normal"):
        rows = rows_of(PrivateLinearRegression(), 2, family)
        (X, y), (Z, z) = rows.draw(0, 300), rows.test(0, 300)
        assert len(X) == 300 and not np.isin(Z[:, 0], X[:, 0]).any()
        truth = [np.linalg.lstsq(np.c_[a, np.ones(len(a))], b)[0] for a, b in ((X, y), (Z, z))]
        np.testing.assert_allclose(*truth, rtol=0.5 if family == "normal" else 1e-9, atol=1e-9)


def test_fits_without_an_error_count_as_infinitely_wrong():
    def useless(fitted, X, y):
        return np.nan if fitted.noise_scale_ > 1 else 0.5 * fitted.noise_scale_

    count = PrivateCount(epsilon=0.2)
    expected = count.expected_error(100, error=useless, **FAST)
    assert expected.low == expected.median == expected.high == np.inf
    epsilon = count.epsilon_for(1.0, 100, error=useless, n_sims=1)
    assert gaussian_sigma(epsilon, 1e-6) == pytest.approx(1.0, rel=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [PrivateMean(), PrivateLinearRegression()])
def test_processes_change_no_error(estimator):
    one, two = (estimator.expected_error(300, n_sims=6, n_jobs=n) for n in (None, 2))
    assert one.errors.tobytes() == two.errors.tobytes()
    assert str(one) == str(two)


def test_the_progress_of_a_simulation_is_that_of_its_fits(capsys):
    with config_context(progress=True):
        PrivateMean().expected_error(200, n_sims=20)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("[PrivateMean, 200 rows, epsilon 1: fits] 2 of 20, ")
