"""Checks of plan, ledger, report, bill and noise."""

import inspect
import json
import math
import os
import pickle
import re
import warnings
from collections import Counter
from contextlib import suppress
from fractions import Fraction

import numpy as np
import sklearn
from sklearn.base import clone

from skdp.accounting import PrivacyLedger
from skdp.audit._observe import audited_clone, fitted, recorded_fit, refusal, require, secure, small
from skdp.audit._transcript import exactly
from skdp.exceptions import BudgetExceeded, ReleaseError, SeededNoiseWarning
from skdp.gate._curator import Curator, replaced_curator
from skdp.model_selection._curator import NOTE
from skdp.utils._config import config_context

FITS = 3
LEDGER_NOTE = "an audit"
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
    twin, rows = secure(estimator, ledger=ledger.noted(purpose=LEDGER_NOTE)), small(data)

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
        all(c.note == f"purpose: {LEDGER_NOTE}" for c in charges()),
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


def check_every_release_billed(name, estimator, data):
    """Check that the bill lists the releases of all Curators of a fit, inner fits too (9, 16)."""
    tables = data, small(data), data.take([0]), data.take([])
    for transcript, rows in [("noise", rows) for rows in tables] + [("exact", data)]:
        twin = audited_clone(estimator)
        records, curators, error = recorded_fit(twin, rows, transcript)
        if error is not None:
            continue  # whether a fit may fail is another check's business
        billed = twin.privacy_report_.charges
        searched = any(charge.mechanism == "repeat" for charge in billed)
        reports = [curator.close("audit") for curator in curators]
        booked = Counter((c.mechanism, c.scale) for report in reports for c in report.charges)
        free = Counter((r.law, r.scale / r.unit) for r in records) - booked
        require(not free, f"{name}: {free.total()} releases of a fit are charged by no Curator.")
        made = [
            charge
            for report in reports
            if not (searched and NOTE in report.assumptions)  # billed as a whole
            for charge in report.charges
        ]
        missing = _kinds(made) - _kinds(billed)
        require(not missing, f"{name}: {missing.total()} releases of a fit are not on its bill.")


def _kinds(charges):
    return Counter((charge.mechanism, charge.sensitivity, charge.scale) for charge in charges)


def check_prices(name, estimator, data):
    """Check that the noise of every release is as large as its share asks for (row 9)."""
    twin = audited_clone(estimator)
    _, _, error = recorded_fit(twin, small(data), "noise")
    require(error is None, f"{name}: a fit failed with {type(error).__name__}.")
    wrong = underpaid(twin.privacy_report_)
    require(not wrong, f"{name}: {wrong} have less noise than their shares ask for.")


def underpaid(report):
    """Return the labels of releases with less noise than they are charged for."""
    costs = [(charge, _cost(charge, report.budget.measure)) for charge in report.charges]
    return [
        charge.label
        for charge, cost in costs
        if cost is not None and cost > exactly(charge.share) * report.budget.amount
    ]


def _cost(charge, unit):
    """Return what a release costs in a unit, exactly; None for what another theorem prices."""
    if not 0 < charge.scale < math.inf:
        return math.inf if charge.scale <= 0 else 0
    ratio = Fraction(charge.sensitivity) / Fraction(charge.scale)
    return {
        ("gdp", "gaussian"): ratio**2,
        ("zcdp", "gaussian"): ratio**2 / 2,
        ("zcdp", "laplace"): ratio**2 / 2,
        ("zcdp", "select"): ratio**2 / 2,  # (2 ratio)^2 / 8
        ("pure", "laplace"): ratio,
        ("pure", "select"): 2 * ratio,
    }.get((unit, charge.mechanism))


def check_seed_is_flagged(name, estimator, data):
    """Check that a seed warns and marks the report, and that None does neither (row 24)."""
    rows = small(data)
    seeded = secure(estimator, ledger=None).set_params(random_state=0)
    with warnings.catch_warnings(), refusal(SeededNoiseWarning, name, "to be silent about a seed"):
        warnings.simplefilter("error", SeededNoiseWarning)
        rows.fit(seeded)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        require(rows.fit(seeded).privacy_report_.seeded, f"{name}: the report hides the seed.")
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeededNoiseWarning)
        report = rows.fit(secure(estimator, ledger=None)).privacy_report_
    require(not report.seeded, f"{name}: a fit with fresh noise is reported as seeded.")


def check_fresh_noise(name, estimator, data):
    """Check that no two releases share noise: not those of clones, pickles or forks (row 24)."""
    rows, original = small(data), secure(estimator, ledger=None)
    default = inspect.signature(type(estimator)).parameters.get("random_state")
    require(default is None or default.default in (None, default.empty), f"{name} seeds itself.")
    draws = _draws(original, rows) + _draws(original, rows) + _draws(clone(original), rows)
    for _ in range(2):
        draws += _draws(pickle.loads(pickle.dumps(original)), rows)
        draws += _in_child(original, rows) if hasattr(os, "fork") else []
    require(draws, "no release was made.")
    require(all(draws), f"{name}: a release has no noise of its own.")
    words = [word for draw in draws for word in draw]
    require(len(set(words)) == len(words), f"{name}: two releases have the same noise.")


def _draws(estimator, data):
    """Return the random words that the releases of some fits take from what a fit gives them.

    A list with a list for each release that has something to add noise to.
    """
    draws = []
    for _ in range(FITS):
        records, _, _ = recorded_fit(estimator, data, "noise", entropy="given")
        draws += [list(record.words) for record in records if record.value.size]
    return draws


def _in_child(estimator, data):
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks in processes with threads
        pid = os.fork()
    if pid == 0:
        try:
            with os.fdopen(write, "w") as pipe:
                json.dump(_draws(estimator, data), pipe)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        draws = json.load(pipe)
    os.waitpid(pid, 0)
    return draws
