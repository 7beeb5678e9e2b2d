"""Better marginals from the same release: free of privacy cost, chosen by estimated risk."""

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from skdp.kernel._layout import Layout, largest_tables, set_numbers
from skdp.marginals._cones import (
    LARGEST_ORDER,
    CellBlocks,
    MomentBlock,
    PairedBlocks,
    moments_order,
    nearest_in_cones,
)
from skdp.marginals._pairs import (
    PairMatrix,
    PairSpectrum,
    all_pairs,
    eigenvalue_debiasing,
    nearest_correlation,
    row_count,
    shrunk,
    spectral_shrinkage,
)
from skdp.marginals._residuals import helmert
from skdp.scales._column_noise import onto_simplex
from skdp.utils._numbers import public_words

LARGEST_PAIRED = 128  # attributes of paired blocks


class Elliptope:
    """Binary attributes, all pairs: the nearest correlation matrix, in the metric of the noise."""

    def __init__(self, measurement):
        self.pairs, self.dual = PairMatrix(measurement.layout, measurement.sd), None

    @staticmethod
    def fits(layout):
        """Whether the layout is what this class needs."""
        return layout.binary and len(layout.subsets) == 3 and all_pairs(layout)

    def __call__(self, values):
        X, n = self.pairs.moments(values)
        nearest = nearest_correlation(X, self.pairs.precision, self.dual)
        self.dual = nearest.dual
        return self.pairs.residuals(nearest.matrix, n)


class Polytope:
    """Few cells in the whole domain: the nearest distribution on it.

    The metric is the geometric mean of that of the noise and that of the loss. The number of rows
    times the last distribution is ``joint``, of shape levels.
    """

    def __init__(self, measurement):
        layout = measurement.layout
        self.domain, self.distribution, self.joint = Domain(layout), None, None
        metric = np.sqrt(measurement.weights) / measurement.sd
        self.weight = layout.spread(metric / metric.max())

    def __call__(self, values):
        n = row_count(values)
        p, _, _ = self.domain.nearest(values / n, self.weight, self.distribution)
        self.distribution = p
        self.joint = n * p.reshape(self.domain.layout.levels)
        return n * self.domain.residuals(p)


class Simplices:
    """Single attributes: the nearest nonnegative table of each."""

    def __init__(self, measurement):
        layout = measurement.layout
        self.tables = [
            (helmert(shape[0]), layout.places(numbers))
            for shape, _, numbers in layout.groups
            if len(shape) == 1
        ]

    def __call__(self, values):
        n, moved = row_count(values), values.copy()
        moved[0] = n
        for H, places in self.tables:
            moved[places] = onto_simplex(values[places] @ H + n / H.shape[1], n) @ H.T
        return moved


class Cones:
    """Semidefinite matrices of moments and nonnegative cells, by alternating directions.

    Notes
    -----
    The metric is that of the loss: in it no projection is farther from a truth that is in the
    cones. Pairs that were not measured are there, with the weight zero. The body is

    - for binary sets of three, all of them there: the paired blocks;
    - otherwise the second moments, up to matrices of order 600, and for more than pairs the cells.
    """

    def __init__(self, measurement, *, nonnegative=False):
        layout = measurement.layout
        whole, self.at = _with_all_pairs(layout)
        self.weight = np.zeros(whole.starts[-1])
        self.weight[self.at] = layout.spread(measurement.weights)
        self.weight /= self.weight.max()
        k, d = len(layout.subsets) - 1, len(layout.subsets[1])
        self.blocks, self.cells = [], None
        paired = k >= 3 and layout.binary and d <= LARGEST_PAIRED
        if paired and len(layout.subsets[3]) == d * (d - 1) * (d - 2) // 6:
            self.blocks.append(PairedBlocks(whole, np.float32))
        elif all_pairs(whole) and moments_order(layout) <= LARGEST_ORDER:
            self.blocks.append(MomentBlock(whole))
        if nonnegative or not self.blocks or k > 3 or (k == 3 and not paired):
            self.cells = CellBlocks(whole, [sets for _, sets in largest_tables(layout)])
            self.blocks.append(self.cells)
        self.nonnegative = nonnegative
        self.steps = 150 if k < 3 else 60 if d <= 40 else 40

    def __call__(self, values):
        n, y = row_count(values), np.zeros(len(self.weight))
        y[self.at] = values / n
        y[0] = 1.0
        x = nearest_in_cones(y, self.weight, self.blocks, tol=1e-4, max_steps=self.steps)
        if self.nonnegative:
            least = min(float(self.cells.forward(x).min()) - 1e-12, 0.0)
            x[1:] /= 1 - least
        return n * x[self.at]


