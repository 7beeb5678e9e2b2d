"""Searches on what comes in pieces: the search of the whole table, bit by bit."""

import numpy as np
import pytest
from sklearn.base import clone

from skdp import (
    FriendlyCoreKMeans,
    PrivateGMM,
    PrivateMean,
    PrivateStandardScaler,
    RowMap,
    config_context,
    make_private_pipeline,
)
from skdp.audit._fingerprint import fingerprint
from skdp.model_selection import PrivateSearchCV, RowScorer
from skdp.readers._tables import tables_of

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

N = 1500


@pytest.fixture(scope="module")
def table():
    return two_blobs()


def two_blobs():
    rng = np.random.default_rng(0)
    return np.abs(rng.normal(size=(N, 2))) * [1, 10] + 50 * rng.integers(0, 2, size=(N, 1))


def pieces(table):
    rows = getattr(table, "iloc", table)
    return [rows[a:b] for a, b in ((0, 400), (400, 400), (400, 401), (401, len(table)))]


def near(model, x, y):
    return -abs(float(np.asarray(x)[0, 0]) - float(model.location_[0]))


def below(model, x, y):
    return float((x["a"].iloc[0] > model.location_[0]) == y)


def searches():
    mapped = make_private_pipeline(
        RowMap(np.log1p), PrivateStandardScaler(), FriendlyCoreKMeans(n_init=1)
    )
    return {
        "density": (PrivateGMM(n_init=1), {"n_components": [1, 2]}, None),
        "distance": (FriendlyCoreKMeans(n_init=1), {"n_clusters": [2, 3]}, None),
        "pipeline": (mapped, {"friendlycorekmeans__n_clusters": [2, 3]}, None),
        "rows": (PrivateMean(), {"denoiser": [None]}, RowScorer(near, -90.0, 0.0)),
    }


def search(name):
    estimator, candidates, scoring = searches()[name]
    return PrivateSearchCV(
        estimator, candidates, scoring=scoring, epsilon=20.0, mean_trials=2, random_state=5
    )


def released(search):
    winner = search.best_estimator_
    last = winner[-1] if hasattr(winner, "steps_") else winner
    found = {name: value for name, value in vars(last).items() if name.endswith("_")}
    return search.best_score_, search.best_index_, fingerprint(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", searches())
def test_a_search_of_pieces_is_that_of_the_table(table, name):
    rows = table[:500]  # those of a pipeline are scored one by one
    assert released(search(name).fit(rows)) == released(search(name).fit(pieces(rows)))


def test_rows_with_gaps_are_absent_or_refused(table):
    gaps = table.copy()
    gaps[::50, 0] = np.nan
    with config_context(invalid_rows="ignore"):
        told = released(search("distance").fit(gaps))
        assert released(search("distance").fit(pieces(gaps))) == told
    with pytest.raises(ValueError, match="contains NaN"):
        search("distance").fit(pieces(gaps))


@pytest.mark.slow
def test_frames_and_targets(table):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table, columns=["a", "b"])
    scorer = RowScorer(below, 0.0, 1.0, uses_target=True)
    searched = PrivateSearchCV(
        PrivateMean(), {"denoiser": [None]}, scoring=scorer, epsilon=20.0, random_state=5
    )
    y = (table[:, 0] > 25).astype(int)
    here, there = clone(searched).fit(frame, y), clone(searched).fit(pieces(frame), y)
    assert released(here) == released(there)
    assert here.best_score_ > 0.5
    with pytest.raises(ValueError, match="one entry for every row"):
        searched.fit(pieces(frame), y[1:])


@pytest.mark.parametrize("kind", ["array", "pandas", "pyarrow"])
def test_some_rows_stay_where_they_are(table, kind):
    batches = pieces(table)
    if kind != "array":
        module = pytest.importorskip(kind)
        make = module.DataFrame if kind == "pandas" else module.table
        batches = [make({"a": part[:, 0], "b": part[:, 1]}) for part in batches]
    tables = tables_of(batches)
    tables.look(entries=True)
    places = np.array([0, 3, 399, 400, 402, N - 1])
    some = tables.only(places)
    assert len(some) == len(places)
    np.testing.assert_array_equal(some.take([4, 0, 0]), table[[402, 0, 0]])
    parts = [
        [block for _, block in some.blocks()],
        [np.asarray(part) for _, part in some.pieces()],
        list(some.later(np.asarray)),
        some.each(np.asarray),
    ]
    for part in parts:
        np.testing.assert_array_equal(np.concatenate(part), table[places])
    starts = some.each(lambda rows, first: [first] * len(rows), lambda start, stop: start)
    assert [start for part in starts for start in part] == [0, 0, 0, 3, 4, 4]
    left = some.without(np.arange(len(places)) < 3).take(range(6))
    np.testing.assert_array_equal(np.isnan(left).all(axis=1), np.arange(6) < 3)
