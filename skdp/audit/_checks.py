"""Every check of a private estimator, and the leaks that they cover."""

from functools import partial

from sklearn.base import clone

from skdp.audit import _checks_budget as budget
from skdp.audit import _checks_rows as rows
from skdp.audit import _checks_target as target
from skdp.audit._draw import AuditRandom
from skdp.audit._interference import compare_fits, non_interference
from skdp.audit._observe import ignore_expected_warnings
from skdp.audit._sensitivity import conditional_sensitivity, telling_rows
from skdp.audit._statistics import check_own_statistics
from skdp.audit._tables import example, framed, tables_like
from skdp.audit._transcript import Script
from skdp.exceptions import AuditFailure

N_PAIRS = 260
EQUAL = 0, 100, 10**6, -(10**6)  # the one answer to all questions: ties, many rows, none
TIED = ("the table", "one row", "all rows far away", "targets in another order")


def check_non_interference(name, estimator, data):
    """Check that all that is seen is a function of the Curator's answers (rows 1 to 25)."""
    non_interference(estimator, data)
    tables = [table for table in tables_like(data) if table.name in TIED]
    compare_fits(estimator, tables, [Script(equal=x) for x in EQUAL])
    if frames := framed(data):
        compare_fits(estimator, frames, [Script(seed=1)])


def check_conditional_sensitivity(name, estimator, data):
    """Check that, given the same answers, no value moves more than it declares (1 to 25)."""
    telling = telling_rows(estimator, data, AuditRandom("telling rows"))
    return conditional_sensitivity(
        estimator, data, groups=data.groups, n_pairs=N_PAIRS, rows=telling
    )


CHECKS = (
    check_own_statistics,
    check_non_interference,
    check_conditional_sensitivity,
    rows.check_long_tables,
    rows.check_wide_tables,
    rows.check_other_budgets,
    rows.check_persons,
    budget.check_every_release_billed,
    budget.check_prices,
    target.check_numpy_parameters,
    budget.check_plan_without_data,
    budget.check_report_within_budget,
    budget.check_budget_parameters_validated,
    budget.check_over_budget_refused_first,
    budget.check_charged_once_and_kept,
    budget.check_ledger_survives_copies,
    budget.check_seed_is_flagged,
    budget.check_fresh_noise,
    rows.check_invalid_rows_are_absent,
    rows.check_always_answers,
    rows.check_types_and_layouts,
    rows.check_no_row_is_stored,
    rows.check_rows_left_alone,
    rows.check_frame_index_not_stored,
    target.check_invalid_targets_are_absent,
    target.check_wrong_targets_refused,
    target.check_no_target_is_stored,
    target.check_spare_targets,
    target.check_wrong_tables_refused,
    target.check_weights_refused,
    target.check_no_private_internals,
    target.check_attributes_are_agreed,
)

# Of fits with groups.
GROUP_CHECKS = (
    check_own_statistics,
    check_non_interference,
    check_conditional_sensitivity,
    budget.check_every_release_billed,
    rows.check_invalid_rows_are_absent,
    rows.check_types_and_layouts,
    rows.check_no_row_is_stored,
    rows.check_rows_left_alone,
    rows.check_ledger_of_groups,
    rows.check_no_owner_is_stored,
    rows.check_one_owner_answers,
)

_LAYERS = (
    check_own_statistics,
    check_non_interference,
    check_conditional_sensitivity,
    rows.check_wide_tables,
    rows.check_other_budgets,
    rows.check_persons,
)

