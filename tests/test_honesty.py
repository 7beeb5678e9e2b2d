"""The judges of ``benchmarks/honesty.py``: each kind of disaster is one, a right answer is none."""

import math

import numpy as np
import pandas as pd
import pytest

rng = np.random.default_rng(0)
x = rng.normal(10, 2, size=1000)
X = rng.normal(size=(500, 3)) * [1, 1, 5] + [[0, 0, 8]] * (np.arange(500) % 2)[:, None]
y = (x > 11).astype(int)
chance = np.clip(1 / (1 + np.exp(11 - x)), 0.01, 0.99)
ages = np.round(x * 4)


MOMENTS = np.cov(X.T, ddof=0), np.full((3, 3), 0.1)
CENTERS = np.array([[0.0, 0, 0], [0, 0, 8]])
CASES = {  # judge: what it is given, a right answer, a disaster
    "mean": ([x], [10, 9.8, 10.2], [12, 11, 13]),
    "quantile": ([x], [np.median(x), 9.8, 10.2, 0.5], [3e9, 11, 5e9, 0.5]),
    "variance": ([x], [4, 3, 5], [0.4, 0.3, 0.5]),
    "correlations": (
        [X],
        [*MOMENTS, np.corrcoef(X.T)],
        [MOMENTS[0] + 9, MOMENTS[1], np.full((3, 3), 0.9)],
    ),
    "subspace": ([X], [np.eye(3)[2:]], [np.eye(3)[:1]]),
    "line": ([x], [x + 0.1, x], [0 * x, x]),
    "labels": ([y], [chance, chance], [1 - chance, chance]),
    "clusters": ([X], [CENTERS, CENTERS], [CENTERS + 30, CENTERS]),
    "mixture": ([], [-3.0, -4.0, -2.9, 3], [-12000.0, -4.0, -2.9, 3]),
    "shares": ([ages], [ages + 0.5], [np.maximum(ages, 45)]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_disaster_is_told_from_a_right_answer(bench, name):
    given, right, wrong = CASES[name]
    judge = getattr(bench("_honesty_judges"), name)
    fine, poor = judge(*given, *right), judge(*given, *wrong)
    assert not fine["disaster"] and fine["close"]
    assert poor["disaster"] and not poor["close"] and poor["error"] > fine["error"]
    assert (fine["covered"], poor["covered"]) in ((None, None), (1.0, 0.0))


def test_calibration_counts_as_well_as_order(bench):
    judge = bench("_honesty_judges").labels
    assert judge(y, chance**0.01, chance)["disaster"]  # the right order, and all near 1


def test_a_level_that_is_lost_is_a_disaster_and_a_rare_one_is_none(bench):
    judge = bench("_honesty_judges").shares
    names = np.array(["a"] * 80 + ["b"] * 15 + ["c"] * 5, dtype=object)
    assert not judge(names, names[:95])["disaster"]
    assert judge(names, names[:80])["disaster"]


def test_directions_that_are_all_alike_are_no_disaster(bench):
    told = bench("_honesty_judges").subspace(rng.normal(size=(500, 3)), np.eye(3)[:1])
    assert not told["disaster"] and told["error"] < 0.05


def test_what_says_that_it_is_unknown_is_no_disaster(bench):
    judge = bench("_honesty_judges")
    for told in (judge.mean(x, math.nan, -math.inf, math.inf), judge.variance(x, math.nan)):
        assert told["error"] is None and not told["disaster"] and not told["close"]


def test_a_covariance_that_tells_no_correlation_is_not_right(bench):
    judge = bench("_honesty_judges").correlations
    told = judge(X, MOMENTS[0], MOMENTS[1], np.where(np.eye(3), 1.0, math.nan))
    assert told["error"] is None and not told["close"]


def test_a_folder_has_tables_that_no_package_has(bench, tmp_path):
    tables, fresh = bench("_honesty_tables"), bench("_honesty_fresh")
    pd.DataFrame({"x": x, "day": "2020-01-01"}).to_csv(tmp_path / "a.csv", index=False)
    (name,) = tables.tables(str(tmp_path))
    assert tables.load(name).columns.tolist() == ["x"] and len(tables.load(name)) == 1000
    shuffled = pd.DataFrame({"other": rng.permutation(x)})
    assert fresh._marks(shuffled) == fresh._marks(pd.DataFrame({"x": x}))
    assert fresh._plain("sleep_tbl_df") == fresh._plain("sleep") != fresh._plain("sleeps")


def test_another_edition_of_a_table_is_known_again(bench):
    seen, frame = bench("_honesty_fresh")._Seen(), pd.DataFrame({"x": x, "y": y, "day": 1, "t": 2})
    seen.add("sales_data", frame)
    rows, named = pd.DataFrame({"z": rng.permutation(x)}), frame[:900].assign(u=3, v=4)
    assert seen.has("sales", rows[:900]) and seen.has("other", rows) and seen.has("other", named)
    assert not seen.has("other", frame[["x", "day"]][:900])


def test_an_edge_of_an_atom_is_no_far_quantile(bench):
    judge = bench("_honesty_judges").quantile
    rate = (np.arange(1000) < 490).astype(float)  # the median is 0, and 1 is .01 off in ranks
    told = judge(rate, 1.0, 0.0, 1.0, 0.5)
    assert told["error"] > 0.5 and not told["disaster"] and told["covered"] == 1


def test_the_halves_stay_as_they_are(bench):
    half = bench("_honesty_tables").half
    assert [half(f"survival/{name}") for name in ("heart", "gbsg")] == ["look"] * 2
    assert [half(f"survival/{name}") for name in ("mgus2", "flchain")] == ["aside"] * 2
    assert half("Ecdat/Mroz") == half("sampleSelection/Mroz87") == "look"  # one table, two names
    assert half("ggplot2/diamonds") == half("benchmarks/diamonds") == "look"


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (y, "yes/no"),
        (np.arange(1000) < 10, "rare rate"),
        (ages, "integers"),
        (np.arange(1000) % 4, "few levels"),
        (x, "smooth"),
        (np.exp(x / 3), "skewed"),
        (x + 1000, "far from zero"),
        (np.maximum(x - 11, 0), "mostly zeros"),
        (np.append(x, 1e9), "heavy"),
    ],
)
def test_columns_have_kinds(bench, column, kind):
    assert bench("_honesty_tables").kind(np.asarray(column, dtype=float)) == kind


