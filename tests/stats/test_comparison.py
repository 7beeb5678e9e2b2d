"""Tables of a study and contingency tables: what they release, refuse and adjust; power."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars
import pytest
from scipy import stats as scipy_stats

from skdp import PrivacyLedger
from skdp.audit import check_private_estimator
from skdp.exceptions import LowAccuracyWarning
from skdp.stats import (
    PrivateComparison,
    PrivateContingencyTable,
    epsilon_for,
    expected_power,
    n_rows_for,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.WeakGuaranteeWarning"),
]
ARMS, STAGES = ["drug", "placebo"], ["I", "II", "III"]


def _frame(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    arm = rng.choice(ARMS, size=n)
    return pd.DataFrame(
        {
            "arm": arm,
            "age": rng.normal(60, 10, size=n),
            "pressure": rng.normal(130, 15, size=n) - 6 * (arm == "drug"),
            "stage": rng.choice(STAGES, size=n),
            "died": np.where(rng.random(n) < np.where(arm == "drug", 0.2, 0.3), "yes", "no"),
        }
    )


MEASURES = {"age": "means", "pressure": "ranks", "stage": "counts", "died": "counts"}
PUBLIC = {"classes": ARMS, "categories": {"stage": STAGES, "died": ["no", "yes"]}}


def test_every_column_is_compared_in_one_fit():
    frame = _frame()
    fit = PrivateComparison(by="arm", measures=MEASURES, **PUBLIC, random_state=0).fit(frame)
    assert set(fit.tests_) == set(MEASURES) and fit.classes_.tolist() == ARMS
    assert fit.tests_["pressure"].pvalue < 1e-4 and fit.tests_["died"].pvalue < 0.01
    table = fit.results()
    assert table["reliable"].all()
    of_age = table[table.variable == "age"].set_index("group")
    truth = frame.groupby("arm").age.mean()
    assert (
        (of_age.low < truth[of_age.index] + 1.5) & (truth[of_age.index] - 1.5 < of_age.high)
    ).all()
    parts = table[(table.variable == "died") & (table.measure == "part of yes")].set_index("group")
    exact = (frame.died == "yes").groupby(frame.arm).mean()
    assert np.allclose(parts.value, exact[parts.index], atol=0.05)
    assert np.allclose(of_age.n, frame.arm.value_counts()[of_age.index], atol=150)
    assert "pressure" in fit.summary()


def test_sources_are_alike():
    frame = _frame(800)
    public = {"measures": MEASURES, **PUBLIC, "random_state": 0}
    one = PrivateComparison(by="arm", **public).fit(frame)
    other = PrivateComparison(**public).fit(frame.drop(columns="arm"), frame["arm"])
    third = PrivateComparison(by="arm", **public).fit(polars.from_pandas(frame))
    assert one.pvalues() == other.pvalues() == third.pvalues()


def test_a_gap_is_one_of_its_own_column():
    frame = _frame(6000)
    weight = np.where(frame.age > 60, np.nan, frame.age)  # whoever is old is not weighed
    frame = frame.assign(weight=weight, never=np.nan, age=frame.age.mask(frame.pressure > 150))
    measures = {"age": "means", "weight": "means", "pressure": "means", "stage": "counts"}
    public = {"by": "arm", "measures": measures, **PUBLIC, "epsilon": 50.0, "random_state": 0}
    fit = PrivateComparison(**public).fit(frame)
    table = fit.results().set_index(["variable", "group"])
    numbers = list(measures)[:3]
    exact = frame.groupby("arm")[numbers].agg(["mean", "count"]).stack(0, future_stack=True)
    for (group, name), truth in exact.iterrows():
        told = table.loc[[(name, group)]].iloc[0]  # older pandas returns a frame for one name
        assert told.value == pytest.approx(truth["mean"], abs=0.4) and told.low < told.value
        assert told.n == pytest.approx(truth["count"], abs=10)
    sizes = table.loc["stage"].groupby("group").n.first()
    assert np.allclose(sizes, frame.arm.value_counts()[sizes.index], atol=10)


@pytest.mark.parametrize("kind, name", [("means", "stage"), ("ranks", "died"), ("counts", "age")])
def test_a_measure_of_another_type_is_refused(kind, name):
    with pytest.raises(ValueError, match=name):
        PrivateComparison(by="arm", measures={name: kind}).fit(_frame(50))


def test_more_columns_than_the_plan_has_room_for_are_refused_before_a_charge():
    ledger, arm = PrivacyLedger(1.0, 1e-6), np.resize(ARMS, 20)
    fit = PrivateComparison(classes=ARMS, ledger=ledger, random_state=0)
    with pytest.raises(ValueError, match="1024 columns"):
        fit.fit(np.zeros((20, 1025)), arm)
    with pytest.warns(LowAccuracyWarning):  # all of the ledger is there
        fit.set_params(measures=[1024]).fit(np.zeros((20, 1025)), arm)


def test_a_summary_concludes_by_the_adjusted_pvalue_and_names_the_groups():
    fit = PrivateComparison(by="arm", measures=MEASURES, **PUBLIC, random_state=0).fit(_frame())
    fit.tests_["stage"] = replace(fit.tests_["stage"], pvalue=0.03, told=True)
    text = fit.summary()
    (line,) = [line for line in text.splitlines() if line.startswith("stage")]
    assert fit.pvalues()["stage"] > 0.05 and "no conclusion" in line
    assert "P(drug > placebo)" in text and "Cohen's d, drug less placebo" in text


@pytest.mark.nightly
def test_a_comparison_of_columns_with_gaps_stands_every_audit():
    frame = _frame(300)
    frame["age"] = frame.age.mask(frame.pressure > 130)
    measures = {name: MEASURES[name] for name in ("age", "pressure")}
    check_private_estimator(
        PrivateComparison(measures=measures, classes=ARMS),
        frame[["age", "pressure"]],
        frame["arm"],
    )


def test_adjusted_pvalues_are_those_of_the_books():
    fit = PrivateComparison(by="arm", measures=MEASURES, **PUBLIC, random_state=0).fit(_frame(900))
    p = np.array(list(fit.pvalues(None).values()))
    holm, bh = (np.array(list(fit.pvalues(how).values())) for how in ("holm", "bh"))
    assert np.allclose(bh, scipy_stats.false_discovery_control(p))
    assert (holm >= bh - 1e-12).all() and holm.min() == pytest.approx(min(1, 4 * p.min()))
    with pytest.raises(ValueError, match="holm"):
        fit.pvalues("none")


@pytest.mark.parametrize("n", [1, 2, 20])
def test_few_rows_have_no_conclusion(n):
    with pytest.warns(LowAccuracyWarning):
        fit = PrivateComparison(by="arm", measures=MEASURES, **PUBLIC, random_state=0).fit(
            _frame(n)
        )
    assert set(fit.pvalues().values()) == {1.0} and not fit.reliable_
    table = fit.results()
    assert table["value"].isna().all() and not table["reliable"].any()  # intervals hold all
    with pytest.warns(LowAccuracyWarning):
        table = PrivateContingencyTable(categories={"arm": ARMS}, classes=["no", "yes"])
        table = table.set_params(random_state=0).fit(_frame(n)[["arm"]], _frame(n)["died"])
    assert table.chi2().pvalue == 1 and table.cramers_v()[1] == (0, 1)
    low, high = table.odds_ratio(ARMS, ("yes", "no"))[1]
    assert low == 0 or high > 3 * low


@pytest.mark.parametrize(
    "parameters",
    [
        {"measures": {"weight": "ranks"}},
        {"measures": {"age": "median"}},
        {"measures": []},
        {"by": "ward"},
    ],
)
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(ValueError):
        PrivateComparison(**({"by": "arm"} | parameters)).fit(_frame(50))


def test_a_contingency_table_with_little_noise():
    frame = _frame()
    public = {"categories": {"arm": ARMS}, "classes": ["no", "yes"], "epsilon": 300.0}
    table = PrivateContingencyTable(**public, random_state=0).fit(frame[["arm"]], frame["died"])
    exact = pd.crosstab(frame.arm, frame.died).to_numpy()
    assert np.allclose(table.counts_, exact, atol=1)
    odds = exact[0, 1] * exact[1, 0] / exact[0, 0] / exact[1, 1]
    value, (low, high) = table.odds_ratio(ARMS, ("yes", "no"))
    theirs = scipy_stats.contingency.odds_ratio(exact[:, ::-1], kind="sample")
    assert value == pytest.approx(odds, rel=0.02)
    assert np.allclose((low, high), theirs.confidence_interval(), rtol=0.02)
    risk, _ = table.risk_ratio(ARMS, ("yes", "no"))
    rates = exact[:, 1] / exact.sum(axis=1)
    assert risk == pytest.approx(rates[0] / rates[1], rel=0.02)
    difference, _ = table.risk_difference(ARMS, ("yes", "no"))
    assert difference == pytest.approx(rates[0] - rates[1], abs=0.002)


def test_strata_of_a_three_way_table():
    frame = _frame()
    public = {"categories": {"arm": ARMS, "stage": STAGES}, "classes": ["no", "yes"]}
    table = PrivateContingencyTable(**public, random_state=0)
    table.fit(frame[["arm", "stage"]], frame["died"])
    assert table.counts_.shape == (2, 3, 2) and table.chi2().df == 3
    assert table.chi2().pvalue < 0.01 and 0 <= table.chi2("II").pvalue <= 1
    with pytest.raises(ValueError, match=r"Got \('a', 'b'\); there are \['drug', 'placebo'\]"):
        table.odds_ratio(("a", "b"), ("yes", "no"))
    with pytest.raises(ValueError, match="to_frame"):
        PrivateContingencyTable(**public).fit(frame["arm"], frame["died"])
    for wrong in (lambda: table.chi2("IV"), lambda: table.odds_ratio(("a", "b"), ("yes", "no"))):
        with pytest.raises(ValueError):
            wrong()
    with pytest.raises(ValueError, match="categories"):
        PrivateContingencyTable().fit(frame[["age"]], frame["died"])


@pytest.mark.slow
def test_a_contingency_table_stands_every_audit():
    frame = _frame(300)
    public = {"categories": {"arm": ARMS}, "classes": ["no", "yes"]}
    check_private_estimator(PrivateContingencyTable(**public), frame[["arm"]], frame["died"])


@pytest.mark.parametrize(
    "test, effect", [("mannwhitneyu", 0.5), ("proportions_test", 0.1), ("logrank", 0.6)]
)
def test_power_before_data_agrees_with_itself_and_with_the_classical_rows(test, effect):
    n = n_rows_for(test, effect, p=0.3)
    assert expected_power(test, effect, n, p=0.3) == pytest.approx(0.8, abs=0.01)
    assert epsilon_for(test, effect, n, p=0.3) == pytest.approx(1.0, abs=0.05)
    classical = {"mannwhitneyu": 2 * 64 * 0.98, "proportions_test": 2 * 330}
    classical |= {"logrank": 4 * (2.802 / np.log(0.6)) ** 2 / 0.3}  # Schoenfeld
    classical = classical[test]
    assert n_rows_for(test, effect, epsilon=1000.0, p=0.3) == pytest.approx(classical, rel=0.05)
    assert n_rows_for(test, effect, epsilon=0.1, p=0.3) > n
    for wrong in ({"effect": 0.0}, {"effect": 0.5, "power": 1.0}):
        with pytest.raises(ValueError):
            n_rows_for(test, **wrong)
    with pytest.raises(ValueError, match="test"):
        n_rows_for("anova", 0.5)
    for wrong in (1.0, -0.5):
        with pytest.raises(ValueError, match="hazards"):
            n_rows_for("logrank", wrong)
