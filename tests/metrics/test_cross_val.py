"""Cross-validation under one total."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skdp import PrivateLinearRegression, PrivateLogisticRegression, PrivateSearchCV
from skdp.accounting import PrivacyLedger
from skdp.exceptions import BudgetExceeded, LowAccuracyWarning
from skdp.metrics import cross_val_plan, private_cross_val_score
from skdp.metrics._reports import probabilities_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]


def drawn(n=9000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, (rng.logistic(size=n) < X @ [1.0, 2.0]).astype(int)


def test_scores_of_an_ordinary_model_alone_are_protected():
    X, y = drawn()
    result = private_cross_val_score(LogisticRegression(), X, y, cv=3, random_state=0)
    assert result.protects == "scores alone" and result.scores.shape == (3,)
    exact = roc_auc_score(y, LogisticRegression().fit(X, y).decision_function(X))
    low, high = result.interval(0.9999, sampling=True)
    assert low <= exact <= high and low <= result.mean <= high
    assert [step.label for step in result.plan.steps] == ["reports"]


@pytest.mark.slow
def test_fits_and_scores_of_a_private_model_have_one_total():
    X, y = drawn()
    model = PrivateLogisticRegression(classes=[0, 1])
    ledger = PrivacyLedger(epsilon=4.0, delta=1e-6)
    given = {"cv": 2, "epsilon": 4.0, "delta": 1e-6, "random_state": 0}
    result = private_cross_val_score(model, X, y, ledger=ledger, **given)
    assert result.protects == "models and scores"
    reports = [*(one.privacy_report_ for one in result.models), result.fitted.privacy_report_]
    amounts = [float(report.budget.amount) for report in reports]
    total = float(result.plan.budget.amount)
    assert 0.99 * total < sum(amounts) <= total
    with pytest.raises(BudgetExceeded):
        private_cross_val_score(model, X, y, ledger=ledger, **given)


@pytest.mark.parametrize("unit", ["row", "group"])
def test_a_ledger_grants_as_many_cross_validations_as_fits(unit):
    X, y = drawn(300)
    ledger = PrivacyLedger(epsilon=4.0, delta=1e-5, unit=unit)
    given = {"groups": np.arange(300) // 2} if unit == "group" else {}
    for k in range(4):
        private_cross_val_score(
            LogisticRegression(), X, y, cv=2, random_state=k, ledger=ledger, **given
        )


def test_a_model_without_a_price_is_refused_before_the_charge():
    X, y = drawn(300)
    ledger = PrivacyLedger(epsilon=2.0, delta=1e-5)
    search = PrivateSearchCV(PrivateLogisticRegression(classes=[0, 1]), {"C": [0.1, 1.0]})
    with pytest.raises(ValueError, match="no price"):
        private_cross_val_score(search, X, y, cv=2, ledger=ledger)
    assert len(ledger.entries()) == 1


@pytest.mark.slow
def test_what_a_cross_validation_spends_is_within_its_charge():
    X, y = drawn(600)
    ledger = PrivacyLedger(epsilon=4.0, delta=1e-5)
    model = PrivateLogisticRegression(classes=[0, 1])
    result = private_cross_val_score(model, X, y, ledger=ledger, epsilon=1.0, cv=2, random_state=0)
    spent = [one.privacy_report_.budget for one in (*result.models, result.fitted)]
    charge = ledger.entries()[-1]
    assert sum(budget.amount for budget in spent) <= charge.amount
    assert sum(budget.failure for budget in spent) <= charge.failure


class Watched(PrivateLogisticRegression):
    """A model that notes of how many rows it is asked at once."""

    asked = set()

    def predict_proba(self, X):
        self.asked.add(len(X))
        return super().predict_proba(X)


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, pa.table])
def test_a_score_knows_no_other_row(kind):
    """Last bits of a product of matrices depend on how many rows there are."""
    X, y = drawn(60)
    X = kind({"a": X[:, 0], "b": X[:, 1]}) if kind is not np.asarray else X
    Watched.asked.clear()
    private_cross_val_score(Watched(classes=[0, 1]), X, y, cv=2, random_state=0)
    assert Watched.asked == {1}


@pytest.mark.slow
def test_regressions_are_scored_by_their_errors():
    X, _ = drawn()
    y = X @ [1.0, 2.0] + np.random.default_rng(1).normal(size=len(X))
    given = {"cv": 2, "epsilon": 8.0, "random_state": 0, "scoring": "mean_absolute_error"}
    result = private_cross_val_score(PrivateLinearRegression(), X, y, **given)
    assert result.mean == pytest.approx(np.sqrt(2 / np.pi), abs=0.1)


def test_the_mean_of_errors_whose_tail_is_not_seen_has_one_end():
    X, _ = drawn(6000)
    given = {"cv": 2, "random_state": 0, "scoring": "mean_squared_error"}
    y = np.exp(2 * X[:, 0])
    result = private_cross_val_score(DummyRegressor(), X, y, **given)
    low, high = result.interval()
    assert 0 < low < result.mean and high == np.inf
    assert low < np.mean(np.square(y - y.mean()))


def test_a_row_draws_its_fold_by_itself():
    X, y = drawn(2000)
    whole = private_cross_val_score(LogisticRegression(), X, y, cv=2, random_state=0)
    less = private_cross_val_score(LogisticRegression(), X[:-1], y[:-1], cv=2, random_state=0)
    one, two = (list(result.fitted.estimators_.values()) for result in (whole, less))
    moved = [abs(a.n_rows_ - b.n_rows_) for a, b in zip(one, two, strict=True)]
    assert max(moved) < 2  # a fold has one row less, and the same noise


@pytest.mark.slow
def test_a_source_is_scored_as_a_table_in_memory():
    X, y = drawn(3000)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
    given = {"cv": 2, "epsilon": 8.0, "random_state": 0}
    model = PrivateLogisticRegression(classes=[0, 1])
    one = private_cross_val_score(model, pa.Table.from_pandas(frame), "y", **given)
    two = private_cross_val_score(model, frame, "y", **given)
    assert np.array_equal(one.scores, two.scores) and np.isfinite(one.scores).all()
    assert one.interval() == two.interval()


@pytest.mark.slow
def test_persons_are_in_one_fold_with_all_rows():
    X, y = drawn(6000)
    ids = np.arange(6000) // 3
    given = {"cv": 2, "epsilon": 8.0, "random_state": 0, "groups": ids}
    ledger = PrivacyLedger(epsilon=8.0, delta=1e-6, unit="group")
    model = PrivateLogisticRegression(classes=[0, 1])
    result = private_cross_val_score(model, X, y, ledger=ledger, **given)
    persons = [report.n_rows_ for report in result.fitted.estimators_.values()]
    assert sum(persons) == pytest.approx(2000, abs=100) and min(persons) > 800
    reports = [result.fitted, *result.models]
    assert {one.privacy_report_.privacy_unit for one in reports} == {"group"}
    assert result.mean == pytest.approx(0.87, abs=0.05)
    lost = private_cross_val_score(LogisticRegression(), X, y, **given)
    whole = private_cross_val_score(
        LogisticRegression(), X[3:], y[3:], **{**given, "groups": ids[3:] + 7}
    )
    assert lost.protects == whole.protects == "scores alone"


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
def test_labels_that_a_model_does_not_know_have_no_probability(classes):
    X, y = drawn(300)
    model = LogisticRegression().fit(X, y)
    scores = probabilities_of(model, classes, X)
    assert scores.shape == (300, len(classes)) and not scores[:, 2:].any()
    np.testing.assert_array_equal(scores[:, :2], model.predict_proba(X))


@pytest.mark.parametrize("kind", ["50 rows", "one class", "constant"])
def test_edges_are_answered_honestly(kind):
    X, y = drawn(600)
    if kind == "50 rows":
        X, y = X[:50], y[:50]
    X, y = (0 * X, y) if kind == "constant" else (X, 0 * y if kind == "one class" else y)
    model = PrivateLogisticRegression(classes=[0, 1])
    result = private_cross_val_score(model, X, y, cv=5, random_state=0)
    low, high = result.interval()
    assert result.scores.shape == (5,)
    assert (low, high) == (-np.inf, np.inf) or low <= 0.5 <= high


class Silent(LogisticRegression):
    """A model that tells nothing of some rows."""

    def predict_proba(self, X):
        return np.where(X[:, :1] > 0, super().predict_proba(X), np.nan)


def test_wrong_parameters_are_told_before_the_charge():
    X, y = drawn(100)
    with pytest.raises(ValueError, match="cv must be a whole number"):
        cross_val_plan(LogisticRegression(), cv=1)
    with pytest.raises(ValueError, match="scoring must be one of"):
        private_cross_val_score(LogisticRegression(), X, y, scoring="gini")
    with pytest.raises(ValueError, match="same number of rows"):
        private_cross_val_score(LogisticRegression(), X, y[:-1])
    with pytest.raises(ValueError, match="read in pieces go to a private model"):
        private_cross_val_score(LogisticRegression(), pa.table({"a": X[:, 0], "y": y}), "y")
    ledger = PrivacyLedger(epsilon=1.0, delta=1e-6)
    for model, labels in ((LogisticRegression(), 0 * y), (Silent(), y)):
        with pytest.raises(ValueError, match=r"2 classes|gives NaN"):
            private_cross_val_score(model, X, labels, ledger=ledger)
    with pytest.raises(ValueError, match="NaN"):
        broken = np.where(y, np.nan, 0.0)
        private_cross_val_score(PrivateLogisticRegression(), X, broken, ledger=ledger)
    assert not [one for one in ledger.entries() if one.kind == "charge"]
    with pytest.raises(ValueError, match="fit_share must lie"):
        cross_val_plan(LogisticRegression(), fit_share=1.0)


def test_what_is_doubted_is_told_once():
    X, y = drawn(600)
    model = PrivateLogisticRegression(classes=[0, 1])
    with pytest.warns(LowAccuracyWarning) as told:
        result = private_cross_val_score(model, X, y, cv=3, epsilon=0.2, random_state=0)
    [message] = [str(one.message) for one in told if one.category is LowAccuracyWarning]
    first, *doubts = message.splitlines()
    assert first == "Low accuracy of private_cross_val_score:"
    assert tuple(doubts) == result.accuracy_warnings_
    assert any(text.startswith("fitted without folds 0, 1, 2: ") for text in doubts)
    assert any("the mean of roc_auc is known only to lie" in text for text in doubts)
    assert str(result).startswith("roc_auc ") and str(result).endswith("scores are protected")
    assert len(repr(result)) < 80


@pytest.mark.slow
def test_nothing_is_doubted_of_many_rows():
    X, y = drawn(8_000)
    model = PrivateLogisticRegression(classes=[0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", LowAccuracyWarning)
        result = private_cross_val_score(model, X, y, cv=2, epsilon=9.0, random_state=0)
    assert result.accuracy_warnings_ == ()


@pytest.mark.parametrize("n", [1, 2])
def test_an_empty_fold_ends_nothing_after_the_charge(n):
    """Whether one is empty depends on the number of rows."""
    for seed in range(3):
        told = private_cross_val_score(
            PrivateLinearRegression(),
            np.ones((n, 1)),
            np.ones(n),
            cv=2,
            scoring="r2",
            random_state=seed,
        )
        assert len(told.scores) == 2
