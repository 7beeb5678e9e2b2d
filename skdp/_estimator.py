"""The fit that every estimator shares: validate the schema, plan, charge, release, report."""

import sys
import warnings
from contextlib import contextmanager, nullcontext
from numbers import Integral, Real

import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator

from skdp._compat import CallbackSupportMixin, Interval, VisualBlock, callbacks, fit_context
from skdp._config import get_config
from skdp._curator import WORTH_LITTLE, make_curator
from skdp._grant import Grant
from skdp._local import KeepsLocal, Local
from skdp._numbers import PlainNumbers
from skdp._progress import lines, tell
from skdp._schema import read_rows
from skdp._threads import is_quiet, quiet
from skdp.accounting import PrivacyLedger
from skdp.contracts import Contract, Released, Rows
from skdp.exceptions import (
    BudgetExceeded,
    PlanError,
    ReleaseError,
    SeededNoiseWarning,
    UselessReleaseWarning,
)
from skdp.mechanisms import make_entropy

__all__ = ["PrivateEstimator", "doubts_of", "guarantee"]


BETWEEN = ("skdp", "sklearn", "joblib")  # the line of a user and a fit
SCHEMA = ("n_features_in_", "feature_names_in_")  # set by validation
WITHHELD = (
    "The private part of this fit failed. The details are withheld because they could depend "
    "on single rows, and the budget stays spent. Please report this as a bug; a data holder "
    "can see the details under skdp.config_context(debug=True)."
)


