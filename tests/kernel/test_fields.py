"""Fields hold what they declare: sizes by letters, and values that no word refuses."""

from typing import Annotated

import numpy as np
import pytest

from skdp.kernel._bins import LogBins
from skdp.kernel._plain import (
    Checked,
    Columns,
    ColumnTuple,
    PerColumn,
    Points,
    Vector,
    distinct,
    each,
    made_of,
    public,
    rising,
    whole,
    within,
)
from skdp.kernel._statistic import Shape

ONES = np.ones(3)
CUTS = np.array([1.0, 2.0])


@public
class Asked(Checked):
    """A question of three columns with two points."""

    points: Points
    per_point: Vector
    center: PerColumn
    columns: Columns
    numbers: ColumnTuple
    edges: Annotated[np.ndarray, "m", rising]
    cuts: Annotated[tuple, "k", made_of(np.ndarray), each(distinct)]
    counts: Annotated[np.ndarray, "2 k", whole, within(0, 9)]
    bins: LogBins
    maybe: PerColumn | None = None


HONEST = {
    "points": np.ones((2, 3)),
    "per_point": np.ones(2),
    "center": ONES,
    "columns": np.array([0, 2]),
    "numbers": (1, 2),
    "edges": np.array([-np.inf, 1.0, 1.0]),
    "cuts": (CUTS, CUTS),
    "counts": np.array([[0, 9], [1, 2]]),
    "bins": LogBins(1),
}
REFUSED = {
    "a point of two columns": {"points": np.ones((2, 2))},
    "points that are a vector": {"points": ONES},
    "three for two points": {"per_point": ONES},
    "no point at all": {"points": np.ones((0, 3)), "per_point": np.ones(0)},
    "a centre of one entry": {"center": np.ones(1)},
    "a centre that is a table": {"center": np.ones((1, 3))},
    "a column beyond": {"columns": np.array([0, 3])},
    "a column before": {"columns": np.array([-1, 0])},
    "columns that are floats": {"columns": np.array([0.0, 1.0])},
    "a number that is a bool": {"numbers": (True, 2)},
    "numbers for other points": {"numbers": (1,)},
    "edges that fall": {"edges": np.array([1.0, 0.0])},
    "edges that are truth values": {"edges": np.array([False, True])},
    "edges that are NaN": {"edges": np.array([0.0, np.nan])},
    "cuts that are equal": {"cuts": (CUTS, np.ones(2))},
    "cuts that are a tuple": {"cuts": (CUTS, (1.0, 2.0))},
    "counts that are floats": {"counts": np.ones((2, 2))},
    "counts beyond nine": {"counts": np.full((2, 2), 10)},
    "counts of three lines": {"counts": np.ones((3, 2), dtype=int)},
    "bins of no octave": {"bins": LogBins(1, 3, 3)},
    "what may be None of another length": {"maybe": np.ones(2)},
}


def test_what_fits_is_let_pass():
    Asked(**HONEST).check(Shape(3))
    Asked(**HONEST, maybe=ONES).check(Shape(3))


@pytest.mark.parametrize("fields", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(fields):
    with pytest.raises(ValueError):
        Asked(**HONEST | fields).check(Shape(3))


def test_a_message_tells_the_shape_that_fits():
    with pytest.raises(ValueError, match=r"center has the shape \(d\)\. Got \(1,\)"):
        Asked(**HONEST | {"center": np.ones(1)}).check(Shape(3))
