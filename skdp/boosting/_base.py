"""What boosting of classes and of numbers share: pairs that are asked for, and their terms."""

from collections.abc import Mapping
from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.additive._base import AdditiveModel
from skdp.boosting._monotone import Monotone
from skdp.boosting._pair_terms_display import PairTermsDisplay
from skdp.boosting._rules import has_enough_for_pairs
from skdp.boosting._terms import pair_terms
from skdp.utils._compat import Interval, StrOptions

__all__ = ["BoostingModel"]

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

    def _plan_of_pairs(self, table, strength, n_features):
        """Return the pairs that are asked for, and the constraints; 0 pairs if rows are too few."""
        wanted = self._pairs(n_features)
        if wanted not in (0, []) and not has_enough_for_pairs(
            strength, n_features, self._target == "class"
        ):
            if n_features > 1:
                table.decide(FEW)
            wanted = 0
        return wanted, Monotone(self._signs(n_features))

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
