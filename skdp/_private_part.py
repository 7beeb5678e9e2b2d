"""The private part of a fit: nothing leaves it but what it returns, or keeps for its owner."""

from contextlib import contextmanager

import numpy as np

from skdp.exceptions import BudgetExceeded, PlanError, ReleaseError
from skdp.utils._config import get_config
from skdp.utils._threads import quiet

SCHEMA = ("n_features_in_", "feature_names_in_", "calendars_in_")  # set by validation
WITHHELD = (
    "The private part of this fit failed. The details are withheld because they could depend "
    "on single rows, and the budget stays spent. So ends a fit whose table, or whose files, change "
    "while it reads them; if they do not, please report this as a bug. A data holder can see the "
    "details under skdp.config_context(debug=True)."
)


@contextmanager
def unchanged(estimator):
    """Let nothing survive that the block sets, nor what an earlier fit has released."""
    stays = {*estimator.get_params(deep=False), *SCHEMA}
    kept = {
        name: value
        for name, value in vars(estimator).items()
        if name in stays or not (name.endswith("_") or isinstance(value, Local))
    }
    _set_back(estimator, kept)
    try:
        yield
    finally:
        _set_back(estimator, kept)


def _set_back(estimator, kept):
    attributes = vars(estimator)
    for name in attributes.keys() - kept.keys():
        del attributes[name]
    attributes.update(kept)


def guarded(release, *given):
    """Run the private part: no warning, no exception of its own reaches the caller."""
    try:
        with np.errstate(all="ignore"), quiet():
            return release(*given)
    except (BudgetExceeded, PlanError) as error:
        kind = BudgetExceeded if isinstance(error, BudgetExceeded) else PlanError
        failure = kind(*error.args)  # of itself: its context may quote rows
    except KeyboardInterrupt:  # of the user
        raise
    except BaseException:
        if get_config()["debug"]:
            raise
        failure = ReleaseError(WITHHELD)
    raise failure


class Local:
    """Base of objects that are **local and private**, as private as the rows they come from.

    Estimators lose them when they are pickled or copied, and they do not show themselves.

    See Also
    --------
    PrivateEstimator

    Notes
    -----
    **Privacy**: none: it is as private as the rows, and only keeps itself out of pickles, copies
    and representations.

    Examples
    --------
    >>> from skdp.base import Local
    >>> class Labels(Local):
    ...     def __init__(self, values):
    ...         self.values = values
    ...
    >>> labels = Labels([0, 1, 1])
    >>> "[0, 1" in repr(labels)
    False
    """

    def __repr__(self):
        return f"<{type(self).__name__}: local and private, contents not shown>"

    def __reduce_ex__(self, protocol):
        raise TypeError(
            f"a {type(self).__name__} is private and cannot be pickled or copied. Release what you "
            "need of it through a Curator."
        )


class DropsPrivateState:
    """Mixin of estimators that may have local attributes, which pickles and copies leave behind."""

    def __getstate__(self):
        """Return what a pickle or a copy takes along: everything but what is local."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if not isinstance(value, Local)}
