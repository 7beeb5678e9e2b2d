"""Sums over cells are exact, however rows are cut, held or read, and whatever scores are kept."""

import numpy as np
import pytest
from joblib import parallel_config

from skdp.additive._cycles import Model
from skdp.additive._terms_display import edge_ticks, level_ticks
from skdp.kernel import _cells
from skdp.kernel._cells import (
    Binned,
    CellRows,
    Codes,
    Held,
    Pair,
    Steps,
    cell_numbers,
)
from skdp.kernel._statistic import Shape
from skdp.kernel._terms import (
    FeatureCells,
    Logistic,
    ResidualSum,
    Softmax,
    TermScores,
)
from skdp.kernel._totals import totals
from skdp.readers import ArrayRows

EDGES = (np.array([-1.0, 0.0, 1.0]), 3, np.array([]), np.arange(400.0))
SIZES = 5, 3, 2, 402


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


def _read(X, **params):
    return CellRows(ArrayRows(X, **params), Binned(EDGES, Codes(2)))


def _held(X, **params):
    return Binned(EDGES, Codes(2)).over(ArrayRows(X, **params))


def _sums(cells, statistic):
    return totals(cells, [statistic])[0]


def _model(outputs=1, seed=1):
    rng = np.random.default_rng(seed)
    model = Model.start([300] * outputs, SIZES)
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
    question = ResidualSum(_model().scores, Logistic(), feature)
    expected = _by_hand(X, feature)
    for cells in (_read(X), _held(X), _read(X, block_rows=17)):
        assert np.array_equal(_sums(cells, question), expected)
    with parallel_config(n_jobs=2):
        assert np.array_equal(_sums(_held(X, block_rows=9), question), expected)


PAIRS = (
    Pair(0, 1, np.array([0, 1, 1, 2, 0]), np.array([1, 0, 2])),
    Pair(3, 0, np.arange(402), np.arange(5)),
)


@pytest.mark.parametrize("at", [0, 1])
def test_a_pair_is_one_more_column_of_cells(at):
    X, pair = _table(), PAIRS[at]
    read = CellRows(ArrayRows(X, block_rows=17), Binned(EDGES, Codes(2), PAIRS))
    held = Binned(EDGES, Codes(2), PAIRS).over(ArrayRows(X))
    assert tuple(held.sizes) == tuple(read.sizes) == (*SIZES, 9, 2010)
    n_right = int(pair.right.max()) + 1
    tables = np.random.default_rng(3).integers(-900, 900, size=(1, pair.size))
    model = _model()
    wide = [np.zeros((1, size), dtype=np.int64) for size in (9, 2010)]
    wide[at] = tables
    scores = TermScores(model.intercept, (*model.tables, *wide))
    expected = np.zeros((2, pair.size), dtype=np.int64)
    for row in X[np.isfinite(X[:, -1])]:
        cells = [c[0] for c in cell_numbers(row[None], EDGES).T]
        cell = pair.left[cells[pair.first]] * n_right + pair.right[cells[pair.second]]
        score = 300 + sum(table[0, c] for table, c in zip(model.tables, cells, strict=True))
        score += tables[0, cell]
        expected[:, cell] += Logistic.residuals(np.array([[score]]), np.array([int(row[-1])]))[:, 0]
    question = ResidualSum(scores, Logistic(), 4 + at)
    for cells in (read, held, held):
        assert np.array_equal(_sums(cells, question), expected)
    counts = _sums(held, FeatureCells(tuple(held.sizes)))
    assert np.array_equal(counts, _sums(read, FeatureCells(tuple(held.sizes))))
    assert FeatureCells(tuple(held.sizes)).squared_l2 == 6


def test_counts_count_rows_that_are_there():
    X = _table()
    told = _sums(_read(X), FeatureCells(SIZES))
    counts = np.split(told, np.cumsum(SIZES)[:-1])
    assert {int(count.sum()) for count in counts} == {int(np.isfinite(X[:, -1]).sum())}
    assert counts[2][1] == 0 and counts[0][4] > 0
    assert np.array_equal(told, _sums(_held(X), FeatureCells(SIZES)))


def test_no_rows_have_counts_and_sums_too():
    for X in (np.empty((0, 5)), np.full((3, 5), np.nan)):
        for cells in (_read(X), _held(X)):
            assert not _sums(cells, FeatureCells(SIZES)).any()
            assert not _sums(cells, ResidualSum(_model().scores, Logistic(), 0)).any()


