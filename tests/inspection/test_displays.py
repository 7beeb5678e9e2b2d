import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from skdp import (  # noqa: E402
    FriendlyCoreKMeans,
    PrivacyLedger,
    PrivateCovariance,
    PrivateGroupBy,
    PrivateHistogram,
    PrivateMean,
    PrivateMedian,
    PrivateStandardScaler,
    PrivateSum,
    PrivateVariance,
)
from skdp.accounting import Budget, Plan, Step  # noqa: E402
from skdp.inspection import (  # noqa: E402
    BudgetDisplay,
    ElbowDisplay,
    IntervalDisplay,
    UtilityDisplay,
)
from tests._estimators import ESTIMATORS  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

X = np.random.default_rng(0).normal(size=(300, 3))


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def drawn(display):
    display.figure_.canvas.draw()
    assert display.ax_.figure is display.figure_
    return display


# -- the budget of a plan -------------------------------------------------------------------------


@pytest.mark.cases(18)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_every_plan_can_be_drawn(estimator):
    display = BudgetDisplay.from_plan(estimator)
    assert sorted(display.labels) == sorted(step.label for step in estimator.plan().steps)
    assert np.all(display.once > 0) and np.all(display.once <= display.in_all)
    assert np.all(display.in_all <= 1)


def test_shares_within_a_step_are_parts_of_the_share_of_the_step():
    steps = (
        Step("scale", "child", 0.25),
        Step("mean", "child", 0.75),
        Step("scale/count", at_most=0.5, times=2),
        Step("mean/core", "child", 0.5),
        Step("mean/core/filter", at_most=0.5, times=1),
        Step("mean/sum"),
        Step("mean/step", at_most=0.4, times=10),
        Step("alone", at_most=0.1, times=3),
    )
    display = drawn(BudgetDisplay.from_plan(Plan(Budget.gaussian(1.0, 1e-6), steps)))
    found = {
        x: (a, b) for x, a, b in zip(display.labels, display.once, display.in_all, strict=True)
    }
    assert found == {
        "scale": (0.25, 0.25),
        "scale/count": (0.125, 0.25),
        "mean": (0.75, 0.75),
        "mean/core": (0.375, 0.375),
        "mean/core/filter": (0.1875, 0.1875),
        "mean/sum": (0.75, 0.75),
        "mean/step": (pytest.approx(0.3), 0.75),
        "alone": (0.1, pytest.approx(0.3)),
    }
    heads = [label.split("/")[0] for label in display.labels]
    assert heads == sorted(heads, key=["scale", "mean", "alone"].index)  # together
    ticks = display.ax_.get_yticklabels()
    texts = ["scale", "count", "mean", "core", "core/filter", "sum", "step", "alone"]
    assert [tick.get_text() for tick in ticks] == texts
    bold = [tick.get_text() for tick in ticks if tick.get_fontweight() == "bold"]
    assert bold == ["scale", "mean"]
    assert "epsilon=1, delta=1e-06" in display.ax_.get_title()


def test_a_plan_is_drawn_where_one_likes():
    ax = plt.subplots()[1]
    display = BudgetDisplay.from_plan(PrivateMean(epsilon=2.0).plan(), ax=ax)
    assert display.ax_ is ax and display.plot().ax_ is not ax
    assert display.unit == r"$\mu^2$"
    histogram = BudgetDisplay.from_plan(PrivateHistogram(delta=0.0))
    assert histogram.unit == "epsilon" and histogram.name.startswith("PrivateHistogram")


# -- intervals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator, value",
    [
        (PrivateMean(), "location_"),
        (PrivateMean(denoiser="auto"), "location_"),
        (PrivateMedian(), "location_"),
        (PrivateVariance(), "var_"),
        (PrivateHistogram(bins=3), "counts_"),
        (PrivateSum(bounds=(0, 100)), "sum_"),
    ],
    ids=str,
)
def test_intervals_of_everything_that_has_some(estimator, value):
    estimator.set_params(random_state=0).fit(X)
    display = drawn(IntervalDisplay.from_estimator(estimator, 0.9, simultaneous=True))
    lower, upper = estimator.interval(0.9, simultaneous=True)
    np.testing.assert_array_equal(display.lower, lower.ravel())
    np.testing.assert_array_equal(display.upper, upper.ravel())
    np.testing.assert_array_equal(display.values, getattr(estimator, value).ravel())
    assert "90% intervals, all together" in display.ax_.get_title()


