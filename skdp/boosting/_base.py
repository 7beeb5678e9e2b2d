"""What boosting of classes and of numbers share: pairs and monotone terms that are asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.isotonic import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from skdp.additive._base import AdditiveModel, centred_terms, plain
from skdp.additive._rules import term_priors
from skdp.boosting._pair_terms_display import PairTermsDisplay
from skdp.boosting._pairs import FIRST_CYCLES, LAST_CYCLES, has_enough_for_pairs
from skdp.utils._compat import Interval, StrOptions

ROUNDS = 20  # of the projections of both sides in turn

FEW = "too few rows for pairs of features: the terms are those of an additive model"
PAIRS = (
    "interactions must be 'auto', a number of pairs, or a list of pairs of two features, numbers "
    "or names of columns of X. Got {!r}."
)
SIGNS = (
    "monotonic_cst must have one of -1, 0, 1 for each of {} features, or be a dict from names of "
    "columns of X to them. Got {!r}."
)
NAMES = "monotonic_cst asks columns of text or categories to rise or fall. Set theirs to 0."
OF_A_LINE = {"coef_", "coef_noise_scale_", "line_center_", "feature_range_"}


@dataclass(frozen=True)
class Monotone:
    """Of every feature 1 if predictions rise with it, -1 if they fall, 0 if nothing is asked."""

    signs: tuple

    def of_features(self, counts, ordered):
        """Return the priors of the terms of features."""
        priors = term_priors(counts, ordered)
        return [
            self._bent(prior, (j,), (len(number) - 1,), (len(number),), number, ordered)
            for j, (prior, number) in enumerate(zip(priors, counts, strict=True))
        ]

    def of_pairs(self, pairs, priors, expected, ordered):
        """Return the priors of the terms of pairs."""
        bent = []
        for pair, prior, parts in zip(pairs, priors, expected, strict=True):
            maps = pair.left, pair.right
            sizes = tuple(int(cells.max()) + 1 for cells in maps)
            ends = tuple(size - 1 for size in sizes)  # but for missing entries
            bent.append(self._bent(prior, (pair.first, pair.second), ends, sizes, parts, ordered))
        return bent

    def _bent(self, prior, features, ends, sizes, weights, ordered):
        signs = tuple(self.signs[j] * bool(ordered[j]) for j in features)
        return _Bent(prior, signs, ends, sizes, weights) if any(signs) else prior


@dataclass(frozen=True)
class _Bent:
    """A prior whose means are moved to the nearest table that rises, or falls, along its axes."""

    prior: object
    signs: tuple  # of every axis
    ends: tuple  # of every axis the number of cells that lie in an order
    sizes: tuple
    weights: np.ndarray  # of the cells

    def means(self, values, variances, unit=1.0):
        """Return the posterior means, bent."""
        return [self._bend(mean) for mean in self.prior.means(values, variances, unit)]

    @property
    def moves(self):
        """Those of the prior that is bent."""
        return self.prior.moves

    def _bend(self, mean):
        table, weights = mean.reshape(self.sizes), self.weights.reshape(self.sizes)
        axes = [axis for axis, sign in enumerate(self.signs) if sign]
        for _ in range(ROUNDS if len(axes) > 1 else 1):
            for axis in axes:
                table = self._along(axis, table, weights)
        ends = [self._ends(axes, table, way) for way in (np.maximum, np.minimum)]
        return (sum(ends) / 2).ravel()

    def _along(self, axis, table, weights):
        """Return the nearest table that is monotone along an axis."""
        table, end, rising = table.copy(), self.ends[axis], self.signs[axis] > 0
        rows = np.moveaxis(table, axis, 0)[:end].reshape(end, -1)
        parts = np.moveaxis(weights, axis, 0)[:end].reshape(end, -1)
        bent = [
            isotonic_regression(row, sample_weight=part, increasing=rising)
            for row, part in zip(rows.T, parts.T, strict=True)
        ]
        view = np.moveaxis(table, axis, 0)[:end]
        view[...] = np.transpose(bent).reshape(view.shape)
        return table

    def _ends(self, axes, table, way):
        """Return the least table above, or the largest below, that is monotone along all axes."""
        table = table.copy()
        for axis in axes:
            view = np.moveaxis(table, axis, 0)[: self.ends[axis]]
            forward = (self.signs[axis] > 0) == (way is np.maximum)
            view = view if forward else view[::-1]
            view[...] = way.accumulate(view, axis=0)
        return table


# --- what boosting of classes and of numbers share: pairs that are asked for, and their terms


class BoostingModel(AdditiveModel):
    """Base of models with terms of one and of two features."""

    n_cycles = "auto"  # of the additive model that few rows are given

    _parameter_constraints: dict = {
        **{k: v for k, v in AdditiveModel._parameter_constraints.items() if k != "n_cycles"},
        "interactions": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"}), list],
        "monotonic_cst": ["array-like", dict, None],
    }

    def _read(self, X, y):
        rows = super()._read(X, y)
        named = [levels is not None for levels in rows.about["levels"]]
        if any(np.logical_and(self._signs(len(named)), named)):
            raise ValueError(NAMES)
        return rows

    def _check_public(self, n_features):
        super()._check_public(n_features)
        self._pairs(n_features)
        self._signs(n_features)

    def _pairs(self, n_features):
        """Return the pairs that are asked for, how many at most, or None for all."""
        if isinstance(self.interactions, str):
            return None
        if isinstance(self.interactions, Integral):
            return int(self.interactions)
        pairs = set()
        for pair in self.interactions:
            if isinstance(pair, str) or np.shape(pair) != (2,):
                raise ValueError(PAIRS.format(pair))
            at = sorted(self._place(one, n_features, PAIRS.format(pair)) for one in pair)
            if at[0] == at[1]:
                raise ValueError(PAIRS.format(pair))
            pairs.add(tuple(at))
        return sorted(pairs)

    def _signs(self, n_features):
        """Return of every feature whether predictions rise, fall or do as they like."""
        asked, signs = self.monotonic_cst, [0] * n_features
        if asked is None:
            return tuple(signs)
        error = SIGNS.format(n_features, asked)
        if isinstance(asked, Mapping):
            for name, sign in asked.items():
                signs[self._place(name, n_features, error)] = sign
        else:
            signs = np.asarray(asked).tolist()
        if np.ndim(signs) != 1 or len(signs) != n_features or not {*signs} <= {-1, 0, 1}:
            raise ValueError(error)
        return tuple(map(int, signs))

    def _place(self, feature, n_features, error):
        names = list(getattr(self, "feature_names_in_", ()))
        if isinstance(feature, str) and feature in names:
            return names.index(feature)
        if isinstance(feature, Integral) and 0 <= feature < n_features:
            return int(feature)
        raise ValueError(error)

    def _release(self, table):
        told = super()._release(table)
        return {name: value for name, value in told.items() if name not in OF_A_LINE}

    def _fit_with_pairs(self, table, *place, strength, edges, n_cycles, **known):
        """Return what ``_fit_terms`` returns: without pairs if none is asked for, or few rows."""
        fit_features, fit_pairs = self._fits
        n_features, known = len(edges), {"edges": edges, **known}
        wanted, monotone = self._pairs(n_features), Monotone(self._signs(n_features))
        if wanted not in (0, []) and not has_enough_for_pairs(
            strength, n_features, self._target == "class"
        ):
            if n_features > 1:
                table.decide(FEW)
            wanted = 0
        if wanted in (0, []):
            known |= {"n_cycles": n_cycles, "priors_of": monotone.of_features}
            return fit_features(table, *place, **known)
        known |= {"strength": strength, "wanted": wanted, "monotone": monotone}
        return fit_pairs(table, *place, **known)

    def _shown(self, model, counts, step):
        return pair_terms(model, counts, step)

    def _term_features(self):
        return self.term_features_

    def plot(self, *, features=None, confidence=0.95, axes=None):
        """Plot curves, and heat maps of pairs, see :class:`skdp.boosting.PairTermsDisplay`.

        Parameters
        ----------
        features : list of int, str or tuple of two of them, default=None
            Which features and pairs, by number or name. None: all features, and the pairs that
            matter most, up to six heat maps.
        confidence : float, default=0.95
            Probability with which a band covers; entries of pairs that are closer to zero than half
            of it are hatched.
        axes : sequence of matplotlib Axes, default=None
            One for each curve, then one for each heat map; a new figure by default.

        Returns
        -------
        display : PairTermsDisplay
        """
        check_is_fitted(self)
        return PairTermsDisplay.from_estimator(
            self, features=features, confidence=confidence, axes=axes
        )


def pair_terms(model, counts, step):
    """Return what is displayed of a model with pairs, a dict of fitted attributes, and intercepts.

    Rows and columns of a pair have a weighted mean of zero: what they had is given to the terms of
    its features, so that predictions stay as they are. Pairs of zeros are left out.
    """
    n_features = len(counts)
    values = [table * step for table in model.tables[:n_features]]
    pairs = []
    for at, pair in enumerate(model.pairs, start=n_features):
        left, right = np.asarray(pair.left), np.asarray(pair.right)
        sizes = int(left.max()) + 1, int(right.max()) + 1
        table, weights = model.tables[at] * step, model.weights[at]
        if not table.any():
            continue
        rest = np.empty((len(table), *sizes))
        for k, (one, weight) in enumerate(zip(table, weights, strict=True)):
            rows, columns, rest[k] = purified(one.reshape(sizes), weight.reshape(sizes))
            values[pair.first][k] += rows[left]
            values[pair.second][k] += columns[right]
        weights = weights.reshape(rest.shape)
        size = _size(rest, weights / weights.sum(axis=(1, 2), keepdims=True))
        cells = np.ix_(range(len(table)), left, right)
        noise = model.noise[at].reshape(rest.shape)[cells]
        pairs.append((size, (pair.first, pair.second), rest[cells], noise))
    pairs.sort(key=lambda one: -one[0])
    terms, intercept = centred_terms(values, counts, model.intercept[:, 0] * step)
    sizes = [
        _size(np.atleast_2d(term.T), number / number.sum())
        for term, number in zip(terms, counts, strict=True)
    ]
    cycles = {"n_iter_": FIRST_CYCLES + LAST_CYCLES} if model.pairs else {}
    return cycles | {
        "terms_": terms + [plain(np.moveaxis(rest, 0, -1)) for _, _, rest, _ in pairs],
        "term_noise_scale_": [plain(noise.T) for noise in model.noise[:n_features]]
        + [plain(np.moveaxis(noise, 0, -1)) for _, _, _, noise in pairs],
        "term_features_": [(j,) for j in range(n_features)] + [pair for _, pair, _, _ in pairs],
        "importance_": np.array([*sizes, *(size for size, _, _, _ in pairs)]),
    }, intercept


def purified(table, weights):
    """Return rows and columns, the nearest sum of both to a table, and the rest of it."""
    n, m = table.shape
    A = np.zeros((n + m, n + m))
    A[:n, :n], A[n:, n:] = np.diag(weights.sum(axis=1)), np.diag(weights.sum(axis=0))
    A[:n, n:], A[n:, :n] = weights, weights.T
    weighed = weights * table
    found = np.linalg.lstsq(A, np.append(weighed.sum(axis=1), weighed.sum(axis=0)), rcond=None)[0]
    rows, columns = found[:n], found[n:]
    return rows, columns, table - rows[:, None] - columns


def _size(values, parts):
    """Return the root mean square of a term over rows, and over outputs; the first axis theirs."""
    squares = (np.square(values) * parts).reshape(len(values), -1).sum(axis=1)
    return float(np.sqrt(squares.mean()))
