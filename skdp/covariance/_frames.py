"""Frames of a covariance moved, turned and reduced: computed from released numbers alone."""

import numpy as np
from scipy.linalg import solve_triangular

from skdp.kernel._coordinates import Frame

__all__ = ["basis", "is_ordinary", "moved", "turned", "without"]


def basis(frame):
    """Return the vectors of the coordinates in units of the table, shape (d, k), finite."""
    return np.nan_to_num(frame.unit[:, None] * frame.P)


def is_ordinary(frame):
    """Return whether the entries of a frame are ordinary numbers."""
    return bool(max(np.abs(frame.A).max(), np.abs(frame.P).max()) < 2.0**100)


def moved(frame, step):
    """Return the frame with its centre moved by ``step``, shape (k,), in its coordinates."""
    center = frame.center + basis(frame) @ step
    largest = np.finfo(np.float64).max
    center = np.nan_to_num(center, posinf=largest, neginf=-largest)
    return Frame(center, frame.unit, frame.A, frame.P)


def turned(frame, V, scales):
    """Return the frame of the columns of V, shape (k, l), each divided by its scale."""
    A, P = (V / scales).T @ frame.A, (frame.P @ V) * np.asarray(scales)
    return Frame(frame.center, frame.unit, A, P)


def without(frame, null, V, scales):
    """Return the frame of the columns of V, divided by scales, on rows where others vanish.

    Shapes: null (k, m); V (k, l); scales (l,).
    """
    rows = null.T @ frame.A
    N = np.linalg.qr((rows / np.linalg.norm(rows, axis=1)[:, None]).T)[0]
    P = (frame.P @ V) * scales
    P = P - N @ (N.T @ P)
    Q, R = np.linalg.qr(P)
    return Frame(frame.center, frame.unit, solve_triangular(R, Q.T), P)
