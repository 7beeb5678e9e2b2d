"""Compiled loops give the integers of the numpy code, whatever the rows."""

import runpy
import types
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone

import skdp.mechanisms
from skdp import FriendlyCoreKMeans, PrivateMean, PrivateMedian
from skdp.audit._tables import small_blocks
from skdp.kernel._bins import LogBins, OctaveCells, UniformCells
from skdp.kernel._bounded import BoundedSums, BoxedSquares, Powers, pair_sums, short_pairs
from skdp.kernel._clusters import Nearest
from skdp.kernel._columns import ColumnBins, ColumnCells, EdgeCells
from skdp.kernel._coordinates import Design, FeatureBox, Frame, SomeColumns
from skdp.kernel._gradients import LineGradients, LogitStep
from skdp.kernel._lattice import Boxed, InBox, LocatedBall, nearest
from skdp.kernel._ranks import Thresholds
from skdp.mechanisms import _compiled, ball_rows, ball_sum, finite_rows, gram_sum, row_norms
from skdp.mechanisms._norms import products
from skdp.readers import ArrayRows
from skdp.readers._target import with_target
from skdp.sensitivity._cells import Grid, Job, Wanted, counted_cells, with_entries

pytestmark = pytest.mark.skipif(_compiled.loops is None, reason="no compiler has built them")

ODD = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 5e-324, -1e-310, 1e308, -1.7e308, 2.0**30]
ENTRIES = st.one_of(st.sampled_from(ODD), st.floats(-100, 100), st.floats())
FINITE = st.floats(-100, 100)
POSITIVE = st.floats(0.01, 100)
WIDTHS = st.sampled_from([1, 2, 3, 17, 40])


@st.composite
def tables(draw):
    """Draw hostile rows between ordinary ones, of another type or order."""
    d, n = draw(WIDTHS), draw(st.sampled_from([0, 1, 5, 127, 128, 130, 300]))
    X = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(n, d)) * 10
    few = draw(arrays(np.float64, (min(n, 4), d), elements=ENTRIES))
    X[: len(few)] = few
    kind = draw(st.sampled_from(["rows", "columns", "strided", "float32", "unaligned"]))
    if kind == "columns":
        return np.asfortranarray(X)
    if kind == "strided":
        return np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
    if kind == "unaligned":
        held = np.zeros(X.nbytes + 1, dtype=np.uint8)[1:].view(np.float64).reshape(X.shape)
        held[:] = X
        return held
    with np.errstate(over="ignore"):
        return X.astype(np.float32) if kind == "float32" else X


def both(function):
    """Return what a function returns with compiled loops, and without."""
    loops = _compiled.loops
    found = function()
    try:
        _compiled.loops = None
        return found, function()
    finally:
        _compiled.loops = loops


def same(function):
    with np.errstate(all="ignore"):  # as where rows are read
        one, two = both(function)
    one, two = ((x,) if isinstance(x, np.ndarray) else x for x in (one, two))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b), strict=True)


@settings(max_examples=60, deadline=None)
@given(
    X=tables(),
    center=FINITE,
    radius=st.sampled_from([1e-300, 0.5, 30.0, 1e300]),
    bits=st.sampled_from([1, 12, 20, 26]),
    scaled=st.booleans(),
    drop=st.sampled_from([None, 0.5, 2.0]),
)
def test_rows_in_a_ball_and_their_lengths(X, center, radius, bits, scaled, drop):
    scale = np.linspace(0.5, 3, X.shape[1]) if scaled else None
    ball = {"center": center, "radius": radius, "bits": bits, "scale": scale}
    same(lambda: ball_rows(X, **ball))
    same(lambda: ball_sum(X, **ball, drop=drop))
    same(lambda: row_norms(X, center=center, scale=scale))
    same(lambda: finite_rows(X))
    with np.errstate(all="ignore"):
        same(lambda: products(X, np.linspace(-1e300, 3.0, X.shape[1])))
    q = ball_rows(X, **ball)
    assert (np.square(q).sum(axis=1) <= 4.0**bits).all()


