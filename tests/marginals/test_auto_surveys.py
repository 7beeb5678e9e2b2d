"""Levels of a survey that a fit buys: nobody is lost, and codes are called by their names."""

import numpy as np
import pandas as pd
import pytest

import skdp
from skdp import MarginalReleaser
from skdp.marginals._found import cdf_at

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]


def _survey(n=60000):
    """Return ages, codes of five answers, one with rare ones, and a yes or no."""
    rng = np.random.default_rng(0)
    rare = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], p=[0.5, 0.3, 0.12, 0.05, 0.03], size=n)
    X = pd.DataFrame({"age": rng.normal(48, 17, n).clip(18, 99).round(), "rare": rare})
    X["female"] = rng.integers(0, 2, n)
    return X.assign(**{f"q{j}": rng.integers(1, 6, n) for j in range(15)})


@pytest.fixture(scope="module")
def survey():
    X = _survey()
    options = {"domain": "auto", "epsilon": 0.3, "delta": 1e-7}
    fit = MarginalReleaser(1, random_state=0, **options).fit(X)
    return X, fit, fit.sample(3000)


def _below(kind, counts, edge):
    """Return the part of a released table below a number, each level following its law."""
    law = [
        np.mean(cdf_at(law, (np.arange(4096) + 0.5) / 4096, whole=kind.whole) <= edge)
        for law in kind.laws
    ]
    return np.dot(law, counts) / np.sum(counts)


def test_no_age_group_is_lost(survey):
    X, fit, rows = survey
    age, kind = rows.age, fit.domain_.kinds[0]
    assert abs((age < 33).mean() - (X.age < 33).mean()) < 0.03
    assert age.max() <= 128 and age.min() >= 16
    counts = np.maximum(fit.marginal("age", as_frame=False), 0)
    for edge in (16.0, 32.0, 64.0, 128.0):
        below = _below(kind, counts, edge)
        assert abs(below - (X.age <= edge).mean()) < 0.03
        assert abs(below - (age <= edge).mean()) < 0.02


def test_codes_and_yes_or_no_are_called_by_their_names(survey):
    X, fit, rows = survey
    labels = dict(zip(fit.domain_.names, fit.domain_.labels, strict=True))
    assert labels["female"] == ("0", "1") and labels["q3"] == ("1", "2", "3", "4", "5")
    assert labels["rare"][:3] == ("1", "2", "3")
    assert labels["rare"][-1] == "(3, inf)"
    (said,) = fit.privacy_report_.decisions
    assert said.endswith("may hold more than one value: rare")
    assert abs(fit.query({"female": 1}).count - X.female.sum()) < 1000
    assert rows.dtypes.equals(X.dtypes) and set(rows.q3) == {1, 2, 3, 4, 5}
    assert abs((rows.rare > 3).mean() - 0.08) < 0.02
    assert "levels of age " in str(fit.synthetic_report(rows))
    assert "q3 5" not in str(fit.synthetic_report(rows))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
@pytest.mark.parametrize("workload", ["rows", "all"])
def test_rows_of_pairs_keep_ages_and_codes(workload, epsilon):
    X = _survey()[["age", "rare", "female", "q0", "q1", "q2"]]
    fit = MarginalReleaser(
        workload=workload, domain="auto", epsilon=epsilon, delta=1e-7, random_state=0
    ).fit(X)
    rows = fit.sample(20000)
    for edge in (25, 33, 48, 65):
        assert abs((rows.age < edge).mean() - (X.age < edge).mean()) < 0.03
    assert rows.age.between(16, 128).all() and set(rows.female) == {0, 1}
    assert all(set(rows[f"q{j}"]) == {1, 2, 3, 4, 5} for j in range(3))
    for code in (1, 2, 3):
        assert abs((rows.rare == code).mean() - (X.rare == code).mean()) < 0.02


def test_an_end_of_which_nothing_is_known_is_doubted(survey):
    assert survey[1].reliable_ and not survey[1].accuracy_warnings_
    far = np.random.default_rng(1).lognormal(0, 20, size=(20000, 4))  # hardly two in one octave
    X = pd.DataFrame(far, columns=list("abcd"))
    with pytest.warns(skdp.exceptions.LowAccuracyWarning, match="smallest or the largest"):
        fit = MarginalReleaser(1, domain="auto", epsilon=0.1, random_state=0).fit(X)
    assert not fit.reliable_


@pytest.mark.parametrize("seed", range(3))
def test_one_number_in_all_rows_is_no_doubt(seed):
    n = 20000
    X = pd.DataFrame({"zero": np.zeros(n), "price": np.full(n, 7.25), "year": np.full(n, 2024)})
    X["rare"] = (np.arange(n) % 200 == 0).astype(int)
    fit = MarginalReleaser(1, domain="auto", random_state=seed).fit(X)
    assert fit.reliable_, fit.accuracy_warnings_
    assert fit.domain_.levels[0] == 2 and fit.domain_.labels[0][0] == "0.0"
    rows = fit.sample(n)
    assert all((rows[name] == X[name][1]).mean() > 0.9 for name in X)
    assert set(rows.rare) == {0, 1} and abs(rows.rare.mean() - 0.005) < 0.003


@pytest.mark.parametrize("epsilon, known", [(1.0, False), (20.0, True)])
def test_the_numbers_of_a_column_of_gaps_are_known_or_doubted(epsilon, known):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": np.where(rng.random(50000) < 0.98, np.nan, rng.normal(5, 2, 50000))})
    X = X.assign(a=rng.integers(0, 2, 50000), b=rng.integers(0, 3, 50000))
    for seed in range(3):
        fit = MarginalReleaser(1, domain="auto", epsilon=epsilon, random_state=seed).fit(X)
        assert fit.reliable_ == known
        assert known or all("column x: " in said for said in fit.accuracy_warnings_)
        if known:
            x, real = fit.sample(50000).x.dropna(), X.x.dropna()
            assert all(abs((x < edge).mean() - (real < edge).mean()) < 0.1 for edge in (2, 4, 6, 8))
