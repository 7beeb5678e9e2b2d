"""Cross-validation under one total."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skdp import PrivateLinearRegression, PrivateLogisticRegression
from skdp.accounting import PrivacyLedger
from skdp.exceptions import BudgetExceeded
from skdp.metrics import cross_val_plan, private_cross_val_score

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


def test_regressions_are_scored_by_their_errors():
    X, _ = drawn()
    y = X @ [1.0, 2.0] + np.random.default_rng(1).normal(size=len(X))
    given = {"cv": 2, "epsilon": 8.0, "random_state": 0, "scoring": "mean_absolute_error"}
    result = private_cross_val_score(PrivateLinearRegression(), X, y, **given)
    assert result.mean == pytest.approx(np.sqrt(2 / np.pi), abs=0.1)


def test_a_row_draws_its_fold_by_itself():
    X, y = drawn(2000)
    whole = private_cross_val_score(LogisticRegression(), X, y, cv=2, random_state=0)
    less = private_cross_val_score(LogisticRegression(), X[:-1], y[:-1], cv=2, random_state=0)
    one, two = (list(result.fitted.estimators_.values()) for result in (whole, less))
    moved = [abs(a.n_rows_ - b.n_rows_) for a, b in zip(one, two, strict=True)]
    assert max(moved) < 2  # a fold has one row less, and the same noise


def test_wrong_parameters_are_told_before_the_charge():
    X, y = drawn(100)
    with pytest.raises(ValueError, match="cv must be a whole number"):
        cross_val_plan(LogisticRegression(), cv=1)
    with pytest.raises(ValueError, match="scoring must be one of"):
        private_cross_val_score(LogisticRegression(), X, y, scoring="gini")
    with pytest.raises(ValueError, match="same number of rows"):
        private_cross_val_score(LogisticRegression(), X, y[:-1])
    with pytest.raises(ValueError, match="fit_share must lie"):
        cross_val_plan(LogisticRegression(), fit_share=1.0)