@settings(max_examples=40, deadline=None)
@given(
    x=arrays(np.float64, st.integers(0, 40), elements=ENTRIES),
    per_octave=st.sampled_from([1, 2, 7, 16, 40]),
    low=st.sampled_from([-1074, -3, 2**40]),
)
def test_bins_of_lengths(x, per_octave, low):
    same(lambda: LogBins(per_octave, low, low + 9).index(np.abs(x)))
    same(lambda: LogBins(per_octave).index(x))
    same(lambda: LogBins(per_octave).index(np.ldexp(1.0, np.arange(-1074, 1024))))


@settings(max_examples=60, deadline=None)
@given(
    X=tables(),
    rows=st.sampled_from(["all", "finite", "entries", "target"]),
    n_edges=st.sampled_from([2, 3, 9, 16, 30, 64, 65, 200]),
    data=st.data(),
)
def test_ranks_and_cells_of_columns(X, rows, n_edges, data):
    d = X.shape[1]
    some = st.lists(st.integers(0, d - 1), min_size=1, max_size=9)
    columns = np.array(data.draw(some | st.permutations(range(d)).map(lambda all_: [*all_, 0])))
    edges = np.sort(np.append(np.linspace(-30, 30, n_edges - 2), [-np.inf, np.inf]))
    some = np.array([-np.inf, *np.unique(X[np.isfinite(X)][:3]), 1e9])
    tuples = tuple((edges, some)[j % 2] for j in range(len(columns)))
    same(lambda: EdgeCells(columns, tuples, rows).total(X))
    k, center = len(columns), np.resize([0.0, 3.5, -1e308], len(columns))
    unit = data.draw(st.sampled_from([None, np.full(k, 1.0), np.full(k, 1e-300)]))
    thresholds, parts = np.resize([0.0, np.inf, -2.5], k), np.full(k, 250)
    same(lambda: Thresholds(columns, thresholds, parts, center, unit).total(X))
    cells = tuple(OctaveCells(900 + j, 200, data.draw(st.just(3))) for j in range(k))
    which = "entries" if rows == "entries" else "finite"
    same(lambda: ColumnCells(columns, cells, center, unit, rows=which).total(X))
    whole = (OctaveCells(),) * k
    same(lambda: ColumnCells(columns, whole, folded=True, rows=which).total(X))
    starts = (-30.0, 5e-324, 1e300)
    even = tuple(UniformCells(starts[j % 3], 1.5, 9 + j, closed=j % 2 == 1) for j in range(k))
    same(lambda: ColumnCells(columns, even, rows=which).total(X))


