"""Reports of groups of rows for the price of one."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skdp.metrics import private_report_by_group

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]


def drawn(n=20000, seed=0):
    """Return labels, scores that are wrong for one sex, and the sex."""
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(n) < 0.4, "f", "m")
    logit = 1.8 * rng.normal(size=n) - (sex == "f")
    return (rng.logistic(size=n) < logit).astype(int), expit(logit + 2 * (sex == "f")), sex


def test_rates_of_groups_and_their_differences_are_covered_together():
    y, s, sex = drawn()
    reports = private_report_by_group(y, s, sex, levels=["f", "m"], random_state=0)
    exact = {g: np.mean(s[(sex == g) & (y == 1)] >= 0.5) for g in ("f", "m")}
    table = reports.rates("recall", confidence=0.9999)
    for group, low, high in zip(table["group"], table["low"], table["high"], strict=True):
        assert low <= exact[group] <= high
    frame = reports.differences("recall", confidence=0.9999)
    assert frame["low"][0] <= exact["f"] - exact["m"] <= frame["high"][0]
    assert frame["differs"][0]
    results = reports.results()
    areas = results[results["variable"] == "roc_auc"].set_index("group")["value"]
    for group in ("f", "m"):
        of = sex == group
        assert areas[group] == pytest.approx(roc_auc_score(y[of], s[of]), abs=0.02)


def test_all_groups_pay_once():
    y, s, sex = drawn(4000)
    reports = private_report_by_group(y, s, sex, levels=["f", "m"], random_state=0)
    assert float(reports.fitted.privacy_report_.budget.epsilon) == pytest.approx(1.0)


def test_a_group_without_rows_says_nothing():
    y, s, sex = drawn(4000)
    reports = private_report_by_group(y, s, sex, levels=["f", "m", "x"], random_state=0)
    frame = reports.differences("accuracy").set_index(["group", "against"])
    assert not frame.loc[("f", "x"), "differs"]
    assert frame.loc[("f", "x"), "high"] == np.inf


def test_a_model_gives_the_scores():
    rng = np.random.default_rng(0)
    X, sex = rng.normal(size=(6000, 2)), np.arange(6000) % 2
    y = (rng.logistic(size=6000) < X[:, 0]).astype(int)
    model = LogisticRegression().fit(X, y)
    given = {"levels": [0, 1], "random_state": 0}
    one = private_report_by_group(y, (model, X), sex, **given)
    two = private_report_by_group(y, model.predict_proba(X)[:, 1], sex, **given)
    assert one.reports[1].roc_auc_ == two.reports[1].roc_auc_
