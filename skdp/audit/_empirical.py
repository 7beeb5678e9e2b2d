"""Fit on two tables many times and see whether the claim holds."""

import warnings
from hashlib import shake_128

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from skdp.accounting import PrivacyLedger, PrivacyReport
from skdp.audit._events import AuditReport, find_evidence
from skdp.exceptions import (
    LowAccuracyWarning,
    ReleaseError,
    SeededNoiseWarning,
    WeakGuaranteeWarning,
)
from skdp.gate._curator import current_replacement, replaced_curator
from skdp.utils._config import config_context, get_config

DELTAS = (0.01, 0.05, 0.1, 0.2)
SMALLEST_RUNS = 20


def audit(
    estimator,
    X,
    X_neighbour,
    n_runs=1000,
    statistic=None,
    *,
    y=None,
    y_neighbour=None,
    groups=None,
    groups_neighbour=None,
    confidence=0.999,
    random_state=None,
    n_jobs=None,
):
    """Bound the privacy loss of an estimator from below, by fitting it many times on two tables.

    Parameters
    ----------
    estimator : estimator
        Unfitted, without a ledger; its fit sets ``privacy_report_``. It is cloned, never changed.
    X, X_neighbour : array-like
        Two tables that differ in one row. Take the worst pair that you can think of, and made-up
        rows: the result of an audit is not private.
    n_runs : int, default=1000
        Fits per table, at least 20.
    statistic : callable, default=None
        ``statistic(fitted)`` returns numbers that may depend on released attributes only; by
        default all of them, of steps and winners too.
    y, y_neighbour : array-like, default=None
        Targets of the two tables, for estimators that use them.
    groups, groups_neighbour : array-like, default=None
        Whose row each row is in the two tables, which then differ in all rows of one group.
    confidence : float, default=0.999
        All bounds of the report hold together with this probability: a correct estimator fails with
        probability ``1 - confidence`` at most.
    random_state : int or None, default=None
        None draws all noise from the operating system, whatever the estimator's own
        ``random_state``. An int gives every fit a seed of its own, so that the audit can be
        repeated.
    n_jobs : int, default=None
        Number of processes, as in joblib.

    Returns
    -------
    report : AuditReport
        ``passed``, ``mu_lower``, ``epsilon_lower``, ``curve``; ``print`` or ``plot`` it.

    Raises
    ------
    ValueError
        For an estimator with a ledger, for one whose fit sets no ``privacy_report_``, and for one
        that releases no number as an attribute, without a ``statistic``.

    See Also
    --------
    one_run_audit, epsilon_lower_bound

    Notes
    -----
    30 % of the runs choose events, the others bound their probabilities, see
    :func:`skdp.audit._events.find_evidence`. A release that is not always of the same length, and a
    fit that ends in :class:`skdp.exceptions.ReleaseError`, are outcomes like any other.

    What to expect at epsilon or mu 1: noise that is too small by a factor of 2 is found with 1000
    fits per table, by 1.41 with 4000, by 1.2 with tens of thousands. Deltas below 0.01 are out of
    reach of sampling: audit a plan that has failure events at a delta of 0.01 to 0.05.

    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateMean
    >>> from skdp.audit import audit
    >>> X = np.zeros((30, 1))
    >>> mean = PrivateMean(center=0.0, radius=1.0, delta=0.01)
    >>> audit(mean, X, np.vstack([X, [[1.0]]]), n_runs=200).passed
    True
    """
    check_estimator_for_audit(estimator, confidence)
    if n_runs < SMALLEST_RUNS:
        raise ValueError(f"n_runs must be at least {SMALLEST_RUNS}. Got {n_runs!r} instead.")
    sides = [
        _fit_many(estimator, table, statistic, n_runs, n_jobs, random_state, side)
        for side, table in enumerate(((X, y, groups), (X_neighbour, y_neighbour, groups_neighbour)))
    ]
    claim = next((claim for claim, _ in sides if claim is not None), None)
    if claim is None:
        raise ValueError("every fit failed with a ReleaseError: there is nothing to audit.")
    first, second = _tables(*(values for _, values in sides))
    budget = claim.budget
    claimed = float(budget.delta)
    deltas = (claimed, *(delta for delta in DELTAS if delta > claimed))
    evidence = find_evidence(
        first, second, deltas=deltas, failure=float(budget.failure), confidence=confidence
    )
    return AuditReport(claim, n_runs, confidence, deltas, evidence)


def released_numbers(fitted):
    """Return all numbers that a fit has released, as one vector.

    Numeric attributes with a trailing underscore, those of the steps, the winner and all other
    estimators inside too, and how many releases and decisions the privacy report lists.
    """
    parts = list(_numbers_of(fitted))
    if not parts:
        raise ValueError(
            f"{type(fitted).__name__} has no fitted attribute that is a number, and its steps "
            "have none. Pass statistic=, a function of the fitted estimator that returns numbers."
        )
    report = getattr(fitted, "privacy_report_", None)
    if report is not None:
        parts.append(np.array([len(report.charges), len(report.decisions)], dtype=np.float64))
    return np.concatenate(parts)