@pytest.mark.parametrize("d", [1, 21, 26, 300, 341, 512, 513, 1024, 1025])
def test_lists_of_edges_that_fill_the_room_of_a_vector_do_not_reach_into_the_next(d):
    """An odd list is looked at with one edge more, which is not the first of the next column."""
    rng, columns = np.random.default_rng(d), np.arange(d)
    X, most = rng.normal(size=(300, d)), min(1024 // d, 48)
    for n_edges in {max(most - 1, 1), max(most, 1), most + 1}:
        edges = tuple(np.sort(rng.normal(size=(d, n_edges)), axis=1))
        same(lambda edges=edges: EdgeCells(columns, edges, "all").total(X))
    thresholds, parts = rng.normal(size=d), np.full(d, 250)
    same(lambda: Thresholds(columns, thresholds, parts, np.zeros(d), None).total(X))


@settings(max_examples=60, deadline=None)
@given(
    X=tables(),
    size=st.sampled_from([1e-3, 1.0, 1e4]),
    radius=st.sampled_from([1e-2, 3.0, 1e5, 1e300]),
    clip=st.sampled_from([0.01, 0.7, 1.0]),
    bits=st.integers(1, 15),
    ends=st.sampled_from([1e-3, 20.0, np.inf]),
    intercept=st.booleans(),
)
def test_steps_of_two_classes(X, size, radius, clip, bits, ends, intercept):
    d = X.shape[1]
    rng = np.random.default_rng(d)
    A = np.linalg.qr(rng.normal(size=(d, d)))[0]
    frame = Frame(np.resize([0.0, 3.5], d), np.full(d, 2.0), A, A.T)
    design = Design(frame, np.array([[-ends] * d, [ends] * d]), intercept)
    B = rng.normal(size=(design.dims, 1)) * size
    block = np.column_stack([X, np.arange(len(X)) % 3])
    with np.errstate(all="ignore"):
        same(lambda: LogitStep(design, radius, B, clip, 1e6, bits).total(block))


@settings(max_examples=60, deadline=None)
@given(
    X=tables(),
    low=st.floats(-50, 0),
    width=st.sampled_from([1e-9, 1.0, 70.0]),
    degree=st.sampled_from([1, 2]),
    bits=st.sampled_from([1, 13, 30]),
    flag=st.booleans(),
)
def test_sums_between_bounds(X, low, width, degree, bits, flag):
    d = X.shape[1]
    same(
        lambda: Powers(np.full(d, low), np.full(d, low + width), degree, False, bits, flag).total(X)
    )
    level = np.linspace(0, 1, d)
    same(lambda: BoxedSquares(level, flag, degree == 1, bits).total(X / 30))
    ends = np.full(d, low), np.full(d, low + width)
    points = np.array([ends[0] + width / 2] * 2)
    for start in (None, points, [ends[0], ends[0] + width / 4]):
        start = start if start is None else np.array(start)
        same(lambda start=start: BoundedSums(*ends, False, bits, flag, start).total(X))


@settings(max_examples=60, deadline=None)
@given(X=tables(), low=st.floats(-9, 0), bits=st.sampled_from([1, 13, 30]), data=st.data())
def test_pairs_that_are_too_long(X, low, bits, data):
    d, grid, sizes = X.shape[1], 2**bits, data.draw(st.booleans())
    there = np.isfinite(X)
    t = np.clip(np.where(there, X, np.float64(low)), low, 1.0)
    pair = grid / 9 * t, grid * (1 / 81 * t * t - 0.5)
    f, s = (np.rint(one).astype(np.int64) for one in pair)
    lengths = np.abs(f) + np.abs(s) if sizes else f**2 + s**2
    longest = np.array([data.draw(st.sampled_from([*one[:9].tolist(), 1])) for one in lengths.T])
    longest -= data.draw(st.integers(0, 1))  # as long, and a bit too long
    options, level = (False, True, sizes, True), np.full(d, 0.5)
    found = pair_sums(
        X,
        np.full(d, low),
        np.ones(d),
        grid,
        longest,
        gain=grid / 9,
        factor=1 / 81,
        level=level,
        options=options,
    )
    pairs = [np.where(there, one, 0) for one in short_pairs(*pair, longest, sizes=sizes)]
    assert [one.tolist() for one in found] == [one.sum(axis=0).tolist() for one in (*pairs, there)]


@settings(max_examples=60, deadline=None)
@given(
    X=tables(),
    low=st.sampled_from([-1e200, -7.25, 0.0, 3.0]),
    width=st.sampled_from([2.0**-30, 0.75, 1e90]),
)
def test_closed_cells_hold_what_a_box_moves_to_its_ends(X, low, width):
    high, columns = low + 8 * width, np.arange(X.shape[1])
    ends, start = (np.full(len(columns), end) for end in (low, high)), low - width / 2
    if not start < low:
        return

    def counts(X, **closed):
        cells = (UniformCells(start, width, 9, **closed),) * len(columns)
        with np.errstate(over="ignore"):
            return ColumnCells(columns, cells, rows="entries").total(X)

    inside = InBox(*ends)(X)
    for of_rows in both(lambda: counts(X, closed=True)):
        np.testing.assert_array_equal(of_rows, counts(inside))


@settings(max_examples=60, deadline=None)
@given(
    X=tables(),
    low=st.sampled_from([-np.inf, -1e308, -2.0, -0.0, 0.0]),
    width=st.sampled_from([0.0, 5e-324, 3.0, np.inf]),
    center=st.sampled_from([0.0, -7.25, 1e308]),
    radius=st.sampled_from([5e-324, 1e-9, 3.0, 1e308]),
)
def test_rows_in_boxes(X, low, width, center, radius):
    def bits_of(view):
        return view(X).view(np.uint64)

    d = X.shape[1]
    low, high = np.full(d, low), np.full(d, low + width)
    center, radius = np.resize([center, 0.0], d), np.full(d, radius)
    same(lambda: bits_of(InBox(low, high)))
    same(lambda: bits_of(Boxed(center, radius)))
    if d > 1:
        same(lambda: bits_of(FeatureBox(np.array([low, high])[:, 1:])))


@settings(max_examples=60, deadline=None)
@given(
    X=tables(),
    per_octave=st.sampled_from([1, 2, 7, 40]),
    low=st.sampled_from([-1074, -3, 2]),
    sides=st.sampled_from(["together", "apart", "in line"]),
    starts=st.sampled_from([None, [0], [0, 3], [2, 4, 9], [-1, 5000]]),
    center=st.sampled_from([0.0, -7.25, 1e308]),
)
def test_bins_of_columns(X, per_octave, low, sides, starts, center):
    bins, d = LogBins(per_octave, low, low + 9), X.shape[1]
    starts = None if starts is None else np.array(starts)
    asked = ColumnBins(np.full(d, center), np.linspace(1e-300, 9, d), bins, sides, starts)
    same(lambda: asked.total(X))
    counts = asked.total(X)
    with np.errstate(all="ignore"):
        z = (np.asarray(X, dtype=np.float64) - asked.center) / asked.unit
    at = bins.index(np.abs(z).ravel()).reshape(z.shape)
    if starts is not None:
        at = np.where(at < 0, -1, np.searchsorted(starts, at, side="right") - 1)
    n, j = (bins.n_bins if starts is None else len(starts)), d - 1
    shape = {"together": (d, n), "apart": (d, 2, n), "in line": (d, 2 * n - 1)}[sides]
    assert counts.shape == shape and counts.sum() == np.count_nonzero(at >= 0)
    for cell in range(min(n, 12)):
        below, above = (
            np.count_nonzero((at[:, j] == cell) & side) for side in (z[:, j] < 0, ~(z[:, j] < 0))
        )
        if sides == "together":
            assert counts[j, cell] == below + above
        elif sides == "apart":
            assert counts[j, :, cell].tolist() == [below, above]
        else:
            told = counts[j, [n - 1 - cell, n - 1 + cell]].tolist()
            assert told == ([below, above] if cell else [below + above] * 2)


@settings(max_examples=40, deadline=None)
@given(
    n=st.sampled_from([0, 1, 128, 200]),
    d=WIDTHS,
    k=st.sampled_from([1, 2, 9]),
    seed=st.integers(0, 99),
)
def test_nearest_points(n, d, k, seed):
    rng = np.random.default_rng(seed)
    size = int(2**24 / np.sqrt(d))
    Q, C = (rng.integers(-size, size, size=(m, d)).astype(np.float64) for m in (n, k))
    C[-1] = C[0]  # the first of those that are as near
    same(lambda: nearest(Q, C))
    exact = [
        min(
            (sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(q, c, strict=True)), j)
            for j, c in enumerate(C)
        )
        for q in Q[:2]
    ]
    labels, squares = nearest(Q, C)
    assert [(s, j) for s, j in zip(squares[:2], labels[:2], strict=True)] == exact


