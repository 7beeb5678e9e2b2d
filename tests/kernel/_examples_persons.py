"""Persons with numbers of rows of all magnitudes."""

import numpy as np

from skdp.kernel._parts import PersonsWithMore

__all__ = ["EXAMPLES"]


def _persons(rng):
    sizes = np.floor(2.0 ** rng.uniform(-1, 40, size=(40, 1))).astype(np.int64)
    sizes[::7] = -1  # persons who lost all of their rows
    more = int(rng.choice([-1, 0, 7, 2**20, 2**62]))
    return PersonsWithMore(more, gaps=bool(rng.integers(2))), sizes


EXAMPLES = {PersonsWithMore: _persons}
