"""Exceptions and warnings of skdp. Their messages carry public facts only, never a data value."""

__all__ = [
    "AuditFailure",
    "BudgetExceeded",
    "PlanError",
    "ReleaseError",
    "SeededNoiseWarning",
    "UselessReleaseWarning",
]


class AuditFailure(AssertionError):
    """An audit has found that a privacy claim does not hold; the message says where.

    Raised by the tools of :mod:`skdp.audit`, which are run on data made or chosen for the audit.
    """


class BudgetExceeded(Exception):
    """A charge would cost more than is left of a privacy budget.

    Raised by :class:`skdp.PrivacyLedger` before any private value is read, and by the Curator
    when an algorithm asks for more than the shares it planned.
    """


class PlanError(ValueError):
    """An algorithm asked for a release that its published plan does not contain."""


class ReleaseError(RuntimeError):
    """A fit failed after the data had been read.

    The message is constant and the original exception is withheld: both could depend on private
    values. The budget stays spent. ``skdp.config_context(debug=True)`` lets the original
    exception through, for developers who may see the data.
    """


class SeededNoiseWarning(UserWarning):
    """The noise comes from a seeded stream: reproducible, hence not private."""


class UselessReleaseWarning(UserWarning):
    """Something that was released is worth little or nothing: too few rows, or none to be seen.

    A fit warns at most once, whatever it is made of: a pipeline for all of its steps, a search for
    its winner alone. Decided and told from released values and public parameters; the same doubts
    are among the decisions of ``privacy_report_``, of a search in that of ``best_estimator_``.

    It is told when everything that was released has been set. Where warnings are errors, a fit that
    raises it is complete: the budget is spent, and the estimator holds the result.
    """