def _numbers_of(estimator):
    """Yield the numbers of an estimator and of all estimators that it holds, as vectors."""
    parameters = estimator.get_params(deep=False)
    for name, value in sorted(vars(estimator).items()):
        if name.endswith("_") and not name.startswith("_") and name != "n_features_in_":
            yield from _numbers_in(value)
        elif name in parameters:  # containers of scikit-learn fit the steps that they were given
            yield from (vector for part in _estimators_in(value) for vector in _numbers_of(part))


def _numbers_in(value):
    if hasattr(value, "get_params"):
        yield from _numbers_of(value)
    elif isinstance(value, (list, tuple)) and not _is_array(value):
        for item in value:
            yield from _numbers_in(item)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _numbers_in(value[key])
    elif isinstance(value, (bool, int, float, list, tuple, np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.kind in "fiub":
            yield np.ravel(array).astype(np.float64)


def _is_array(value):
    """Tell whether a list or tuple holds numbers alone, all of one length."""
    try:
        return np.asarray(value).dtype.kind in "fiub"
    except ValueError:
        return False


def _estimators_in(value):
    if isinstance(value, type):
        return
    if hasattr(value, "get_params"):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _estimators_in(item)


def fresh_clone(estimator, *key):
    """Return an unfitted clone with noise of its own: from the system, or from a seed.

    The seed is a hash of ``key``; if the first entry is None, there is none.
    """
    fresh = clone(estimator)
    names = [n for n in sorted(fresh.get_params()) if n.split("__")[-1] == "random_state"]
    return fresh.set_params(**{name: seed(*key, name) for name in names})


def seed(random_state, *key):
    """Return a 32-bit seed of its own for every key, or None for ``random_state=None``."""
    if random_state is None:
        return None
    return int.from_bytes(shake_128(repr((random_state, *key)).encode()).digest(4))


def check_estimator_for_audit(estimator, confidence):
    """Raise ValueError for an estimator with a ledger, and for a confidence out of range."""
    if any(isinstance(value, PrivacyLedger) for value in estimator.get_params().values()):
        raise ValueError(
            f"{type(estimator).__name__} has a ledger, which thousands of fits would charge. "
            "Audit a clone with ledger=None: the ledger changes nothing about the noise."
        )
    if not 0.5 < confidence < 1:
        raise ValueError(f"confidence must be in (0.5, 1). Got {confidence!r} instead.")


def _fit_many(estimator, table, statistic, n_runs, n_jobs, *key):
    """Return the claim and the list of what ``n_runs`` fits on one table have released."""
    n_jobs = effective_n_jobs(n_jobs)
    blocks = np.array_split(np.arange(n_runs), 1 if n_jobs == 1 else min(4 * n_jobs, n_runs))
    context = get_config(), current_replacement()  # workers do not inherit them
    fit = delayed(_fit_block)
    results = Parallel(n_jobs=n_jobs)(
        fit(estimator, table, statistic or released_numbers, runs.tolist(), context, key)
        for runs in blocks
    )
    claim = next((claim for claim, _ in results if claim is not None), None)
    return claim, [value for _, values in results for value in values]


def _fit_block(estimator, table, statistic, runs, context, key):
    claim, values, (config, make_curator) = None, [], context
    with config_context(**config), replaced_curator(make_curator), warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        warnings.simplefilter("ignore", LowAccuracyWarning)
        warnings.simplefilter("ignore", WeakGuaranteeWarning)
        for run in runs:
            try:
                fitted = _fit(fresh_clone(estimator, *key, run), *table)
            except ReleaseError:  # no number at all
                values.append(np.empty(0))
                continue
            claim = claim_of(fitted)
            values.append(np.ravel(np.asarray(statistic(fitted), dtype=np.float64)))
    return claim, values


def _fit(estimator, X, y, groups):
    return estimator.fit(X, y) if groups is None else estimator.fit(X, y, groups=groups)


def claim_of(fitted):
    """Return the privacy report of a fitted estimator, or raise ValueError."""
    claim = getattr(fitted, "privacy_report_", None)
    if not isinstance(claim, PrivacyReport):
        raise ValueError(
            f"{type(fitted).__name__} has no privacy_report_ after fit, so it claims nothing that "
            "an audit could test. Set it to a PrivacyReport."
        )
    return claim


def _tables(first, second):
    """Stack vectors of possibly different lengths; the length then is a feature of its own."""
    lengths = {len(vector) for vector in first + second}
    widest = max(lengths)
    if len(lengths) == 1:
        return np.array(first).reshape(-1, widest), np.array(second).reshape(-1, widest)
    return tuple(
        np.array([np.r_[len(v), v, np.zeros(widest - len(v))] for v in vectors])
        for vectors in (first, second)
    )
