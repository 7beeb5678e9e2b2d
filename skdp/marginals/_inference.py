"""Statistics of released tables, with intervals that know the noise and the draw of the rows."""

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from scipy.special import ndtri

from skdp.kernel._residual_sums import coordinates
from skdp.marginals._found import laws_of_intervals
from skdp.marginals._frames import tidy_frame
from skdp.marginals._levels import Intervals
from skdp.marginals._residuals import cell_scales, correlated_noise, synthesis, table_of, transform
from skdp.scales._column_noise import onto_simplex

BIASED, SPREAD = 0.5, 0.5  # standard errors: of the mean of the draws, and beyond one of them
CLEAR = 4.0  # noises of the number of rows
SIZE = 2**14, 2**17  # rows that stand for a law
PART = 2.0**-12  # of these, which are added to one cell: few, as a group may be small
REDRAWN = 200  # draws of moments, which are cheap
BIAS = (
    "redrawn releases are off on average by more than half a standard error: post-processing "
    "moves this statistic as far as its noise does"
)
CURVED = (
    "this statistic is far from linear at this size of noise: redrawn releases spread by more than "
    "those of a linear one, or a smoother table has another value"
)
SINGULAR = (
    "moments of the columns are not above their noise: the matrix of the least squares problem may "
    "be singular"
)
FEW = "the released number of rows is not above its noise"
MOST = 4096  # cells of a table, each of which is moved once
LARGE = "tables of a statistic have at most {} cells. Got {}. Merge levels, or ask fewer columns."
IN_BINS = (
    "the columns {} have bins of several numbers, and no release tells how numbers of two columns "
    "go together inside them. Pass binned=True to put the mean of its bin in place of each number."
)
PER_ROW = (
    "statistic must return a number, or a few, of all rows together, and returned one for each "
    "row. Pass for instance lambda rows: rows['wage'].mean()."
)
GAPS = (
    "the columns {} have a level for missing or other entries, which is no number. Leave these "
    "columns out, or pass a domain without that level."
)


@dataclass(frozen=True)
class InferredStatistic:
    """A statistic of a population, from released tables, with intervals.

    Parameters
    ----------
    names : tuple of str
        Names of its entries: those of coefficients, else numbers.
    estimate : ndarray of shape (n_entries,)
        From the tables as released.
    standard_error : ndarray of shape (n_entries,)
        Of the noise of the release and of the draw of the rows together; NaN if refused.
    interval : (ndarray, ndarray)
        Lower and upper ends; NaN if refused.
    redrawn : ndarray of shape (n_entries,)
        Mean of the redrawn releases.
    refusals : tuple of (str or None)
        For every entry the reason why there is no interval, None if there is one.

    See Also
    --------
    skdp.MarginalReleaser

    Notes
    -----
    **Privacy**: post-processing of a release; free.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import MarginalReleaser
    >>> X = np.random.default_rng(0).integers(3, size=(20000, 4))
    >>> fit = MarginalReleaser(domain={j: 3 for j in range(4)}).fit(X)
    >>> told = fit.infer(lambda rows: rows.mean(), [1])
    >>> bool(told.interval[0][0] < 1 < told.interval[1][0] + 0.02)
    True
    """

    names: tuple
    estimate: np.ndarray
    standard_error: np.ndarray
    interval: tuple
    redrawn: np.ndarray
    refusals: tuple

    def __str__(self):
        lines = []
        for i, name in enumerate(self.names):
            ends = f"[{self.interval[0][i]:.4g}, {self.interval[1][i]:.4g}]"
            told = ends if self.refusals[i] is None else f"no interval: {self.refusals[i]}"
            lines.append(f"{name}: {self.estimate[i]:.4g} {told}")
        return "\n".join(lines)


