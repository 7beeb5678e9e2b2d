"""Every fast form is the general recursion: brute force against Definition 3.1, in rationals."""

import math
from zlib import crc32

import numpy as np
import pytest

from tests.sensitivity._oracles import STATISTICS, allowed_center, brute, small_database


def mismatches(name, databases, n_max):
    fast, f, limit = STATISTICS[name]
    rng = np.random.default_rng(crc32(name.encode()))
    wrong = 0
    for _ in range(databases):
        x, D, c = small_database(rng, n_max)
        c = allowed_center(c, limit)
        g = brute(x.tolist(), f, D, c)
        wrong += fast(x, D, c) != math.floor(g[tuple(range(len(x)))])
    return wrong


@pytest.mark.parametrize("name", STATISTICS)
def test_fast_forms_are_the_general_recursion(name):
    assert mismatches(name, 60, 6) == 0


@pytest.mark.nightly
@pytest.mark.parametrize("name", STATISTICS)
def test_fast_forms_are_the_general_recursion_at_length(name):
    assert mismatches(name, 600, 7) == 0
    assert mismatches(name, 60, 8) == 0
