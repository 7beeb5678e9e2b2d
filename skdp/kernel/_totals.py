"""Passes over rows, all or drawn by secret keys: exact sums, and how they cross to the rows."""

import base64
import json
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import partial
from math import prod

import numpy as np

from skdp.kernel._plain import TYPES, name_of, own, refuse, registered
from skdp.readers import ArrayRows, map_merge, weighed_sum
from skdp.readers._loop import Levels
from skdp.readers._persons import SampledRows, unweighted_rows
from skdp.readers._rows import no_rows

DTYPES = {"<f8", "<f4", "<i8", "<u8", "<i4", "<u4", "<i2", "<u2", "|i1", "|u1", "|b1"}
MOST_ENTRIES = 2**26
PLAIN = str | int | float | None

HELD_ENTRIES = 2**22  # of rows that are kept in memory: 32 MB

RING_SQUARED = 5  # bound of the squared length by which one row moves a histogram of differences
CELLS = 2**16  # of a block that stays in the cache


def asked_first(statistics):
    """Return the sums of a look at rows that answer these statistics, by name."""
    return {_name(one): Total(one) for one in map(own, statistics)}


def totals(rows, statistics):
    """Return the exact sums of several statistics by one pass, or by none if they are known.

    **Privacy**: what a source knows are the same sums over the same rows; views know none.
    """
    if known := getattr(rows, "known", None):
        names = [_name(one) for one in statistics]
        if all(name in known for name in names):
            return [known[name].copy() for name in names]
    if len(statistics) == 1:
        (one,) = statistics
        return [one.over(rows) if hasattr(one, "over") else weighed_sum(rows, Total(one))]
    if any(hasattr(one, "over") for one in statistics):
        return [totals(rows, [one])[0] for one in statistics]
    return weighed_sum(rows, partial(_sums, statistics))


def levels_of(rows):
    """Return :class:`skdp.readers._loop.Levels` of rows, that pass over them when asked."""
    return Levels(partial(weighed_sum, rows))


def _name(statistic):
    return json.dumps(encoded(statistic))


def _sums(statistics, start, block):
    return [np.asarray(one.total(block)) for one in statistics]


class Total:
    """A statistic as pieces of rows are asked for it: picklable, no closure."""

    def __init__(self, statistic):
        self._statistic = statistic
        if hasattr(statistic, "weighed_total"):
            self.weighed = self._weighed

    def __call__(self, start, block):
        return np.asarray(self._statistic.total(block))

    def _weighed(self, weights, start, block):
        return np.asarray(self._statistic.weighed_total(block, weights))


def sets_of(rows, rule):
    """Return the set of every row of the whole table, in its order: as private as the rows."""
    return np.concatenate(map_merge(unweighted_rows(rows), partial(_sets, rule), list.__add__))


def _sets(rule, start, block):
    return [rule(block)]


# --- how questions and answers are written in JSON: exactly, and by a fixed registry


def encoded(x):
    """Return what JSON can hold of a thing, exactly: floats by repr, arrays by their bytes."""
    if is_dataclass(x) and not isinstance(x, type):
        refuse(not registered(x), f"a {type(x).__name__} is not public")
        return {
            "t": name_of(type(x)),
            "f": {f.name: encoded(getattr(x, f.name)) for f in fields(x)},
        }
    if isinstance(x, np.ndarray):
        refuse(x.dtype.str not in DTYPES, "an array of this type stays here")
        return {"a": x.dtype.str, "s": list(x.shape), "b": base64.b64encode(x.tobytes()).decode()}
    if isinstance(x, np.generic):
        return encoded(x.item())
    if isinstance(x, Fraction):
        return {"q": [hex(x.numerator), hex(x.denominator)]}
    if isinstance(x, list | tuple):
        return {"l": [encoded(one) for one in x]}
    if isinstance(x, dict):
        return {"d": [[encoded(key), encoded(value)] for key, value in x.items()]}
    refuse(not isinstance(x, PLAIN), f"a {type(x).__name__} stays here")
    return x


