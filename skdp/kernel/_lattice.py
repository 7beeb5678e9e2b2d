"""Where rows lie: in balls, in boxes, and as integer vectors on a released lattice."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from skdp.kernel._bins import LogBins
from skdp.kernel._coordinates import SomeColumns, boxed
from skdp.kernel._plain import Checked, PerColumn, made_of, public, refuse, within
from skdp.kernel._statistic import RowMap
from skdp.mechanisms import _compiled, row_norms
from skdp.mechanisms._rows import Ball
from skdp.readers._rows import MappedRows, take

DROP = 2.0  # rows beyond twice the reach are outliers: dropped, not clipped into a ring
FARTHEST_REACH = 8.0  # largest reach, in radii
LIMIT = DROP * FARTHEST_REACH  # radii from the centre within which kept rows and centres lie
SMALLEST, LARGEST = 2.0**-1000, 2.0**1000
FARTHEST = 2.0**300  # radii of the first ball, beyond which there are no common coordinates

BITS = 24  # squared distances of lattice points stay below 2^52
UNIT = 2.0**BITS / LIMIT  # lattice steps per radius
CELLS = 2**16
MOST = 2.0**300  # length of a direction
ALONE = "rows of a view of fewer rows have no numbers, and no keys."


@public
class LocatedBall(Checked):
    """Where the rows lie. Everything is released.

    ``n_rows`` (at least 1) and ``n_sd``: noisy number of rows and the noise's standard deviation;
    ``center`` (d,) and ``radius``: a ball that holds the bulk; ``typical``: about the median
    distance from the centre; ``seen``: whether the radius stood out of the noise; ``reach``, from
    1 to 8 radii: how far out rows still stand out of the noise. Beyond twice the reach they count
    as outliers and are left out. ``box``: public bounds (low, high) to which rows are clipped.
    """

    n_rows: float
    n_sd: float
    center: PerColumn
    radius: Annotated[float, within(0, LARGEST)]
    typical: float
    seen: bool = True
    reach: float = 1.0
    box: tuple | None = None

    @property
    def balls(self):
        """The balls of all places: this one."""
        return (self,)

    @property
    def kept(self):
        """The distance from the centre beyond which rows are left out."""
        return DROP * self.reach * self.radius

    def view(self, p):
        """Return centre and radius of a place in units of the radius: 0 and 1."""
        return 0.0, 1.0

    def units(self, y):
        """Return for every centre the radius of its place, in radii, shape (k,): ones."""
        return np.ones(len(y))


def lengths(y):
    """Return the lengths of vectors; squares of integers would wrap."""
    return np.sqrt(np.square(y, dtype=np.float64).sum(axis=-1))


def bounded(points):
    """Return finite points: what overflows becomes the largest float."""
    return np.nan_to_num(points)


@public
class BallCover(Checked):
    """Balls that hold disjoint sets of rows: a row belongs to the first that keeps it.

    Everything is released. Coordinates are those of the first ball, as far as floats go. Stands in
    for a :class:`LocatedBall` wherever clusters are refined.
    """

    balls: Annotated[tuple, "m", made_of(LocatedBall)]
    # noisy number of all rows, with the standard deviation of its noise
    n_rows: float
    n_sd: float

    @property
    def center(self):
        """Origin of the common coordinates, shape (d,)."""
        return self.balls[0].center

    @property
    def radius(self):
        """Unit of the common coordinates."""
        return self.balls[0].radius

    def view(self, p):
        """Return centre and radius of a place in common coordinates: numbers with squares."""
        ball = self.balls[p]
        center = np.clip(bounded((ball.center - self.center) / self.radius), -FARTHEST, FARTHEST)
        return center, min(float(bounded(ball.radius / self.radius)), FARTHEST)

    def seen_from(self, p, y):
        """Return points in units of the radius of a place, seen from its centre."""
        center, radius = self.view(p)
        return (y - center) / radius

    def owners(self, y):
        """Return for every point the place that would keep it, else the nearest in its radii."""
        z = [np.sqrt(np.square(self.seen_from(p, y)).sum(axis=1)) for p in range(len(self.balls))]
        keeps = np.array([r <= b.kept / b.radius for r, b in zip(z, self.balls, strict=True)])
        return np.where(keeps.any(axis=0), keeps.argmax(axis=0), np.argmin(z, axis=0))

    def units(self, y):
        """Return for every centre the radius of its place in common coordinates, shape (k,)."""
        return np.array([self.view(p)[1] for p in range(len(self.balls))])[self.owners(y)]


@dataclass(frozen=True)
class Lattice:
    """The lattice of a located ball: (x - center) / radius becomes an integer vector q.

    Rows beyond twice the reach and rows that hold NaN or infinity are left out. Of several places,
    each with a lattice of its own, a row belongs to the first that does not leave it out.

    **Privacy**: q, and whether a row is left out and by which places, are functions of that row and
    of released values.
    As ``|q| <= 2^24`` (16 radii), Cauchy and Schwarz bound every partial sum of a product ``q . w``
    with an integer vector by ``2^24 |w|``, whatever d is: up to ``|w| = 2^29`` BLAS cannot round,
    so the result depends neither on the other rows nor on blocks, threads and the order of
    additions.
    """

    located: LocatedBall | BallCover

    def labels(self, block, C, through=None):
        """Return for every row its nearest of k points, and the distance in radii.

        Rows that are left out get the label -1. ``C`` is what :meth:`points` returns: for every
        place, numbers of points and their lattice vectors. ``through`` has for every place a map
        of lattice vectors, each by itself, to the integer vectors that are compared with these.
        """
        labels, distances = np.full(len(block), -1), np.full(len(block), np.nan)
        home, balls = self.located.radius, self.located.balls
        if _compiled.loops is not None and through is None and len(balls) == 1:
            self._label(block, _compiled.plain(C[0][1]), labels, distances)
            return labels, distances
        for part, p, Q in self.placed(block):
            numbers, points = C[p]
            nearby, squares = nearest(through[p](Q) if through else Q, points)
            labels[part] = numbers[nearby]
            distances[part] = np.sqrt(squares) * (balls[p].radius / home / UNIT)
        return labels, distances

    def _label(self, block, points, labels, distances):
        """Write the same for rows of one place; far ones take the slower path."""
        (ball,), (place,) = self._maps(1, block.shape[1]), self.located.balls
        unit, far = place.radius / self.located.radius / UNIT, np.empty(len(block), dtype=np.int64)
        told = *ball.top_and_longest, DROP * place.reach * UNIT, unit
        named = ball.center, ball.gain, -2 * points, np.square(points).sum(axis=1)
        for part, x in _compiled.plain_parts(block):
            n = _compiled.loops.labels(x, *named, labels[part], distances[part], far, *told)
            for rows, _, Q in self.placed(x[far[:n]]) if n else ():
                labels[part][far[rows]], squares = nearest(Q, points)
                distances[part][far[rows]] = np.sqrt(squares) * unit

    def places(self, block):
        """Return for every row the number of its place, -1 for rows that are left out."""
        numbers = np.full(len(block), -1)
        for part, p, _ in self.placed(block):
            numbers[part] = p
        return numbers

    def placed(self, block):
        """Yield numbers of rows, the number of their place and their lattice vectors in it."""
        d = block.shape[1]
        step = max(1, min(len(block), CELLS // d))
        balls = self._maps(step, d)
        for start in range(0, len(block), step):
            rows = block[start : start + step]
            left = np.arange(start, start + len(rows))
            for p, ball in enumerate(balls):
                Q = np.empty((len(rows), d))
                stay = ball.map(rows, out=Q) <= DROP * self.located.balls[p].reach * UNIT
                if stay.all():
                    yield left, p, Q
                    break
                yield left[stay], p, Q[stay]
                left, rows = left[~stay], rows[~stay]

    def _maps(self, step, d):
        """Return the maps to the lattices of the places."""
        parts = [(b.center, b.radius * LIMIT) for b in self.located.balls]
        return [Ball(step, d, center=c, radius=radius, bits=BITS) for c, radius in parts]

    def points(self, y):
        """Return for every place the points that its rows are compared with."""
        if len(self.located.balls) == 1:
            return [(np.arange(len(y)), lattice_points(y))]
        seen = [self.located.seen_from(p, y) for p in range(len(self.located.balls))]
        near = [np.square(z).sum(axis=1) <= LIMIT**2 for z in seen]
        near = [some if some.any() else _nearest(z) for some, z in zip(near, seen, strict=True)]
        return [
            (np.flatnonzero(some), lattice_points(z[some]))
            for z, some in zip(seen, near, strict=True)
        ]


def _nearest(z):
    """Return which one of some points, seen from a place, is nearest to it."""
    return np.arange(len(z)) == np.square(z / np.abs(z).max()).sum(axis=1).argmin()


def lattice_points(y):
    """Return the lattice points next to points in units of the radius, inside the ball."""
    y = np.clip(y, -LIMIT, LIMIT)
    length = np.sqrt(np.square(y).sum(axis=1, keepdims=True))
    return np.trunc(y * np.minimum(1, LIMIT / np.maximum(length, 1e-9)) * (UNIT * (1 - 2**-30)))


def nearest(Q, C):
    """Return for every lattice vector the nearest of k lattice points, and its squared distance.

    **Privacy**: ``|c|^2 - 2 q.c + |q|^2`` is exact in every order of its additions (all partial
    sums are integers below 2^53), so the label of a row is a function of that row.
    """
    C = _compiled.plain(C)
    squares = np.square(C).sum(axis=1)
    if _compiled.loops is not None:
        Q, C = _compiled.plain(Q), -2 * C
        labels, distances = np.empty(len(Q), dtype=np.int64), np.empty(len(Q))
        _compiled.loops.nearest(Q, C, squares, labels, distances, Q.shape[1])
        return labels, distances
    scores = (-2 * C) @ Q.T
    scores += squares[:, None]
    labels = scores.argmin(axis=0)
    return labels, scores.min(axis=0) + np.einsum("ij,ij->i", Q, Q)


def moderate(W, name, sizes):
    """Refuse directions that are very long or short."""
    refuse(not 1 / MOST <= np.abs(W).max() <= MOST, f"{name} of moderate length")


Directions = Annotated[np.ndarray, "d p", moderate]


@public
class Subspace(Checked):
    """Directions ``W`` (d, p) in units of the radius, the half widths of a box along them.

    ``W`` is None for the coordinates themselves; ``mapped`` tells that the rows went through public
    random directions first, so that points of the subspace cannot be lifted by ``W``.
    """

    W: Directions | None
    half: Annotated[np.ndarray, "p"]
    mapped: bool = False

    def check(self, shape):
        super().check(shape)
        refuse(self.W is None and len(self.half) != shape.n_features, "a half width a column")

    def coordinates(self, Q):
        """Return coordinates of lattice vectors in units of the radius, shape (m, p)."""
        return Q / UNIT if self.W is None else projected(Q, self.W)


def projected(Q, W):
    """Return the products of lattice vectors with directions, in units of the radius.

    **Privacy**: an exact integer product (see :class:`Lattice`), then one elementwise scaling: a
    function of the row.
    """
    step = lengths(W.T).max() * 2.0 ** (BITS - 52)
    return (Q @ np.rint(W / step)) * (step / UNIT)


@public
class Boxed(RowMap):
    """Every column clipped to ``center`` +- ``radius`` and scaled to [-1, 1].

    **Privacy**: entry by entry. A row that holds NaN or infinity becomes NaN: it stays absent.
    """

    center: PerColumn
    radius: PerColumn
    kind = "numbers"

    def __call__(self, block):
        """Return the rows of a block in the box."""
        ends = np.ones(block.shape[1])
        return boxed(block, -ends, ends, self.center, self.radius)


@public
class TheseColumns(SomeColumns):
    """Some columns of every row: a gap in another is none here.

    **Privacy**: entry by entry.
    """

    def __call__(self, block):
        """Return the columns, shape (n, dims)."""
        return np.asarray(block[:, self.columns], dtype=np.float64)


class ChosenRows(MappedRows):
    """The rows of a table that ``keep`` keeps, each by itself: neighbours stay neighbours."""

    leaves_out = True

    def __init__(self, rows, keep):
        super().__init__(rows)
        self._keep = keep

    def _mapped(self, block):
        return block[self._keep(block)]

    def map_merge(self, statistic, merge, beside=None):
        if beside is not None:
            raise TypeError(ALONE)
        return super().map_merge(statistic, merge)

    def weighed_sum(self, statistic, beside=None):
        if beside is not None:
            raise TypeError(ALONE)
        return super().weighed_sum(statistic)


@public
class Beyond(RowMap):
    """The rows whose distance from a point is in a range of bins, and that no place keeps.

    **Privacy**: each row decides by itself whether it is in the view.
    """

    center: PerColumn
    bins: LogBins
    # first and last bin
    low: int
    high: int
    places: BallCover

    def over(self, rows):
        return ChosenRows(rows, self.keeps)

    @np.errstate(all="ignore")
    def keeps(self, block):
        """Return which rows of a block are in the view."""
        index = self.bins.index(row_norms(block, center=self.center))
        inside = (index >= self.low) & (index <= self.high)
        return inside & (Lattice(self.places).places(block) < 0)


@public
class InBox(RowMap):
    """Rows whose entries are clipped to bounds ``low`` and ``high``.

    **Privacy**: entry by entry. NaN and infinity become NaN, no bound: a row that holds them stays
    absent.
    """

    low: PerColumn
    high: PerColumn

    def __call__(self, block):
        """Return the rows of a block in the box."""
        return boxed(block, self.low, self.high, entries=True)


@public
class Targets(RowMap):
    """The target of every row, one column: NaN for a row that is absent."""

    ones: bool = False  # show a one in the place of every target: labels are no numbers

    def over(self, rows):
        return TargetColumn(rows, self.ones)


class TargetColumn(MappedRows):
    """What :class:`Targets` shows of TargetRows."""

    def __init__(self, rows, ones):
        super().__init__(rows.joined)
        self.n_features, self._there, self._ones = 1, rows.present, ones

    def _mapped(self, block):
        target = np.where(self._there(block), 1.0 if self._ones else block.target, np.nan)
        return target.astype(np.float64)[:, None]

    def take(self, indices):
        """Return the targets at ``indices`` as a float64 array."""
        return super().take(indices) if self.random_access else take(self, indices)
