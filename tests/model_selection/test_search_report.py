import math
import re
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from sklearn import model_selection as splitters
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, RandomizedSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler

from skdp import (
    FriendlyCoreKMeans,
    LloydKMeans,
    PrivacyLedger,
    PrivateHistogram,
    PrivateMean,
    PrivateStandardScaler,
)
from skdp.accounting import Budget
from skdp.model_selection._budgets import fits_with_a_row
from skdp.model_selection._search_report import search_report

X = np.random.default_rng(0).normal(size=(60, 2))


def constant(estimator, X, y=None):
    """Return a score for estimators without one."""
    return 0.0


def searched(estimator, grid, cv=3, kind=GridSearchCV, **parameters):
    return kind(estimator, grid, cv=cv, scoring=constant, **parameters).fit(X)


def mpf(q):
    return mpmath.mpf(q.numerator) / q.denominator


# -- counting -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cv",
    [
        4,
        None,
        KFold(3, shuffle=True, random_state=0),
        splitters.StratifiedKFold(3),
        splitters.GroupKFold(3),
        splitters.LeaveOneOut(),
        splitters.RepeatedKFold(n_splits=3, n_repeats=4, random_state=0),
        splitters.RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
        PredefinedSplit(np.arange(24) % 5),
        PredefinedSplit(np.arange(24) % 5 - 1),  # rows that are never held out
        splitters.ShuffleSplit(6, test_size=0.1, random_state=0),
        splitters.TimeSeriesSplit(3),
    ],
    ids=str,
)
def test_the_number_of_fits_with_a_row_is_that_of_the_splitter(cv):
    y = np.arange(24) % 2
    splitter = splitters.check_cv(cv, y)
    groups = np.arange(24) % 6 if isinstance(cv, splitters.GroupKFold) else None
    splits = list(splitter.split(np.zeros((24, 1)), y, groups))
    seen = np.bincount(np.concatenate([train for train, _ in splits]), minlength=24)
    assert fits_with_a_row(cv, len(splits)) == seen.max()
    assert fits_with_a_row(splits, len(splits)) >= seen.max()  # an iterable: nothing is known


def test_kfold_moves_other_rows_when_one_goes():
    """The note of the report: up to three rows of a training set change, not more."""
    worst = 0
    for n, k in product(range(6, 25), range(2, 6)):
        for row in range(n):
            rest = np.delete(np.arange(n), row)
            pairs = zip(KFold(k).split(np.arange(n)), KFold(k).split(rest), strict=True)
            worst = max(worst, *(len({*a} ^ {*rest[b]}) for (a, _), (b, _) in pairs))
    assert worst == 3


# -- composing ----------------------------------------------------------------------------------


def test_gaussian_fits_are_composed_in_mu_squared():
    grid = {"epsilon": [0.5, 1.0], "n_clusters": [2, 3]}
    search = searched(FriendlyCoreKMeans(n_init=1), grid, cv=3)
    report = search_report(search)
    half, one = Budget.gaussian(0.5, 1e-6), Budget.gaussian(1.0, 1e-6)
    assert [tuple(cost)[:1] + tuple(cost)[2:] for cost in report.costs] == [
        ("search", 2, 6, 4),
        ("search", 2, 6, 4),
        ("refit", 1, 1, 1),
    ]
    assert report.budget.amount == 4 * half.amount + 5 * one.amount  # 2 of 3 folds; refit: dearest
    assert report.budget.delta == 9 * Fraction(1, 10**6)
    refit = {0.5: half, 1.0: one}[search.best_params_["epsilon"]]
    assert report.charged.amount == 6 * half.amount + 6 * one.amount + refit.amount
    with mpmath.workdps(60):  # the curve at the epsilon that is claimed, and just below it
        mu, failure = mpmath.sqrt(mpf(report.budget.amount)), mpf(report.budget.failure)
        curve = lambda e: (  # noqa: E731
            mpmath.ncdf(mu / 2 - e / mu)
            - mpmath.e**e * mpmath.ncdf(-mu / 2 - e / mu)
            + (1 + mpmath.e**e) * failure
        )
        epsilon = mpmath.mpf(report.epsilon())
        assert curve(epsilon) <= mpf(report.budget.delta) < curve(epsilon * (1 - 1e-6))
    assert report.epsilon() < 4 * 0.5 + 5 * 1.0  # adding up
    assert f"(epsilon={report.epsilon():.4g}, delta=9e-06)" in str(report)
    assert report.epsilon(1e-5) < report.epsilon() < report.epsilon(group_size=2)


def test_plans_without_failure_events_pay_for_none():
    report = search_report(searched(LloydKMeans(2), {"max_iter": [2, 3]}, cv=2))
    assert report.budget.failure == 0 < report.charged.failure


def test_pure_fits_add_up():
    histogram = PrivateHistogram(bins=3, delta=0.0)
    report = search_report(searched(histogram, {"epsilon": [0.5, 1.0]}, cv=3))
    assert (report.budget.measure, report.budget.amount) == ("pure", 2 * 0.5 + 2 * 1.0 + 1.0)
    assert (report.epsilon(), report.epsilon(group_size=2)) == (4.0, 8.0)