def decoded(x):
    """Undo :func:`encoded`; lists become tuples."""
    if not isinstance(x, dict):
        refuse(not isinstance(x, PLAIN), "another kind of JSON")
        return x
    read = READ.get(frozenset(x))
    refuse(read is None, "another kind of JSON")
    try:
        return read(*(x[key] for key in sorted(x)))
    except (TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
        raise ValueError("another kind of JSON") from None


def _public(held, name):
    refuse(not isinstance(name, str) or name not in TYPES, "an unknown type")
    names = {f.name for f in fields(TYPES[name])}
    refuse(not isinstance(held, dict) or set(held) != names, "other fields")
    return TYPES[name](**{field: decoded(value) for field, value in held.items()})


def _array(dtype, text, shape):
    refuse(dtype not in DTYPES, "an array of another type")
    sizes = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
    refuse(not sizes or prod(shape) > MOST_ENTRIES, "an array of another size")
    wanted = prod(shape) * np.dtype(dtype).itemsize
    refuse(len(text) != 4 * -(-wanted // 3), "an array of another size")
    raw = np.frombuffer(base64.b64decode(text, validate=True), dtype="|u1")
    refuse(dtype == "|b1" and bool((raw > 1).any()), "what is neither true nor false")
    return raw.view(dtype).reshape(shape).copy()


def _fraction(parts):
    numerator, denominator = (int(digits, 16) for digits in parts)
    refuse(denominator <= 0, "a fraction of nothing")
    return Fraction(numerator, denominator)


def _tuple(items):
    refuse(not isinstance(items, list), "another kind of JSON")
    return tuple(decoded(one) for one in items)


def _dict(items):
    pairs = [(decoded(key), decoded(value)) for key, value in items]
    refuse(len(dict(pairs)) < len(pairs), "a key twice")
    return dict(pairs)


READ = {  # by the keys of an object, which are handed over in their order
    frozenset("ft"): _public,
    frozenset("abs"): _array,
    frozenset("q"): _fraction,
    frozenset("l"): _tuple,
    frozenset("d"): _dict,
}


# --- rows that are drawn by secret keys of their own


def numbering_of(rows):
    """Return the rows whose order numbers those of a view: keys are drawn by these numbers."""
    while not hasattr(rows, "numbering") and hasattr(rows, "_rows"):
        rows = rows._rows
    return getattr(rows, "numbering", rows)


def keyed_rows(rows, coins, q, n, use):
    """Return the rows whose keys are below a limit, in memory where they are few.

    **Privacy**: couple the keys of neighbouring tables so that common rows share theirs: what is
    drawn is equal or neighbours. No amplification is claimed.
    """
    drawn = KeyedRows(rows, coins, q, use)
    if n * rows.n_features > HELD_ENTRIES or rows.unit != 1:
        return drawn
    table = ArrayRows(drawn.gathered())
    return table if rows.heads is None else SampledRows(table, rows.heads)


class KeyedRows:
    """The rows of :func:`keyed_rows`, read block by block: only sums of them are known."""

    random_access, fewer = False, True

    def __init__(self, rows, coins, q, use):
        self._rows, self._coins, self._use = rows, coins, use
        self._limit = limit_of(q)
        self.n_features, self.block_rows = rows.n_features, rows.block_rows
        self.heads, self.unit, self.cap = rows.heads, rows.unit, rows.cap

    def weighed_sum(self, statistic, beside=None):
        if beside is not None:
            raise TypeError("keys lie beside these rows already.")
        return weighed_sum(self._rows, OfChosen(statistic), self._chosen)

    def gathered(self):
        """Return the rows."""
        parts = map_merge(self._rows, OfChosen(listed), list.__add__, self._chosen)
        return np.concatenate(parts)

    def no_rows(self):
        """Return a block of no rows."""
        return no_rows(self._rows)

    def _chosen(self, start, stop):
        # a use that nobody else has, in whatever place of the plan
        return self._coins.keys(start, stop, use=f"thinned {self._use}") <= self._limit


class OfChosen:
    """A statistic of the rows of a block that are chosen beside it."""

    def __init__(self, statistic):
        self._statistic = statistic
        if hasattr(statistic, "weighed"):
            self.weighed = self._weighed

    def __call__(self, start, block, chosen):
        return self._statistic(start, block[chosen])

    def _weighed(self, weights, start, block, chosen):
        return self._statistic.weighed(weights[chosen], start, block[chosen])


def listed(start, block):
    """Return a block as a list: a statistic of rows that are kept in memory."""
    return [block]


def limit_of(q):
    """Return the number that a key of 64 bits is not above with probability q."""
    return np.uint64(min(int(q * 2.0**64), 2**64 - 1))


# --- differences of neighbours in a random cyclic order: the diameter without pairs


def ring_order(keys):
    """Return the numbers of the rows in the order of their keys: of equal ones in their own."""
    return np.argsort(keys, kind="stable")


def ring_blocks(Z, order, function):
    """Yield tasks: a function of the differences of a ring, by blocks that stay in the cache."""
    if len(Z) < 2:
        return
    ring, step = np.append(order[-1:], order), max(1, CELLS // Z.shape[1])
    for start in range(0, len(order), step):
        yield partial(_of_differences, function, Z, ring[start : start + step + 1])


def _of_differences(function, Z, places):
    return function(np.diff(Z.take(places, axis=0), axis=0))
