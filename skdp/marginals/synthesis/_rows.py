"""Rows of level numbers from noisy tables, column by column."""

import numpy as np

from skdp.marginals.synthesis._columns import Debts, Keys, fit_conditional, groups_of
from skdp.utils._public import public_words

__all__ = ["PublicUniforms", "sample_codes"]

FEWEST, MOST = 8192, 32768  # rows that a model is fitted on
BLOCK, BLOCKS = 128, 256  # rows of a block; blocks of many rows, or of few
SWEEPS, GROUPS = (8, 20), 300  # sweeps of a fit; groups in all of them, if sweeps may be fewer


class PublicUniforms:
    """Uniform numbers in [0, 1) that are a function of a key: rows need no secret chance."""

    def __init__(self, *key):
        self.key, self.calls = key, 0

    def random(self, n):
        """Return the next n numbers, an array of float."""
        self.calls += 1
        return (public_words(n, *self.key, self.calls) >> np.uint64(11)) * 2.0**-53


def sample_codes(tables, n_rows, rng, *, order=None):
    """Return rows whose tables are near to released ones.

    Shapes: codes (n_rows, n_columns).

    Notes
    -----
    Every column is drawn given those before it, by the law of :func:`fit_conditional`. The laws are
    fitted one after the other on rows that are drawn on the way, which are the answer if their
    number fits; otherwise the laws draw as many as are wanted. What rows say of combinations that
    are in no table follows from the largest entropy, column by column, and is an extrapolation.
    """
    order = _strongest_first(tables) if order is None else list(order)
    n_fit = min(max(n_rows, FEWEST), MOST)
    codes = np.zeros((n_fit, len(tables.levels)), dtype=np.int32)
    laws, debts = [], []
    for number, column in enumerate(order):
        groups = groups_of(tables, column, set(order[:number]))
        sweeps = int(np.clip(GROUPS // len(groups), *SWEEPS))
        law, keys, chances = fit_conditional(column, groups, codes, sweeps)
        laws.append(law)
        debts.append(Debts(BLOCK))
        codes[:, column] = debts[-1].draw(keys, chances, rng.random(n_fit))
    if n_rows == n_fit:
        return codes
    if n_rows < n_fit:
        return _drawn(
            laws, [Debts(min(BLOCK, max(n_rows // BLOCKS, 1))) for _ in laws], n_rows, rng
        )
    for debt in debts:
        debt.block = max(BLOCK, n_rows // BLOCKS)
    more = _drawn(laws, debts, n_rows - n_fit, rng)
    return np.concatenate([codes, more])


def _drawn(laws, debts, n_rows, rng):
    codes = np.zeros((n_rows, len(laws)), dtype=np.int32)
    for start in range(0, n_rows, MOST):
        part = codes[start : start + MOST]
        for law, debt in zip(laws, debts, strict=True):
            keys = Keys(law.groups, part)
            part[:, law.column] = debt.draw(keys, law.chances(keys), rng.random(len(part)))
    return codes


def _strongest_first(tables):
    """Return the columns in an order in which each depends much on those before it."""
    d = len(tables.levels)
    strength = np.zeros((d, d))
    for columns in tables.sets:
        for a, i in enumerate(columns):
            for j in columns[:a]:
                strength[i, j] = strength[j, i] = tables.law((j, i)).strength
    order = [int(np.argmax(strength.sum(axis=1)))]
    while len(order) < d:
        near = strength[:, order].sum(axis=1)
        near[order] = -1.0
        order.append(int(np.argmax(near)))
    return order
