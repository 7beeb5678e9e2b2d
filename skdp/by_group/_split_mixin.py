"""What has the parameters ``by`` and ``levels`` itself: with ``by`` it is one of each group."""

from numbers import Integral

from sklearn.base import clone

from skdp.by_group._private_group_by import PrivateGroupBy
from skdp.exceptions import PlanError

ALONE = "by= is for a fit of its own. Inside another estimator use PrivateGroupBy({name}(...), by)."
NAMES = "privacy_report_", "n_features_in_", "feature_names_in_"


class SplitMixin:
    """Mixin of estimators that fit groups by :class:`skdp.PrivateGroupBy` if ``by`` is given."""

    _by_constraints: dict = {
        "by": [str, Integral, "array-like", None],
        "levels": ["array-like", None],
    }

    def _split(self):
        """Return the PrivateGroupBy of clones of this estimator."""
        if self._is_granted():
            raise PlanError(ALONE.format(name=type(self).__name__))
        own = "by", "levels", "epsilon", "delta", "random_state", "ledger"
        return PrivateGroupBy(
            clone(self).set_params(by=None, levels=None, ledger=None, random_state=None),
            **{name: getattr(self, name) for name in own},
        )

    def _fit_split(self, X, y, groups):
        """Fit the PrivateGroupBy and return it; attributes of other fits are gone."""
        self._validate_params()
        fitted = self._split().fit(X, y, groups=groups)
        for name in [name for name in vars(self) if name.endswith("_")]:
            del vars(self)[name]
        vars(self).update({name: value for name, value in vars(fitted).items() if name in NAMES})
        return fitted