@settings(max_examples=60, deadline=None)
@given(
    X=tables(),
    origin=st.sampled_from([0.0, -7.25, 1e308]),
    unit=st.sampled_from([2.0**-900, 1e-9, 1.0, 2.0**899]),
    ends=st.sampled_from([0, 1, 3, 2000]),
)
def test_cells_and_ends_of_grids(X, origin, unit, ends):
    rows, nothing = ArrayRows(X), lambda k: []
    jobs = [Job(j, Grid(origin, unit * (1 + j % 2)), nothing) for j in (0, X.shape[1] - 1)]

    def found():
        cells = counted_cells(rows, jobs)
        whole = with_entries(rows, jobs, cells, [Wanted(ends), Wanted(2 * ends)])
        parts = [(of_job.counts, of_job.lowest, of_job.highest) for of_job in whole]
        return [part for of_job in parts for part in of_job]

    same(found)
    entries = np.sort(jobs[0].grid.integers(X[np.isfinite(X).all(axis=1), 0]))
    low, high = found()[1:3]
    assert low.tolist() == entries[:ends].tolist()
    assert high.tolist() == entries[len(entries) - len(high) :].tolist()


@settings(max_examples=60, deadline=None)
@given(X=tables(), k=st.sampled_from([1, 3, 11]), seed=st.integers(0, 99))
def test_coordinates(X, k, seed):
    rng, d = np.random.default_rng(seed), X.shape[1]
    A = rng.normal(size=(k, d)) * 10.0 ** rng.integers(-200, 200, size=(k, 1))
    unit = 10.0 ** rng.integers(-3, 3, size=d).astype(float)
    frame = Frame(rng.normal(size=d), unit, A, np.zeros((d, k)))
    same(lambda: frame(X))
    if d == 1:
        return
    frame = Frame(np.where(np.arange(d - 1) % 2, rng.normal(), 0.0), unit[:-1], A[:, :-1], None)
    low = np.where(rng.random(d - 1) < 0.3, -np.inf, -0.0)
    for edges in (np.stack([low, low + 7.5]), np.tile([[-np.inf], [np.inf]], d - 1)):
        design = Design(frame, edges, bool(k % 2))
        same(lambda design=design: design(X))
        b, ends = rng.normal(size=design.dims), np.array([-5.0, np.inf])
        for radius in (None, 1e-300, 2.0):
            line = LineGradients(design, b * 10.0**100, 0.5, 3.0, ends, radius)
            same(lambda line=line: line(X))
        with np.errstate(all="ignore"):  # what is beside the features decides that a row is there
            gone = Design(frame, edges, True)(np.column_stack([X[:, :-1], X[:, 0] + np.inf]))
        assert np.isnan(gone).all()


