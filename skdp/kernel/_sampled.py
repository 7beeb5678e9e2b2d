"""Rows that were taken by their own secret keys, and what is asked of all of them together."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from skdp.kernel._plain import Checked, public, refuse, tame
from skdp.kernel._statistic import Statistic
from skdp.kernel._table import Table
from skdp.kernel._totals import limit_of, ring_order
from skdp.kernel.pairs._distance import DistancePredicate
from skdp.mechanisms import finite_rows
from skdp.mechanisms._exact import of_persons
from skdp.readers import ArrayRows, map_merge
from skdp.readers._persons import SampledRows, representatives_of


@dataclass(eq=False)
class Sample:
    """Rows for locating: private, in memory for the time of one fit.

    ``q`` is the public probability with which a row was taken; ``n`` estimates their number.

    **Privacy**: every row has an independent secret key. Couple the keys of neighbouring tables so
    that common rows share theirs: then the samples are equal or neighbours, and what is released
    from the sample costs what it would cost on the whole table. No amplification is claimed.
    """

    Z: np.ndarray
    keys: np.ndarray
    q: float
    n: float
    _friends: tuple = field(default=(None, None), repr=False)
    _rings: list = field(default_factory=list, repr=False)  # one, of all that have these keys

    def scaled(self, scale):
        """Return the sample with its columns divided by public or released scales."""
        if np.all(scale == 1):
            return self
        return Sample(self.Z / scale, self.keys, self.q, self.n, _rings=self._rings)

    def thinned(self, size):
        """Return about ``size`` rows of the sample, by the same coins."""
        if self.n <= size:
            return self
        q = self.q * size / self.n
        keep = self.keys <= limit_of(q)
        return Sample(self.Z[keep], self.keys[keep], q, size)

    @property
    def ring(self):
        """The numbers of the rows in the order of their keys, which are sorted once."""
        if not self._rings:
            self._rings.append(ring_order(self.keys))
        return self._rings[0]

    def friends(self, radius):
        """Return the number of friends of every row, counted once for the last radius asked for."""
        if self._friends[0] != radius:
            self._friends = radius, DistancePredicate(radius).friends(self.Z)
        return self._friends[1]


def draw_sample(rows, coins, n_rows, size):
    """Keep every row with the same probability; rows with NaN or infinity count as absent."""
    rows, coins = representatives_of(rows, coins)
    n_rows = n_rows if rows.heads is None else rows.heads.n
    q = min(1.0, size / n_rows)

    def drawn(start, stop):
        keys = coins.keys(start, stop)
        index = np.flatnonzero(keys <= limit_of(q)) if q < 1 else slice(None)
        return index, keys[index]

    def chosen(start, block, drawn):
        index, keys = drawn
        Z = np.asarray(block[index], dtype=np.float64)
        finite = finite_rows(Z)
        return [(Z, keys) if finite.all() else (Z[finite], keys[finite])]

    parts = map_merge(rows, chosen, list.__add__, drawn)
    Z, keys = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
    return Sample(Z, keys, q, q * n_rows)


class OfSample(Statistic):
    """A function of all rows of a :class:`Sample` together, of their keys too: no sum over rows.

    ``total(sample)`` returns integers that one row of the sample moves by no more than the bound.
    A subclass proves that; its tests try all small tables.
    """

    kind = "sample"


class Conditional(Checked):
    """A question to a :class:`Sampled` whose bound follows from earlier answers to it.

    A subclass is a frozen dataclass, registered by :func:`public`, that names *tickets*; it never
    holds a bound: that is read off the log of the Table. ``bounds(table)`` returns what the log
    tells, public numbers, or None if it certifies nothing; ``given(table)`` the Statistic with its
    bound, or raises ValueError if the log does not tell any.
    """


class Sampled(Table):
    """A Table of rows that were taken by their own secret keys, in memory for the time of a fit.

    It answers what a Table does, and questions about pairs: :class:`OfSample`,
    :class:`Conditional`.

    ``source``: that the sample was drawn from.

    **Privacy**: rows of neighbouring tables share their keys, so that samples, scaled and thinned
    ones too, are equal or neighbours: see :class:`Sample`.
    """

    __slots__ = ("_sample", "_source")
    _answers = Statistic, Conditional

    def __init__(self, sample, source, curator):
        super().__init__(SampledRows(ArrayRows(sample.Z)), curator)
        self._sample, self._source = sample, source

    @classmethod
    def drawn_from(cls, table, size, n_rows):
        """Return a sample of about ``size`` of the ``n_rows`` rows of a Table."""
        sample = draw_sample(table._rows, table._curator.coins, n_rows, size)
        return cls(sample, table._rows, table._curator)

    @property
    def q(self):
        """The probability with which a row was taken."""
        return self._sample.q

    @property
    def n(self):
        """An estimate of the number of rows."""
        return self._sample.n

    def scaled(self, scale):
        """Return the sample with its columns divided by public or released scales."""
        scale = np.asarray(scale, dtype=np.float64)
        tame(scale, "scale")
        refuse(scale.shape not in ((), (self.n_features,)), "a scale for every column")
        with np.errstate(all="ignore"):  # a warning that rows decide on would tell of them
            return self._like(self._sample.scaled(scale))

    def fewer(self, size):
        """Return about so many rows of the sample, by the same coins."""
        refuse(not 0 < size < math.inf, "a sample has a positive finite size")
        return self._like(self._sample.thinned(size))

    def paid_by(self, other):
        """Return the same rows, whose answers the budget of another Table, or a Curator, pays."""
        curator = super().paid_by(other)._curator
        return self if curator is self._curator else self._like(self._sample, curator)

    def sample(self, size, n_rows):
        """Raise ValueError: rows are drawn by one key each, see :meth:`fewer`."""
        refuse(True, "these rows are a sample: take fewer of them")

    def split(self, rule, n_parts):
        """Return :class:`Parts` of the rows; these answer no questions about pairs."""
        return self._view(self._rows).split(rule, n_parts)

    def bounds(self, conditional):
        """Return what the log tells of the rows that a :class:`Conditional` rests on, or None."""
        refuse(not isinstance(conditional, Conditional), "no conditional question")
        return self._checked(conditional).bounds(self)

    # -- what conditional statistics read, within the kernel -----------------------------------

    def _drawn_from(self, other):
        """Return whether another Table has the very rows that these were drawn from."""
        return isinstance(other, Table) and other._rows is self._source

    def _same(self, other):
        """Return whether another Table has the very rows of this one, keys included."""
        return isinstance(other, Sampled) and other._sample is self._sample

    def _answered(self, ticket):
        """Return (Table, statistic, answer) of a ticket whose noise was Gaussian."""
        view, statistic, told = self._log.get(ticket)
        refuse(told is None or told.law != "gaussian", "an answer with noise of another law")
        return view, statistic, told

    def _view(self, rows, curator=None):
        return Table(rows, curator or self._curator)

    def _like(self, sample, curator=None):
        return Sampled(sample, self._source, curator or self._curator)

    def _shape_for(self, statistic):
        pairs = isinstance(statistic, OfSample | Conditional)
        return replace(self.shape, kind="sample") if pairs else self.shape

    def _prepared(self, statistic, share):
        if isinstance(statistic, Conditional):
            statistic = statistic.given(self)
        return super()._prepared(statistic, share)

    @np.errstate(all="ignore")  # a warning that rows decide on would tell of them
    def _totals(self, statistics):
        sums = [one for one in statistics if not isinstance(one, OfSample)]
        sums = iter(super()._totals(sums) if sums else ())
        return [
            of_persons(one.total(self._sample)) if isinstance(one, OfSample) else next(sums)
            for one in statistics
        ]


@public
class Members(OfSample):
    """The number of rows of a sample.

    **Privacy** (add or remove one row): it moves by at most 1.
    """

    squared_l2 = 1

    def total(self, block):
        """Return the number, shape (1,)."""
        return np.array([len(block.Z)])