class Unknown:
    """Three intervals, two of which say nothing."""

    def interval(self, confidence):
        lower = np.array([-1.7e308, 1.0, -np.inf])
        return lower, np.array([1.7e308, 2.0, np.inf])


@pytest.mark.filterwarnings("ignore:invalid value")  # the middle of -inf and inf
def test_intervals_without_ends_are_dotted():
    display = drawn(IntervalDisplay.from_estimator(Unknown()))
    lines = [line for line in display.ax_.get_lines() if line.get_linestyle() == ":"]
    assert [line.get_ydata()[0] for line in lines] == [0, 2]
    assert np.ptp(display.ax_.get_xlim()) < 10


def test_the_list_of_intervals_is_complete():
    """A new estimator with intervals joins the test above."""
    have = {type(e).__name__ for e in ESTIMATORS if hasattr(e, "interval")}
    assert have <= {
        "MarginalReleaser",
        "PrivateAdditiveClassifier",  # of terms, which have a display of their own
        "PrivateBoostingClassifier",
        "PrivateBoostingRegressor",
        "PrivateAdditiveRegressor",
        "PrivateClassifierReport",  # of metrics by name, which have displays of their own
        "PrivateConfusionMatrix",
        "PrivateRegressionReport",
        "PrivateCount",  # of one number
        "PrivateHistogram",
        "PrivateLinearRegression",  # of coefficients and intercept
        "PrivateLogisticRegression",
        "PrivateMean",
        "PrivateMedian",
        "PrivateQuantile",
        "PrivateRidge",
        "PrivateSum",
        "PrivateTrimmedMean",
        "PrivateVariance",
    }


def test_names_of_values():
    pd = pytest.importorskip("pandas")
    named = PrivateMean(random_state=0).fit(pd.DataFrame(X, columns=["delay", "distance", "hour"]))
    assert IntervalDisplay.from_estimator(named).names == ["delay", "distance", "hour"]
    assert IntervalDisplay.from_estimator(PrivateMean(random_state=0).fit(X)).names[0] == "column 0"
    cells = PrivateHistogram(bins=2, range=[(-1, 1)] * 2, random_state=0).fit(X[:, :2])
    display = drawn(IntervalDisplay.from_estimator(cells, simultaneous=False))
    assert display.names == ["cell 0, 0", "cell 0, 1", "cell 1, 0", "cell 1, 1"]
    many = PrivateHistogram(bins=200, range=(-1, 1), random_state=0).fit(X[:, :1])
    drawn(IntervalDisplay.from_estimator(many))


# -- utility --------------------------------------------------------------------------------------


def error(fitted, X):
    return np.linalg.norm(fitted.location_ - X.mean(axis=0))


def test_utility_against_epsilon():
    display = drawn(
        UtilityDisplay.from_estimator(
            PrivateMean(), X, epsilons=[0.3, 10.0], metric=error, n_repeats=5, random_state=3
        )
    )
    assert display.utilities.shape == (2, 5) and len(np.unique(display.utilities)) == 10
    assert np.median(display.utilities[1]) < np.median(display.utilities[0])
    assert "must be public or synthetic" in display.ax_.get_title()
    assert display.ax_.get_ylabel() == "error" and display.ax_.get_xscale() == "log"
    again = UtilityDisplay.from_estimator(
        PrivateMean(), X, epsilons=[0.3, 10.0], metric=error, n_repeats=5, random_state=3
    )
    np.testing.assert_array_equal(display.utilities, again.utilities)
    assert again.plot(quantiles=(0, 1)).ax_ is not again.ax_


