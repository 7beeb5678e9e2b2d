"""What leaves the library are floats; their last bits must not tell what went in."""

from functools import cache

import numpy as np
import pytest

from skdp import PrivateMean
from tests._attacks import precision_attack

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


@pytest.mark.slow
@pytest.mark.parametrize("params", [{"center": 0.0, "radius": 1.0}, {"radius": 1.0}, {}], ids=str)
def test_precision_attack_learns_nothing(params):
    """The lower bound holds with confidence 99.9 %; a seed makes the outcome fixed."""
    runs = iter(range(10**6))

    @cache
    def fits(value):
        X = np.append(np.zeros((19, 1)), [[value]], axis=0)
        return [
            PrivateMean(epsilon=1.0, delta=1e-6, random_state=next(runs), **params).fit(X)
            for _ in range(400)
        ]

    for released in ("location_", "noise_scale_"):

        def sampler(value, released=released):
            return np.array([getattr(fit, released)[0] for fit in fits(value)])

        assert precision_attack(sampler) <= 1.0
