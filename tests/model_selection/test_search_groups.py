"""Searches with groups: a person is held out as a whole, and moves one score or the models."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline

from skdp import (
    FriendlyCoreKMeans,
    LloydKMeans,
    PrivacyLedger,
    PrivateLogisticRegression,
    PrivateSearchCV,
    PrivateStandardScaler,
    config_context,
    make_private_pipeline,
    search_report,
)
from skdp.audit import conditional_sensitivity, non_interference
from skdp.audit._transcript import FixedKeys
from skdp.model_selection._runs import Table, split
from skdp.readers._persons import Persons

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
CANDIDATES = {"n_clusters": [2, 3]}


def persons(n=400, seed=0):
    rng = np.random.default_rng(seed)
    ids = rng.permutation(np.repeat(np.arange(n), rng.integers(1, 7, n)))
    return rng.normal(size=(len(ids), 2)) + rng.choice([-9.0, 9.0], size=(n, 1))[ids], ids


X, IDS = persons()


def search(estimator=None, candidates=None, **given):
    given = {"mean_trials": 2, "random_state": 0, "epsilon": 8.0, "min_rows": 0} | given
    return PrivateSearchCV(estimator or FriendlyCoreKMeans(2), candidates or CANDIDATES, **given)


def parts(table, keys):
    return split(table, FixedKeys(keys), 0.3)


def test_a_person_is_in_one_part_and_others_stay_where_they_are():
    """Of 400 persons, each held out with probability .3, 60 to 180 are, but for 1e-9."""
    keys = np.random.default_rng(1).integers(0, 2**64, len(X), dtype=np.uint64)
    table = Table(X).of(Persons(IDS, 400))
    train, held = parts(table, keys)
    assert not set(IDS[train]) & set(IDS[held]) and set(IDS[train]) | set(IDS[held]) == set(IDS)
    assert 60 < len(held) == len(set(IDS[held])) < 180
    for gone in (0, 5, 399):
        kept = gone != IDS
        fewer = Table(X[kept]).of(Persons(IDS[kept], 400))
        for part, other in zip((train, held), parts(fewer, keys[kept]), strict=True):
            np.testing.assert_array_equal(part[IDS[part] != gone], np.flatnonzero(kept)[other])


def test_the_coin_of_a_person_knows_nothing_of_its_number_of_rows():
    """Of 2000 persons of one row and 2000 of nine, each: 600 +- 20.5; six of them, twice."""
    codes = np.r_[np.arange(2000), np.repeat(np.arange(2000, 4000), 9)]
    keys = np.random.default_rng(2).integers(0, 2**64, len(codes), dtype=np.uint64)
    _, held = parts(Table(np.zeros((len(codes), 1))).of(Persons(codes, 4000)), keys)
    few = np.count_nonzero(codes[held] < 2000)
    assert abs(few - 600) < 123 and abs(len(held) - few - 600) < 123


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["distance", None])
def test_what_is_released_moves_by_at_most_what_one_person_may(scoring):
    estimator = search(scoring=scoring)
    report = conditional_sensitivity(estimator, X, groups=IDS, n_pairs=6)
    assert report.ok and {"score", "distances"} <= {label.split("/")[-1] for label in report.worst}


@pytest.mark.slow
def test_nothing_else_is_told():
    tables = {"named": (X[:80], None, np.char.add("person ", IDS[:80].astype(str)))}
    tables |= {"one": (X[:80], None, 0 * IDS[:80])}
    non_interference(search(), X[:80], groups=IDS[:80], n_transcripts=1, datasets=tables)


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"estimator": LloydKMeans(2, radius=20.0), "delta": 0},
        pytest.param(
            {
                "estimator": make_private_pipeline(PrivateStandardScaler(), FriendlyCoreKMeans(2)),
                "candidates": {"friendlycorekmeans__n_clusters": [2, 3]},
            },
            marks=pytest.mark.slow,
        ),
    ],
    ids=["gaussian", "pure", "pipeline"],
)
def test_the_winner_and_the_bill_protect_groups(given):
    estimator = search(**given)
    fit = estimator.fit(X, groups=IDS)
    assert (
        fit.privacy_report_.privacy_unit
        == fit.best_estimator_.privacy_report_.privacy_unit
        == "group"
    )
    assert any(text.startswith("groups: held out") for text in fit.privacy_report_.assumptions)
    assert fit.privacy_report_.budget == search(**given).fit(X).privacy_report_.budget
    for other in (np.array_split(X, 3), X):
        names = [f"person {i}" for i in IDS]
        again = search(**given).fit(other, groups=names)
        assert again.best_score_ == fit.best_score_ and again.best_params_ == fit.best_params_


def test_targets_go_with_their_persons():
    y = np.where(X[:, 0] > 0, "a", "b")
    fit = search(PrivateLogisticRegression(), {"C": [0.1, 1.0]}).fit(X, y, groups=IDS)
    assert fit.best_score_ > 0.8 and list(fit.classes_) == ["a", "b"]


def test_absent_rows_decide_nothing():
    given, owners = np.insert(X, [0, 9], np.nan, axis=0), np.insert(IDS, [0, 9], [IDS[4], 3])
    with config_context(invalid_rows="ignore"):
        table = Table(given).of(Persons(owners, 400))
    keys = np.random.default_rng(1).integers(0, 2**64, len(X), dtype=np.uint64)
    places = np.flatnonzero(np.isfinite(given).all(axis=1))
    _, held = parts(table, np.insert(keys, [0, 9], [0, 0]))
    _, expected = parts(Table(X).of(Persons(IDS, 400)), keys)
    np.testing.assert_array_equal(held, places[expected])


def test_a_ledger_of_groups_pays_for_groups_alone():
    ledger = PrivacyLedger(epsilon=20.0, delta=1e-4, composition="basic", unit="group")
    search(ledger=ledger, random_state=None).fit(X, groups=IDS)
    assert len(ledger.entries()) == 2
    with pytest.raises(ValueError, match="one entry per row"):
        search(ledger=ledger).fit(X, groups=IDS[1:])
    assert len(ledger.entries()) == 2


# --- the bill of scikit-learn's own search


@pytest.mark.slow
def test_the_bill_of_a_search_tells_what_its_fits_protect():
    alone = GridSearchCV(FriendlyCoreKMeans(random_state=0), CANDIDATES, cv=GroupKFold(3))
    report = search_report(alone.fit(X, groups=IDS))
    assert report.privacy_unit == ("row",) and "one row" in str(report)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = FriendlyCoreKMeans(random_state=0).set_fit_request(groups=True)
        routed = GridSearchCV(asking, CANDIDATES, cv=GroupKFold(3)).fit(X, groups=IDS)
        chain = make_pipeline(PrivateStandardScaler().set_fit_request(groups=False), asking)
        grid = {"friendlycorekmeans__n_clusters": [2, 3]}
        score = lambda fit, X, y=None: 0.0  # noqa: E731
        mixed = GridSearchCV(chain, grid, cv=GroupKFold(3), scoring=score).fit(X, groups=IDS)
        report = search_report(routed)
        assert report.privacy_unit == ("group",) and "one group" in str(report)
        assert "one group" in report._repr_html_()
        report = search_report(mixed)
    assert report.privacy_unit == ("group", "row") and "NOT ONE UNIT" in str(report)


def test_without_a_last_fit_the_ledger_tells():
    ledger = PrivacyLedger(epsilon=30.0, delta=1e-4, unit="group")
    with sklearn.config_context(enable_metadata_routing=True):
        asking = FriendlyCoreKMeans(ledger=ledger).set_fit_request(groups=True)
        fit = GridSearchCV(asking, CANDIDATES, cv=GroupKFold(2), refit=False).fit(X, groups=IDS)
        assert search_report(fit).privacy_unit == ("group",)