def test_fits_of_different_kinds_add_up():
    grid = {"noise": ["laplace", "gaussian"]}
    report = search_report(searched(PrivateHistogram(bins=3), grid, cv=3))
    assert report.budget.measure == "approx" and report.epsilon() == 5.0
    assert report.budget.delta == 3 * Fraction(1, 10**6)  # 2 Gaussian fits, and the refit may be
    assert report.epsilon(1e-6) == math.inf


@pytest.mark.parametrize("composition", ["gaussian", "basic"])
def test_what_is_charged_is_what_the_ledger_has_counted(composition):
    ledger = PrivacyLedger(1000, 1e-2, composition=composition)
    search = searched(PrivateMean(ledger=ledger), {"epsilon": [0.5, 1.0, 2.0]}, cv=4)
    spent, report = ledger.spent(), search_report(search)
    if composition == "gaussian":
        assert (report.charged.amount, report.charged.failure) == (spent.amount, spent.failure)
    else:
        assert (report.charged.epsilon, report.charged.delta) == (spent.amount, spent.failure)
    assert sum(cost.fits for cost in report.costs) == len(ledger.entries()) - 1 == 13
    assert ledger.spent() == spent  # a report costs nothing


def test_nothing_is_fitted_again(monkeypatch):
    search = searched(PrivateMean(), {"epsilon": [0.5, 1.0]})
    monkeypatch.setattr(PrivateMean, "fit", None)
    assert search_report(search).epsilon() > 0


# -- what may be searched -----------------------------------------------------------------------


def test_pipelines_pay_for_every_private_step():
    pipe = make_pipeline(PrivateStandardScaler(), PrivateMean())
    report = search_report(searched(pipe, {"privatemean__epsilon": [1.0, 2.0]}, cv=2))
    one, two = Budget.gaussian(1.0, 1e-6).amount, Budget.gaussian(2.0, 1e-6).amount
    assert report.budget.amount == (one + one) + 2 * (one + two)
    assert report.others == () and "not counted" not in str(report)


def test_nested_steps_are_found_and_others_named():
    columns = ColumnTransformer([("a", PrivateStandardScaler(), [0]), ("b", "drop", [1])])
    pipe = make_pipeline(columns, make_union(StandardScaler(), PrivateMean()), "passthrough")
    report = search_report(searched(pipe, {"columntransformer__a__epsilon": [1.0]}, cv=2))
    assert report.costs[0].budget.amount == 2 * Budget.gaussian(1.0, 1e-6).amount
    assert report.others == ("StandardScaler",) and "StandardScaler" in str(report)


def test_a_step_may_be_searched_itself():
    pipe = make_pipeline(PrivateStandardScaler(), PrivateMean())
    grid = {"privatestandardscaler": ["passthrough", PrivateStandardScaler(epsilon=2.0)]}
    report = search_report(searched(pipe, grid, cv=2, refit=False))
    one, two = Budget.gaussian(1.0, 1e-6).amount, Budget.gaussian(2.0, 1e-6).amount
    assert [cost.budget.amount for cost in report.costs] == [one, one + two]


def test_searches_without_a_bill():
    with pytest.raises(NotFittedError):
        search_report(GridSearchCV(PrivateMean(), {"epsilon": [1.0]}))
    with pytest.raises(ValueError, match="GridSearchCV over KMeans holds no private estimator"):
        search_report(searched(KMeans(2), {"n_init": [1, 2]}))
    bagging = BaggingRegressor(PrivateMean())
    search = GridSearchCV(bagging, {"n_estimators": [2]}, cv=2)
    search.cv_results_ = {"params": [{"n_estimators": 2}]}  # as if it had been fitted
    with pytest.raises(ValueError, match="any number of times"):
        search_report(search)


# -- what it says -------------------------------------------------------------------------------


def test_it_names_every_attribute_that_holds_a_score():
    search = searched(PrivateMean(), {"epsilon": [0.5]}, return_train_score=True)
    text = str(search_report(search))
    scores = {name for name in vars(search) if name.startswith("best_")} | {"cv_results_"}
    assert all(name in text for name in scores) and "PrivateSearchCV" in text
    for name in search.cv_results_:
        if "score" in name and not name.endswith("_time"):
            assert re.sub("split[012]", "split*", name) in text
    assert "mean_train_score" in text and "*_time" in text


def test_a_search_without_refit_has_no_best_estimator():
    search = searched(
        PrivateMean(), {"epsilon": [0.5, 1.0]}, kind=RandomizedSearchCV, n_iter=2, refit=False
    )
    report = search_report(search)
    assert "best_estimator_" not in str(report) and len(report.costs) == 2
    assert str(report).startswith(
        "Bill of RandomizedSearchCV over PrivateMean: 2 candidates, 3 folds\n"
    )


@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
def test_seeded_fits_have_no_guarantee():
    report = search_report(searched(PrivateMean(random_state=0), {"epsilon": [0.5]}))
    assert report.seeded and "NO GUARANTEE" in str(report)


def test_html_escapes_and_has_a_row_per_cost():
    report = search_report(searched(PrivateMean(), {"epsilon": [0.5, 1.0]}))
    page = report._repr_html_()
    assert page.count("<tr") == page.count("</tr>") and page.count("<td>") == page.count("</td>")
    assert (
        "<th>one row</th>" in page
        and "<tr class=warn>" in page
        and page.count("<td>search</td>") == 2
    )
