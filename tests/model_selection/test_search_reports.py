"""Scores of runs that are metrics of reports, and tables that are too small for a search."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from skdp import PrivateAdditiveClassifier, PrivateLogisticRegression, PrivateRidge
from skdp.accounting import gaussian_delta
from skdp.accounting._selection import selection_delta
from skdp.audit import conditional_sensitivity, non_interference
from skdp.mechanisms._repeats import trials_of
from skdp.metrics import PrivateClassifierReport
from skdp.model_selection import PrivateSearchCV, ReportScorer
from skdp.model_selection._budgets import OF_ALONE, least_rows, search_budgets
from skdp.model_selection._scoring import _worst_where_missing

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]


def drawn(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (rng.logistic(size=n) < 2 * X[:, 0]).astype(int)


def searched(estimator=None, candidates=None, **given):
    estimator = estimator or PrivateLogisticRegression(classes=[0, 1])
    given = {"epsilon": 4.0, "mean_trials": 2, "random_state": 0, "min_rows": 0} | given
    return PrivateSearchCV(estimator, candidates or {"C": [0.1, 1.0]}, **given)


@pytest.mark.parametrize(("epsilon", "delta", "share"), [(0.3, 1e-6, 0.0), (4.0, 1e-9, 0.1)])
def test_the_search_and_the_fit_in_its_place_keep_the_claim_together(epsilon, delta, share):
    trials = trials_of(1.0, 6.0)
    budgets = search_budgets(epsilon, delta, trials, 5, share, True)
    before = [budgets.count] + ([budgets.reference] if share else [])
    spent = budgets.run.amount + sum(one.amount for one in before)
    part = float(1 - budgets.run.amount / spent)
    search = selection_delta(trials, math.sqrt(spent) * (1 + 1e-12), epsilon, before=part)
    alone = gaussian_delta(1 / math.sqrt(budgets.count.amount + budgets.alone.amount), epsilon)
    failure = 6 * budgets.run.failure + sum(one.failure for one in before)
    failure += budgets.count.failure + budgets.alone.failure
    total = search + alone + (1 + math.exp(epsilon)) * float(failure)
    assert 0.8 * delta < total <= delta
    assert alone > 0.8 * float(OF_ALONE) * delta
    assert (float(budgets.total.epsilon), float(budgets.total.delta)) == (epsilon, delta)


def test_a_curve_of_both_is_above_the_claim_of_each():
    trials = trials_of(1.0, 6.0)
    budgets = search_budgets(1.0, 1e-6, trials, 5, 0.0, True)
    mu = math.sqrt(budgets.count.amount + budgets.alone.amount)
    assert all(d >= gaussian_delta(1 / mu, e) for e, d in budgets.total.curve)


def test_pure_searches_count_too():
    budgets = search_budgets(3.0, 0.0, trials_of(1.0, 6.0), 5, 0.0, True)
    assert budgets.count.amount + 3 * budgets.run.amount <= 3
    assert 2.9 < budgets.count.amount + budgets.alone.amount <= 3


def test_few_rows_are_given_one_fit_of_the_estimator_as_it_is():
    X, y = drawn()
    search = searched(min_rows="auto").fit(X, y)
    assert (search.best_params_, search.best_index_, search.best_report_) == ({}, -1, None)
    assert math.isnan(search.best_score_)
    assert search.best_estimator_.C == PrivateLogisticRegression().C
    again = clone(search.best_estimator_).fit(X, y)  # all rows, with the budget of the plan
    assert np.array_equal(again.coef_, search.best_estimator_.coef_)
    assert "too few rows for a search" in str(search.privacy_report_)
    assert len(search.privacy_report_.charges) == 1
    notes = search.plan().assumptions
    least = least_rows(4.0, 1e-6)
    assert notes[-1].startswith(f"fewer than about {least} rows, by a noisy count: no search")
    assert any(note.startswith("expected time: 2 fits on 0.7 of the rows") for note in notes)


@pytest.mark.slow
def test_rare_classes_count_less():
    X, y = drawn(2000)
    y = np.where(np.arange(len(y)) % 100, 0, y)  # half a percent
    given = {"min_rows": 300, "epsilon": 8.0}
    assert searched(**given).fit(X, y).best_index_ == -1
    assert searched(**given).fit(*drawn(2000)).best_index_ >= 0


def test_zero_rows_always_search_and_release_no_count():
    trials = trials_of(1.0, 2.0)
    assert searched()._planned()[1] == search_budgets(4.0, 1e-6, trials, 2, 0.0)
    regressor = PrivateSearchCV(PrivateRidge(), {"alpha": [1.0]}, min_rows=0)
    assert not any("no search" in note for note in regressor.plan().assumptions)


def test_the_winner_has_a_report_of_the_held_out_rows():
    X, y = drawn(3000)
    search = searched().fit(X, y)
    report = search.best_report_
    assert isinstance(report, PrivateClassifierReport)
    assert search.best_score_ == report.roc_auc_
    assert report.n_rows_ == pytest.approx(900, abs=150)
    exact = roc_auc_score(y, search.predict_proba(X)[:, 1])
    low, high = report.interval("roc_auc", confidence=0.9999, sampling=True)
    assert low <= exact <= high
    assert report.epsilon == pytest.approx(float(search._planned()[1].run.epsilon))


@pytest.mark.parametrize("scoring", ["neg_brier_score", ReportScorer("log_loss")])
def test_losses_have_a_minus_sign(scoring):
    search = searched(scoring=scoring).fit(*drawn())
    assert -1 < search.best_score_ < 0


@pytest.mark.parametrize(("scoring", "least"), [("neg_mean_absolute_error", -1.2), ("r2", 0.3)])
def test_numbers_have_reports_too(scoring, least):
    X, _ = drawn(2000)
    y = 1e6 + X[:, 0] + np.random.default_rng(1).normal(size=len(X))
    search = searched(PrivateRidge(), {"alpha": [0.1, 1.0]}, scoring=scoring, epsilon=8.0).fit(X, y)
    assert search.best_score_ > least


def test_three_classes_have_the_mean_area():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 2)), rng.integers(0, 3, size=1500)
    model = PrivateAdditiveClassifier(classes=[0, 1, 2])
    X[np.arange(1500), np.minimum(y, 1)] += 3.0 * (y < 2)
    search = searched(model, {"n_bins": [4, 8]}, epsilon=8.0).fit(X, y)
    assert search.best_score_ == search.best_report_.roc_auc_ > 0.7


@pytest.mark.parametrize("y", [np.zeros(50), np.arange(50) % 2], ids=["one class", "50 rows"])
def test_scores_of_which_nothing_is_known_are_the_lowest(y):
    search = searched(epsilon=0.1).fit(np.random.default_rng(0).normal(size=(50, 2)), y)
    assert search.best_score_ == -np.inf or math.isnan(search.best_score_)
    assert search.best_report_ is not None and math.isnan(search.best_report_.roc_auc_)
    assert search.predict(np.zeros((1, 2))).shape == (1,)


def test_a_row_that_fails_counts_as_badly_as_can_be():
    scores = np.array([[0.2, 0.8], [np.nan, np.nan], [0.5, np.nan]])
    told = _worst_where_missing(scores, np.array([1.0, 1.0, 0.0]), np.array([0, 1]))
    assert told.tolist() == [[0.2, 0.8], [1.0, 0.0], [0.0, 1.0]]
    three = _worst_where_missing(
        np.full((1, 3), np.nan), np.array(["b"]), np.array(["a", "b", "c"])
    )
    assert three.tolist() == [[0.5, 0.0, 0.5]]


def test_metrics_are_named():
    with pytest.raises(ValueError, match="metric must be one of 'roc_auc'"):
        ReportScorer("gini")


def test_persons_are_held_out_and_counted_whole():
    X, y = drawn(2000)
    ids = np.repeat(np.arange(500), 4)
    search = searched(epsilon=8.0).fit(X, y, groups=ids)
    assert search.best_report_.n_rows_ == pytest.approx(150, abs=40)
    assert search.best_report_.privacy_report_.privacy_unit == "group"
    few = searched(epsilon=8.0, min_rows=1000).fit(X, y, groups=ids)
    assert few.best_index_ == -1 and few.best_estimator_.privacy_report_.privacy_unit == "group"


def audited(**given):
    model = PrivateLogisticRegression(classes=[0, 1])
    return searched(model, {"C": [1.0]}, random_state=None, **given)


@pytest.mark.slow
@pytest.mark.parametrize("given", [{}, {"min_rows": 30}], ids=["always", "by a count"])
def test_the_two_layers_of_the_audit(given):
    X, y = drawn(60)
    tables = {"one class": (X, np.zeros(60, dtype=int)), "few": (X[:4], y[:4])}
    report = non_interference(audited(**given), X, y, n_transcripts=2, datasets=tables)
    assert {"cells", "places"} & set(report.releases)
    report = conditional_sensitivity(audited(**given), X, y, n_pairs=6)
    assert report.ratio <= 1
    assert ("rows of a search" in report.worst) == bool(given)


@pytest.mark.parametrize("score", [-math.inf, math.nan])
def test_a_score_of_which_nothing_is_known_is_nan(score):
    assert math.isnan(ReportScorer("roc_auc").value(score))
    assert ReportScorer("roc_auc").value(0.75) == 0.75
