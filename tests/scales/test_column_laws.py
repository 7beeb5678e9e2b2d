"""Scales of columns by laws of their differences."""

import numpy as np
import pytest

from skdp.location._column_scales import OCTAVES, ColumnLaws

N, LARGEST = 2000, 2.0**12


def octaves(sizes):
    """Return the histograms of columns of sizes, in octaves below the largest."""
    with np.errstate(divide="ignore"):
        at = np.ceil(np.log2(sizes / LARGEST)) + OCTAVES
    at = np.clip(np.nan_to_num(at, neginf=0), 0, OCTAVES).astype(int)
    return np.stack([np.bincount(one, minlength=OCTAVES + 1) for one in at.T]).astype(float)


def looked_at(draw, d, noise, seed=0):
    """Return the laws of d columns after one noisy look at differences of rows."""
    rng = np.random.default_rng(seed)
    laws = ColumnLaws(d, N)
    x, y = draw(rng, (N, d)), draw(rng, (N, d))
    told = octaves(np.abs(x - y))
    laws.add(told + noise * rng.normal(size=told.shape), noise)
    return laws


def test_scales_of_normal_columns_are_found_in_much_noise():
    scale = 2.0 ** np.arange(-12, 8)
    laws = looked_at(lambda rng, size: scale * rng.normal(size=size), 20, N / 12)
    theta, sd, odd = laws.read()
    off = np.abs(theta + np.log2(LARGEST) - np.log2(scale))
    assert off.max() < 1.5 and np.median(off) < 0.5
    assert (off / sd).mean() < 2
    assert (odd < 0.9).all()
    assert laws.ties() < 0.1


def test_a_second_look_from_the_centre_sharpens_them():
    scale = 2.0 ** np.arange(-12, 8)
    laws = looked_at(lambda rng, size: scale * rng.normal(size=size), 20, N / 8)
    _, before, _ = laws.read()
    rng = np.random.default_rng(1)
    told = octaves(np.abs(scale * rng.normal(size=(N, 20))))
    laws.add(told + N / 14 * rng.normal(size=told.shape), N / 14, centred=True)
    theta, after, _ = laws.read()
    assert after.mean() < before.mean()
    assert np.abs(theta + np.log2(LARGEST) - np.log2(scale)).max() < 1


def test_rates_are_no_normal_columns():
    def draw(rng, size):
        x = rng.normal(size=size)
        x[:, :5] = x[:, :5] > 1
        return x

    laws = looked_at(draw, 10, N / 20)
    odd = laws.read()[2]
    assert (odd[:5] > 0.99).all() and (odd[5:] < 0.9).all()
    assert 0.2 < laws.ties() < 0.5


@pytest.mark.parametrize("noise", [N / 100, N / 5, 10 * N, 1e9])
def test_noise_alone_gives_finite_answers(noise):
    rng = np.random.default_rng(0)
    laws = ColumnLaws(7, N)
    laws.add(noise * rng.normal(size=(7, OCTAVES + 1)), noise)
    laws.add(noise * rng.normal(size=(2, OCTAVES + 1)), noise, columns=[1, 3], zeros=False)
    assert all(np.isfinite(one).all() for one in laws.read())
    assert laws.ties() <= 0.3
