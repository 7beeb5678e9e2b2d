import math

import numpy as np
import pytest

from skdp.planning._questions import MOST, smallest

ENDS = {"start": 1.0, "low": 1e-3, "high": 100.0}


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("answer", [0.002, 0.9, 1.0, 37.0])
def test_powers_are_solved(power, answer):
    found, tried = smallest(lambda x: 3 * x**-power, 3 * answer**-power, **ENDS)
    assert found == pytest.approx(answer, rel=1e-6)
    assert len(tried) <= 8


def test_a_curve_with_a_floor_and_a_cliff_is_solved():
    def error(x):
        return math.inf if x < 0.5 else 0.1 + 1 / x**2

    found, tried = smallest(error, 0.2, **ENDS)
    assert found == pytest.approx(math.sqrt(10), rel=0.03)
    assert len(tried) <= MOST
    found, _ = smallest(lambda x: math.inf if x < 0.5 else 0.0, 0.2, **ENDS)
    assert 0.5 <= found < 0.5 * 1.06


def test_noise_of_a_tenth_moves_the_answer_by_about_as_much():
    rng, ratios = np.random.default_rng(0), []
    for _ in range(50):
        ratios.append(smallest(lambda x: rng.lognormal(0, 0.1) / x, 0.05, **ENDS)[0] / 20)
    assert 0.9 < np.median(ratios) < 1.1
    assert min(ratios) > 0.7 and max(ratios) < 1.4


def test_what_is_out_of_reach_is_infinite_and_what_is_easy_is_the_least():
    assert smallest(lambda x: 1 / x, 1e-3, **ENDS)[0] == math.inf
    found, tried = smallest(lambda x: 1 / x, 1e5, **ENDS)
    assert found == 1e-3 and min(tried) == pytest.approx(1e-3)
    assert smallest(lambda x: math.inf, 1.0, **ENDS)[0] == math.inf
    assert smallest(lambda x: -1.0, 1.0, **ENDS)[0] == 1e-3
