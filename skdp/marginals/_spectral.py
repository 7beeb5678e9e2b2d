"""Eigenvalues of a noisy matrix, each moved back by what the noise does to it on average."""

import numpy as np

from skdp.marginals._layout import Layout
from skdp.marginals._moment_blocks import MomentBlock
from skdp.marginals._pair_matrix import pair_precision
from skdp.marginals._shrink import row_count

__all__ = ["PairSpectrum", "spiked", "unrepelled"]

WIDTH = 1.2  # in standard deviations of an entry


class PairSpectrum:
    """Residuals of at most two attributes with the eigenvalues of their moments corrected.

    Parameters
    ----------
    layout : Layout
        With all pairs of the attributes that are there.
    sd : ndarray of shape (n_sets,)
        Noise of the residuals.
    corrected : callable, default=unrepelled
        Maps a noisy symmetric matrix to a better one, as :func:`unrepelled` or :func:`spiked`.
    """

    def __init__(self, layout, sd, corrected=None):
        self.corrected = corrected or unrepelled
        self.layout = Layout(layout.levels, layout.subsets[:3])
        self.block = MomentBlock(self.layout)
        precision = pair_precision(self.layout, sd[: len(self.layout.orders)])
        precision = np.repeat(precision, np.diff(self.block.starts, prepend=0))
        self.scale = np.sqrt(np.outer(precision, precision))

    def __call__(self, values):
        """Return the leading coordinates of ``values``, of orders 0 to 2, corrected."""
        n = row_count(values)
        x = values[: self.block.size] / n
        x[0] = 1.0
        M = self.corrected(n * self.scale * self.block.forward(x)) / self.scale
        x[self.block.number[~self.block.corner]] = M[~self.block.corner]
        x[0] = n
        return x


def unrepelled(A):
    """Return A with its eigenvalues moved to where they are without noise, on average.

    Parameters
    ----------
    A : ndarray of shape (N, N)
        Symmetric, with independent noise of standard deviation 1 off the diagonal.

    Returns
    -------
    B : ndarray of shape (N, N)
        With the eigenvectors of A, which keep their noise.

    Notes
    -----
    Among all matrices with the eigenvectors ``u_i`` of ``A = M + W`` the one nearest to M has the
    eigenvalues ``u_i' M u_i = l_i - u_i' W u_i``. Integration by parts in every entry of W, with
    ``d u_i = sum_j u_j (u_j' dW u_i) / (l_i - l_j)``, gives::

        E u_i' W u_i = 2 E sum_(j != i) (1 - 2 sum_k u_ik^2 u_jk^2) / (l_i - l_j)

    of which the second term, of order 1/N, is left out. A finite matrix needs the sum smoothed:
    ``1 / x`` becomes ``x / (x^2 + h^2)`` with h = 1.2, the size of the noise in a single eigenvalue
    and a small part of the radius 2 sqrt(N) of the noise's own spectrum. As N grows this is the
    best estimate that commutes with rotations [1]_; it needs no low rank, and without noise it
    changes nothing.

    References
    ----------
    .. [1] Bun, Allez, Bouchaud, Potters. "Rotational invariant estimator for general noisy
       matrices". IEEE Transactions on Information Theory 2016.
    """
    values, vectors = np.linalg.eigh(A)
    apart = values[:, None] - values
    push = np.sum(apart / (apart * apart + WIDTH**2), axis=1)
    return (vectors * (values - 2 * push)) @ vectors.T


def spiked(A):
    """Return A without its diagonal, with eigenvalues kept only as far as noise has not made them.

    Parameters
    ----------
    A : ndarray of shape (N, N)
        Symmetric, with independent noise of standard deviation 1 off the diagonal.

    Returns
    -------
    B : ndarray of shape (N, N)

    Notes
    -----
    Noise alone has eigenvalues up to ``2 sqrt(N)``. A few strong directions in it are best given
    the eigenvalues ``sqrt(l^2 - 4 N)``, and all below that zero [1]_: better than
    :func:`unrepelled` where attributes hang together by a few common causes.

    References
    ----------
    .. [1] Gavish, Donoho. "Optimal shrinkage of singular values". IEEE Transactions on
       Information Theory 2017.
    """
    values, vectors = np.linalg.eigh(A - np.diag(np.diag(A)))
    kept = np.sign(values) * np.sqrt(np.maximum(np.square(values) - 4 * len(A), 0.0))
    return (vectors * kept) @ vectors.T