@settings(max_examples=40, deadline=None)
@given(X=tables(), data=st.data())
def test_columns_of_rows_and_their_target(X, data):
    d = X.shape[1]
    columns = data.draw(st.lists(st.integers(0, d - 1), min_size=1, unique=True))
    same(lambda: SomeColumns(np.array(columns))(X))
    y = data.draw(arrays(np.float64, len(X), elements=ENTRIES))
    for target in (y, y[::-1], y > 0, np.arange(len(X))):
        same(lambda target=target: with_target(X, target))


@settings(max_examples=60, deadline=None)
@given(
    X=tables(),
    radius=st.sampled_from([1e-300, 0.3, 5.0, 1e300]),
    reach=st.sampled_from([0.5, 2.0, 1e6]),
    k=st.sampled_from([1, 3, 9]),
)
def test_labels_of_rows_of_a_place(X, radius, reach, k):
    d = X.shape[1]
    y = np.linspace(-3, 3, k * d).reshape(k, d)
    located = LocatedBall(9.0, 1.0, np.full(d, 0.25), radius, radius, reach=reach)
    for centres in (y, np.asfortranarray(y)):
        same(lambda y=centres: Nearest(located, y).both(X))


def fits(X):
    """Return what is released on one thread, on two and on seven."""
    found = []
    for model in (PrivateMean(), PrivateMedian(), FriendlyCoreKMeans(2, epsilon=8.0)):
        for n_jobs in (1, 2, 7):
            fitted = clone(model).set_params(random_state=3, n_jobs=n_jobs).fit(X)
            released = getattr(fitted, "cluster_centers_", getattr(fitted, "location_", None))
            found.append(released.tobytes())
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
def test_fits_on_threads_have_the_same_bits():
    X = np.random.default_rng(0).normal(size=(4000, 3)) + np.arange(3)
    with small_blocks(2**12):
        found, plain = both(lambda: fits(X))
    assert found == plain
    assert found == [one for one in found[::3] for _ in range(3)]
    assert len(set(found)) == 3