class PrivateEstimator(KeepsLocal, PlainNumbers, CallbackSupportMixin, BaseEstimator):
    """Base of all private estimators.

    A subclass has the parameters ``epsilon``, ``delta``, ``random_state`` and ``ledger`` and
    writes two methods:

    ``plan()``
        Returns the :class:`skdp.accounting.Plan` of a fit, from parameters alone.
    ``_release(rows, curator)``
        Returns a dict of fitted attributes, every one of them computed from releases of the
        curator and public values only.

    ``fit`` sets nothing else: what is not in that dict does not survive, be it set by ``_release``
    or by an earlier fit. A value of the class :class:`skdp.base.Local` is the exception to what may
    be in it: private, for the owner of the rows, shown by no ``repr``, and left behind by pickles
    and copies. Parameters are kept as Python's own numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.base import Budget, Plan, PrivateEstimator, Step, count_rows
    >>> class Count(PrivateEstimator):
    ...     def __init__(self, *, epsilon=1.0, delta=0.0, random_state=None, ledger=None):
    ...         self.epsilon, self.delta = epsilon, delta
    ...         self.random_state, self.ledger = random_state, ledger
    ...
    ...     def plan(self):
    ...         return Plan(Budget.pure(self.epsilon), (Step("count", "laplace"),))
    ...
    ...     def _release(self, rows, curator):
    ...         n = [count_rows(rows)]  # a row moves it by 1
    ...         release = curator.laplace(n, sensitivity=1, share=1, label="count")
    ...         return {"count_": int(release.value[0])}
    ...
    >>> abs(Count().fit(np.zeros((500, 1))).count_ - 500) < 50
    True
    """

    _parameter_constraints: dict = {
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
        "ledger": [PrivacyLedger, Grant, None],
    }

    # for a subclass with the parameter ``n_jobs``
    _row_constraints: dict = {
        **_parameter_constraints,
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Fit on private rows and release the result.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The private rows. Read, never stored.
        y : Ignored
            Present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator; ``privacy_report_`` is the bill.

        Raises
        ------
        ValueError
            For a table of the wrong shape or type, and for NaN or infinity unless
            ``skdp.config_context(invalid_rows="ignore")``; before anything is charged.
        BudgetExceeded
            If the ledger cannot grant the whole plan; before the release reads anything.
        ReleaseError
            If the private part fails; the message is constant and the budget stays spent.
        """
        plan = self.plan()
        if plan.problems:
            raise PlanError("\n".join(["this fit cannot be carried out:", *plan.problems]))
        rows = self._read(self.ledger.present(X) if self._is_granted() else X, y)
        curator = self._curator(plan)
        with self._watched(plan, curator), _unchanged(self), self._threads():
            released = _guarded(self._release, rows, curator)
        for name, value in released.items():
            setattr(self, name, value)
        self.privacy_report_ = curator.close(type(self).__name__)
        if not (self._is_granted() or is_quiet()):  # else it is told of by the fit around it
            _warn_of_doubts(self)
        return self

    def _doubts(self):
        """Return what of the released is worth little, and why: constant texts."""
        return doubts_of(self.privacy_report_)

    def _read(self, X, y):
        """Check types and shapes, and public parameters against them; return what to release of.

        What it raises, it raises before anything is charged.
        """
        rows = read_rows(self, X)
        self._check_public(rows.n_features)
        return rows

    def _look(self, X):
        """Raise what ``fit`` would raise for X before anything is charged, and do nothing else.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        self._read(self.ledger.present(X) if self._is_granted() else X, None)

    def _threads(self):
        """Let blocks of rows be shared by ``n_jobs`` threads, where it is a parameter."""
        n_jobs = getattr(self, "n_jobs", None)
        return nullcontext() if n_jobs is None else parallel_config(n_jobs=n_jobs)

    def _curator(self, plan):
        """Charge for the plan; return the Curator of the fit."""
        if self._is_granted():
            return self.ledger.open()
        entropy = make_entropy(self.random_state)
        if entropy.seeded:
            warnings.warn(
                f"{type(self).__name__} draws its noise from a seed: the result is reproducible "
                "and NOT private. Use random_state=None for anything that leaves your hands.",
                SeededNoiseWarning,
                stacklevel=_users_level(),
            )
        if self.ledger is not None:
            self.ledger.charge(plan.budget, type(self).__name__, seeded=entropy.seeded)
        return make_curator(plan, entropy)

    @contextmanager
    def _watched(self, plan, curator):
        """Tell of releases in this context, unless they are told of by the fit around it."""
        if self._is_granted() or is_quiet():
            yield
            return
        with callbacks(self) as tasks, lines(type(self).__name__, plan) as text:
            tell(curator, [tasks, text])
            yield

    def _sk_visual_block_(self):
        return VisualBlock(
            "single",
            self,
            names=type(self).__name__,
            name_caption=guarantee(self),
            name_details=str(self),
        )

    def _check_public(self, n_features):
        """Raise ValueError for public parameters that do not fit the number of columns."""

    def _budget(self, make):
        """Return ``make(epsilon, delta)`` as the ledger, if any, would admit it."""
        budget = make(self.epsilon, self.delta)
        return budget if self.ledger is None else self.ledger.admit(budget)

    def _given(self):
        """Return the kind of data that a pipeline gives to this step."""
        return self.ledger.given if self._is_granted() else Rows()

    def _is_granted(self):
        return isinstance(self.ledger, Grant)

    def __skdp_contract__(self):
        """Return what this step reads and yields."""
        return Contract(consumes=(Rows,), yields=lambda kind: Released(), spends=True)


def guarantee(estimator):
    """Return the epsilon and delta of an estimator as a text."""
    given = ((name, getattr(estimator, name, None)) for name in ("epsilon", "delta"))
    return ", ".join(f"{name}={float(value):g}" for name, value in given if isinstance(value, Real))


def doubts_of(report):
    """Return what a report says is worth little, every text once."""
    texts = (text for text in report.decisions if text.startswith(WORTH_LITTLE))
    return tuple(dict.fromkeys(text.removeprefix(WORTH_LITTLE) for text in texts))


def _warn_of_doubts(estimator):
    """Warn once of all that a fit doubts, after everything that is released has been set."""
    doubts = estimator._doubts()
    if doubts:
        first = f"{type(estimator).__name__} has released what is worth little:"
        told = "\n".join([first, *doubts])
        warnings.warn(told, UselessReleaseWarning, stacklevel=_users_level())


def _users_level():
    """Return the stack level of the line that called a fit, for the function that asks."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        frame, level = frame.f_back, level + 1
    return level


@contextmanager
def _unchanged(estimator):
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


def _guarded(release, rows, curator):
    """Run the private part: no warning, no exception of its own reaches the caller."""
    try:
        with np.errstate(all="ignore"), quiet():
            return release(rows, curator)
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
