"""Checks of plan, ledger and report."""

import pickle
import re
from collections import Counter
from contextlib import suppress

import numpy as np
import sklearn
from sklearn.base import clone

from skdp.accounting import PrivacyLedger
from skdp.audit._checks_common import fitted, refusal, require, secure, small
from skdp.exceptions import BudgetExceeded, ReleaseError
from skdp.gate._curator import Curator, replaced_curator
from skdp.utils._config import config_context

NOTE = "an audit"
SECRET = "86243.015625"
SET = re.compile(r"\[[^/]*\]/")  # in labels: one of several disjoint sets of rows


def check_plan_without_data(name, estimator, data):
    """Check that the plan is known and within its budget before there are data (row 9)."""
    plan = clone(estimator).plan()
    for parameter in ("epsilon", "delta"):
        limit = getattr(estimator, parameter, None)
        claimed = float(getattr(plan.budget, parameter))
        require(limit is None or claimed <= limit, f"{name}: the plan exceeds {parameter}.")
    events = sum(probability for _, probability in plan.failure_events)
    require(events <= plan.budget.failure, f"{name}: failure events exceed the budget.")
    require(plan == clone(estimator).plan(), f"{name}: two plans differ.")


def check_report_within_budget(name, estimator, data):
    """Check that the bill stays within the plan, and the plan within its claim (rows 9, 16)."""
    fit = fitted(estimator, data)
    plan, report = fit.plan(), fit.privacy_report_
    steps = {step.label: step for step in plan.steps}
    require(report.budget == plan.budget, f"{name}: the report has another budget than the plan.")
    require(report.charges, f"{name}: the report has no charges.")
    require(_spent(report) <= 1, f"{name}: shares sum to more than one.")
    for charge in report.charges:
        step = steps.get(SET.sub("/", charge.label))
        require(step is not None, f"{name}: a release that was not planned.")
        require(charge.share <= step.at_most, f"{name}: a share above its limit.")
    require(
        set(report.failure_events) <= set(plan.failure_events),
        f"{name}: events that were not planned.",
    )
    require(
        report.delta(float(plan.budget.epsilon)) <= float(plan.budget.delta) * (1 + 1e-9),
        f"{name}: the report proves less than the budget claims.",
    )


def _spent(report):
    """Return what a row pays: of disjoint sets of rows, the one that pays most."""
    sets = Counter()
    for charge in report.charges:
        sets[SET.search(charge.label) and SET.search(charge.label)[0]] += charge.share
    return sets.pop(None, 0) + max(sets.values(), default=0)


def check_budget_parameters_validated(name, estimator, data):
    """Check that impossible budgets are refused, without scikit-learn's validation too (row 9)."""
    wrong = {
        "epsilon": (0, 0.0, -1.0, float("nan"), float("inf"), None, "1"),
        "delta": (-1e-9, 1.0, 2.0, float("nan"), None),
    }
    for skip in (False, True):
        for parameter, candidates in wrong.items():
            for value in candidates if parameter in estimator.get_params() else ():
                twin = secure(estimator, ledger=None, **{parameter: value})
                what = f"{parameter}={value!r} (skip_parameter_validation={skip})"
                needed = not (skip and parameter == "delta" and _is_pure(twin))
                with (
                    sklearn.config_context(skip_parameter_validation=skip),
                    refusal((ValueError, TypeError), name, what, needed=needed),
                ):
                    small(data).fit(twin)


def _is_pure(estimator):
    """Tell whether the plan claims delta = 0, and so may ignore a delta that nobody validates."""
    with suppress(ValueError, TypeError):
        return clone(estimator).plan().budget.delta == 0
    return False


class _Untouchable(np.ndarray):
    """A table whose shape and type may be known, and whose rows may not."""

    def _touched(self, *args, **kwargs):
        raise RuntimeError("the table was read")

    __getitem__ = __iter__ = __array_ufunc__ = __array_function__ = _touched
    sum = mean = min = max = std = var = tolist = tobytes = _touched


def check_over_budget_refused_first(name, estimator, data):
    """Check that a ledger refuses before rows are read, and latches (rows 17, 23)."""
    budget = clone(estimator).plan().budget
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    ledger = PrivacyLedger(epsilon / 2, delta, composition="basic")
    began = []

    def make(plan, entropy):
        began.append("curator")
        return Curator(plan, entropy)

    rows = small(data)
    if rows.is_numeric:
        rows = rows.having(rows.X.view(_Untouchable))
    for share in (1, 1 / 8):  # the second would fit, were it not for the latch
        twin = secure(estimator, ledger=ledger, epsilon=epsilon * share)
        twin._release_from = lambda rows, curator: began.append("release") or {}
        with (
            config_context(invalid_rows="ignore"),
            replaced_curator(make),
            refusal(BudgetExceeded, name, "a fit that the ledger cannot pay"),
        ):
            rows.fit(twin)
        require(not began, f"{name}: a refused fit got as far as the {began[:1]}.")
        require(not hasattr(twin, "privacy_report_"), f"{name}: a refused fit is fitted.")


def check_charged_once_and_kept(name, estimator, data):
    """Check that a fit is charged its plan once, also if its private part fails (17, 23)."""
    budget = clone(estimator).plan().budget
    capacity = 8 * float(budget.epsilon), min(0.9, 8 * float(budget.delta))
    ledger = PrivacyLedger(*capacity, composition="basic")
    twin, rows = secure(estimator, ledger=ledger.noted(purpose=NOTE)), small(data)

    def charges():
        return [entry for entry in ledger.entries() if entry.kind == "charge"]

    for n in (1, 2):  # a second fit is a second charge
        rows.fit(twin)
        require(len(charges()) == n, f"{name}: {len(charges())} charges after {n} fits.")
    require(
        all((c.epsilon, c.delta) == (budget.epsilon, budget.delta) for c in charges()),
        f"{name}: charged another amount than the plan's.",
    )
    require(
        all(c.note == f"purpose: {NOTE}" for c in charges()),
        f"{name}: a charge has lost the note of its ledger.",
    )
    broken = secure(estimator, ledger=ledger)

    def fail(rows, curator):
        raise ArithmeticError(SECRET)

    broken._release_from = fail
    with refusal(ReleaseError, name, "to hide a failure of its private part") as texts:
        rows.fit(broken)
    require(SECRET not in texts[0], f"{name}: the message of a failure quotes the original.")
    require(len(charges()) == 3, f"{name}: a fit that failed was not charged.")
    with suppress(AttributeError):
        broken.privacy_report_  # noqa: B018
        require(False, f"{name}: a fit that failed is fitted.")


def check_ledger_survives_copies(name, estimator, data):
    """Check that clones hold the same ledger, and pickles one on the same file (row 21)."""
    budget = clone(estimator).plan().budget
    ledger = PrivacyLedger(float(budget.epsilon), float(budget.delta), composition="basic")
    twin = secure(estimator, ledger=ledger)
    require(clone(twin).ledger is ledger, f"{name}: a clone has another ledger.")
    require(twin.get_params()["ledger"] is ledger, f"{name}: get_params has another ledger.")
    require(
        pickle.loads(pickle.dumps(twin)).ledger == ledger, f"{name}: a pickle has another ledger."
    )
