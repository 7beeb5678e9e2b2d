"""Reports of groups of rows for the price of one."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skdp import PrivacyLedger
from skdp.metrics import (
    PrivateClassifierReport,
    PrivateRegressionReport,
    private_report_by_group,
)

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


def test_a_difference_from_a_loss_whose_tail_is_not_seen_has_one_end():
    rng = np.random.default_rng(0)
    f = rng.normal(size=4000)
    y, by = f + np.append(rng.standard_cauchy(2000), rng.normal(size=2000)), np.arange(4000) // 2000
    frame = pd.DataFrame({"f": f, "by": by})
    report = PrivateRegressionReport(by="by", levels=[0, 1], epsilon=8.0, random_state=0)
    told = report.fit(y, frame).group_reports_.differences("mean_absolute_error")
    assert told["low"][0] > 0 and told["high"][0] == np.inf and told["differs"][0]


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


def test_by_is_a_parameter_of_a_report():
    y, s, sex = drawn(6000)
    frame = pd.DataFrame({"score": s, "sex": sex})
    given = {"levels": ["f", "m"], "random_state": 0}
    report = PrivateClassifierReport(by="sex", **given).fit(y, frame)
    groups = report.group_reports_
    other = private_report_by_group(y, s, sex, **given)
    assert list(groups.reports) == ["f", "m"]
    for group, one in groups.reports.items():
        assert one.roc_auc_ == other.reports[group].roc_auc_
    assert report.privacy_report_.budget.epsilon == 1
    assert report.plan().budget == report.privacy_report_.budget
    assert "levels" not in str(report.plan())
    for ask in (lambda: report.interval("roc_auc"), report.roc_curve, report.accuracy):
        with pytest.raises(ValueError, match="this report is one of groups"):
            ask()
    assert not hasattr(report, "roc_auc_")
    report.set_params(by=None, levels=None).fit(y, frame[["score"]])
    assert report.roc_auc_ > 0.5 and not hasattr(report, "group_reports_")
    report.set_params(by="sex", levels=["m"]).fit(y, frame)
    assert list(report.group_reports_.reports) == ["m"] and not hasattr(report, "roc_auc_")


def test_groups_are_found_for_a_tenth_of_the_budget():
    y, s, sex = drawn(6000)
    frame = pd.DataFrame({"sex": sex, "score": s})
    report = PrivateClassifierReport(by="sex", epsilon=4.0, random_state=0).fit(y, frame)
    assert list(report.group_reports_.reports) == ["f", "m"]
    assert float(report.plan().steps[0].at_most) == 0.1


def test_a_model_is_asked_without_its_groups_being_scores():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=6000), "sex": np.arange(6000) % 2})
    y = (rng.logistic(size=6000) < 2 * X["x"]).astype(int)
    given = {"epsilon": 4.0, "random_state": 0, "levels": [0, 1]}
    for table, by in ((X, "sex"), (X, 1), (X.to_numpy(), 1)):
        model = LogisticRegression().fit(table, y)
        report = PrivateClassifierReport.from_estimator(model, table, y, by=by, **given)
        frame = report.group_reports_.rates("accuracy", confidence=0.999, sampling=True)
        assert list(frame["group"]) == [0, 1]
        assert (frame["low"] < model.score(table, y)).all() and (frame["high"] > 0.7).all()


def test_errors_of_numbers_are_compared_by_group():
    rng = np.random.default_rng(0)
    sex, noise = np.where(rng.random(20000) < 0.5, "f", "m"), rng.normal(size=20000)
    y = 1e5 + np.where(sex == "f", 1.0, 3.0) * noise
    frame = pd.DataFrame({"prediction": np.full(20000, 1e5), "sex": sex})
    given = {"metrics": ["mean_absolute_error"], "quantiles": [], "random_state": 0}
    report = PrivateRegressionReport(by="sex", levels=["f", "m"], **given).fit(y, frame)
    told = report.group_reports_.differences("mean_absolute_error", confidence=0.999)
    exact = np.abs(y - 1e5)[sex == "f"].mean() - np.abs(y - 1e5)[sex == "m"].mean()
    assert told["low"][0] <= exact <= told["high"][0] and told["differs"][0]
    with pytest.raises(ValueError, match="this report is one of groups"):
        report.interval("mean_absolute_error")


def test_persons_are_protected_in_groups():
    y, s, sex = drawn(6000)
    ids = np.arange(6000) // 2
    whole = sex[ids * 2]
    reports = private_report_by_group(y, s, whole, levels=["f", "m"], groups=ids, epsilon=4.0)
    assert reports.fitted.privacy_report_.privacy_unit == "group"
    assert sum(one.n_rows_ for one in reports.reports.values()) == pytest.approx(3000, abs=150)


def test_sequences_of_unequal_length_are_refused_before_the_charge():
    y, ledger = np.arange(200) % 2, PrivacyLedger(epsilon=1, delta=1e-5)
    s, sex = 0.3 + 0.4 * y, np.where(np.arange(200) < 100, "f", "m")
    before = len(ledger.entries())
    for labels, scores, groups in ((y[1:], s, sex), (y, s[1:], sex), (y, s, sex[1:])):
        with pytest.raises(ValueError, match=r"one entry for each row|inconsistent|same number"):
            private_report_by_group(labels, scores, groups, levels=["f", "m"], ledger=ledger)
    assert len(ledger.entries()) == before