def test_lengths_that_do_not_fit_are_refused_and_nothing_is_read():
    x, one, few = np.zeros((4, 3)), np.zeros(3), np.zeros(2)
    numbers = np.zeros(4, dtype=np.int64)
    with pytest.raises(ValueError, match="other lengths"):
        _compiled.loops.norms(x, few, np.empty(0), np.empty(4), numbers, 0.0)
    with pytest.raises(ValueError, match="other lengths"):
        _compiled.loops.norms(x, one, np.empty(0), np.empty(3), numbers, 0.0)
    with pytest.raises(ValueError, match="another type"):
        _compiled.loops.norms(x, one.astype(int), np.empty(0), np.empty(4), numbers, 0.0)
    with pytest.raises(ValueError, match="another type"):
        _compiled.loops.norms(x.astype(np.float32), one, np.empty(0), np.empty(4), numbers, 0.0)
    with pytest.raises(ValueError, match="other lengths"):  # its size would overflow
        _compiled.loops.finite_rows(np.empty(0), np.empty(0, dtype=bool), 2**61)
    with pytest.raises(ValueError, match="other lengths"):  # a column that is not there
        columns, starts = np.array([3]), np.array([0, 1])
        zeros = np.zeros(1)
        _compiled.loops.ranks(x, columns, starts, zeros, zeros, zeros, np.zeros(1, int), 3, 0, 0)
    with pytest.raises(ValueError, match="other lengths"):
        _compiled.loops.some_columns(x, np.array([3]), np.empty((4, 1)), 3)
    with pytest.raises(ValueError, match="other lengths"):
        _compiled.loops.some_columns(x, np.array([2]), np.empty((3, 1)), 3)
    with pytest.raises(ValueError, match="other lengths"):
        _compiled.loops.with_target(x, np.zeros(4), np.empty((4, 3)), 3)
    for b, width in ((few, 2), (one, 3)):  # coefficients of other rows, or no target
        of = np.zeros(width), np.ones(width), np.zeros(2 * width), np.ones(1), np.empty(0), b
        with pytest.raises(ValueError, match="other lengths"):
            _compiled.loops.coordinates(x, *of, np.empty((4, 3)), numbers, 3, 3, 1, 2, (0.0,) * 6)
    with pytest.raises(ValueError, match="other lengths"):  # a table that ends before its scores
        fields = (few, few, few, np.zeros(9), np.zeros(6, dtype=np.int64), numbers)
        ends = (1.0, 4.0, 2.0, 1.0, 0.0, 1.0), (8.0, 1.0, 9.0), (2.0, 4.0, 2.0)
        _compiled.loops.logit_step(np.zeros((4, 2)), np.zeros(4), *fields, *ends)
    rows, scores, added = (1.0, 4.0, 2.0, 1.0, 0.0, 1.0), (8.0, 1.0, 8.0), (2.0, 4.0, 2.0)
    for wrong in [
        ((-1.0, *rows[1:]), scores, added),
        (rows, scores, (4.5, 4.0, 2.0)),
        (rows, scores, (2.0, 4.0, 2.0**16)),
    ]:  # a length that would not be exact
        with pytest.raises(ValueError, match="other lengths"):
            _compiled.loops.logit_step(np.zeros((4, 2)), np.zeros(4), *fields, *wrong)
    _compiled.loops.logit_step(np.zeros((4, 2)), np.zeros(4), *fields, rows, scores, added)
    with pytest.raises((ValueError, BufferError)):  # not row by row
        _compiled.loops.norms(x[:, ::2], few, np.empty(0), np.empty(4), numbers, 0.0)


def unaligned(x):
    """Return an array as some that come by wire are: its numbers begin anywhere."""
    raw = bytearray(x.nbytes + 1)
    y = np.frombuffer(raw, dtype=x.dtype, offset=1).reshape(x.shape)
    y[...] = x
    assert not y.flags.aligned
    return y


def test_arrays_that_begin_anywhere():
    X, columns = np.random.default_rng(0).normal(size=(50, 3)), np.array([0, 2])
    center, edges = np.array([0.5, -0.5]), (np.array([-1.0, 0, 1]), np.array([-2.0, 2]))
    plain = EdgeCells(columns, edges).total(X)
    other = EdgeCells(unaligned(columns), tuple(map(unaligned, edges))).total(unaligned(X))
    assert np.array_equal(plain, other)
    ball = {"radius": 2.0, "bits": 10}
    for function in (ball_rows, ball_sum, gram_sum):
        one = function(X[:, :2], center=center, **ball)
        two = function(unaligned(X[:, :2].copy()), center=unaligned(center), **ball)
        assert all(map(np.array_equal, np.atleast_1d(one[0]), np.atleast_1d(two[0])))
    norms = row_norms(X[:, :2], center=center, scale=np.array([1.0, 2]))
    assert np.array_equal(
        norms, row_norms(X[:, :2], center=unaligned(center), scale=unaligned(np.array([1.0, 2])))
    )


def test_loops_of_other_sources_are_not_called(monkeypatch):
    monkeypatch.setattr(skdp.mechanisms, "_loops", types.ModuleType("_loops"))
    with pytest.warns(RuntimeWarning, match="built from other sources"):
        told = runpy.run_path(_compiled.__file__)
    assert told["loops"] is None and told["VERSION"] == _compiled.loops.VERSION
