"""Statistics of released tables: intervals, what is refused, and why."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skdp import MarginalReleaser
from skdp.marginals import Bins
from skdp.marginals._inference import _judged

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
DOMAIN = {"score": 9, "years": list(range(1, 8)), "age": 6, "sex": ["F", "M"]}
TRUE = {"years": 0.6, "age": -0.2, "sex=M": 0.8}


def people(n, seed):
    rng = np.random.default_rng(10**6 + seed)
    sex, years, age = rng.choice(["F", "M"], n), rng.integers(1, 8, n), rng.integers(0, 6, n)
    age = np.where(rng.random(n) < 0.4, np.minimum(years, 5), age)
    score = 2.5 + 0.6 * years - 0.2 * age + 0.8 * (sex == "M") + rng.normal(size=n) - 1.0
    low = np.floor(score)  # rounded to either side by chance: the mean stays
    score = low + (rng.random(n) < score - low)
    return pd.DataFrame(
        {"score": score.clip(0, 8).astype(int), "years": years, "age": age, "sex": sex}
    )


def fitted(X, seed=0, epsilon=1.0, **parameters):
    parameters = {"domain": DOMAIN, "postprocess": "none"} | parameters
    return MarginalReleaser(epsilon=epsilon, random_state=seed, **parameters).fit(X)


def gap(rows):
    return rows.score[rows.sex == "M"].mean() - rows.score[rows.sex == "F"].mean()


@pytest.mark.slow
def test_intervals_cover_the_population():
    """60 releases: 95 % give or take three standard errors, 2.8 %, for each of five numbers."""
    everyone = people(200_000, 10**5)
    truth = [
        everyone.score.mean(),
        gap(everyone),
        *_slopes(everyone)[1:],
    ]
    inside, wide = [], []
    for seed in range(60):
        fit = fitted(people(4000, seed), seed)
        told = [
            fit.infer(lambda rows: rows.score.mean(), ["score"], random_state=seed),
            fit.infer(gap, ["score", "sex"], random_state=seed),
            fit.infer("ols", ["score", "years", "age", "sex"], random_state=seed),
        ]
        low, high = (np.concatenate([t.interval[i] for t in told]) for i in (0, 1))
        keep = [0, 1, 3, 4, 5]
        there = np.where(np.isnan(low[keep]), np.nan, 1.0)  # one in forty is refused by chance
        inside.append(there * ((low[keep] <= truth) & (truth <= high[keep])))
        wide.append(high[keep] - low[keep])
        assert told[2].names == ("intercept", *TRUE)
    assert np.nanmean(inside, axis=0).min() > 0.95 - 3 * 0.028
    assert np.abs(np.nanmean(inside) - 0.95) < 0.03
    assert np.nanmean(wide, axis=0).max() < 0.5 and np.isnan(inside).mean() < 0.1


def _slopes(X):
    design = np.column_stack([np.ones(len(X)), X.years, X.age, X.sex == "M"])
    return np.linalg.lstsq(design, X.score, rcond=None)[0]


def test_without_noise_slopes_are_those_of_the_rows_and_the_interval_that_of_rows():
    X = people(5000, 3)
    told = fitted(X, epsilon=1e6).infer("ols", ["score", "years", "age", "sex"])
    assert np.allclose(told.estimate, _slopes(X), atol=1e-4)
    design = np.column_stack([np.ones(len(X)), X.years, X.age, X.sex == "M"])
    rest = X.score - design @ _slopes(X)
    error = np.sqrt(np.mean(rest**2) * np.diag(np.linalg.inv(design.T @ design)))
    assert np.allclose(told.standard_error, error, rtol=0.01)
    assert told.refusals == (None,) * 4 and "sex=M: " in str(told)
    mean = fitted(X, epsilon=1e6).infer(lambda rows: rows.age.mean(), ["age"], m=200)
    assert mean.standard_error[0] == pytest.approx(X.age.std() / np.sqrt(5000), rel=0.2)


def test_no_interval_where_a_table_was_not_released():
    fit = fitted(people(2000, 0), workload=[["score", "sex"], ["years", "age"]])
    with pytest.raises(ValueError, match="no table of the workload"):
        fit.infer(lambda rows: rows.score.corr(rows.years), ["score", "years"])
    with pytest.raises(ValueError, match="no table of the workload"):
        fit.infer("ols", ["score", "sex", "years"])
    with pytest.raises(ValueError, match="no table of the workload"):
        fitted(people(2000, 0)).infer(lambda rows: rows.size, ["score", "years", "age"])
    assert fit.infer(gap, ["sex", "score"], m=100).refusals == (None,)


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 20.0])
def test_no_interval_for_a_distance_that_noise_alone_makes(epsilon):
    """Nothing depends: the distance from equal cells is that of the draw, and of the noise."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 20, 1500), rng.integers(0, 20, 1500)])

    def distance(rows):
        table = np.histogram2d(rows[:, 0], rows[:, 1], bins=np.arange(21))[0] / len(rows)
        return np.abs(table - 1 / 400).sum()

    fit = MarginalReleaser(domain={0: 20, 1: 20}, random_state=0, epsilon=epsilon).fit(X)
    told = fit.infer(distance, [0, 1])
    assert told.refusals[0] is not None and np.isnan(told.interval).all()
    assert "no interval" in str(told)
    plain = fit.infer(lambda rows: rows[:, 0].mean(), [0, 1], m=100)
    assert plain.refusals == (None,) and abs(plain.estimate[0] - X[:, 0].mean()) < 4


