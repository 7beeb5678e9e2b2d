"""What errors show of what was passed: never an entry of a table, and the way out."""

import inspect
import re
from operator import attrgetter

import numpy as np
import pandas as pd
import pytest

import skdp
import skdp.metrics
import skdp.remote
import skdp.stats
from skdp.marginals import Bins
from skdp.utils import _renamed

ROWS = pd.DataFrame({"wage": np.arange(40.0) + 7654, "town": ["north", "south"] * 20})
CALLS = {
    "epsilon": lambda X: skdp.PrivateMean(epsilon=X["wage"]).fit(X),
    "n_clusters": lambda X: skdp.FriendlyCoreKMeans(X).fit(X),
    "random_state": lambda X: skdp.PrivateMean(random_state=list(X["wage"])).fit(X),
    "n_rows": lambda X: skdp.PrivateMean().expected_error(X),
    "target": lambda X: skdp.PrivateCount().epsilon_for(X["wage"], n_rows=100),
    "family": lambda X: skdp.PrivateMean().expected_error(100, n_features=1, family=X["wage"]),
    "confidence": lambda X: skdp.PrivateCount(random_state=0).fit(X[["wage"]]).interval(X["wage"]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
def test_a_table_in_the_place_of_a_parameter_is_not_shown(name):
    with pytest.raises(ValueError, match=f"{name}.*Got an object of type") as seen:
        CALLS[name](ROWS)
    assert "76" not in str(seen.value)


def test_other_parameters_are_shown():
    with pytest.raises(ValueError, match=r"Got '1\.0' instead"):
        skdp.PrivateMean(epsilon="1.0").fit(ROWS[["wage"]])


@pytest.mark.parametrize(
    "model",
    [
        skdp.PrivateMean(random_state=0),
        skdp.PrivateMean(bounds=(0, 9000), random_state=0),
        skdp.PrivateVariance(random_state=0),
        skdp.PrivateVariance(bounds=(0, 9000), random_state=0),
        skdp.PrivateMedian(random_state=0),
        skdp.PrivateLinearRegression(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
@pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
def test_sampling_of_an_interval_is_a_truth_value(model):
    model.fit(ROWS[["wage"]], ROWS["wage"])
    for right in (True, False, np.True_):
        model.interval(sampling=right)
    with pytest.raises(ValueError, match="Got 'robust'"):
        model.interval(sampling="robust")


def test_a_key_that_no_column_has_is_shown_beside_those_there_are():
    model = skdp.PrivateGroupBy(skdp.PrivateMean(), "twon", ["north"])
    with pytest.raises(ValueError, match=r"Got 'twon'; X has \['wage', 'town'\]"):
        model.fit(ROWS)


@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
def test_ends_of_a_range_are_told_beside_the_nearest_edges():
    bins = Bins(np.arange(0.0, 10000, 10))
    fit = skdp.MarginalReleaser(1, domain={"wage": bins}, random_state=0).fit(ROWS[["wage"]])
    with pytest.raises(ValueError, match=r"Got 5005; .* \[4980.0, 4990.0, 5000.0, 5010.0"):
        fit.count_between("wage", 5005, None)
    with pytest.raises(ValueError, match="Got '1'; the nearest"):
        fit.count_between("wage", "1", None)


def test_a_domain_of_too_few_columns_says_how_to_name_the_others():
    with pytest.raises(ValueError, match=r'n_features = 1\. Pass a smaller k.* "auto"'):
        skdp.MarginalReleaser(k=2, domain={"town": ["north", "south"]}).fit(ROWS)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: skdp.PrivateMean(ledger="study.db"), "PrivacyLedger.open"),
        (lambda: skdp.PrivateQuantile(90), "90 % is 0.9"),
        (lambda: skdp.PrivateMean(epsilon="1"), "without quotes"),
    ],
)
def test_frequent_mistakes_get_a_way_out(make, words):
    with pytest.raises(ValueError, match=words):
        make().fit(np.zeros((10, 1)))


def test_a_refusal_says_what_is_left():
    ledger = skdp.PrivacyLedger(epsilon=1.0, delta=1e-6)
    with pytest.raises(skdp.exceptions.BudgetExceeded) as refusal:
        skdp.PrivateMean(epsilon=2.0, delta=1e-6, ledger=ledger).fit(np.zeros((10, 1)))
    assert "asks for (epsilon=2, delta=1e-06), and (epsilon=1, delta=1e-06)" in str(refusal.value)


CALLED = {  # what is written out of habit: what the error names
    "PrivateKMeans": "skdp.FriendlyCoreKMeans or skdp.LloydKMeans",
    "StandardScaler": "skdp.PrivateStandardScaler",
    "PrivateStandardScalar": "skdp.PrivateStandardScaler",
    "mean": "skdp.PrivateMean",
    "DPLogisticRegression": "skdp.PrivateLogisticRegression",
    "XGBClassifier": "skdp.PrivateBoostingClassifier",
    "GridSearchCV": "skdp.PrivateSearchCV",
    "ttest_ind": "skdp.stats.private_ttest_ind",
    "PrivateClassifierReport": "skdp.metrics.PrivateClassifierReport",
    "BudgetAccountant": "skdp.PrivacyLedger",
    "connect": "skdp.remote.connect",
}


@pytest.mark.parametrize("name", CALLED)
def test_a_name_of_another_library_tells_ours(name):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'. Use {CALLED[name]}$"):
        getattr(skdp, name)


def test_names_that_nobody_means_tell_nothing():
    for name in ("zzz", "_hidden", "__path_of__"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'$"):
            getattr(skdp, name)


@pytest.mark.parametrize(
    ("kind", "name", "told"),
    [
        (skdp.PrivateMean, "eps", "Use epsilon="),
        (skdp.PrivateMean, "range", "Use bounds="),
        (skdp.PrivateMean, "epsilom", "Use epsilon="),
        (skdp.LloydKMeans, "k", "Use n_clusters="),
        (skdp.PrivateQuantile, "quantiles", "Use q="),
        (skdp.PrivateRidge, "accountant", "Use ledger="),
        (skdp.metrics.PrivateClassifierReport, "seed", "Use random_state="),
        (skdp.PrivateMean, "zzz", "There are .*epsilon, "),
    ],
)
def test_an_unknown_parameter_tells_the_known_one(kind, name, told):
    with pytest.raises(TypeError, match=f"^{kind.__name__} has no parameter '{name}'. {told}"):
        kind(**{name: 1})


@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
def test_an_unknown_attribute_tells_the_known_one():
    with pytest.raises(AttributeError, match=r"'coef_': it is not fitted yet\. Call fit first$"):
        _ = skdp.PrivateRidge().coef_
    mean = skdp.PrivateMean(bounds=(0, 9000), random_state=0).fit(ROWS[["wage"]])
    for name in ("location", "mean_", "locaton_"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'. Use location_$"):
            getattr(mean, name)
    with pytest.raises(AttributeError, match=r"no attribute 'predict'$"):
        _ = mean.predict
    clusters = skdp.LloydKMeans(2, bounds=(0, 9000), random_state=0).fit(ROWS[["wage"]])
    with pytest.raises(AttributeError, match="keeps no labels: they are private"):
        _ = clusters.labels_  # an error of our own is not replaced


def test_what_is_meant_is_there():
    for text in _renamed.CLASSES.values():
        for path in re.findall(r"skdp\.[\w.]+\w", text):
            assert attrgetter(path.removeprefix("skdp."))(skdp) is not None
    public = [getattr(skdp, name) for name in skdp.__all__]
    kinds = [one for one in public if isinstance(one, type)]
    parameters = {name for one in kinds for name in inspect.signature(one).parameters}
    assert {one for names in _renamed.PARAMETERS.values() for one in names} <= parameters
    pages = " ".join(one.__doc__ for one in kinds)
    named = {one for names in _renamed.ATTRIBUTES.values() for one in names}
    named -= {one for one in named if any(callable(getattr(kind, one, None)) for kind in kinds)}
    assert [one for one in named if not re.search(rf"\b{one}\b.* : ", pages)] == []


@pytest.mark.parametrize(
    "asked, use",
    [
        (lambda: skdp.stats.private_ttest, "skdp.stats.private_ttest_ind"),
        (lambda: skdp.stats.pearsonr, "skdp.stats.private_pearsonr"),
        (lambda: skdp.PrivateSummary().to_df, "to_frame"),
    ],
)
def test_names_of_other_libraries_are_answered(asked, use):
    with pytest.raises(AttributeError, match=rf"Use {re.escape(use)}$"):
        asked()


@pytest.mark.parametrize("X", [{"wage": [1.0, 2.0]}, [{"wage": 1.0}, {"wage": 2.0}]])
def test_a_dict_is_no_table(X):
    with pytest.raises(TypeError, match=r"Got a dict.*pass pandas\.DataFrame\(X\)\.$"):
        skdp.PrivateMean().fit(X)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    "estimator",
    [skdp.PrivateMean(), skdp.PrivateSummary(), skdp.MarginalReleaser(k=1, domain="auto")],
    ids=repr,
)
def test_a_series_is_no_table(library, estimator):
    X = pytest.importorskip(library).Series(["north", "south"])
    with pytest.raises(ValueError, match=r"Got one column: pass X\.to_frame\(\)"):
        estimator.fit(X)
