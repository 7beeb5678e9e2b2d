"""Parities of three attributes: pairs of semidefinite blocks, one pair for every attribute."""

import numpy as np

from skdp.marginals._parities import set_numbers

__all__ = ["PairedBlocks"]


class PairedBlocks:
    """The matrices ``E (1 + x_i) v v'`` and ``E (1 - x_i) v v'`` of every attribute i.

    Parameters
    ----------
    layout : Layout
        Of binary attributes, with all sets of at most three of those that are there.
    dtype : dtype, default=float
        Of the eigenvalue problems.

    Notes
    -----
    Here ``v = (1, x_j for j != i)``: as ``x_i (1 + x_i) = 1 + x_i``, a row for x_i itself would
    be that of 1. Entries are parities of at most three attributes, since ``x_j^2 = 1``. For a
    table with entries -1 and 1 both matrices are positive semidefinite. Every M_i is an array
    of inner products of unit vectors, (P+^(1/2) e_j, P-^(1/2) e_j) / sqrt(2) and (P+^(1/2) e_k,
    -P-^(1/2) e_k) / sqrt(2), so that the body is as narrow, up to a constant, as the relaxation of
    Dwork, Nikolov and Talwar (2014), whose matrices have order d^2 + d: their bound holds.

    The Gram matrix is diagonal: in ``|M_0 + M_i|^2 + |M_0 - M_i|^2`` the cross terms cancel.
    """

    def __init__(self, layout, dtype=float):
        columns = layout.subsets[1][:, 0]
        d, self.dtype = len(columns), dtype
        number = np.zeros((d + 1, d + 1, d + 1), dtype=np.int32)
        inner = np.arange(1, d + 1)
        number[0, 0, inner] = set_numbers(layout, columns[:, None])
        for j in (2, 3):
            rows = 1 + np.searchsorted(columns, layout.subsets[j])
            first = sum(len(sets) for sets in layout.subsets[:j])
            cells = [[0, *rows.T]] if j == 2 else [rows.T]
            for cell in cells:
                number[tuple(np.sort(np.stack(np.broadcast_arrays(*cell)), axis=0))] = np.arange(
                    first, first + len(rows)
                )
        a, b, c = np.sort(np.stack(np.indices(number.shape)).reshape(3, -1), axis=0)
        number = number[a, b, c].reshape(number.shape)
        others = np.array([[k for k in range(d + 1) if k != i] for i in range(1, d + 1)])
        self.even = number[0][others[:, :, None], others[:, None, :]].copy()
        self.odd = number[inner[:, None, None], others[:, :, None], others[:, None, :]].copy()
        for k in range(d):
            self.even[:, k, k], self.odd[:, k, k] = 0, number[0, 0, inner]
        self.scale = 2.0 ** (layout.orders / 2)
        self.size = len(self.scale)
        counts = self._sums(np.ones(self.even.shape), np.ones(self.even.shape))
        self.gram = 2 * counts * self.scale

    def _sums(self, even, odd):
        total = np.bincount(self.even.ravel(), even.ravel(), self.size)
        return (total + np.bincount(self.odd.ravel(), odd.ravel(), self.size)) * self.scale

    def forward(self, x):
        """Return both matrices of every attribute, shape (2, d, d, d), from residuals."""
        parities = (x * self.scale).astype(self.dtype)
        even, odd = parities[self.even], parities[self.odd]
        return np.stack([even + odd, even - odd])

    def adjoint(self, Z):
        """Return the transpose of ``forward``, applied."""
        return self._sums(Z[0] + Z[1], Z[0] - Z[1])

    def onto(self, W):
        """Return the positive parts of all matrices."""
        return positive_part(W)


def positive_part(W):
    """Return the positive semidefinite matrices nearest to symmetric ones."""
    values, vectors = np.linalg.eigh(W)
    return (vectors * np.maximum(values, 0)[..., None, :]) @ vectors.swapaxes(-1, -2)
