"""What a fit counts: all rows of a person alike, by groups, or rows by their weights."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from skdp.accounting import Step
from skdp.kernel._parts import (
    CappedPersons,
    PersonsWithMore,
    drawn_persons,
    persons_table,
    present_rows,
    rows_of_persons,
)
from skdp.readers._columns import Columns
from skdp.readers._ids import named_column, persons_of, split_numbers, split_unit_ids
from skdp.readers._persons import NoisyUnitCount, Persons, weighed_rows
from skdp.readers._raw import library
from skdp.readers._sources import FrameRows
from skdp.readers._target import without_column
from skdp.table._schema import NO_TYPE
from skdp.utils._config import get_config

OCTAVES, FINE = 16, 4  # caps are looked for up to 2^16, in quarters of octaves
COUNTS, MASSES = 6, 4  # of persons with more rows than so many: a bisection of all of them
GROUP_SIZES = Step("group sizes", at_most=0.06 / COUNTS, times=COUNTS, of=(PersonsWithMore,))
GROUP_MASS = Step("group mass", at_most=0.01, times=MASSES, of=(PersonsWithMore,))
CAP_STEPS = GROUP_SIZES, GROUP_MASS
FAR = 0.3  # how far rows beyond the cap lie from the others, in standard deviations of rows
FIRST, LAST = 3.5, 1.2  # noise scales that the first and the last of these counts are clear of

ONE = "groups: too few for a larger cap, so that every group counts alike"

NAMED = (
    "groups names a column of X, but X has no column of that name. Pass groups as an array with "
    "one entry per row of X, or X as a frame or file with such a column."
)
PERSONAL = (
    "personal budgets are promises to single rows, and do not go together with groups. Fit without "
    "groups, or with one epsilon for all."
)
ONE_ROW = "groups: each counts as one row, however many it has (rows_per_group_ = 1)"
SOME_ROWS = (
    "groups: each counts as {cap} rows at most, by all that it has with less weight "
    "(rows_per_group_ = {cap})"
)
WEIGHTED = "sample_weight: a row counts with its weight, at most once"
GONE = (
    "most {} have no row without a gap and count as absent, and what is told is about the others. "
    "Fit columns with gaps by themselves, or fill in public values"
)
CLEAR = 4.0  # noises
GROUP_COUNT = Step("group count", at_most=0.01, of=(PersonsWithMore,))
DRAWN_COUNT = replace(GROUP_COUNT, label="drawn row count")
FIT = "fit"
GAUSSIAN = ("gdp", "zcdp")

IGNORED = (
    'Leave such rows out, or set skdp.config_context(invalid_rows="ignore"), where they count as '
    "absent."
)
NO_NUMBERS = (
    "sample_weight must be an array of real numbers, or a series, with one entry for each row of "
    "X. Got another type."
)
LENGTHS = (
    "sample_weight must have one entry for each row of X. Pass an array of shape (n_samples,)."
)
OUTSIDE = (
    "sample_weight must lie in [0, 1], as a row counts once at most. Got other weights, or NaN. "
    f"Divide by a public bound, as sample_weight / 50. {IGNORED}"
)
NO_WEIGHT = "sample_weight is zero for all rows. Give one row at least a positive weight."
UNNAMED = (
    "sample_weight names a column of X, but X has no column of that name. Pass an array with one "
    "entry for each row of X, or X as a frame or file with such a column."
)


def release_contribution_bound(table, *, noise, least):
    """Release a number of rows per person that balances the noise and what a cap leaves out.

    Notes
    -----
    A statistic whose noise is ``noise cap / (mu n)``, and that misses ``FAR sum (m_u - cap)_+ / n``
    by the rows that lose weight, errs least where the number of persons with more than ``cap`` rows
    is ``noise / (FAR mu)``: both terms have the same derivative. That order statistic of the sizes
    is looked for. A cap that is too large costs as many times its noise, one that is too small a
    part of the bias: a count has to be clear of its noise, the first ones, which skip many octaves,
    most of all.

    **Privacy** (add or remove one person): the statistics bound what a person adds; which one is
    asked depends on the answers before.
    """
    mu = _mu(table.budget)
    low, high = 0, OCTAVES * FINE
    for clear in np.linspace(FIRST, LAST, COUNTS):
        middle = (low + high) // 2
        if middle == low:
            break
        more = PersonsWithMore(_rows(middle))
        told = table.ask(more, GROUP_SIZES)
        rank = max(noise / (FAR * mu), clear * told.scale)
        low, high = (middle, high) if told.value[0] > rank else (low, middle)
    cap = _rows(low)
    for last in range(MASSES - 1, -1, -1):
        if cap == 1:
            break
        capped = table.map(CappedPersons(cap))
        mass = capped.ask(PersonsWithMore(), GROUP_MASS)
        if mass.value[0] * mu >= least:
            break
        cap = cap // 4 if last and cap > 4 else 1
    if cap == 1:
        table.decide(ONE)
    return cap


def _mu(budget):
    return float(budget.mu) if budget.measure == "gdp" else math.sqrt(2 * budget.amount)


def _rows(step):
    """Return the number of rows at a step of the grid."""
    return math.floor(2.0 ** (step / FINE) + 1e-9)


class GroupRule(NamedTuple):
    """What a fit needs to know of its statistics to choose how many rows of a person count."""

    # of the statistic where persons' worth of rows times mu is one, in standard deviations of rows
    noise: float
    least: float  # persons' worth of rows times mu that the statistic needs


def read_groups(groups, n_rows):
    """Return the Persons of rows; what it raises, it raises before anything is charged."""
    return persons_of(groups, n_rows, ignore=get_config()["invalid_rows"] == "ignore")


def one_row_per_unit(groups, rows, coins, made):
    """Return a table with a row for each person, made of all of them.

    Local, nothing is released.
    """
    persons = read_groups(groups, len(rows))
    return made(weighed_rows(rows, persons.of(present_rows(rows)), 1, coins, None), coins)


def grouped_plan(plan, estimator, *, unit="group"):
    """Return the plan of a fit with groups: what finds the persons, then the fit as it is.

    Of rows with weights each is a person: the ``unit`` is a row.
    """
    if any(hasattr(value, "guarantees") for value in vars(estimator).values()):
        raise ValueError(PERSONAL)
    gaussian = plan.budget.measure in GAUSSIAN
    steps = [_counted(unit)] if gaussian else []
    weighs = estimator._weighs_groups and unit == "group"
    if gaussian and weighs and _given_cap(estimator) == "auto":
        steps += CAP_STEPS
    inner = [replace(step, label=f"{FIT}/{step.label}") for step in plan.steps]
    return replace(
        plan,
        steps=(*steps, Step(FIT, "child"), *inner),
        failure_events=tuple((f"{FIT}/{name}", p) for name, p in plan.failure_events),
        assumptions=tuple(f"{FIT}: {text}" for text in plan.assumptions),
        privacy_unit=unit,
    )


def _counted(unit):
    return GROUP_COUNT if unit == "group" else DRAWN_COUNT


def rows_of_groups(estimator, persons, rows, curator):
    """Return what an estimator reads of persons, the Curator of its fit, and what is told of them.

    Notes
    -----
    **Privacy** (add or remove one person with all rows): of the Table of persons, see
    :mod:`skdp.kernel._parts`, and of :func:`skdp.kernel._parts.rows_of_persons`.
    """
    whole, there = getattr(rows, "whole_rows", False), present_rows(rows, estimator._gaps)
    lost = persons.of(~there & present_rows(rows, True)) if whole else None
    persons, heads, gone = persons.of(there), None, False
    drawn, unit = drawn_persons(persons, curator), "group" if curator.protects_groups else "row"
    table = persons_table(drawn, curator, lost and drawn_persons(lost, curator))
    if table.budget.measure in GAUSSIAN:
        told = table.ask(PersonsWithMore(gaps=whole), _counted(unit))
        heads = NoisyUnitCount(float(told.value[0]), told.scale)
        gone = whole and told.value[1] > told.value[0] + CLEAR * told.scale
    every = persons_table(persons, curator)
    cap = 1 if unit == "row" else _cap(estimator, every, rows.n_features)
    if persons.shares is not None:
        curator.decide(WEIGHTED)
    if unit == "group":
        curator.decide(ONE_ROW if cap == 1 else SOME_ROWS.format(cap=cap))
    inner, one_each = curator.child(FIT, curator.remaining), not estimator._weighs_groups
    # means of drawn rows would count each group as if it had no weights
    made = estimator._made_of_groups() if unit == "group" and persons.shares is None else None
    if gone:
        inner.doubt(GONE.format("rows" if unit == "row" else "groups"))
    made = {"made": made, "one_each": one_each}
    rows = rows_of_persons(rows, persons, inner, cap=cap, heads=heads, drawn=drawn, **made)
    return rows, inner, {"rows_per_group_": cap} if unit == "group" else {}


def _cap(estimator, table, n_features):
    if not estimator._weighs_groups:
        return 1
    if _given_cap(estimator) != "auto":
        return _given_cap(estimator)
    if table.budget.measure not in GAUSSIAN:
        return 1
    noise, least = estimator._group_rule(n_features)
    return release_contribution_bound(table, noise=noise, least=least)


def _given_cap(estimator):
    return getattr(estimator, "rows_per_group", 1)


def without_groups(X, groups):
    """Return X without the column that ``groups`` names, and what it tells of persons."""
    if not isinstance(groups, str):
        return X, groups
    source, column = named_column(X, groups)
    if column is None:
        raise ValueError(NAMED)
    if isinstance(source, FrameRows):
        return without_column(X, column), X[groups]
    return split_unit_ids(source, column)


def rows_alone(X, told):
    """Return X without columns that ``groups`` and ``sample_weight`` name, and what these tell."""
    X, groups = without_groups(X, told.get("groups"))
    X, weights = without_weights(X, told.get("sample_weight"))
    told = told | {"groups": groups, "sample_weight": weights}
    return X, {name: value for name, value in told.items() if value is not None}


# --- weights of rows: sample_weight, read by row with X


def without_weights(X, sample_weight):
    """Return X without the column that ``sample_weight`` names, and the weights, read later."""
    if not isinstance(sample_weight, str):
        return X, sample_weight
    source, column = named_column(X, sample_weight)
    if column is None:
        raise ValueError(UNNAMED)
    if not Columns(source.head()).numeric(column):
        raise ValueError(NO_NUMBERS)
    if isinstance(source, FrameRows):
        return without_column(X, column), X[sample_weight]
    return split_numbers(source, column)


def weighted_persons(sample_weight, persons, n_rows):
    """Return the Persons of rows that count with weights; without any, each row is a person.

    What it raises, it raises before anything is charged. **Privacy**: the weight of a row is a
    function of its own entry, 0 of one that is no weight.
    """
    shares = _numbers_of(sample_weight() if callable(sample_weight) else sample_weight)
    if shares.shape != (n_rows,):
        raise ValueError(LENGTHS)
    with np.errstate(invalid="ignore"):
        valid = (shares >= 0) & (shares <= 1)
    if not valid.all() and get_config()["invalid_rows"] != "ignore":
        raise ValueError(OUTSIDE)
    if not shares.any() and get_config()["invalid_rows"] != "ignore":
        raise ValueError(NO_WEIGHT)
    if persons is None:
        persons = Persons(np.arange(n_rows), n_rows)
    shares = np.where(valid, shares, 0.0)
    return replace(persons.of(shares > 0), shares=shares)


def _numbers_of(sample_weight):
    if get_config()["invalid_rows"] == "ignore" and not hasattr(sample_weight, "dtype"):
        raise ValueError(NO_TYPE.format("sample_weight as "))
    try:
        if library(sample_weight) in ("pandas", "polars"):  # a gap makes no other type of it
            column = Columns(sample_weight.to_frame())
            sample_weight = column.read(0) if column.numeric(0) else None
        shares = np.asarray(sample_weight)
        if shares.dtype.kind in "biuf":
            with np.errstate(over="ignore"):
                return shares.astype(np.float64)
    except Exception:  # which may quote entries
        pass
    raise ValueError(NO_NUMBERS)
