"""Sums over cells are exact, however rows are cut, held or read."""

from functools import partial

import numpy as np
import pytest
from joblib import parallel_config

from skdp.additive import _cells
from skdp.additive._cells import CellRows, cell_counts, cell_sums, held, held_rows
from skdp.additive._cycles import Model
from skdp.additive._links import Logistic
from skdp.chunks import ArrayRows

EDGES = [np.array([-1.0, 0.0, 1.0]), 3, np.array([]), np.arange(400.0)]


def _table(n=500):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            rng.integers(-1, 5, size=n),
            rng.normal(size=n),
            rng.uniform(-5, 410, size=n),
            np.where(rng.random(n) < 0.1, np.nan, rng.random(n) < 0.3),
        ]
    )
    X[7, -1], X[8, 0] = np.inf, np.inf
    return X


def _codes(y):
    return y.astype(np.int64)


def _cells_of(X, **params):
    return CellRows(ArrayRows(X, **params), EDGES, _codes)


def _model():
    rng = np.random.default_rng(1)
    model = Model.start([300], [5, 3, 2, 402])
    model.tables = [rng.integers(-900, 900, size=table.shape) for table in model.tables]
    return model


def _by_hand(X, feature):
    """Return sums of residuals, one row after the other."""
    model, sums = _model(), np.zeros((2, _model().tables[feature].shape[1]), dtype=np.int64)
    for row in X[np.isfinite(X[:, -1])]:
        cells = []
        for x, edges in zip(row, EDGES, strict=False):
            if np.ndim(edges) == 0:
                cells.append(int(x) if 0 <= x < edges else edges - 1)
            else:
                cells.append(int((edges < x).sum()) if np.isfinite(x) else len(edges) + 1)
        score = 300 + sum(table[0, c] for table, c in zip(model.tables, cells, strict=True))
        target = np.array([int(row[-1])])
        sums[:, cells[feature]] += Logistic.residuals(np.array([[score]]), target)[:, 0]
    return sums


@pytest.mark.parametrize("feature", range(4))
def test_sums_are_those_of_a_loop(feature):
    X = _table()
    residuals = partial(_model().residuals, Logistic)
    expected = _by_hand(X, feature)
    for rows in (_cells_of(X), held(_cells_of(X)), _cells_of(X, block_rows=17)):
        assert np.array_equal(cell_sums(rows, feature, residuals), expected)
    with parallel_config(n_jobs=2):
        shared = cell_sums(held(_cells_of(X, block_rows=9)), feature, residuals)
    assert np.array_equal(shared, expected)


def test_counts_count_rows_that_are_there():
    X = _table()
    counts = cell_counts(_cells_of(X))
    assert [len(count) for count in counts] == [5, 3, 2, 402]
    assert {int(count.sum()) for count in counts} == {int(np.isfinite(X[:, -1]).sum())}
    assert counts[2][1] == 0 and counts[0][4] > 0
    together = cell_counts(held(_cells_of(X)))
    assert all(np.array_equal(a, b) for a, b in zip(counts, together, strict=True))


def test_no_rows_have_counts_and_sums_too():
    for X in (np.empty((0, 5)), np.full((3, 5), np.nan)):
        for rows in (_cells_of(X), held(_cells_of(X))):
            assert sum(count.sum() for count in cell_counts(rows)) == 0
            assert not cell_sums(rows, 0, partial(_model().residuals, Logistic)).any()


def test_what_is_large_or_elsewhere_is_not_held(monkeypatch):
    cells = _cells_of(_table())
    assert held(cells) is not cells
    monkeypatch.setattr(_cells, "HELD_BYTES", 1000)
    assert held(cells) is cells and held_rows(cells._rows) is cells._rows
    monkeypatch.undo()
    cells.in_memory = False
    assert held(cells) is cells
