"""Checks of the bill: every release is on it, at its price, whatever the numbers are made of."""

import math
from collections import Counter
from fractions import Fraction
from numbers import Real

import numpy as np
from sklearn.base import clone

from skdp.audit._checks_common import require, small
from skdp.audit._numbers import numpy_twins
from skdp.audit._observe import audited_clone, recorded_fit
from skdp.audit._transcript import exactly
from skdp.model_selection._curator import NOTE

N_ROWS = 30
ROUNDING = 1e-3  # of what is computed with narrow floats, as long as prices hold


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
    underpaid = _underpaid(twin.privacy_report_)
    require(not underpaid, f"{name}: {underpaid} have less noise than their shares ask for.")


def _underpaid(report):
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


def check_numpy_parameters(name, estimator, data):
    """Check that numpy's numbers as parameters do what Python's do, or are refused (row 9)."""
    rows = data.take(np.arange(min(len(data), N_ROWS)))
    for what, python, numpy in numpy_twins(estimator):
        got, want = _asked(estimator, rows, numpy), _asked(estimator, rows, python)
        fine = got is None or _nearly_equal(got, want)
        require(fine, f"{name}: {what} as numpy's numbers asks for other releases or noise.")


def _asked(estimator, rows, params):
    """Return what a fit with these parameters asks its Curator for, None if it is refused first.

    A list of numbers and texts.
    """
    refusals = ValueError, TypeError
    try:
        twin = audited_clone(estimator, **params)
        plan = clone(twin).plan()
    except refusals:
        return None
    records, curators, error = recorded_fit(twin, rows, "noise")
    if isinstance(error, refusals) and not curators:
        return None
    reports = [curator.close("audit") for curator in curators]
    asked = [plan.budget.measure, plan.budget.amount, error and type(error).__name__]
    for step in plan.steps:
        asked += [step.label, step.mechanism, step.at_most, step.times]
    for record in records:
        label, law, shape, sensitivity, scale = record.request
        asked += [label, law, str(shape), sensitivity, scale]
    for report in reports:
        asked += [str(_underpaid(report)), *(charge.share for charge in report.charges)]
    return asked


def _nearly_equal(got, want):
    """Tell whether two lists of numbers and texts are alike, numbers up to rounding."""
    if want is None or len(got) != len(want):
        return False
    return all(
        math.isclose(a, b, rel_tol=ROUNDING)
        if isinstance(a, Real) and isinstance(b, Real)
        else a == b
        for a, b in zip(got, want, strict=True)
    )
