"""Searches over supervised estimators: scores of private targets with public clips."""

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV

from skdp import (
    PrivacyLedger,
    PrivateSearchCV,
    RowMap,
    config_context,
    make_private_pipeline,
)
from skdp.audit import conditional_sensitivity, non_interference
from skdp.exceptions import PlanError
from skdp.model_selection import LogLossScorer, SquaredErrorScorer
from skdp.model_selection._scoring import scorer_of
from tests._supervised import BoundedCentroids, BoundedLine

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
LOUD = {"epsilon": 400.0, "random_state": 0, "mean_trials": 8}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2)) * 3
    return X, X @ [1.0, -0.5] + 0.1 * rng.normal(size=1500)


def labels(y):
    return np.where(y > 0, "high", "low")


def centroids(**given):
    return BoundedCentroids(classes=["low", "high"], **given)


@pytest.mark.slow
def test_lines_are_chosen_by_their_squared_error(table):
    X, y = table
    search = PrivateSearchCV(BoundedLine(), {"bound": [0.01, 12.0]}, **LOUD).fit(X, y)
    assert search.best_params_ == {"bound": 12.0} and search.score(X, y) > 0.95
    assert search.best_score_ == pytest.approx(1, abs=0.05) and is_regressor(search)
    assert not search.plan().assumptions[1].startswith("reference")  # target_range is public


def test_the_scale_of_errors_is_found_where_no_range_is_public(table):
    X, y = table
    model = make_private_pipeline(RowMap(np.tanh), BoundedLine(bound=1.0))
    assert scorer_of("neg_squared_error", model) == SquaredErrorScorer(20.0)
    search = PrivateSearchCV(
        BoundedLine(), {"bound": [12.0, 0.01]}, scoring=SquaredErrorScorer(scale=3.0), **LOUD
    ).fit(X, y)
    assert search.best_params_ == {"bound": 12.0}

    class Rangeless(BoundedLine):
        target_range = (-10.0, 10.0)

        def __init__(self, *, bound=12.0, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
            self.bound = bound
            self.epsilon, self.delta = epsilon, delta
            self.random_state, self.ledger = random_state, ledger

    Rangeless.target_range = None
    search = PrivateSearchCV(Rangeless(), {"bound": [12.0, 0.01]}, **LOUD)
    assert "reference" in search.plan().assumptions[1]


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", None, LogLossScorer(low=-2.0)])
def test_classifiers_are_chosen_by_accuracy_or_log_loss(table, scoring):
    X, y = table
    search = PrivateSearchCV(centroids(), {"bound": [0.01, 12.0]}, scoring=scoring, **LOUD)
    search.fit(X, labels(y))
    assert search.best_params_ == {"bound": 12.0} and is_classifier(search)
    assert search.classes_.tolist() == ["high", "low"]
    assert search.score(X, labels(y)) > 0.9 and search.predict_proba(X).shape == (1500, 2)
    assert (search.best_score_ > 0.9) == (scoring in (None, "accuracy"))


def test_scores_of_rows_are_what_they_say(table):
    X, y = (part[:50] for part in table)
    model = centroids(random_state=0, epsilon=100.0).fit(X, labels(y))
    told = np.where(labels(y) == "high", *model.predict_log_proba(X).T)
    got = LogLossScorer().prepare(None, X, labels(y), None)(model)
    np.testing.assert_allclose(LogLossScorer().value(got), np.maximum(told, -4), atol=1e-9)
    unknown = LogLossScorer().prepare(None, X, np.full(50, "neither"), None)(model)
    assert np.isnan(unknown).all() or not unknown.any()
    line = BoundedLine(random_state=0, epsilon=100.0).fit(X, y)
    errors = np.minimum(np.abs(line.predict(X) - y) / 2, 1)
    got = SquaredErrorScorer(scale=2.0).prepare(None, X, y, None)(line)
    np.testing.assert_allclose(got, 1 - errors**2)


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy"])
def test_the_two_layers_of_the_audit_for_classes(table, scoring):
    X, y = (part[:200] for part in table)
    search = PrivateSearchCV(
        centroids(), {"bound": [1.0, 12.0]}, scoring=scoring, mean_trials=2, epsilon=4.0, min_rows=0
    )
    assert non_interference(search, X, labels(y), n_transcripts=1).ok
    report = conditional_sensitivity(search, X, labels(y), n_pairs=16)
    assert report.ok and report.worst["score"].ratio == pytest.approx(1, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [None, 1.0])
def test_the_two_layers_of_the_audit_for_numbers(table, scale):
    X, y = (part[:200] for part in table)
    given = {"scoring": SquaredErrorScorer(scale), "mean_trials": 2, "min_rows": 0}
    search = PrivateSearchCV(BoundedLine(), {"bound": [1.0, 12.0]}, **given)
    assert non_interference(search, X, y, n_transcripts=1).ok
    report = conditional_sensitivity(search, X, y, n_pairs=16)
    assert report.ok and 0.5 < report.worst["score"].ratio <= 1


def test_rows_without_a_target_are_none(table):
    X, y = (part.copy() for part in table)
    y[::2] = np.nan
    search = PrivateSearchCV(BoundedLine(), {"bound": [12.0]}, **LOUD)
    with pytest.raises(ValueError, match="NaN"):
        search.fit(X, y)
    with config_context(invalid_rows="ignore"):
        search.fit(X, y)
    assert search.best_score_ == pytest.approx(1, abs=0.05)


def test_targets_are_asked_for(table):
    X, y = table
    for search in (
        PrivateSearchCV(BoundedLine(), {"bound": [12.0]}),
        PrivateSearchCV(make_private_pipeline(RowMap(np.tanh), BoundedLine()), {"split": ["auto"]}),
    ):
        with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
            search.fit(X)
        with pytest.raises(ValueError, match="y"):
            search.fit(X, y[1:])


@pytest.mark.slow
def test_a_search_over_a_pipeline_with_a_target(table):
    X, y = table
    pipe = make_private_pipeline(RowMap(np.copy), BoundedLine())
    search = PrivateSearchCV(pipe, {"boundedline__bound": [0.01, 12.0]}, **LOUD).fit(X, y)
    assert search.best_params_ == {"boundedline__bound": 12.0}


def test_a_grid_search_charges_every_fit(table):
    X, y = table
    ledger = PrivacyLedger(100.0, 1e-3, composition="basic")
    for model, target in ((BoundedLine(), y), (centroids(), labels(y))):
        before = len(ledger.entries())
        grid = GridSearchCV(model.set_params(ledger=ledger), {"epsilon": [1.0, 2.0]}, cv=2)
        grid.fit(X, target)
        assert len(ledger.entries()) - before == 5
        assert grid.best_score_ > 0


def test_a_supervised_step_in_the_middle_is_no_candidate():
    with pytest.raises(PlanError, match="needs y"):
        PrivateSearchCV(
            make_private_pipeline(BoundedLine(), BoundedLine()), {"split": ["auto"]}
        ).plan()