def _with_all_pairs(layout):
    """Return the layout with all pairs of its attributes, and where its coordinates are in it."""
    columns = layout.subsets[1][:, 0]
    if len(layout.subsets) < 3 or all_pairs(layout) or moments_order(layout) > LARGEST_ORDER:
        return layout, np.arange(layout.starts[-1])
    pairs = np.array(list(combinations(columns.tolist(), 2)))
    whole = Layout(layout.levels, (*layout.subsets[:2], pairs, *layout.subsets[3:]))
    at = np.empty(layout.starts[-1], dtype=np.int64)
    for _, sets, numbers in layout.groups:
        at[layout.places(numbers)] = whole.places(set_numbers(whole, sets))
    return whole, at


class Domain:
    """The whole domain of few attributes, and the maps between its tables and residuals.

    Notes
    -----
    Every axis of a table is multiplied by the orthonormal matrix with the rows ``1 / sqrt(L)`` and
    H: for two levels the Walsh-Hadamard transform over sqrt(2). A residual of the set T is the
    coefficient times ``sqrt(product of L_i, i not in T)``. The axes are taken in two halves, one
    product of matrices for each.
    """

    def __init__(self, layout):
        self.layout = layout
        levels = layout.levels
        parts = np.cumprod((1, *levels))
        half = int(np.argmin(np.abs(np.log(parts) - math.log(parts[-1]) / 2)))
        self.left, self.right = (_tensor_basis(part) for part in (levels[:half], levels[half:]))
        self.cells = int(parts[-1])
        self.places = np.empty(layout.starts[-1], dtype=np.int64)
        strides = (parts[-1] // parts[1:]).astype(np.int64)
        for shape, sets, numbers in layout.groups:
            at = np.zeros((len(sets), 1), dtype=np.int64)
            for size, column in zip(shape, sets.T, strict=True):
                step = strides[column][:, None, None] * np.arange(1, size)
                at = (at[:, :, None] + step).reshape(len(sets), -1)
            self.places[layout.places(numbers)] = at
        others = [np.prod(np.delete(levels, row)) for sets in layout.subsets for row in sets]
        self.stretch = layout.spread(np.sqrt(others))

    def residuals(self, table):
        """Return the residuals of a table of all cells, flat."""
        table = table.reshape(len(self.left), len(self.right))
        return (self.left @ table @ self.right.T).ravel()[self.places] * self.stretch

    def adjoint(self, residuals):
        """Return the transpose of ``residuals``, applied."""
        table = np.zeros(self.cells)
        table[self.places] = residuals * self.stretch
        table = table.reshape(len(self.left), len(self.right))
        return (self.left.T @ table @ self.right).ravel()

    def nearest(self, target, weight, start=None, *, tol=1e-4, max_steps=2000):
        """Return the distribution p of least ``sum weight (residuals(p) - target)^2 / 2``.

        Shapes: target (n_coordinates,); weight (n_coordinates,); start (n_cells,); p (n_cells,).

        Notes
        -----
        Accelerated projected gradients, restarted when the objective rises. The Hessian is
        diagonal in the orthonormal basis, so its largest eigenvalue is known: max of weight times
        stretch^2. The gap is ``g.p - min g`` for the gradient g: the objective is convex, and its
        tangent plane is least at a vertex of the simplex.
        """
        weight = np.concatenate([[0.0], weight[1:]])
        scale = float(np.max(weight * np.square(self.stretch)))
        p = np.full(self.cells, 1 / self.cells) if start is None else start

        def slope(point):
            error = self.residuals(point) - target
            return self.adjoint(weight * error), float(weight @ np.square(error)) / 2

        before, ahead, momentum = p, p, 1.0
        gradient, _ = slope(p)
        for step in range(1, max_steps + 1):
            p = onto_simplex(ahead - gradient / scale)
            if step % 10 == 0:
                there, value = slope(p)
                gap = float(there @ p - there.min())
                if gap <= tol * value + 1e-12 * scale or step == max_steps:
                    break
            if gradient @ (p - before) > 0:
                momentum = 1.0
            following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            ahead = p + (momentum - 1) / following * (p - before)
            before, momentum = p, following
            gradient, _ = slope(ahead)
        return p, value, gap


def _tensor_basis(levels):
    """Return the orthonormal basis of tables with these axes, rows in C order."""
    basis = np.ones((1, 1))
    for number in levels:
        axis = np.vstack([np.full(number, number**-0.5), helmert(number)])
        basis = np.kron(basis, axis)
    return basis


HOW = ("auto", "none", "james-stein", "projection", "spectral", "spiked", "exact")
STEP = 0.05  # of the difference quotient, in standard deviations
SMALL_DOMAIN = 4096  # cells
FAST = 40  # attributes up to which all candidates are tried on sets of three or more
REASONS = {
    "james-stein": "they have no attributes",
    "projection": "they have no attributes",
    "spectral": "it needs all pairs of the attributes, of at most 600 levels together",
    "spiked": "it needs all pairs of columns of two levels, and no larger tables",
    "exact": "the whole domain has more than 4096 combinations of levels",
}

PUBLISHED = {
    "boosting": "error='worst' promises a smaller largest error at the same price. Boosting as it "
    "was published is the function skdp.marginals.published.boosted_answers",
    "frank-wolfe": "postprocess='projection' is nearer and faster. Frank-Wolfe as it was published "
    "is the function skdp.marginals.published.published_projection, of measurement_",
}


@dataclass(frozen=True, eq=False)
class Processed:
    """Residuals after post-processing."""

    values: np.ndarray  # shape (n_coordinates,): residuals, in rows
    risk: float  # estimate of the loss, the weighted squared error of all cells of the workload
    chosen: str  # how they were made
    # ndarray of shape levels or None: a table of nonnegative cells over the whole domain that has
    # these residuals
    joint: np.ndarray | None = None


def postprocess(measurement, how="auto", *, nonnegative=False):
    """Return residuals nearer to the truth than released ones, on average.

    Notes
    -----
    The loss of a rule x of ``y = theta + z``, z with standard deviations s, is estimated
    without bias by Stein's identity, ``sum w ((x - y)^2 - s^2 + 2 s^2 D x)``. The divergence is
    found from one more run, on ``y + h s b`` with h = 0.05 and b of entries -1 and 1: as ``E b b' =
    1``, ``sum w s b (x(y + h s b) - x(y)) / h`` has the right mean. b is a public sequence, from a
    hash, and has nothing to do with the noise. The least of a few estimates is a little
    optimistic.

    **Privacy**: post-processing of a release; free.

    References
    ----------
    .. [1] Dwork, Nikolov, Talwar. "Efficient algorithms for privately releasing marginals via
       convex relaxations". Discrete & Computational Geometry 2015.
    """
    candidates = require_way(measurement, how)
    if how == "auto":
        names = [name for name in candidates if not _left_out(measurement.layout, name)]
        made = min((candidates[name]() for name in names), key=lambda found: found.risk)
    else:
        made = candidates[how]()
    if nonnegative and made.joint is None:
        return replace(made, values=_nonnegative(measurement)(made.values))
    return made


def postprocessing_methods(m):
    """Return functions of no arguments that make a Processed, by name, the safest first."""
    layout, found = m.layout, {"none": lambda: _raw(m)}
    if len(layout.subsets) == 1:
        return found
    found["james-stein"] = lambda: Processed(*shrunk(m), "james-stein")
    found["projection"] = lambda: _judged(m, _body(m), "projection")
    if all_pairs(layout) and moments_order(layout) <= LARGEST_ORDER:
        found["spectral"] = lambda: _judged(m, _Spectral(m, eigenvalue_debiasing), "spectral")
        if layout.binary and len(layout.subsets) == 3:
            found["spiked"] = lambda: _judged(m, _Spectral(m, spectral_shrinkage), "spiked")
    if has_small_domain(layout):
        found["exact"] = lambda: _judged(m, Polytope(m), "exact")
    return found


def require_current(error, how):
    """Raise ValueError for a parameter that is a function by now."""
    for value in (error, how):
        if value in PUBLISHED:
            raise ValueError(f"{value!r} is no longer a parameter: {PUBLISHED[value]}.")


def require_way(m, how):
    """Return :func:`postprocessing_methods`, or raise ValueError if ``how`` is none of them."""
    candidates = postprocessing_methods(m)
    if how != "auto" and how not in candidates:
        raise ValueError(
            f"postprocess={how!r} is not possible for this workload: {REASONS.get(how)}. "
            f"Pass one of {('auto', *candidates)}."
        )
    return candidates


def has_small_domain(layout):
    """Return whether all combinations of levels fit into one table."""
    return math.prod(layout.levels) <= SMALL_DOMAIN


def nearest_joint(m, values):
    """Return the table of a small domain, nonnegative, whose residuals are nearest to given ones.

    ``m`` is the Measurement, ``values`` has shape (n_coordinates,), the table one axis a column.
    """
    body = Polytope(m)
    body(values)
    return body.joint


def _left_out(layout, name):
    """Whether "auto" passes over a candidate: where it takes long and hardly ever wins."""
    slow = len(layout.subsets) > 3 and len(layout.subsets[1]) > FAST
    return name == "projection" and (slow or has_small_domain(layout))


def _body(m):
    """Return the projection onto the body that ``how="projection"`` stands for."""
    if Elliptope.fits(m.layout):
        return Elliptope(m)
    return Simplices(m) if len(m.layout.subsets) == 2 else Cones(m)


def _nonnegative(m):
    """Return the projection onto nonnegative tables, in the metric of the loss."""
    return Simplices(m) if len(m.layout.subsets) == 2 else Cones(m, nonnegative=True)


class _Spectral:
    """Corrected eigenvalues of pairs, shrunk larger sets, then a projection."""

    def __init__(self, m, rule):
        self.m, self.pairs = m, PairSpectrum(m.layout, m.sd, rule)
        self.body = Polytope(m) if has_small_domain(m.layout) else _body(m)

    def __call__(self, values):
        known = self.pairs(values)
        return self.body(shrunk(replace(self.m, values=values), known)[0])


def _raw(m):
    risk = m.layout.spread(m.weights) @ np.square(m.layout.spread(m.sd))
    return Processed(m.values, float(risk), "none")


def _judged(m, rule, name):
    """Apply a rule and estimate its loss by Stein's identity, the divergence from one probe."""
    weight, sd = m.layout.spread(m.weights), m.layout.spread(m.sd)
    value = rule(m.values)
    joint = _joint(rule)
    words = public_words(-(-value.size // 64), "marginals")
    probe = sd * (np.unpackbits(words.view(np.uint8))[: value.size] * 2.0 - 1.0)
    slope = (rule(m.values + STEP * probe) - value) / STEP
    risk = weight @ (np.square(value - m.values) - np.square(sd) + 2 * probe * slope)
    return Processed(value, float(risk), name, joint)


def _joint(rule):
    """Return the joint table that a rule has made with its last answer, or None."""
    return getattr(getattr(rule, "body", rule), "joint", None)
