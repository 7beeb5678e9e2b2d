"""Large tables that mislead: far groups, unequal sizes, many clusters, heavy tails."""

import numpy as np
from _clustering_cells import Cell, Target

__all__ = ["apart", "far_groups", "hard_cells"]

FAR = (  # columns, clusters of the bulk, (part of the rows, distance in standard deviations) each
    *((d, bulk, ((0.049, 1000),)) for d in (2, 3, 10) for bulk in (1, 3)),
    *((d, 1, ((0.02, 3000),)) for d in (2, 3, 10)),
    *((d, 1, ((0.01, 100),)) for d in (2, 3, 10)),
    (3, 3, ((0.1, 1000),)),
    (3, 3, ((0.3, 1000),)),
    (3, 3, ((0.049, 1000), (0.02, 3000))),
    (10, 3, ((0.02, 100), (0.049, 1000))),
)
SIZES = 50_000, 20_000, 10_000, 3000, 1000, 300
FAR_APART = 20.0  # standard deviations: nothing is gained by cutting the largest in two instead
MANY = (50, 2, 20_000, 1.1), (50, 10, 100_000, 1.1), (100, 10, 200_000, 1.2)  # k, d, n, target


def apart(k, d, rng, distance=8.0):
    """Return k centres, at least ``distance`` from each other, in a box that has room for them."""
    side, centres = distance * max(2.0, 1.5 * k ** (1 / d)), np.empty((0, d))
    while len(centres) < k:
        one = rng.uniform(-side / 2, side / 2, size=(1, d))
        if not len(centres) or np.linalg.norm(centres - one, axis=1).min() >= distance:
            centres = np.r_[centres, one]
    return centres


def around(centres, sizes, rng):
    """Return rows of N(c, I), ``sizes`` of them for each centre, in no order."""
    rows = np.repeat(centres, sizes, axis=0)
    return rng.permutation(rows + rng.normal(size=rows.shape)), centres


def far_groups(d, bulk, groups, rng, n=100_000):
    """Return a bulk of unit normals and groups of them far away."""
    near = apart(bulk, d, rng) if bulk > 1 else np.zeros((1, d))
    directions = rng.normal(size=(len(groups), d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    far = directions * np.array([[distance] for _, distance in groups])
    sizes = [int(part * n) for part, _ in groups]
    rest = np.full(bulk, (n - sum(sizes)) // bulk)
    return around(np.r_[near, far], np.r_[rest, sizes], rng)


def lognormal(rng, n=20_000):
    return rng.lognormal(0, 2, size=(n, 3)), None


def counts(rng, n=20_000):
    """Return counts of which six in ten are 0, the others of mean 8 and long tails."""
    return rng.negative_binomial(0.7, 0.08, size=(n, 4)) * (rng.random((n, 4)) < 0.4) * 1.0, None


def student(rng, n=20_000):
    """Return rows of five clusters with three degrees of freedom."""
    centres = apart(5, 3, rng)
    return centres[rng.integers(5, size=n)] + rng.standard_t(3, size=(n, 3)), centres


def hard_cells():
    """Yield the cells."""
    for d, bulk, groups in FAR:

        def make(rng, case=(d, bulk, groups)):
            return far_groups(*case, rng)

        where = " and ".join(f"{100 * part:g} % at {far}" for part, far in groups)
        name = f"far {where}, d={d}" + (f", bulk of {bulk}" if bulk > 1 else "")
        yield Cell(name, bulk + len(groups), make, Target(1.01, worst=1.1))
    for d in (2, 5):

        def make(rng, d=d):
            return around(apart(len(SIZES), d, rng, FAR_APART), SIZES, rng)

        yield Cell(f"sizes 5e4 to 300, d={d}", len(SIZES), make, Target(1.1))
    for k, d, n, median in MANY:

        def make(rng, k=k, d=d, n=n):
            return around(apart(k, d, rng), np.full(k, n // k), rng)

        yield Cell(f"many k={k} d={d} n={n:.0e}", k, make, Target(median), large=n > 10**5)
    yield Cell("tails: lognormal(2), inner 99 %", 5, lognormal, part=0.99)
    yield Cell("tails: zero-inflated counts", 5, counts)
    yield Cell("tails: t3, inner 99 %", 5, student, part=0.99)
