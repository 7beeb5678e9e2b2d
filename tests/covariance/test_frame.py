from fractions import Fraction

import numpy as np
import pytest

from skdp.covariance._run import identity_frame, is_ordinary, moved, turned, without
from skdp.kernel._coordinates import Frame


def _frame(rng, d, k):
    A = rng.normal(size=(k, d)) * 2.0 ** rng.integers(-20, 30, size=(k, 1))
    return Frame(rng.normal(size=d), 2.0 ** rng.integers(-9, 9, size=d), A, np.linalg.pinv(A))


def test_coordinates_depend_on_their_row_alone_to_the_last_bit(rng):
    for d, k in ((1, 1), (3, 2), (17, 17), (50, 31), (130, 130)):
        frame = _frame(rng, d, k)
        X = rng.normal(size=(301, d)) * 10.0 ** rng.uniform(-150, 150, size=(301, 1))
        X[::7] *= rng.choice([0.0, 1e-290, 1e140, np.nan, np.inf], size=(43, 1))
        with np.errstate(all="ignore"):
            whole = frame(X)
            single = np.concatenate([frame(X[i : i + 1]) for i in range(len(X))])
            others = frame(np.asfortranarray(X[::-1]))[::-1]
        assert np.array_equal(whole, single, equal_nan=True)
        assert np.array_equal(whole, others, equal_nan=True)
        assert np.isnan(whole).all(axis=1)[~np.isfinite(X).all(axis=1)].all()


def test_coordinates_are_exact_to_the_slices(rng):
    """Against exact rationals: an error of 2^-40 of the row times the length of a row of A."""
    frame = _frame(rng, 6, 4)
    X = rng.normal(size=(20, 6)) * 10.0 ** rng.uniform(-200, 200, size=(20, 1))
    Y = frame(X)
    for x, y in zip(X, Y, strict=True):
        gaps = (x - frame.center) / frame.unit
        for a, value in zip(frame.A, y, strict=True):
            exact = sum(
                Fraction(float(g)) * Fraction(float(b)) for g, b in zip(gaps, a, strict=True)
            )
            bound = Fraction(float(np.abs(gaps).max())) * Fraction(float(np.abs(a).max()))
            assert abs(Fraction(float(value)) - exact) <= 6 * bound / 2**40


def test_turned_moved_and_reduced_frames_stay_consistent(rng):
    d = 8
    frame = identity_frame(rng.normal(size=d), np.exp(rng.normal(size=d)))
    for _ in range(5):
        V = np.linalg.qr(rng.normal(size=(d, d)))[0]
        frame = turned(frame, V, np.exp(rng.normal(size=d)))
    assert np.allclose(frame.A @ frame.P, np.eye(d))
    x = rng.normal(size=d)
    step = frame(x[None])[0]
    assert np.allclose(moved(frame, step).center, x)
    # rows that vary in three directions only: what vanishes does not tilt the others
    Q = rng.normal(size=(d, 3))
    X = frame.center + (rng.normal(size=(500, 3)) @ Q.T) * frame.unit
    Y = frame(X)
    V = np.linalg.svd(Y, full_matrices=True)[2].T
    reduced = without(frame, V[:, 3:], V[:, :3] + 1e-3 * V[:, 3:6], np.ones(3))
    assert np.allclose(reduced.A @ reduced.P, np.eye(3))
    projector = Q @ np.linalg.pinv(Q)
    assert np.allclose(projector @ reduced.P, reduced.P)
    back = frame.center + frame.unit * (reduced(X) @ reduced.P.T)
    assert np.allclose(back, X)


def test_a_frame_says_when_its_entries_left_the_ordinary_range(rng):
    frame = identity_frame(np.zeros(2), np.ones(2))
    assert is_ordinary(frame)
    for _ in range(8):
        frame = turned(frame, np.eye(2), np.array([2.0**20, 1.0]))
    assert not is_ordinary(frame)


@pytest.mark.parametrize("shape", [(0, 3), (1, 3)])
def test_few_rows(shape):
    frame = identity_frame(np.zeros(3), np.ones(3))
    assert frame(np.ones(shape)).shape == shape