def infer_from_table(
    statistic, measurement, domain, places, library, *, m, confidence, words, binned
):
    """Return the InferredStatistic of a function of rows of the columns of one released table.

    Notes
    -----
    Let y be the shares of the table as released, p the nearest law, and g the influence function of
    the statistic T at p: ``(T((1 - h) p + h e_c) - T(p)) / h`` for every cell c. The estimate is
    ``T(p) + g (y - p)``, without the first-order bias of p; its variance is that of the noise in
    ``g y``, a linear function of the released residuals, and ``var_p(g) / n`` of the draw of rows.
    Redrawn releases of the population p tell whether this holds: rows are drawn, get noise of the
    law of the release, and take the same way. As p may be noise throughout, T is also compared
    with its linear approximation at p shrunk towards independence by the part of its dependence
    that noise explains.
    """
    columns = _columns_of(domain, places, binned, text=True)
    raw = table_of(measurement.layout, measurement.values, places)
    if raw.size > MOST:
        raise ValueError(LARGE.format(MOST, raw.size))
    n = max(float(measurement.values[0]), 1.0)
    law, size = _law(raw), int(np.clip(n, *SIZE))
    codes = np.unravel_index(_cells(law, (np.arange(size) + 0.5) / size), raw.shape)
    cells = np.unravel_index(np.arange(raw.size), raw.shape)

    def told(codes):
        made = {name: column[of] for (name, column), of in zip(columns, codes, strict=True)}
        frame = library is not None
        rows = tidy_frame(made, library) if frame else np.column_stack(list(made.values()))
        with np.errstate(all="ignore"):
            value = np.atleast_1d(np.asarray(statistic(rows), dtype=np.float64))
        if value.ndim > 1 or len(value) == len(codes[0]):
            raise ValueError(PER_ROW)
        return value

    start, more = told(codes), max(round(PART * size), 1)
    slopes = np.empty((raw.size, len(start)))
    for cell in range(raw.size):
        added = [
            np.append(of, np.full(more, at[cell])) for of, at in zip(codes, cells, strict=True)
        ]
        slopes[cell] = (told(added) - start) * (size + more) / more

    def moved(value, table, law):
        return value + (table.ravel() / max(table.sum(), 1.0) - law) @ slopes

    def again():
        drawn = np.bincount(_cells(law, words.random(round(n))), minlength=law.size)
        noisy = drawn.reshape(raw.shape) + _noise_of(measurement, places, words)
        own = _law(noisy)
        places_of = _cells(own, (np.arange(size) + 0.5) / size)
        return moved(told(np.unravel_index(places_of, raw.shape)), noisy, own)

    estimate, center = moved(start, raw, law), law @ slopes
    noise = np.array([_noise_variance(measurement, places, g) for g in (slopes - center).T])
    variance = noise / n**2 + law @ np.square(slopes - center) / n
    draws = np.array([again() for _ in range(m)])
    few = FEW if measurement.values[0] < CLEAR * measurement.sd[0] else None
    spread, error = draws.std(axis=0, ddof=1), np.sqrt(variance)
    smooth = _smoothed(law.reshape(raw.shape), raw / n, measurement, places)
    there = told(np.unravel_index(_cells(smooth, (np.arange(size) + 0.5) / size), raw.shape))
    off = np.abs(there - start - (smooth - law) @ slopes)
    curved = ~((spread <= (1 + SPREAD) * error) & (off <= BIASED * error))
    reasons = [few or (CURVED if bent else None) for bent in curved]
    names = tuple(map(str, range(len(estimate))))
    return _judged(names, estimate, draws.mean(axis=0), variance, confidence, reasons)


def _law(table):
    return onto_simplex(table.ravel() / max(table.sum(), 1.0))


def _smoothed(law, shares, measurement, places):
    """Return a law shrunk towards independence, of one column towards equal levels, flat."""
    target = np.full(law.shape, 1.0)
    for axis in range(law.ndim):
        others = tuple(a for a in range(law.ndim) if a != axis)
        own = law.sum(axis=others, keepdims=True) if others else np.full(law.shape, 1 / law.size)
        target = target * own
    cells = np.square(cell_scales(measurement, places) / max(float(measurement.values[0]), 1.0))
    noise = float(np.sum(np.broadcast_to(cells, law.shape)))
    seen = float(np.sum(np.square(shares - target)))
    part = min(1.0, noise / seen) if seen > 0 else 1.0
    return ((1 - part) * law + part * target).ravel()


