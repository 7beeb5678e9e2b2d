"""Rules and views of clusters decide row by row; questions that count a row twice are refused."""

import numpy as np
import pytest

from skdp import FriendlyCoreKMeans
from skdp._private_part import Local
from skdp.kernel._bins import LogBins
from skdp.kernel._clusters import GridCells, InPlaces, Nearest, NearestLifted
from skdp.kernel._lattice import BallCover, Beyond, InBox, LocatedBall, Subspace
from skdp.kernel._statistic import Shape
from skdp.kernel._table import Table
from skdp.readers import ArrayRows
from tests._curators import canned
from tests.kernel._examples import hostile

BALL = LocatedBall(100.0, 1.0, np.zeros(2), 2.0, 1.0)
FAR = LocatedBall(100.0, 1.0, np.array([1e6, 0.0]), 1e-3, 5e-4)
PLACES = BallCover((BALL, FAR), 200.0, 1.0)
SPACE = Subspace(np.eye(2), np.ones(2), True)
Y = np.array([[0.1, 0.2], [-0.5, 0.5], [5e5, 0.0]])
LIFTED = NearestLifted(PLACES, (SPACE, SPACE), (Y[:2], Y[:1]))


def _rows(seed):
    rng = np.random.default_rng(seed)
    X = hostile(rng, 2)
    X[::3] = 2 * rng.normal(size=X[::3].shape)
    X[1::9] = FAR.center + 1e-3 * rng.normal(size=X[1::9].shape)
    return X


@pytest.mark.parametrize("rule", [InPlaces(BALL), InPlaces(PLACES), Nearest(PLACES, Y), LIFTED])
def test_a_row_decides_by_itself_in_which_set_it_is(rule):
    rule.check(Shape(2))
    for seed in range(8):
        X = _rows(seed)
        alone = np.concatenate([rule(X[i : i + 1]) for i in range(len(X))])
        assert alone.tolist() == rule(X).tolist() == rule(X[::-1])[::-1].tolist()
        assert len(set(alone.tolist())) > 1 and alone.min() == -1


def test_a_row_decides_by_itself_whether_it_is_in_a_view():
    view = Beyond(np.zeros(2), LogBins(2), 2140, 4000, PLACES)
    view.check(Shape(2))
    for seed in range(8):
        X = _rows(seed)
        kept = view.keeps(X)
        assert [view.keeps(X[i : i + 1])[0] for i in range(len(X))] == kept.tolist()
        shown = np.concatenate(
            [block for _, block in view.over(ArrayRows(X, block_rows=7)).blocks()]
        )
        np.testing.assert_array_equal(shown, X[kept])
    assert not view.keeps(np.array([[1.0, 1.0], [1e6, 0.0], [np.nan, 9e9]])).any()
    assert view.keeps(np.array([[9e9, 0.0]])).all()


@pytest.mark.parametrize(
    ("question", "what"),
    [
        (GridCells(BALL, SPACE, 4, 2, np.array([1, 3, 1])), "an entry twice"),
        (GridCells(BALL, SPACE, 4, 2, np.array([4])), "codes of cells"),
        (GridCells(BALL, SPACE, 4, 5), "a level"),
        (GridCells(BALL, Subspace(np.zeros((2, 2)), np.ones(2)), 4, 4), "moderate length"),
        (GridCells(BALL, Subspace(None, np.ones(3)), 4, 4), "half width"),
        (Nearest(BALL, np.zeros((0, 2))), "y has the shape"),
        (Nearest(LocatedBall(1.0, 1.0, np.zeros(2), 1e307, 1.0), Y), "radius is from"),
        (Nearest(BallCover((), 1.0, 1.0), Y), "balls has the shape"),
        (NearestLifted(PLACES, (SPACE,), (Y,)), "every place"),
        (InBox(np.zeros(2), np.zeros(3)), "high has the shape"),
    ],
)
def test_fields_that_do_not_fit_are_refused(question, what):
    with pytest.raises(ValueError, match=what):
        question.check(Shape(2))


class Sets(Local):
    def __init__(self, values):
        self.values = values


def test_sets_of_all_rows_stay_local():
    X = _rows(0)
    table = Table(ArrayRows(X, block_rows=7), canned("x"))
    assert table.local(InPlaces(PLACES), Sets).values.tolist() == InPlaces(PLACES)(X).tolist()
    for rule, kind in ((InPlaces(PLACES), list), (len, Sets)):
        with pytest.raises(ValueError, match=r"Local|registered"):
            table.local(rule, kind)


@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
@pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
def test_labels_are_those_of_all_rows_of_persons():
    X = np.random.default_rng(0).normal(size=(300, 2))
    fit = FriendlyCoreKMeans(2, bounds=(-3, 3), store_labels=True, random_state=0)
    fit.fit(X, groups=np.arange(300) // 3)
    assert fit.labels_.tolist() == fit.predict(X).tolist()
