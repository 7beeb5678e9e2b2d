"""Exceptions and warnings of skdp. Their messages carry public facts only, never a data value."""

__all__ = [
    "AuditFailure",
    "BudgetExceeded",
    "LowAccuracyWarning",
    "PlanError",
    "ReleaseError",
    "SeededNoiseWarning",
    "WeakGuaranteeWarning",
]


class AuditFailure(AssertionError):
    """An audit has found that a privacy claim does not hold; the message says where.

    Raised by the tools of :mod:`skdp.audit`, which are run on data made or chosen for the audit.

    See Also
    --------
    skdp.audit.check_private_estimator

    Notes
    -----
    **Privacy**: the message may quote rows of the audit, which are made or chosen for it.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateCount
    >>> from skdp.audit import non_interference
    >>> from skdp.base import count_rows
    >>> from skdp.exceptions import AuditFailure
    >>> class Wrong(PrivateCount):
    ...     def _release(self, rows, curator):
    ...         return {"count_": count_rows(rows)}  # without noise
    ...
    >>> try:
    ...     non_interference(Wrong(), np.zeros((9, 1)), n_transcripts=1)
    ... except AuditFailure:
    ...     print("found")
    ...
    found
    """


class BudgetExceeded(Exception):
    """A charge would cost more than is left of a privacy budget.

    Raised by :class:`skdp.PrivacyLedger` before any private value is read, and by the Curator
    when an algorithm asks for more than the shares it planned.

    See Also
    --------
    skdp.PrivacyLedger, skdp.base.Curator

    Notes
    -----
    **Privacy**: the message tells budgets and charges, which are public, and no value of a table.

    Examples
    --------
    >>> from skdp import PrivacyLedger
    >>> from skdp.accounting import Budget
    >>> from skdp.exceptions import BudgetExceeded
    >>> ledger = PrivacyLedger(epsilon=1.0)
    >>> try:
    ...     ledger.charge(Budget.pure(2.0), "too much")
    ... except BudgetExceeded:
    ...     print("refused")
    ...
    refused
    """


class PlanError(ValueError):
    """An algorithm asked for a release that its published plan does not contain.

    See Also
    --------
    skdp.accounting.Plan, skdp.base.Curator

    Notes
    -----
    **Privacy**: the message tells the plan and what was asked for, and no value of a table.

    Examples
    --------
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import Budget, Plan, Step
    >>> from skdp.exceptions import PlanError
    >>> curator = CannedCurator(Plan(Budget.pure(1.0), (Step("count", "laplace"),)))
    >>> try:
    ...     curator.laplace([17], sensitivity=1, share=1, label="sum")
    ... except PlanError:
    ...     print("not planned")
    ...
    not planned
    """


class ReleaseError(RuntimeError):
    """A fit failed after the data had been read.

    The message is constant and the original exception is withheld: both could depend on private
    values. The budget stays spent. ``skdp.config_context(debug=True)`` lets the original
    exception through, for developers who may see the data.

    See Also
    --------
    skdp.set_config

    Notes
    -----
    **Privacy**: the message is the same whatever went wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateCount
    >>> from skdp.exceptions import ReleaseError
    >>> class Wrong(PrivateCount):
    ...     def _release(self, rows, curator):
    ...         raise ValueError("a message that could hold data")
    ...
    >>> try:
    ...     Wrong().fit(np.zeros((9, 1)))
    ... except ReleaseError as error:
    ...     print("a message" in str(error))
    ...
    False
    """


class SeededNoiseWarning(UserWarning):
    """The noise comes from a seeded stream: reproducible, hence not private.

    See Also
    --------
    skdp.mechanisms.make_entropy

    Notes
    -----
    **Privacy**: a function of parameters alone.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from skdp import PrivateCount
    >>> from skdp.exceptions import SeededNoiseWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", SeededNoiseWarning)  # in a test, say
    ...     count = PrivateCount(random_state=0).fit(np.zeros((9, 1)))
    ...
    """


class LowAccuracyWarning(UserWarning):
    """Something that was released has low accuracy: too few rows, or too small an epsilon.

    It names the columns, the reason and what helps (user guide "When is an answer reliable"). A fit
    warns at most once, whatever it is made of: a pipeline for all of its steps, a search for
    its winner alone. Decided and told from released values and public parameters; the same doubts
    are among the decisions of ``privacy_report_``, of a search in that of ``best_estimator_``.
    Every fitted estimator repeats them: ``reliable_`` is False, and ``accuracy_warnings_`` are the
    lines of the text. ``UselessReleaseWarning``, its older name, is the same class.

    It is told when everything that was released has been set. Where warnings are errors, a fit that
    raises it is complete: the budget is spent, and the estimator holds the result.

    See Also
    --------
    WeakGuaranteeWarning

    Notes
    -----
    **Privacy**: a function of released values and parameters alone, so it costs nothing.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from skdp import PrivateMean
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     mean = PrivateMean(random_state=0).fit(np.zeros((3, 2)))
    ...
    >>> [w.category.__name__ for w in told]
    ['SeededNoiseWarning', 'LowAccuracyWarning']
    """


UselessReleaseWarning = LowAccuracyWarning  # its older name


class WeakGuaranteeWarning(UserWarning):
    """The epsilon or the delta of a fit, or of fits together, promises little to anybody.

    Told of ``epsilon > 20``, of ``delta >= 0.01``, and of a fit without a ledger in
    ``GridSearchCV``, ``cross_val_score`` or ``cross_val_predict`` of scikit-learn: each candidate
    and fold costs the epsilon again, and nothing protects the scores. Told before anything is
    charged: where warnings are errors nothing has been spent.

    See Also
    --------
    LowAccuracyWarning

    Notes
    -----
    **Privacy**: a function of parameters, and of which function calls the fit.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from skdp import PrivateCount
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     count = PrivateCount(epsilon=50.0).fit(np.zeros((9, 1)))
    ...
    >>> [w.category.__name__ for w in told]
    ['WeakGuaranteeWarning']
    """