def test_the_score_is_the_default_metric():
    kmeans = FriendlyCoreKMeans(2, n_init=1)
    display = UtilityDisplay.from_estimator(kmeans, X, epsilons=[1.0], n_repeats=2)
    assert display.metric_name == "score" and np.all(display.utilities < 0)
    with pytest.raises(ValueError, match="PrivateMean has no score"):
        UtilityDisplay.from_estimator(PrivateMean(), X)


def test_public_rows_cost_nothing_and_the_estimator_stays_as_it_was():
    ledger = PrivacyLedger(1.0, 1e-6)
    mean = PrivateMean(ledger=ledger)
    UtilityDisplay.from_estimator(mean, X, epsilons=[1.0, 2.0], metric=error, n_repeats=2)
    assert ledger.spent().amount == 0 and mean.ledger is ledger and not hasattr(mean, "location_")


def test_a_step_of_a_pipeline_may_be_varied():
    from sklearn.pipeline import make_pipeline

    ledger = PrivacyLedger(1.0, 1e-6)
    pipe = make_pipeline(PrivateStandardScaler(ledger=ledger), FriendlyCoreKMeans(2, n_init=1))
    display = UtilityDisplay.from_estimator(
        pipe, X, epsilons=[1.0], param_name="friendlycorekmeans__epsilon", n_repeats=2
    )
    assert display.utilities.shape == (1, 2) and ledger.spent().amount == 0


def test_covariances_have_plans_of_nested_children():
    display = drawn(BudgetDisplay.from_plan(PrivateCovariance(method="friendly")))
    nested = dict(zip(display.labels, display.in_all, strict=True))
    assert nested["friendly/part filter"] <= nested["friendly"] < 1


def test_the_elbow_of_released_cells():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6000, 2)) + rng.choice([-30.0, 0.0, 30.0], size=(6000, 1))
    kmeans = FriendlyCoreKMeans("auto", n_init=2, max_clusters=6, random_state=0).fit(rows)
    display = drawn(ElbowDisplay.from_estimator(kmeans))
    assert display.n_clusters == 3 and np.array_equal(display.costs, kmeans.cost_curve_)
    assert display.ax_.get_yscale() == "log" and len(display.ax_.lines) == 2
    assert display.plot(plt.subplots()[1]).ax_ is not display.ax_
    with pytest.raises(ValueError, match='n_clusters="auto"'):
        ElbowDisplay.from_estimator(FriendlyCoreKMeans(2, n_init=1, random_state=0).fit(X))


def test_the_error_to_expect_of_tables_of_several_sizes():
    histogram, ax = PrivateHistogram(4, range=(-4, 4)), plt.subplots()[1]
    plan = {"epsilons": [0.3, 3.0], "n_sims": 5}
    display = drawn(UtilityDisplay.from_plan(histogram, (200, 2000), 1, ax=ax, **plan))
    assert display.utilities.shape == (2, 2, 5) and display.ax_ is ax
    middle = np.median(display.utilities, axis=-1)
    assert np.all(middle[0] > middle[1]) and np.all(middle[:, 0] > middle[:, 1])
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert told == ["200 rows", "2,000 rows", "10% to 90% of 5 fits"]
    assert not ax.get_xticks(minor=True).size
    assert ax.get_yscale() == "log" and "normal rows" in ax.get_title()
    one = drawn(UtilityDisplay.from_plan(histogram, 200, 1, **plan))
    np.testing.assert_array_equal(one.utilities[0], display.utilities[0])


@pytest.mark.parametrize("by", [0, [0, 2]])
def test_results_by_group_are_drawn_with_their_groups(by):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(2, size=900), rng.normal(size=900), np.ones(900)])
    levels = [0, 1] if by == 0 else [(0, 1), (1, 1)]
    mean = PrivateMean(bounds=(-5, 5))
    results = PrivateGroupBy(mean, by, levels, epsilon=9.0, random_state=0).fit(X).results()
    display = drawn(IntervalDisplay.from_results(results, title="by group"))
    assert display.names == (["0: x0", "0: x1", "1: x0", "1: x1"] if by == 0 else ["0, 1", "1, 1"])
    assert np.all((display.lower < display.values) & (display.values < display.upper))