def test_no_slopes_where_nothing_is_above_the_noise():
    few = fitted(people(40, 0), epsilon=0.02)
    told = few.infer("ols", ["score", "years", "age", "sex"])
    assert np.isnan(told.interval).all() and None not in told.refusals


def test_a_mean_that_is_off_by_more_than_half_an_error_is_refused():
    center, reasons = np.array([0.0, 0.4, 0.6]), [None] * 3
    told = _judged(("a", "b", "c"), np.zeros(3), center, np.ones(3), 0.95, reasons)
    assert [r is None for r in told.refusals] == [True, True, False]
    assert np.isnan(told.standard_error).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("levels", "match"),
    [(Bins([0, 2, 5, 9]), "binned=True"), ([0, 1, 2, None], "missing"), ([0, ...], "missing")],
)
def test_numbers_that_are_not_known_are_refused(levels, match):
    X = people(2000, 0).astype({"score": float})
    with np.errstate(all="ignore"):
        X["score"] = np.minimum(X.score, 2) if isinstance(levels, list) else X.score
    fit = fitted(X, domain={"score": levels, "sex": ["F", "M"]})
    with pytest.raises(ValueError, match=match):
        fit.infer(gap, ["score", "sex"])
    with pytest.raises(ValueError, match=match):
        fit.infer("ols", ["score", "sex"])
    if isinstance(levels, Bins):
        told = fit.infer(gap, ["score", "sex"], m=100, binned=True)
        assert told.refusals == (None,)
        with pytest.raises(ValueError, match="is text"):
            fit.infer("ols", ["sex", "score"], binned=True)


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"statistic": "mean"}, "callable or 'ols'"),
        ({"m": 2}, "at least 5"),
        ({"statistic": "ols", "columns": ["score"]}, "two columns"),
        ({"columns": ["wage"]}, "no column 'wage'"),
        ({"statistic": lambda rows: rows["score"]}, "a number, or a few"),
    ],
)
def test_what_does_not_fit_is_refused(asked, match):
    fit = fitted(people(500, 0))
    with pytest.raises(ValueError, match=match):
        fit.infer(**{"statistic": gap, "columns": ["score", "sex"], **asked})
    with pytest.raises(ValueError, match="must be a dict"):
        fit.query("sex == 'f'")


@pytest.mark.slow
def test_ranges_tell_their_correlated_noise():
    X = np.random.default_rng(0).integers(0, 64, size=(3000, 1))
    errors = []
    for seed in range(8):
        fit = MarginalReleaser(domain={0: 64}, workload="ranges", random_state=seed).fit(X)
        told = fit.infer(lambda rows: np.mean(rows < 32), [0], m=40, random_state=seed)
        errors.append((told.estimate[0] - np.mean(X < 32)) / told.standard_error[0])
        again = fit.infer(lambda rows: np.mean(rows < 32), [0], m=40, random_state=seed)
        assert again.estimate == told.estimate and again.interval[0] == told.interval[0]
    assert np.abs(errors).max() < 4 and replace(told, names=("x",)).names == ("x",)
