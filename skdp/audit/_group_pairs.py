"""Neighbouring tables that differ in all rows of one person."""

from dataclasses import dataclass, replace

import numpy as np

from skdp.audit._draw import AuditRandom
from skdp.audit._pairs import draw_pair
from skdp.audit._samples import Sample, other_id
from skdp.readers._persons import GRAIN

__all__ = ["GroupPair", "draw_group_pair", "mutated_group_pair"]

CAPS = (1, 2, 3, 8)
SEVERAL = 4  # different rows of the person that comes or goes
MOST_ROWS = 60


@dataclass(frozen=True)
class GroupPair:
    """A table of persons and its neighbour, which has one more."""

    table: Sample  # the smaller of the two, with groups
    # what the larger one has in addition: all of one group, which `table` does not have
    rows: Sample
    # ndarray of int of shape (len(rows),): numbers of these rows in the larger one, rising
    places: np.ndarray
    seed: int = 0  # of the noise in the first run and of the row keys
    # whether the first run is on the larger table, and the replay on the smaller
    remove: bool = False
    epsilon: float | None = None  # epsilon for the two runs, None for the estimator's own

    def sides(self):
        """Return (sample, keys) of the first run and of the replay; common rows share keys."""
        n, k = len(self.table), len(self.rows)
        keys = AuditRandom("keys", self.seed).words(n + k)
        order = np.empty(n + k, dtype=np.intp)
        order[self.places] = n + np.arange(k)
        order[np.delete(np.arange(n + k), self.places)] = np.arange(n)
        smaller = self.table, np.delete(keys, self.places)
        larger = self.table.joined(self.rows).take(order), keys
        return (larger, smaller) if self.remove else (smaller, larger)

    def __str__(self):
        own = "" if self.epsilon is None else f", epsilon={self.epsilon:g}"
        verb, n = "remove" if self.remove else "add", len(np.unique(self.table.groups))
        where = f"from {self.places[0]} on" if len(self.places) else "nowhere"
        return (
            f"{verb} a group of {len(self.rows)} rows {where} to {len(self.table)} rows of {n} "
            f"groups (seed {self.seed}{own})"
        )


def draw_group_pair(data, draw, rows=None, *, cap="auto", other_epsilon=True):
    """Return a pair with a table of few rows of ``data``, a Sample with groups.

    The person that comes or goes has as many rows as tell caps apart: none, one, and as many as the
    cap, one less and one more; more than are kept of any person. They lie first, last, or anywhere.
    """
    plain = replace(data, groups=None)
    pairs = [draw_pair(plain, draw, rows, other_epsilon=other_epsilon) for _ in range(SEVERAL)]
    table = Sample(pairs[0].table, pairs[0].y)
    table = _of_few(table, draw) if draw.chance(0.5) else _of_whole(data, draw)
    added = [pair.added() for pair in pairs]
    several = added[0]
    for other in added[1:]:
        several = several.joined(other)
    m = draw.choice(CAPS) if cap == "auto" else cap
    k = draw.choice((0, 1, m - 1, m, m, m + 1, m + 1, 3 * m))
    k = draw.choice((GRAIN * m + 1, 1000)) if draw.chance(0.04) else k
    alike = draw.chance(0.5)
    several = several.take(np.zeros(k) if alike else draw.below(SEVERAL, k))
    owner = other_id(table.groups, smaller=draw.chance(0.5))
    several = replace(several, groups=np.full(k, owner, dtype=table.groups.dtype))
    n = len(table)
    places = draw.choice((np.arange(k), n + np.arange(k), np.sort(draw.sample(n + k, k))))
    return GroupPair(
        table,
        several,
        places,
        seed=pairs[0].seed,
        remove=pairs[0].remove,
        epsilon=pairs[0].epsilon,
    )


def mutated_group_pair(pair, draw):
    """Return a pair that differs from ``pair`` in one respect."""
    k, n = len(pair.rows), len(pair.table)
    kind = draw.below(4)
    if kind == 0 and k:
        return replace(pair, rows=pair.rows.take(np.zeros(k)))
    if kind == 1 and pair.rows.is_numeric:
        with np.errstate(all="ignore"):
            scaled = pair.rows.X * 2.0 ** (4 * draw.uniform() - 2)
        return replace(pair, rows=pair.rows.having(scaled))
    if kind == 2:
        return replace(pair, seed=draw.below(2**31))
    return replace(pair, places=np.sort(draw.sample(n + k, k)), remove=not pair.remove)


def _of_few(table, draw):
    """Return a table with owners at random, some of many rows."""
    n = len(table)
    return replace(table, groups=draw.below(draw.choice((1, 3, n + 1)), n))


def _of_whole(data, draw):
    """Return all rows of some persons."""
    _, codes = np.unique(data.groups, return_inverse=True)
    chosen, few = np.zeros(len(data), dtype=bool), draw.below(MOST_ROWS + 1)
    for person in draw.sample(codes.max() + 1, codes.max() + 1) if few else ():
        if np.count_nonzero(chosen) >= few:
            break
        chosen |= codes == person
    return data.take(np.flatnonzero(chosen)[:MOST_ROWS])