# Number -> (what could leak, checks that cover it, why there is no check or what is left).
LEAK_CHECKLIST = {
    1: ("NaN, infinity, NA", (rows.check_invalid_rows_are_absent, *_LAYERS), ""),
    2: ("huge and subnormal numbers", (rows.check_always_answers, *_LAYERS), ""),
    3: ("no rows, one row, k > n", (rows.check_always_answers, *_LAYERS), ""),
    4: ("constant and collinear columns", (rows.check_always_answers, *_LAYERS), ""),
    5: ("tables of another schema", (target.check_wrong_tables_refused,), ""),
    6: ("narrow and integer types", (rows.check_types_and_layouts, *_LAYERS), ""),
    7: ("nullable columns", (rows.check_frame_index_not_stored,), "needs pandas"),
    8: (
        "layouts, memory maps, references",
        (
            rows.check_types_and_layouts,
            rows.check_rows_left_alone,
            rows.check_long_tables,
            check_non_interference,
        ),
        "",
    ),
    9: (
        "bounds and budgets are parameters",
        (
            budget.check_plan_without_data,
            budget.check_budget_parameters_validated,
            budget.check_every_release_billed,
            budget.check_prices,
            target.check_numpy_parameters,
            *_LAYERS,
        ),
        "",
    ),
    10: (
        "invalid targets",
        (
            target.check_invalid_targets_are_absent,
            target.check_wrong_targets_refused,
            target.check_no_target_is_stored,
            target.check_spare_targets,
            *_LAYERS,
        ),
        "what is passed as y and not needed, too",
    ),
    11: ("weights of rows", (target.check_weights_refused, check_conditional_sensitivity), ""),
    12: (
        "number of rows",
        (target.check_no_private_internals, rows.check_long_tables, check_non_interference),
        "",
    ),
    13: (
        "labels, inertia, ranges, iterations",
        (target.check_no_private_internals, target.check_attributes_are_agreed, _LAYERS[0]),
        "",
    ),
    14: (
        "transform and predict",
        (check_non_interference,),
        "what they say of the private rows is local, documented as not private",
    ),
    15: (
        "scores",
        (check_non_interference,),
        "of the private rows they are local, documented as not private",
    ),
    16: (
        "early stopping, restarts",
        (
            budget.check_report_within_budget,
            budget.check_every_release_billed,
            check_non_interference,
        ),
        "",
    ),
    17: (
        "exceptions",
        (
            budget.check_charged_once_and_kept,
            budget.check_over_budget_refused_first,
            target.check_wrong_tables_refused,
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
        "files that Python writes are read, others are not searched",
    ),
    22: ("repr, HTML, parameters", (rows.check_no_row_is_stored, check_non_interference), ""),
    23: (
        "fitting again",
        (budget.check_charged_once_and_kept, budget.check_over_budget_refused_first),
        "there is neither partial_fit nor warm_start",
    ),
    24: ("noise used twice", (budget.check_fresh_noise, budget.check_seed_is_flagged), ""),
    25: ("order of the rows", (rows.check_types_and_layouts, *_LAYERS), ""),
    26: ("index of a frame", (rows.check_frame_index_not_stored,), "needs pandas"),
    27: (
        "functions of the user on rows",
        (check_conditional_sensitivity, target.check_weights_refused),
        "of pipelines: a row map is assumed to treat rows one by one, the audit looks for pairs "
        "where it does not",
    ),
    28: ("time and memory", (), "outside the threat model, documented"),
}


def private_estimator_checks(estimator, X=None, y=None, *, groups=None):
    """Yield every check of a private estimator, for ``pytest.mark.parametrize``.

    Parameters
    ----------
    estimator : PrivateEstimator
    X : array-like or DataFrame of shape (n_samples, n_features), default=None
        A table that the estimator is at home with, of some hundred rows, with strings and
        categories if it takes them. Made up by default.
    y : array-like of shape (n_samples,), default=None
        Targets, for estimators that use them. Made up if they are required.
    groups : array-like of shape (n_samples,) or True, default=None
        Whose row each row is, made up if True: yields the checks of fits with groups.

    Yields
    ------
    estimator : PrivateEstimator
        A clone.
    check : callable
        ``check(estimator)`` raises :class:`skdp.exceptions.AuditFailure`; ``check.func.__name__``
        is its name.

    See Also
    --------
    check_private_estimator

    Notes
    -----
    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.

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
    data = example(estimator, X, y, groups)
    for check in CHECKS if groups is None else GROUP_CHECKS:
        yield clone(estimator), partial(check, name, data=data)


def check_private_estimator(estimator, X=None, y=None, *, groups=None):
    """Run every check of a private estimator.

    Parameters
    ----------
    estimator : PrivateEstimator
        Unfitted. It is cloned; nothing is charged to its ledger.
    X, y, groups : default=None
        As for :func:`private_estimator_checks`.

    Returns
    -------
    report : SensitivityReport
        Of the search for neighbours, for the accuracy: by label, how much of its declared
        sensitivity a release attains (``report.ratios``). One that stays far below
        (``report.loose``) may have more noise than it needs.

    Raises
    ------
    AuditFailure
        By the first check that fails.

    See Also
    --------
    private_estimator_checks, non_interference, conditional_sensitivity

    Notes
    -----
    The two structural layers, :func:`non_interference` and :func:`conditional_sensitivity`, are
    the obligation of a privacy proof itself: that everything seen is a function of releases, and
    that releases have the sensitivity they pay for. They search for counterexamples, and are no
    proof. The other checks go through the usual ways in which estimators leak
    (``skdp.audit.LEAK_CHECKLIST``).

    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.

    Examples
    --------
    >>> from skdp import PrivateCount
    >>> from skdp.audit import check_private_estimator
    >>> from skdp.base import count_rows
    >>> from skdp.exceptions import AuditFailure
    >>> class Wrong(PrivateCount):
    ...     def _release(self, rows, curator):
    ...         return {"count_": count_rows(rows)}  # without noise
    ...
    >>> try:
    ...     check_private_estimator(Wrong())
    ... except AuditFailure:
    ...     print("caught")
    ...
    caught
    """
    reports = []
    for twin, check in private_estimator_checks(estimator, X, y, groups=groups):
        try:
            with ignore_expected_warnings():
                reports.append(check(twin))
        except AuditFailure:
            raise
        except Exception as error:
            kind = type(error).__name__
            raise AuditFailure(f"{check.func.__name__} ends with {kind}: {error}") from error
    return next(report for report in reports if report is not None)