def test_what_is_large_or_elsewhere_is_not_held(monkeypatch):
    X = _table()
    rows = ArrayRows(X)
    assert not isinstance(_held(X), CellRows)
    monkeypatch.setattr(_cells, "HELD_BYTES", 1000)
    assert isinstance(_held(X), CellRows) and Held().over(rows) is rows
    monkeypatch.undo()
    rows.in_memory = False
    assert isinstance(Binned(EDGES, Codes(2)).over(rows), CellRows)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_kept_scores_are_those_of_the_model_that_is_asked(n_jobs):
    X, rng = np.tile(_table(), (3, 1)), np.random.default_rng(0)
    cells, read, model = _held(X), _read(X), _model()
    for _ in range(30):
        if rng.random() < 0.2:  # of another number of outputs
            question = ResidualSum(_model(4, seed=int(rng.integers(9))).scores, Softmax(4))
        else:  # one table, the intercept, or nothing, moved in place
            j = int(rng.integers(6))
            if j < 4:
                model.tables[j] += rng.integers(-99, 99, size=model.tables[j].shape)
            model.intercept += j == 4
            question = ResidualSum(model.scores, Logistic())
        with parallel_config(n_jobs=n_jobs):
            assert np.array_equal(_sums(cells, question), _sums(read, question))


def _slices(cells):
    return [part for block in cells._blocks for part in block._slices.values()]


def test_scores_are_kept_if_they_are_small(monkeypatch):
    X = _table()
    question = ResidualSum(_model(3).scores, Softmax(3))
    for most, kept in ((24 * len(X), True), (24 * len(X) - 1, False)):
        monkeypatch.setattr(_cells, "HELD_BYTES", most)
        cells = _held(X)
        _sums(cells, question)
        assert _slices(cells) and all(("_kept" in vars(part)) == kept for part in _slices(cells))


def test_scores_half_moved_are_not_found_again(monkeypatch):
    def interrupted(model, scores, last, cells):
        scores += 1
        raise KeyboardInterrupt

    cells, model = _held(_table()), _model()
    question = ResidualSum(model.scores, Logistic())
    expected = _sums(cells, question)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(TermScores, "moved", interrupted)
        _sums(cells, question)
    assert np.array_equal(_sums(cells, question), expected)


@pytest.mark.parametrize(
    "view",
    [
        Binned(EDGES[:3], Codes(2)),
        Binned((*EDGES[:3], 0), Codes(2)),
        Binned((*EDGES[:3], 2.5), Codes(2)),
        Binned((*EDGES[:3], 2**24), Codes(2)),
        Binned((*EDGES[:3], np.array([np.nan])), Codes(2)),
        Binned((*EDGES[:3], np.zeros((2, 2))), Codes(2)),
        Binned(EDGES, Codes(0)),
        Binned(EDGES, Steps(0.0, 0.0, 1.0, 2)),
        Binned(EDGES, Steps(0.0, 1.0, 1e300, 2)),
        Binned(EDGES, Steps(np.inf, 1.0, 1.0, 2)),
        Binned(EDGES, 3),
        Binned(EDGES, Codes(2), (3,)),
        Binned(EDGES, Codes(2), (Pair(0, 4, np.zeros(5, int), np.zeros(3, int)),)),
        Binned(EDGES, Codes(2), (Pair(-1, 1, np.zeros(402, int), np.zeros(3, int)),)),
        Binned(EDGES, Codes(2), (Pair(0, 1, np.zeros(5, int), np.zeros(2, int)),)),
        Binned(EDGES, Codes(2), (Pair(0, 1, np.zeros(5), np.zeros(3, int)),)),
        Binned(EDGES, Codes(2), (Pair(0, 1, np.full(5, -1), np.zeros(3, int)),)),
        Binned(EDGES, Codes(2), (Pair(0, 1, np.full(5, 2**62), np.zeros(3, int)),)),
        Binned(EDGES, Codes(2), (Pair(0, 1, np.full(5, 2**13), np.full(3, 2**13)),)),
        Binned(EDGES, Codes(2), (Pair(0, 1, np.full((5, 1), 0), np.zeros(3, int)),)),
    ],
)
def test_views_that_rows_could_break_are_refused(view):
    with pytest.raises(ValueError):
        view.check(Shape(5))


@pytest.mark.parametrize("unit", [5e-324, 1e-300, 1.0, 1e308])
def test_targets_become_integers_whatever_they_are(unit):
    y = np.array([0.0, 5e-324, 1e308, -1e308, -0.0, 3.0])
    with np.errstate(under="raise", invalid="raise"):
        steps = Steps(-1e308 if unit > 1 else 0.5, unit, 2.0**20, 2**16)(y)
    assert steps.dtype == np.int64 and np.abs(steps).max() <= 2**36
    assert Codes(3)(y).tolist() == [0, 0, 2, 0, 0, 2]


def test_edges_beside_a_number_are_written_as_it_and_long_levels_differ():
    edges = np.array([np.nextafter(2.0, 0), np.nextafter(3.0, 0), 3.0, 3.25])
    assert edge_ticks(edges)[1] == ["2", "3", "3", "3.25"]
    assert edge_ticks(np.array([0.12341, 0.12342]))[1] == ["0.12341", "0.12342"]
    levels = ["UNKNOWN BIRD", "UNKNOWN BIRD - LARGE", "UNKNOWN BIRD - SMALL", "other", "missing"]
    texts = level_ticks(levels)[1]
    assert len(set(texts)) == 5 and max(map(len, texts)) <= 12 and texts[1].endswith("LARGE")