def _noise_variance(measurement, places, weights):
    """Return the variance of the noise of the sum of the cells of a table times weights."""
    layout, shape = measurement.layout, [measurement.layout.levels[p] for p in places]
    order = np.argsort(places)
    weights = np.transpose(np.asarray(weights).reshape(shape), order)
    factor = correlated_noise(measurement, places)
    if factor is not None:
        count = measurement.sd[0] * weights.sum() / len(factor)
        return float(count**2 + np.sum(np.square(factor.T @ weights)))
    at = coordinates(layout, [np.array(places)[order]])[0]
    of_residuals = transform(weights[None], [synthesis(n).T for n in weights.shape])[0]
    return float(np.sum(np.square(of_residuals * layout.spread(measurement.sd)[at])))


def infer_slopes(measurement, domain, places, *, confidence, words, binned):
    """Return the InferredStatistic of least squares of the first column on the others.

    Notes
    -----
    The matrix of moments of levels is a linear function of the released tables of pairs, so its
    noise has a known law, without bias. Slopes are redrawn with fresh noise of it. The variance of
    the draw of the rows, ``s^2 (X'X)^-1``, is added. Where moments are so noisy that slopes of
    redrawn ones are off on average, as of regressors with errors, there is no interval.
    """
    columns = _columns_of(domain, places[1:], binned, text=True)
    columns += _columns_of(domain, places[:1], binned, text=False)
    order = [*places[1:], places[0]]
    features = [(["intercept"], None, np.ones((1, 1)))]
    features += [_features(place, *one) for place, one in zip(order, columns, strict=True)]
    names = [name for own, _, _ in features[:-1] for name in own]
    maps = _moment_maps(measurement.layout, features)

    def slopes(values):
        moments = maps(values)
        inner, cross = moments[:-1, :-1], moments[:-1, -1]
        low = np.linalg.eigvalsh(_scaled(inner))[0]
        if not low > 0:
            return None
        beta = np.linalg.solve(inner, cross)
        rest = max(moments[-1, -1] - cross @ beta, 0.0) / max(moments[0, 0], 1.0)
        variance = rest * np.diag(np.linalg.inv(inner))
        return beta, np.maximum(variance, 0.0)

    found, reason = slopes(measurement.values), None
    if found is None or measurement.values[0] < CLEAR * measurement.sd[0]:
        none = np.full(len(names), np.nan)
        return InferredStatistic(
            tuple(names), none, none, (none, none), none, (SINGULAR,) * len(names)
        )
    sd, draws = measurement.layout.spread(measurement.sd), []
    for _ in range(REDRAWN):
        one = slopes(measurement.values + sd * _normal(words, len(sd)))
        if one is None:
            reason = SINGULAR
            continue
        draws.append(one[0])
    draws = np.array(draws) if len(draws) > 1 else np.full((2, len(names)), np.nan)
    variance = draws.var(axis=0, ddof=1) + found[1]
    reasons = [reason] * len(names)
    return _judged(tuple(names), found[0], draws.mean(axis=0), variance, confidence, reasons)


def _judged(names, estimate, center, variance, confidence, reasons):
    """Return the InferredStatistic, without intervals where the mean of redrawn ones is off."""
    error = np.sqrt(variance)
    refusals = tuple(
        reason or (None if abs(gap) <= BIASED * s else BIAS)
        for reason, gap, s in zip(reasons, center - estimate, error, strict=True)
    )
    error = np.where([reason is None for reason in refusals], error, np.nan)
    reach = -float(ndtri((1 - confidence) / 2)) * error
    return InferredStatistic(
        names, estimate, error, (estimate - reach, estimate + reach), center, refusals
    )


def _cells(law, parts):
    """Return the cell in which each part of a law falls."""
    shares = np.cumsum(law)
    return np.minimum(np.searchsorted(shares, parts * shares[-1], side="right"), law.size - 1)


def _normal(words, n):
    """Return public normal numbers."""
    return ndtri(words.random(n) + 2.0**-54)


