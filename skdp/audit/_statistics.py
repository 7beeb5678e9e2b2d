"""Whether statistics bound what a row adds: with rows and with fields that nobody would choose."""

import inspect
import json
from dataclasses import fields, replace
from fractions import Fraction
from functools import reduce

import numpy as np

from skdp.accounting import Budget
from skdp.audit._draw import AuditRandom
from skdp.audit._observe import audited_clone, recorded_fit, require, small
from skdp.kernel._plain import registered
from skdp.kernel._statistic import Choice, Offer, Shape
from skdp.kernel._table import Table, replaced_table
from skdp.kernel._totals import decoded, encoded
from skdp.readers._persons import unweighted_rows

BOUNDS = {"squared_l2", "l1", "l2", "sensitivity", "bound", "bounds"}
EXTREMES = (0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 5e-324, np.nan, np.inf, -np.inf, 2.0**53, 0.5)
ODD = (0.0, -1.0, 1e-300, 5e-324, 1e308)  # for a field that is a number
OFFERS = tuple(
    Offer(Budget.gaussian(epsilon, 1e-6), share, unit)
    for epsilon, share, unit in ((1.0, 0.5, 1), (0.01, 0.01, 1), (60.0, 1.0, 1), (1.0, 0.5, 840))
)
SOME = 40  # rows of a table that statistics of its estimator are examined with


def check_statistic(statistic, block):
    """Check that a Statistic bounds what a row adds, and that nothing but integers comes out.

    Parameters
    ----------
    statistic : Statistic
    block : ndarray of shape (n, d), or of another kind that it reads
        Rows that it is at home with. Among numbers, NaN, infinity and numbers of all magnitudes
        are put by the check.

    Returns
    -------
    ratio : float
        Of its bound, how much the longest contribution attains, at most 1. A statistic that stays
        far below may have more noise than it needs.

    Raises
    ------
    AuditFailure
        For a row that adds more than the bound or raises an exception, a sum that depends on the
        order of rows or on the cuts between blocks, or is not that of its rows, and for a class
        that is no plain data or takes a bound from its caller.

    See Also
    --------
    check_private_estimator, skdp.base.Statistic

    Notes
    -----
    Fields that are floats are replaced by numbers that nobody would choose, for released ones may
    have any value: what ``check`` lets pass has to hold. The search is no proof.

    **Privacy**: none: for rows made or chosen for the audit, which reports may quote.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import check_statistic
    >>> from skdp.base import Count
    >>> check_statistic(Count(), np.zeros((3, 2)))
    1.0
    """
    name = type(statistic).__name__
    require(registered(statistic), f"{name} is not registered: put @public above its class.")
    shape, best = shape_of(statistic, block), Fraction(0)
    statistic.check(shape)
    for offer in OFFERS:
        asked = statistic.at(offer)
        for rows in (block, *_hostile(block)):
            best = max(best, attained(asked, rows))
            check_sums(asked, rows, AuditRandom("order", name))
            check_plain_data(asked, rows)
    for odd in _odd(statistic, shape, block):
        for rows in (block, *_hostile(block)):
            attained(odd, rows)
            check_sums(odd, rows, AuditRandom("order", name))
    return float(best) ** 0.5


def attained(statistic, block):
    """Return the largest part of its squared bound that a row attains, a Fraction.

    Raises AuditFailure for a row that adds more.
    """
    name, longest = type(statistic).__name__, Fraction(0)
    bound, l1 = Fraction(statistic.squared_l2), statistic.l1
    require(0 < bound <= Fraction(statistic.l2) ** 2, f"{name}: its bounds contradict each other.")
    rows = _contributions(statistic, block)
    for row in rows.reshape(len(rows), -1).tolist():
        squared = sum(v * v for v in row)
        require(squared <= bound, f"{name}: a row adds more than the square root of {bound}.")
        require(l1 is None or sum(map(abs, row)) <= l1, f"{name}: a row adds more than l1 says.")
        longest = max(longest, squared / bound)
    return longest


