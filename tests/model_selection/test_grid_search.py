"""scikit-learn's searches over every public parameter, and what they charge."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from skdp import (
    FriendlyCoreKMeans,
    JamesSteinDenoiser,
    PrivacyLedger,
    PrivateHistogram,
    PrivateMean,
    PrivateStandardScaler,
)
from skdp.accounting import Budget
from skdp.audit._tables import example
from skdp.exceptions import WeakGuaranteeWarning
from tests._estimators import ESTIMATORS

X = np.random.default_rng(0).normal(size=(80, 2))
SCORES = np.random.default_rng(0).normal(size=(80, 3))  # for reports of predictions


def constant(estimator, X, y=None):
    """Return a score for estimators without one."""
    return 0.0


def charges(ledger):
    return [entry for entry in ledger.entries() if entry.kind == "charge"]


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_every_parameter_goes_through_a_grid(estimator):
    """Each with its own value, epsilon with two; a ledger of basic composition takes any unit."""
    ledger = PrivacyLedger(1e4, 0.5, composition="basic")
    grid = {name: [value] for name, value in estimator.get_params(deep=False).items()}
    epsilons = [estimator.epsilon, 1.5 * estimator.epsilon]
    grid |= {"epsilon": epsilons, "ledger": [ledger]}
    search = GridSearchCV(clone(estimator), grid, cv=2, scoring=constant)
    reports = type(estimator).__module__.startswith("skdp.metrics")
    example(estimator, SCORES if reports else X).fit(search)
    assert search.best_estimator_.get_params(deep=False).keys() == grid.keys()
    assert search.best_estimator_.ledger is ledger
    assert set(grid) == {
        name.removeprefix("param_") for name in search.cv_results_ if "param_" in name
    }
    refit = search.best_params_["epsilon"]
    exact = sum(Fraction(str(e)) for e in [*epsilons, *epsilons, refit])
    assert ledger.spent().amount == exact and len(charges(ledger)) == 5
    assert {entry.what for entry in charges(ledger)} == {type(estimator).__name__}


def test_every_parameter_can_be_set_and_survives_cloning():
    for estimator in ESTIMATORS:
        for name in estimator.get_params(deep=False):
            other = clone(estimator).set_params(**{name: "another value"})
            assert clone(other).get_params(deep=False)[name] == "another value"
            untouched = {**other.get_params(deep=False), name: None}
            assert str(untouched) == str({**estimator.get_params(deep=False), name: None})


def test_values_that_are_arrays_or_objects():
    grid = {
        "center": [None, np.zeros(2), [0.0, 1.0]],
        "denoiser": [None, "auto", JamesSteinDenoiser()],
    }
    search = GridSearchCV(PrivateMean(), grid, cv=2, scoring=constant).fit(X)
    assert len(search.cv_results_["params"]) == 9
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    histogram = PrivateHistogram(epsilon=4.0)
    grid = {"bins": [3, [4, 5], "auto"], "range": [None, (-3, 3)], "noise": ["auto", "gaussian"]}
    search = GridSearchCV(histogram, grid, cv=2, scoring=constant).fit(X)
    assert len(search.cv_results_["params"]) == 12


def error(estimator, X, y=None):
    return -np.linalg.norm(estimator.location_ - X.mean(0))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
@pytest.mark.parametrize("with_ledger, n_jobs", [(False, 1), (True, 1), (True, 2)])
def test_a_mean_by_its_error(tmp_path, n_jobs, with_ledger):
    """At epsilon 0.001 there is nothing but noise: the search must see which is better."""
    ledger = PrivacyLedger(tmp_path / "study.db", epsilon=100, delta=1e-4) if with_ledger else None
    grid = {"epsilon": [1e-3, 10.0], "delta": [1e-7, 1e-6]}
    mean = PrivateMean(ledger=ledger, random_state=0)
    search = GridSearchCV(mean, grid, cv=3, scoring=error, n_jobs=n_jobs).fit(X + 1e3)
    assert search.best_params_["epsilon"] == 10.0
    if with_ledger:
        pairs = [(e, d) for e in grid["epsilon"] for d in grid["delta"]] * 3
        pairs.append(tuple(search.best_params_.values())[::-1])
        budgets = [ledger.admit(Budget.gaussian(*pair)) for pair in pairs]
        assert ledger.spent().amount == sum(budget.amount for budget in budgets)
        assert ledger.spent().failure == sum(budget.failure for budget in budgets)
        assert len(charges(ledger)) == 13


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_clusters_over_their_number_and_epsilon(n_jobs):
    ledger = PrivacyLedger(1000, 1e-3)
    grid = {"n_clusters": [1, 2], "epsilon": [1.0, 2.0]}
    search = GridSearchCV(FriendlyCoreKMeans(n_init=1, ledger=ledger), grid, cv=2, n_jobs=n_jobs)
    search.fit(X)
    assert search.best_estimator_.cluster_centers_.shape == (search.best_params_["n_clusters"], 2)
    spent = [Budget.gaussian(e, 1e-6).amount for e in [1.0, 2.0] * 4]
    spent.append(Budget.gaussian(search.best_params_["epsilon"], 1e-6).amount)
    assert ledger.spent().amount == sum(spent) and len(charges(ledger)) == 9


def test_a_random_search_over_a_pipeline_charges_every_private_step():
    ledger = PrivacyLedger(1000, 1e-3)
    pipe = make_pipeline(PrivateStandardScaler(ledger=ledger), PrivateMean(ledger=ledger))
    grid = {"privatestandardscaler__epsilon": [1.0, 2.0, 4.0], "privatemean__epsilon": [1.0, 2.0]}
    RandomizedSearchCV(pipe, grid, n_iter=3, cv=2, scoring=constant, random_state=0).fit(X)
    names = [entry.what for entry in charges(ledger)]
    assert names == ["PrivateStandardScaler", "PrivateMean"] * 7


@pytest.mark.parametrize("ledger", [None, PrivacyLedger(1e3, 1e-2)])
def test_a_search_of_sklearn_says_once_that_every_fit_costs(ledger, monkeypatch):
    monkeypatch.setattr("skdp.utils._warnings.TOLD", set())
    mean = PrivateMean(bounds=(-9, 9), ledger=ledger)
    grid = GridSearchCV(mean, {"epsilon": [1.0, 2.0]}, cv=2, scoring=error)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", WeakGuaranteeWarning)
        mean.fit(X)
        assert not caught
        grid.fit(X)
        cross_val_score(mean, X, cv=3, scoring=error)
    texts = [str(one.message) for one in caught]
    assert len(texts) == (2 if ledger is None else 0)
    assert all("PrivateSearchCV" in one and "private_cross_val_score" in one for one in texts)
    assert all(one.filename == __file__ for one in caught)


def test_a_search_of_sklearn_spends_nothing_where_warnings_are_errors(monkeypatch):
    monkeypatch.setattr("skdp.utils._warnings.TOLD", set())
    mean = PrivateMean(bounds=(-9, 9))
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakGuaranteeWarning)
        for _ in range(2):
            with pytest.raises(WeakGuaranteeWarning):
                cross_val_score(mean, X, cv=2, scoring=error, error_score="raise")
