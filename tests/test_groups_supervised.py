"""Models that predict, of rows of persons: a person moves no release by more than is paid for."""

import numpy as np
import pandas as pd
import pytest

import skdp
from skdp import (
    PrivateAdditiveClassifier,
    PrivateAdditiveRegressor,
    PrivateBoostingClassifier,
    PrivateBoostingRegressor,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateRidge,
)
from skdp.kernel import _cells
from skdp.kernel._parts import present_rows
from skdp.mechanisms._exact import of_persons
from skdp.readers._ids import persons_of
from skdp.readers._persons import GRAIN
from skdp.table._groups import GROUP_COUNT, grouped_plan
from tests._curators import CannedCurator, FixedKeys

LEVELS = ["a", "b", "c"]
SIZES = 0, 1, 3, 4, 50, 3000
MODELS = {
    "line": (PrivateLinearRegression, {}),
    "ridge": (PrivateRidge, {}),
    "additive number": (PrivateAdditiveRegressor, {"categories": {"text": LEVELS}}),
    "two classes": (PrivateLogisticRegression, {"classes": ["no", "yes"]}),
    "three classes": (PrivateLogisticRegression, {"classes": ["x", "y", "z"]}),
    "additive classes": (
        PrivateAdditiveClassifier,
        {"classes": ["no", "yes"], "categories": {"text": LEVELS}},
    ),
    "pairs, additive number": (PrivateBoostingRegressor, {"categories": {"text": LEVELS}}),
    "pairs, additive classes": (
        PrivateBoostingClassifier,
        {"classes": ["no", "yes"], "categories": {"text": LEVELS}},
    ),
    "bought": (PrivateAdditiveClassifier, {}),
}


def _neighbours(name, rng):
    """Return a table, targets, owners and keys; and all of them with a person more."""
    n, k = int(rng.choice([3, 300, 3000])), int(rng.choice(SIZES))
    total = n + k
    X = pd.DataFrame(rng.normal(size=(total, 3)) * [1.0, 1e3, 1e-3] + [0.0, 1e6, 0.0])
    X.columns = ["p", "q", "r"]
    X["r"] *= rng.random(total) < 0.3
    if "additive" in name or name == "bought":
        X["text"] = rng.choice([*LEVELS, "d"], size=total)
        X.loc[rng.random(total) < 0.1, "p"] = np.nan
    classes = MODELS[name][1].get("classes", ["no", "yes"] if name == "bought" else None)
    y = rng.normal(size=total) + X["p"].fillna(0) if classes is None else rng.choice(classes, total)
    y = np.array(y, dtype=float if classes is None else object)
    ids = np.minimum(rng.zipf(1.6, size=total), 10**6)
    new = rng.permutation(total)[:k]
    ids[new] = -1
    if rng.random() < 0.5:  # all alike, and far from the others
        X.loc[new, ["p", "q"]] = rng.choice([1e300, -50.0, 0.3, np.nan])
        y[new] = 1e9 if classes is None else classes[0]
    keys = rng.integers(0, 2**63, size=total, dtype=np.uint64) * 2
    others = np.delete(np.arange(total), new)
    both = [(X.iloc[at].reset_index(drop=True), y[at], ids[at], keys[at]) for at in (others, ...)]
    return both if k else both[:1] * 2


def _run(model, X, y, ids, keys, transcript, seed=0):
    with skdp.config_context(invalid_rows="ignore"), np.errstate(all="ignore"):
        rows = model._read(X, y)
        plan = grouped_plan(model.plan(), model)
        curator = CannedCurator(plan, transcript, seed=seed, coins=FixedKeys(keys))
        persons = persons_of(ids, len(rows), ignore=True)
        return curator, model._release_of_groups(persons, rows, curator)


def _same(one, two):
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(_same, one, two))
    if isinstance(one, np.ndarray):
        return np.array_equal(one, two, equal_nan=one.dtype.kind == "f")
    return one == two


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", MODELS)
def test_a_row_each_gives_the_integers_of_rows_times_their_weight(name):
    """No sum is half weighed: where a person is a row, they are all those of rows."""
    make, given = MODELS[name]
    model = make(epsilon=8.0, rows_per_group=1, **given)
    for range_ in {"feature_range", "target_range"} & {*model.get_params()}:
        model.set_params(**{range_: (-10, 10)})  # no search, which knows the persons better
    X, y, _, keys = _neighbours(name, np.random.default_rng(1))[1]
    grouped, one = _run(model, X, y, np.arange(len(X)), keys, "exact")
    alone, two = _run_of_rows(model, X, y, keys)
    assert len(grouped.records) == len(alone.records) > 4
    for a, b in zip(grouped.records, alone.records, strict=True):
        assert a.label == b.label
        # the count of groups tells how many have no row without a gap, too
        value = a.value[:1] if a.label == "group count" else a.value
        assert np.array_equal(value, b.value) or np.array_equal(value, GRAIN * b.value)
    assert all(_same(one[key], two[key]) for key in two)


def _run_of_rows(model, X, y, keys):
    """Run the model on rows alone, with the budget that a fit with groups has for it."""
    with skdp.config_context(invalid_rows="ignore"), np.errstate(all="ignore"):
        rows = model._read(X, y)
        plan = grouped_plan(model.plan(), model)
        curator = CannedCurator(plan, "exact", coins=FixedKeys(keys))
        number = of_persons([int(np.count_nonzero(present_rows(rows)))])
        curator.gaussian(number, sensitivity=1, share=GROUP_COUNT.at_most, label="group count")
        inner = curator.child("fit", curator.remaining)
        inner.one_row_each = True
        return curator, model._release_from(rows, inner)


def test_cells_that_are_held_by_weight_have_the_sums_of_those_that_are_read(monkeypatch):
    rng = np.random.default_rng(0)
    X, y, ids, keys = _neighbours("additive number", rng)[1]
    runs = []
    for most in (_cells.HELD_BYTES, 0):
        monkeypatch.setattr(_cells, "HELD_BYTES", most)
        model = PrivateAdditiveRegressor(epsilon=8.0, rows_per_group=3)
        runs.append(_run(model, X, y, ids, keys, "noise")[0].records)
    assert len(runs[0]) == len(runs[1])
    assert all(np.array_equal(a.value, b.value) for a, b in zip(*runs, strict=True))


@pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n", [0, 6])
def test_a_fit_of_nobody_answers_as_one_of_somebody(name, n):
    make, given = MODELS[name]
    X = np.full((n, 2), np.nan)
    y = np.array([None] * n, dtype=object) if make._target == "class" else X[:, 0]
    given = given if "additive" not in name else {k: given[k] for k in given if k == "classes"}
    for table in (X, pd.DataFrame(X, columns=["p", "q"])):
        with skdp.config_context(invalid_rows="ignore"):
            assert make(**given).fit(table, y, groups=np.arange(n)).rows_per_group_ == 1
