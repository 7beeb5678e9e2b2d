"""The grid of a sum is as fine as its noise and the range of 64 bits allow, and no finer."""

import math

import pytest

from skdp.kernel._statistic import ROOM, grid_bits, unit_bits
from skdp.kernel._sums import room_bits


@pytest.mark.parametrize(
    ("how", "bits"),
    [
        ({"strength": 1.0, "noise_bits": 10, "most": 20}, 10),
        ({"strength": 1.0, "noise_bits": 30, "most": 20}, 20),
        ({"strength": 0.9, "noise_bits": 10, "most": 20}, 9),
        ({"strength": 8.5, "noise_bits": 10, "most": 20}, 13),
        ({"strength": 1e-9, "noise_bits": 10, "most": 20}, 1),
        ({"strength": 1e-9, "noise_bits": 10, "most": 20, "least": 4}, 4),
        ({"strength": 1.0, "noise_bits": 20, "most": 20, "power": 2}, 10),
        ({"strength": 2.0, "noise_bits": 20, "most": 20, "power": 2}, 10),
        ({"strength": 1.0, "noise_bits": 55, "most": 90, "unit": 1024}, 50),
        ({"strength": 1.0, "noise_bits": 45, "most": 90, "unit": 1024}, 45),
        ({"strength": 1024.0, "noise_bits": 90, "most": 90, "unit": 1024}, 50),
        ({"strength": 1024.0, "noise_bits": 90, "most": 90, "unit": 1024, "n": 1000}, 40),
        ({"strength": 1024.0, "noise_bits": 90, "most": 90, "unit": 1024, "n": 1024.5}, 39),
        ({"strength": 1024.0, "noise_bits": 90, "most": 90, "unit": 1024, "n": 0.1}, 50),
        ({"strength": 1024.0, "noise_bits": 90, "most": 90, "unit": 1024, "power": 2}, 25),
        ({"strength": 1024.0, "noise_bits": 90, "most": 90, "unit": 1025}, 49),
    ],
)
def test_grids(how, bits):
    assert grid_bits(**how) == bits
    noise = 2.0 ** (how.get("power", 1) * bits) / how["strength"]
    assert noise <= 2.0 ** how["noise_bits"] or bits == how.get("least", 1)


def test_sums_of_persons_stay_below_the_room():
    for power in [1, 2]:
        for n in [0.0, 1.0, 1.5, 1e4, 2.0**20]:
            for unit in [2, 1024, 1025, 10**6]:
                bits = grid_bits(2.0**40, noise_bits=90, most=90, power=power, unit=unit, n=n)
                assert 2 ** (power * bits) * unit * max(n, 1.0) <= 2**ROOM <= 2**60
                finer = power * (bits + 1) + unit_bits(unit) + math.ceil(math.log2(max(n, 1.0)))
                assert finer > ROOM, "and the next finer one would not"


@pytest.mark.parametrize(
    ("noise", "unit", "bits"),
    [
        (2.0**60, 1, 1),
        (2.0**39, 1, 1),
        (2.0**38, 1, 2),
        (1.0, 1, 20),
        (2.0**30, 1, 10),
        (2.0**30.5, 1, 9),
        (2.0**30, 2**20, 10),
        (2.0**30, 2**23, 7),
        (1e-9, 2**40, 20),
    ],
)
def test_grids_beside_noise(noise, unit, bits):
    assert room_bits(noise, unit, 20) == bits


@pytest.mark.parametrize(("unit", "bits"), [(1, 0), (2, 1), (3, 2), (1024, 10), (1025, 11)])
def test_bits_of_units(unit, bits):
    assert unit_bits(unit) == bits