def _noise_of(measurement, places, words):
    """Return fresh noise of the cells of a released table."""
    layout, own = measurement.layout, sorted(places)
    at = np.unique(coordinates(layout, np.array([own])))
    values = np.zeros(layout.starts[-1])
    values[at] = layout.spread(measurement.sd)[at] * _normal(words, len(at))
    noise = table_of(layout, values, places)
    factor = correlated_noise(measurement, places)
    if factor is None:
        return noise
    count = values[0] / noise.size
    return count + factor @ _normal(words, factor.shape[1])


def _columns_of(domain, places, binned, *, text):
    """Return (name, number or text of every level) of columns, or raise ValueError."""
    made, bins, gaps = [], [], []
    for place in places:
        kind, name = domain.kinds[place], str(domain.names[place])
        integer = bool(domain.types) and domain.types[place].integer
        labels = kind.labels
        values = list(getattr(kind, "values", labels))
        if hasattr(kind, "edges"):
            laws = (
                laws_of_intervals(kind.edges, whole=integer)
                if isinstance(kind, Intervals)
                else kind.laws
            )
            whole = integer if isinstance(kind, Intervals) else kind.whole
            means, alone = zip(*(_mean(law, whole) for law in laws), strict=True)
            bins += [] if all(alone) else [name]
            gaps += [name] if len(labels) > len(laws) else []
            made.append((name, np.array(means)))
            continue
        numbers = all(not isinstance(x, str) for x in values)
        if numbers and len(labels) > len(values):
            gaps.append(name)
        if not numbers and not text:
            raise ValueError(f"the column {name!r} is text. Least squares needs a numeric target.")
        column = np.array(values, dtype=float) if numbers else np.array(labels, dtype=object)
        made.append((name, column))
    if gaps:
        raise ValueError(GAPS.format(gaps))
    if bins and not binned:
        raise ValueError(IN_BINS.format(bins))
    return made


def _mean(law, whole):
    """Return the mean of the law of a level, and whether it is one number alone."""
    low, high, weight = (np.asarray(part) for part in law)
    middle = (low + 1 + high) / 2 if whole else (low + high) / 2
    alone = len(low) == 1 and high[0] == (low[0] + 1 if whole else np.nextafter(low[0], np.inf))
    return float(high[0] if alone else middle @ weight / weight.sum()), bool(alone)


def _features(place, name, column):
    """Return (names, place, matrix): numbers of levels, or indicators of texts but the first."""
    if column.dtype != object:
        return [name], place, column[:, None]
    return [f"{name}={text}" for text in column[1:]], place, np.eye(len(column))[:, 1:]


def _moment_maps(layout, features):
    """Return the function from residuals to the matrix of moments of all features.

    A block is ``left^T N right`` of the table N of two columns, a linear function of its residuals.
    """
    ends = np.cumsum([0, *(matrix.shape[1] for *_, matrix in features)])
    spans = [slice(a, b) for a, b in pairwise(ends)]
    singles, pairs = [], []
    for (_, place, own), span in zip(features[1:], spans[1:], strict=True):
        products = own[:, :, None] * own[:, None, :]
        singles.append((span, coordinates(layout, [[place]])[0], _of(own), _of(products)))
    for a, b in combinations(range(1, len(features)), 2):
        (_, i, left), (_, j, right) = features[a], features[b]
        at = coordinates(layout, [sorted((i, j))])[0]
        pairs.append((spans[a], spans[b], at if i < j else at.T, _of(left), _of(right)))

    def moments(values):
        made = np.empty((ends[-1], ends[-1]))
        made[0, 0] = values[0]
        for span, at, own, products in singles:
            made[0, span] = made[span, 0] = values[at] @ own
            made[span, span] = np.tensordot(values[at], products, 1)
        for one, other, at, left, right in pairs:
            block = left.T @ values[at] @ right
            made[one, other], made[other, one] = block, block.T
        return made

    return moments


def _of(numbers):
    """Return what sums over the levels of a column are of its residuals, axis by axis."""
    return np.tensordot(synthesis(len(numbers)), numbers, axes=(0, 0))


def _scaled(matrix):
    roots = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    return matrix / np.outer(roots, roots)
