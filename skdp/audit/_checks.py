"""Every check of a private estimator, and the leaks that they cover."""

from functools import partial

from sklearn.base import clone

from skdp.audit import _checks_budget as budget
from skdp.audit import _checks_noise as noise
from skdp.audit import _checks_rows as rows
from skdp.audit import _checks_schema as schema
from skdp.audit._checks_common import table
from skdp.audit._interference import non_interference
from skdp.audit._sensitivity import conditional_sensitivity

__all__ = ["LEAK_CHECKLIST", "check_private_estimator", "private_estimator_checks"]


def check_non_interference(name, estimator, X=None):
    """Check that all that is seen is a function of the Curator's answers (rows 1 to 25)."""
    non_interference(estimator, table(X))


def check_conditional_sensitivity(name, estimator, X=None):
    """Check that, given the same answers, no value moves more than it declares (1 to 25)."""
    conditional_sensitivity(estimator, table(X))


CHECKS = (
    check_non_interference,
    check_conditional_sensitivity,
    budget.check_plan_without_data,
    budget.check_report_within_budget,
    budget.check_budget_parameters_validated,
    budget.check_over_budget_refused_first,
    budget.check_charged_once_and_kept,
    budget.check_ledger_survives_copies,
    noise.check_seed_is_flagged,
    noise.check_fresh_noise,
    rows.check_invalid_rows_are_absent,
    rows.check_always_answers,
    rows.check_types_and_layouts,
    rows.check_no_row_is_stored,
    rows.check_rows_left_alone,
    rows.check_frame_index_not_stored,
    schema.check_wrong_tables_refused,
    schema.check_weights_refused,
    schema.check_no_private_internals,
    schema.check_attributes_are_agreed,
)

_LAYERS = (check_non_interference, check_conditional_sensitivity)

# Number -> (what could leak, checks that cover it, why there is no check or what is left).
LEAK_CHECKLIST = {
    1: ("NaN, infinity, NA", (rows.check_invalid_rows_are_absent, *_LAYERS), ""),
    2: ("huge and subnormal numbers", (rows.check_always_answers, *_LAYERS), ""),
    3: ("no rows, one row, k > n", (rows.check_always_answers, *_LAYERS), ""),
    4: ("constant and collinear columns", (rows.check_always_answers, *_LAYERS), ""),
    5: ("tables of another schema", (schema.check_wrong_tables_refused,), ""),
    6: ("narrow and integer types", (rows.check_types_and_layouts, *_LAYERS), ""),
    7: ("nullable columns", (rows.check_frame_index_not_stored,), "needs pandas"),
    8: (
        "layouts, memory maps, references",
        (rows.check_types_and_layouts, rows.check_rows_left_alone, check_non_interference),
        "",
    ),
    9: (
        "bounds and budgets are parameters",
        (budget.check_plan_without_data, budget.check_budget_parameters_validated, *_LAYERS),
        "",
    ),
    10: ("invalid targets", (), "y is ignored: there are no supervised estimators"),
    11: ("weights of rows", (schema.check_weights_refused, check_conditional_sensitivity), ""),
    12: ("number of rows", (schema.check_no_private_internals, check_non_interference), ""),
    13: (
        "labels, inertia, ranges, iterations",
        (schema.check_no_private_internals, schema.check_attributes_are_agreed, _LAYERS[0]),
        "",
    ),
    14: ("transform and predict on the rows", (), "local computations, documented as not private"),
    15: ("scores on private rows", (), "local computations, documented as not private"),
    16: (
        "early stopping, restarts",
        (budget.check_report_within_budget, check_non_interference),
        "",
    ),
    17: (
        "exceptions",
        (
            budget.check_charged_once_and_kept,
            budget.check_over_budget_refused_first,
            schema.check_wrong_tables_refused,
            check_non_interference,
        ),
        "",
    ),
    18: ("warnings, logs, prints", (check_non_interference,), "compiled code is not overheard"),
    19: ("floating-point warnings", (rows.check_always_answers, check_non_interference), ""),
    20: ("failures of solvers", (rows.check_always_answers, check_non_interference), ""),
    21: (
        "pickles, caches, references",
        (
            rows.check_no_row_is_stored,
            rows.check_rows_left_alone,
            budget.check_ledger_survives_copies,
            check_non_interference,
        ),
        "temporary files of joblib are not searched",
    ),
    22: ("repr, HTML, parameters", (rows.check_no_row_is_stored, check_non_interference), ""),
    23: (
        "fitting again",
        (budget.check_charged_once_and_kept, budget.check_over_budget_refused_first),
        "there is neither partial_fit nor warm_start",
    ),
    24: ("noise used twice", (noise.check_fresh_noise, noise.check_seed_is_flagged), ""),
    25: ("order of the rows", (rows.check_types_and_layouts, *_LAYERS), ""),
    26: ("index of a frame", (rows.check_frame_index_not_stored,), "needs pandas"),
    27: (
        "functions of the user on rows",
        (schema.check_weights_refused,),
        "no parameter takes a function",
    ),
    28: ("time and memory", (), "outside the threat model, documented"),
}


def private_estimator_checks(estimator, X=None):
    """Yield every check of a private estimator, for ``pytest.mark.parametrize``.

    Parameters
    ----------
    estimator : PrivateEstimator
    X : array-like of shape (n_samples, n_features), default=None
        A table that the estimator is at home with, of some hundred rows. Made up by default.

    Yields
    ------
    estimator : PrivateEstimator
        A clone.
    check : callable
        ``check(estimator)`` raises :class:`skdp.exceptions.AuditFailure`; ``check.func.__name__``
        is its name.

    Examples
    --------
    >>> import pytest
    >>> from skdp import PrivateMean
    >>> from skdp.audit import private_estimator_checks
    >>> @pytest.mark.parametrize("estimator, check", private_estimator_checks(PrivateMean()))
    ... def test_privacy(estimator, check):
    ...     check(estimator)
    """
    name = type(estimator).__name__
    for check in CHECKS:
        yield clone(estimator), partial(check, name, X=X)


def check_private_estimator(estimator, X=None):
    """Run every check of a private estimator.

    Parameters
    ----------
    estimator : PrivateEstimator
        Unfitted. It is cloned; nothing is charged to its ledger.
    X : array-like of shape (n_samples, n_features), default=None
        A table that the estimator is at home with, of some hundred rows. Made up by default.

    Raises
    ------
    AuditFailure
        By the first check that fails.

    Notes
    -----
    The two structural layers, :func:`non_interference` and :func:`conditional_sensitivity`, are
    the obligation of a privacy proof itself: that everything seen is a function of releases, and
    that releases have the sensitivity they pay for. They search for counterexamples, and are no
    proof. The other checks go through the usual ways in which estimators leak
    (``skdp.audit.LEAK_CHECKLIST``).
    """
    for twin, check in private_estimator_checks(estimator, X):
        check(twin)