@pytest.mark.parametrize("name", ["joint mean", "medians by group", "logistic", "synthetic"])
def test_a_fit_is_one_line_that_can_be_made_again(bench, monkeypatch, name):
    honesty, fits = bench("honesty"), bench("_honesty_fits")
    frame = pd.DataFrame({"age": ages, "x": x, "y": y.astype(float)})
    monkeypatch.setattr(fits, "load", lambda _: frame.assign(team=["a", "b"] * 500))
    monkeypatch.setattr(fits, "numbers", lambda _: frame)
    line = honesty.fit(name, "made/up", 3.0, 7)
    assert "raised" not in line and line["n"] == 1000 and line["answers"]
    again = honesty.fit(name, "made/up", 3.0, 7)
    assert {**again, "seconds": 0} == {**line, "seconds": 0}
    page = honesty.report([line, {**line, "answers": [], "raised": "ValueError()"}])
    assert "2 fits" in page and f"| {name} |" in page and page.count("ValueError") == 1


def test_disasters_that_few_rows_make_are_told_apart(bench):
    judge = bench("_honesty_judges")
    x = np.append(np.tile([0.0, 1.0], 500), [1e3, 1e3])
    told = [judge.judged_twice(judge.variance, few, np.abs(x), x, 0.25) for few in (1, 2)]
    assert all(one["disaster"] for one in told)
    assert [one["few"] for one in told] == [False, True]
    assert "few" not in judge.judged_twice(judge.variance, 2, np.abs(x), x, x.var())


def test_the_report_counts_what_is_reliable(bench):
    poor = bench("_honesty_judges").mean(x, 20, 19, 21)
    answer = {"column": "x", "kind": "smooth", **poor}
    told = [{**answer, "reliable": r} for r in (True, True, False)]
    right = {**told[2], **bench("_honesty_judges").mean(x, 10, 9, 11)}
    line = {"estimator": "mean", "table": "a/b", "epsilon": 1.0, "seed": 3, "n": 1000}
    page = bench("honesty").report([{**line, "answers": [*told, right]}])
    assert "| mean | 4 | 2 | 2 | 0 | 1 | 0 | 0.5 | 0.5 |" in page
    assert page.count("`--again mean a/b 1.0 3`") == 1
