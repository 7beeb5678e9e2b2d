"""Convex cones that hold what tables of real rows can have, and projection onto several at once."""

from itertools import pairwise

import numpy as np

from skdp.kernel._layout import set_numbers
from skdp.kernel._residual_sums import coordinates
from skdp.marginals._residuals import helmert, synthesis, transform

EVERY, APART, RELAX = 10, 3.0, 1.6
LARGEST_ORDER = 600  # of a matrix of second moments


def nearest_in_cones(y, weight, blocks, *, tol=1e-4, max_steps=150):
    """Return x with ``A_b x`` in the cone of every block and least ``sum weight (x - y)^2``.

    Notes
    -----
    The alternating direction method of multipliers, over-relaxed: as all Gram matrices are
    diagonal, the step in x is a division. The penalty follows the ratio of the residuals.
    """
    gram = sum(block.gram for block in blocks)
    Zs = [block.onto(block.forward(y)) for block in blocks]
    Us, rho = [np.zeros_like(Z) for Z in Zs], _penalty(weight, gram)
    origin = np.zeros_like(y)
    origin[0] = 1.0
    fixed = [block.forward(origin) for block in blocks]
    for step in range(1, max_steps + 1):
        pull = sum(b.adjoint(Z - U - c) for b, Z, U, c in zip(blocks, Zs, Us, fixed, strict=True))
        x = (weight * y + rho * pull) / (weight + rho * gram)
        x[0] = 1.0
        look = step % EVERY == 0
        primal = dual = size = force = 0.0
        for number, block in enumerate(blocks):
            image, Z = block.forward(x), Zs[number]
            W = RELAX * image + (1 - RELAX) * Z + Us[number]
            Zs[number] = block.onto(W)
            Us[number] = W - Zs[number]
            if look:
                primal += np.sum(np.square(image - Zs[number]))
                dual = dual + block.adjoint(Zs[number] - Z)
                size += np.sum(np.square(image))
                force = force + block.adjoint(Us[number])
        if look:
            primal = np.sqrt(primal / size)
            dual = np.linalg.norm(dual) / (np.linalg.norm(force) + 1e-30)
            if max(primal, dual) < tol or not np.isfinite(dual):
                break
            if primal > APART * dual or dual > APART * primal:
                factor = 2.0 if primal > dual else 0.5
                rho, Us = rho * factor, [U / factor for U in Us]
    return x


def _penalty(weight, gram):
    here = (weight > 0) & (gram > 0)
    return float(np.median(weight[here] / gram[here]))


def moments_order(layout):
    """Return the order of the matrix of second moments of the attributes that are there."""
    return 1 + sum(layout.levels[i] - 1 for i in layout.subsets[1][:, 0])


class MomentBlock:
    """The matrix ``E v v'`` of ``v = (1, H_i e(x_i) for every i)``, e the unit vectors of levels.

    Notes
    -----
    One-hot codes are ``H' (H e) + 1 / L``, so this matrix is positive semidefinite exactly if
    that of the codes is; but no row of it follows from others. The blocks (i, j) are the
    residuals of pairs, row 0 those of single attributes. The block (i, i) is ``H Diag(p) H'`` for
    the table ``p = H' r + 1 / L``: of ``Diag(u)`` with ``u = H' r`` of sum 0 it is the part
    orthogonal to ones, of squared length ``(1 - 2 / L) |r|^2``. So the Gram matrix is diagonal.
    """

    def __init__(self, layout):
        self.columns = layout.subsets[1][:, 0]
        free = np.array(layout.levels)[self.columns] - 1
        self.starts = 1 + np.concatenate([[0], np.cumsum(free)])
        self.order, self.size = int(self.starts[-1]), int(layout.starts[-1])
        self.number = np.zeros((self.order, self.order), dtype=np.int64)
        singles = np.arange(1, self.order)
        self.number[0, 1:] = self.number[1:, 0] = singles
        pairs = np.searchsorted(self.columns, layout.subsets[2])
        first = 1 + len(self.columns)
        for k, (i, j) in enumerate(pairs.tolist()):
            a, b = slice(*self.starts[i : i + 2]), slice(*self.starts[j : j + 2])
            at = np.arange(*layout.starts[first + k : first + k + 2]).reshape(free[i], free[j])
            self.number[a, b], self.number[b, a] = at, at.T
        self.corner = np.zeros(self.number.shape, dtype=bool)
        self.bases = []
        for i, levels in enumerate(free + 1):
            here = slice(*self.starts[i : i + 2])
            self.corner[here, here] = True
            self.bases.append((here, helmert(levels)))
        counts = np.bincount(self.number[~self.corner], minlength=self.size).astype(float)
        counts[singles] += np.repeat(1 - 2 / (free + 1), free)
        self.gram = counts

    def forward(self, x):
        """Return the matrix, shape (N, N), of residuals."""
        M = x[self.number]
        for here, H in self.bases:
            p = x[here] @ H + x[0] / H.shape[1]
            M[here, here] = (H * p) @ H.T
        return M

    def adjoint(self, Z):
        """Return the transpose of the linear part of ``forward``, applied."""
        outside = ~self.corner
        total = np.bincount(self.number[outside], Z[outside], self.size)
        for here, H in self.bases:
            total[here] += H @ np.einsum("al,ab,bl->l", H, Z[here, here], H)
            total[0] += np.trace(Z[here, here]) / H.shape[1]
        return total

    def onto(self, W):
        """Return the positive part."""
        return positive_part(W)


class CellBlocks:
    """The cells of tables, each table times its number of cells."""

    def __init__(self, layout, groups):
        self.size = int(layout.starts[-1])
        self.index = [coordinates(layout, sets) for sets in groups]
        self.shapes = [index.shape for index in self.index]
        ends = np.cumsum([0, *(index.size for index in self.index)])
        self.slices = [slice(a, b) for a, b in pairwise(ends)]
        self.gram = np.zeros(self.size)
        for index in self.index:
            cells = index[0].size
            inside = np.indices(index.shape[1:]) > 0
            levels = np.reshape(index.shape[1:], (-1, *(1,) * (index.ndim - 1)))
            squares = cells**2 / np.prod(np.where(inside, 1, levels), axis=0)
            self.gram += np.bincount(
                index.ravel(), np.broadcast_to(squares, index.shape).ravel(), self.size
            )

    def forward(self, x):
        """Return the cells of all tables, flat."""
        parts = []
        for index in self.index:
            tables = transform(x[index], [synthesis(n) for n in index.shape[1:]])
            parts.append(tables.ravel() * index[0].size)
        return np.concatenate(parts)

    def adjoint(self, Z):
        """Return the transpose of ``forward``, applied."""
        total = np.zeros(self.size)
        for index, here in zip(self.index, self.slices, strict=True):
            tables = Z[here].reshape(index.shape) * index[0].size
            back = transform(tables, [synthesis(n).T for n in index.shape[1:]])
            total += np.bincount(index.ravel(), back.ravel(), self.size)
        return total

    def onto(self, W):
        """Return the cells that are not negative, the others put to zero."""
        return np.maximum(W, 0.0)


class PairedBlocks:
    """The matrices ``E (1 + x_i) v v'`` and ``E (1 - x_i) v v'`` of every attribute i.

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
            first = layout.firsts[j]
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
