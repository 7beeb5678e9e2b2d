"""Public rows to plan with: drawn from a stated family, or from a public table that is like them.

Nothing here reads private rows. Everything is a function of public parameters and a seed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import ndtr, ndtri

from skdp.utils._compat import safe_indexing
from skdp.utils._numbers import describe_parameter

N_TEST = 2000  # rows that models are judged on
PLACE = 1.8, 1.2  # median of mean / sd of columns of some forty tables, and the sd of its logarithm

# of columns of which some quantiles are public
ALIKE = 0.1  # correlation of columns: the median of pairs in some forty tables
ENDS = 3.5  # where the least and the largest entry are, in normal scores: of some 4000
GRID = ndtri((np.arange(4000) + 0.5) / 4000)
TOLD = (
    "quantiles of a column are a dict of values by probability, two or more of them, from 0 for "
    "the least to 1 for the largest entry, and values must not fall. Got "
)


def _normal(law, rows, shape, k):
    return rows.normal(size=shape)


def _uniform(law, rows, shape, k):
    return sqrt(12) * (rows.random(size=shape) - 0.5)


def _heavy(law, rows, shape, k):
    return rows.standard_t(3, size=shape) / sqrt(3)


def _lognormal(law, rows, shape, k):
    z = np.exp(rows.normal(size=shape))
    return (z - np.exp(0.5)) / sqrt(np.exp(2) - np.exp(1))


def _correlated(law, rows, shape, k):
    d = shape[1]
    variances = 1 / np.arange(1, d + 1)
    axes = np.linalg.qr(law.normal(size=(d, d)))[0]
    return rows.normal(size=shape) * np.sqrt(variances * d / variances.sum()) @ axes


def _clusters(law, rows, shape, k):
    centres = 4 * law.normal(size=(k, shape[1]))
    ends = np.cumsum(law.dirichlet(np.full(k, 5.0)))
    z = rows.normal(size=(shape[0], shape[1] + 1))
    place = np.searchsorted(ends[:-1], ndtr(z[:, 0]))
    return (centres[place] + z[:, 1:]) / sqrt(17)


def _binary(law, rows, shape, k):
    rates = law.uniform(0.05, 0.5, size=shape[1])
    return (_ranks(rows, shape) < rates).astype(float)


def _ranks(rows, shape):
    """Return numbers of [0, 1) in columns that one common cause makes alike."""
    z = rows.normal(size=(shape[0], shape[1] + 1))
    mixed = sqrt(0.7) * z[:, 1:] + sqrt(0.3) * z[:, :1]
    return ndtr(mixed)


FAMILIES = {
    "normal": _normal,
    "uniform": _uniform,
    "heavy": _heavy,
    "lognormal": _lognormal,
    "correlated": _correlated,
    "clusters": _clusters,
    "binary": _binary,
}
ONE_UNIT = ("correlated", "clusters")  # whose columns have the same scale
WIDTH = {"uniform": sqrt(12)}  # of public bounds, in standard deviations; 8 for others
STARTS_AT_0 = {"lognormal": 1 / sqrt(np.e - 1)}  # its mean, in standard deviations
BOUNDS = ("bounds", "range", "feature_range")


@dataclass(frozen=True)
class PublicRows:
    """Tables to fit in place of private ones, one for every number i and number of rows."""

    # estimator: its public parameters say which classes, levels and how many clusters there are
    step: Any
    first: Any  # estimator: the one that reads the rows: its public bounds say where they may be
    family: Any  # str, callable or tuple of Column
    n_features: int
    like: tuple | None  # tuple (X, y) or None: a public table, instead of a family
    seed: int

    def __str__(self):
        if self.like is not None:
            return "rows of a public table"
        if isinstance(self.family, tuple):
            return f"rows of {self._columns()} with stated quantiles"
        name = self.family if isinstance(self.family, str) else self.family.__name__
        return f"{name} rows of {self._columns()}"

    def _columns(self):
        return "1 column" if self.n_features == 1 else f"{self.n_features} columns"

    def noise_seed(self, i):
        """Return the seed of the noise of fit i, the same for every budget."""
        return int(np.random.SeedSequence([self.seed, i]).generate_state(1)[0])

    def stream(self, *keys):
        """Return a generator of public numbers."""
        return np.random.default_rng([self.seed, *keys])

    def draw(self, i, n_rows):
        """Return table i of so many rows, X and y; y is None if no target is needed."""
        return self._drawn(i, n_rows, 0)

    def test(self, i, n_rows):
        """Return other rows of the same law as table i of so many rows, to judge a model on."""
        if self.like is None and callable(self.family):
            return self._draw_table(i, n_rows, 1)
        if self.like is None:
            return self._drawn(i, N_TEST, 1)
        n = _length(self.like[0])
        return self._taken(self.stream(i, 3).permutation(n)[:N_TEST])

    def _drawn(self, i, n_rows, part):
        law, rows = self.stream(i, 2), self.stream(i, part)
        if self.like is not None:
            n = _length(self.like[0])
            few = n_rows <= n
            return self._taken(
                rows.permutation(n)[:n_rows] if few else rows.integers(n, size=n_rows)
            )
        if callable(self.family):
            return self._draw_table(i, n_rows, part)
        if isinstance(getattr(self.step, "domain", None), dict):
            return _levels(self.step.domain, law, rows, n_rows), None
        if isinstance(self.family, tuple):
            X, z = stated_columns(self.family, rows, n_rows)
            low, high = bounds_of(self.first)
            return (X if low is None else np.clip(X, low, high)), _target(self.step, z, law, rows)
        k = getattr(self.step, "n_clusters", getattr(self.step, "n_components", None))
        shape = n_rows, self.n_features
        z = FAMILIES[self.family](law, rows, shape, k if isinstance(k, int) else 5)
        y = _target(self.step, z, law, rows)
        return (z if self.family == "binary" else self._placed(z, law)), y

    def _draw_table(self, i, n_rows, part):
        """Return table i of a function, or other rows that the function made with them."""
        more = 0 if getattr(self.step, "_target", None) is None else N_TEST
        made = self.family(self.stream(i, 0), n_rows + more, self.n_features)
        X, y = made if isinstance(made, tuple) else (made, None)
        place = np.arange(n_rows, n_rows + more) if part else np.arange(n_rows)
        return safe_indexing(X, place), None if y is None else safe_indexing(y, place)

    def _taken(self, indices):
        X, y = self.like
        return safe_indexing(X, indices), None if y is None else safe_indexing(y, indices)

    def _placed(self, z, law):
        """Put columns of mean 0 and variance 1 somewhere, or between public bounds."""
        low, high = bounds_of(self.first)
        d = 1 if self.family in ONE_UNIT else z.shape[1]
        unit = 10 ** law.uniform(-1, 2, size=d)
        if low is not None:
            return np.clip(
                (low + high) / 2 + z * (high - low) / WIDTH.get(self.family, 8), low, high
            )
        centre, radius = (getattr(self.first, name, None) for name in ("center", "radius"))
        if radius is not None:
            unit = np.asarray(radius) / (2 * sqrt(z.shape[1]))
        if centre is None:
            median, spread = PLACE
            somewhere = median * np.exp(spread * law.normal(size=z.shape[1]))
            centre = unit * STARTS_AT_0.get(self.family, somewhere)
        return np.asarray(centre) + unit * z


def family_of(family, n_features):
    """Return a family as it was given, or the Columns that it states quantiles of."""
    if callable(family) or (isinstance(family, str) and family in FAMILIES):
        return family
    if isinstance(family, dict):
        return (Column.of(family),) * n_features
    if isinstance(family, list | tuple) and family:
        return tuple(map(Column.of, family))
    raise ValueError(
        f"family must be one of {', '.join(FAMILIES)}, quantiles of columns (a dict of one for "
        "all, or a list of dicts), or a function of a generator, n_rows and n_features that "
        f"returns a table. Got {describe_parameter(family)}."
    )


def bounds_of(step):
    """Return the public bounds of columns, arrays or numbers; None and None if there are none."""
    values = (getattr(step, name, None) for name in BOUNDS)
    given = next((value for value in values if value is not None), None)
    if given is None or type(step).__name__ == "PrivateMinMaxScaler":  # that is a range to make
        return None, None
    of_columns = hasattr(step, "bins") and np.ndim(given[0]) == 1  # a pair for each
    low, high = zip(*given, strict=True) if of_columns else given
    return tuple(np.broadcast_arrays(np.asarray(low, dtype=float), np.asarray(high, dtype=float)))


def _target(step, z, law, rows):
    """Return targets that a linear model tells half of: numbers, or classes."""
    kind = getattr(step, "_target", None)
    if kind is None:
        return None
    n, d = z.shape
    if kind == "number":
        w = law.normal(size=d)
        y = z @ w / np.linalg.norm(w) + rows.normal(size=n)
        ends = getattr(step, "target_range", None)
        if ends is None:
            return 50 + 10 * y
        low, high = map(float, ends)
        return np.clip((low + high) / 2 + y * (high - low) / 10, low, high)
    classes = getattr(step, "classes", None)
    classes = np.array([0, 1]) if classes is None else np.asarray(classes)
    w = law.normal(size=(d, len(classes)))
    scores = 2 * z @ (w / np.linalg.norm(w, axis=0)) + rows.gumbel(size=(n, len(classes)))
    return classes[scores.argmax(axis=1)]


def _levels(domain, law, rows, n_rows):
    """Return columns of public levels: an array of codes, or a frame if columns have names."""
    levels = []
    for given in domain.values():
        if not isinstance(given, int | list | tuple) or any(x is ... for x in _listed(given)):
            raise ValueError(
                "rows are made of levels that are listed or counted only. Pass like=, a public "
                "table with these columns."
            )
        levels.append(_listed(given))
    ranks = _ranks(rows, (n_rows, len(levels)))
    columns = {}
    for j, (name, labels) in enumerate(zip(domain, levels, strict=True)):
        ends = np.cumsum(law.dirichlet(np.full(len(labels), 2.0)))
        codes = np.searchsorted(ends[:-1], ranks[:, j], side="right")
        columns[name] = [labels[code] for code in codes]
    if all(isinstance(name, int) for name in domain):
        table = [columns.get(j, [0] * n_rows) for j in range(max(domain) + 1)]
        mixed = any(isinstance(x, str | None) for labels in levels for x in labels)
        return np.array(table, dtype=object if mixed else float).T
    import pandas

    return pandas.DataFrame(columns)


def _listed(given):
    return list(range(given)) if isinstance(given, int) else list(given)


def _length(X):
    return X.shape[0] if hasattr(X, "shape") else len(X)


@dataclass(frozen=True)
class Column:
    """A law with stated quantiles: a monotone curve through them, in normal scores.

    Two quantiles are those of a normal law. Below the first and above the last one the curve goes
    on as a line, but never beyond a stated least or largest entry. Equal neighbours are an atom.
    """

    # scores, values: tuple of float: normal scores of the probabilities, rising; and quantiles,
    # which do not fall
    scores: tuple
    values: tuple
    whole: bool  # whether entries are whole numbers

    @classmethod
    def of(cls, quantiles):
        """Return the column of a dict of quantiles; whole numbers tell of whole numbers."""
        if not _is_told(quantiles):
            raise ValueError(f"{TOLD}{quantiles!r}.")
        p, values = zip(*sorted(quantiles.items()), strict=True)
        scores = np.clip(ndtri(np.array(p, dtype=float)), -ENDS, ENDS)
        whole = all(isinstance(value, Integral) for value in values)
        return cls(tuple(scores.tolist()), tuple(map(float, values)), whole)

    def at(self, z):
        """Return the entries of these normal scores."""
        s, v = np.array(self.scores), np.array(self.values)
        curve = PchipInterpolator(s, v)
        below, above = np.minimum(z - s[0], 0), np.maximum(z - s[-1], 0)
        first, last = curve.derivative()(s[[0, -1]])
        x = curve(np.clip(z, s[0], s[-1]))
        x += below * (first if s[0] > -ENDS else 0) + above * (last if s[-1] < ENDS else 0)
        return np.rint(x) if self.whole else x

    def standard(self, x):
        """Return entries in standard deviations from the mean of the law."""
        law = self.at(GRID)
        return (x - law.mean()) / (law.std() or 1.0)


def stated_columns(columns, rows, n_rows):
    """Return entries of columns that a common cause makes alike, and the same in standard units.

    Shapes: returns (n_rows, n_columns).
    """
    own, common = rows.normal(size=(n_rows, len(columns))), rows.normal(size=(n_rows, 1))
    scores = sqrt(1 - ALIKE) * own + sqrt(ALIKE) * common
    X = np.column_stack([column.at(score) for column, score in zip(columns, scores.T, strict=True)])
    z = [column.standard(x) for column, x in zip(columns, X.T, strict=True)]
    return X, np.column_stack(z)


def _is_told(quantiles):
    if not isinstance(quantiles, Mapping) or len(quantiles) < 2:
        return False
    if not all(isinstance(x, Real) for pair in quantiles.items() for x in pair):
        return False
    p, values = np.array(sorted(quantiles.items()), dtype=float).T
    return bool(
        np.isfinite(values).all() and p[0] >= 0 and p[-1] <= 1 and np.diff(values).min() >= 0
    )