def check_sums(statistic, block, draw):
    """Check that a total is the sum of its rows: in any order, any blocks, and with weights."""
    name = type(statistic).__name__
    total, empty = _total(statistic, block), _total(statistic, block[:0])
    require(empty.shape == total.shape and not empty.any(), f"{name}: no rows do not add zeros.")
    rows = _contributions(statistic, block).reshape(len(block), -1)
    sums = rows.sum(axis=0, dtype=np.int64)
    require(np.array_equal(total.ravel(), sums), f"{name}: a total is not the sum of its rows.")
    mixed = _total(statistic, block[draw.sample(len(block), len(block))])
    require(np.array_equal(total, mixed), f"{name}: a total depends on the order of rows.")
    cuts = [_total(statistic, block[a : a + 7]) for a in range(0, len(block), 7)]
    added = reduce(np.add, cuts, empty)
    require(np.array_equal(total, added), f"{name}: a total depends on the cuts between blocks.")
    if hasattr(statistic, "weighed_total"):
        weights = draw.below(1000, len(block)).astype(np.int16)
        told = np.asarray(statistic.weighed_total(block, weights))
        require(told.dtype.kind in "iu", f"{name}: a weighed total is no integers.")
        right = np.array_equal(told.ravel(), weights.astype(np.int64) @ rows)
        require(right, f"{name}: a weighed total is not that of its rows.")


def check_plain_data(statistic, block):
    """Check that the JSON of a question asks the same, and that no field is a bound."""
    name, total = type(statistic).__name__, _total(statistic, block)
    given = BOUNDS & set(inspect.signature(type(statistic)).parameters)
    require(not given, f"{name} takes a bound from its caller.")
    again = decoded(json.loads(json.dumps(encoded(statistic))))
    same = again.squared_l2 == statistic.squared_l2
    same = same and np.array_equal(total, _total(again, block))
    require(same, f"{name} asks something else once it was written down.")


def shape_of(statistic, block):
    """Return the Shape of a view whose blocks are like this one."""
    if isinstance(block, np.ndarray):
        return Shape(block.shape[1], statistic.kind)
    return Shape(block.n_features, statistic.kind, getattr(block, "sizes", None))


def _total(statistic, block):
    total = _called(statistic.total, block)
    require(total.dtype.kind in "iu", f"{type(statistic).__name__}: a total is no integers.")
    return total


def _contributions(statistic, block):
    rows = _called(statistic.contributions, block)
    fits = rows.dtype.kind in "iu" and len(rows) == len(block)
    told = f"{type(statistic).__name__}: contributions are integers of every row, got {rows.dtype}."
    require(fits, f"{told} Round each row before the sum: np.trunc(x / step).astype(np.int64).")
    return rows


def _called(method, block):
    """Return what a method says of a block, an array; it must not raise."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(method(block))
    except Exception as error:
        told = f"{type(method.__self__).__name__}.{method.__name__}"
        kind = type(error).__name__
        require(False, f"{told} raises {kind} for some rows: an answer without noise.")


def _hostile(block):
    """Yield blocks of numbers with entries of all magnitudes, some missing; none of other kinds."""
    if not (isinstance(block, np.ndarray) and block.dtype.kind == "f" and block.ndim == 2):
        return
    draw, rows = AuditRandom("hostile", block.shape), np.resize(block, (SOME, block.shape[1]))
    far = 10.0 ** (draw.below(600, (SOME, 1)) - 300.0)
    yield np.where(draw.uniform(rows.shape) < 0.5, rows, draw.normal(rows.shape) * far)
    chosen = np.array(EXTREMES)[draw.below(len(EXTREMES), rows.shape)]
    yield np.where(draw.uniform(rows.shape) < 0.3, chosen, rows)
    yield chosen


def _odd(statistic, shape, block):
    """Yield the statistic with fields that nobody would choose, but that ``check`` lets pass."""
    for field in fields(statistic):
        value = getattr(statistic, field.name)
        number = isinstance(value, float | np.floating)
        if not (number or (isinstance(value, np.ndarray) and value.dtype.kind == "f")):
            continue
        for x in ODD:
            odd = replace(statistic, **{field.name: x if number else np.full_like(value, x)})
            try:
                odd.check(shape)
                with np.errstate(all="ignore"):
                    odd = odd.at(OFFERS[0])
                    odd.total(block[:0])
                there = Fraction(odd.squared_l2) > 0
            except Exception:  # fields alone decide
                continue
            if there:
                yield odd


def check_own_statistics(name, estimator, data):
    """Check every statistic of the author's own that a fit asks; those of skdp have tests."""
    found = []

    class Listening(Table):
        def _checked(self, statistic, label):
            statistic = super()._checked(statistic, label)
            own = not type(statistic).__module__.startswith("skdp.kernel.")
            if own and not isinstance(statistic, Choice):
                found.append((statistic, unweighted_rows(self._rows)))
            return statistic

    def made(rows, curator):
        return getattr(rows, "door", Listening)(rows, curator)

    with replaced_table(made):
        recorded_fit(audited_clone(estimator), small(data, 200), "noise")
    for statistic, rows in found:
        _, block = next(iter(rows.blocks()))
        check_statistic(statistic, block[:SOME])
