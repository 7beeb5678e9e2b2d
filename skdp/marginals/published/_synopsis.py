"""The Johnson-Lindenstrauss synopsis: short vectors with almost the same inner products.

A relaxed answer is n times the inner product of two unit vectors. N of them are N r numbers,
``r = log(2 N^2 / beta) / (gamma^2 / 4 - gamma^3 / 6)``, at an error of gamma n in every answer.
Post-processing: the projection is public, and no private value meets it.
"""

from math import ceil, log

import numpy as np

from skdp.utils._numbers import public_words


def jl_dimension(N, gamma, beta=0.01):
    """Return a dimension in which N vectors keep their inner products.

    Parameters
    ----------
    N : int
        Number of vectors.
    gamma : float
        Allowed error, 0 < gamma < 1.
    beta : float, default=0.01
        Allowed probability of a larger error, 0 < beta < 1.

    Returns
    -------
    r : int

    See Also
    --------
    jl_synopsis

    Notes
    -----
    *Proof.* For random signs R / sqrt(r) and any x, |Rx|^2 / r leaves (1 +- gamma) |x|^2 to either
    side with probability at most exp(-r (gamma^2 / 4 - gamma^3 / 6)) (Achlioptas 2003, Lemmas 4
    and 5). This is wanted for the N (N - 1) vectors u +- v and the N vectors u: 2 N^2 tails. Then
    ``<Ru, Rv> / r = (|R(u + v)|^2 - |R(u - v)|^2) / 4r`` is off by at most
    ``gamma (|u + v|^2 + |u - v|^2) / 4 = gamma (|u|^2 + |v|^2) / 2 <= gamma``.

    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.marginals.published import jl_dimension
    >>> jl_dimension(100, gamma=0.5)
    349
    """
    if not 0 < gamma < 1 or not 0 < beta < 1:
        raise ValueError(f"gamma and beta must be in (0, 1). Got {gamma!r} and {beta!r} instead.")
    return ceil(log(2 * N**2 / beta) / (gamma**2 / 4 - gamma**3 / 6))


def jl_synopsis(vectors, gamma, beta=0.01):
    """Shorten vectors so that no inner product moves by more than gamma.

    Parameters
    ----------
    vectors : ndarray of shape (N, D)
        Rows of norm at most 1.
    gamma : float
        Allowed error, 0 < gamma < 1.
    beta : float, default=0.01
        Sets the dimension, see :func:`jl_dimension`: the probability that the first projection
        will not do.

    Returns
    -------
    synopsis : ndarray of shape (N, r)
        Inner products of its rows are those of ``vectors`` up to gamma: they are compared, and a
        projection that fails is replaced by the next one. If r were not below D, the vectors.

    See Also
    --------
    jl_dimension

    Notes
    -----
    The signs of the projection are public, a hash of r, D and the number of the attempt.

    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.marginals.published import jl_synopsis
    >>> vectors = np.eye(5)
    >>> synopsis = jl_synopsis(vectors, gamma=0.5)
    >>> bool(np.abs(synopsis @ synopsis.T - vectors @ vectors.T).max() <= 0.5)
    True
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    N, D = vectors.shape
    if (np.einsum("ij,ij->i", vectors, vectors) > 1 + 1e-9).any():
        raise ValueError("vectors must have norm at most 1; divide by the largest norm.")
    r = jl_dimension(N, gamma, beta)
    if r >= D:
        return vectors
    exact, attempt = vectors @ vectors.T, 0
    while True:
        short = vectors @ public_signs(D, r, attempt) / np.sqrt(r)
        if np.abs(short @ short.T - exact).max() <= gamma:
            return short
        attempt += 1


def public_signs(n_rows, n_columns, attempt):
    """Return a matrix of signs, a function of the three numbers alone."""
    size = n_rows * n_columns
    words = public_words(-(-size // 64), "signs", n_rows, n_columns, attempt)
    bits = np.unpackbits(words.view(np.uint8), count=size)
    return bits.reshape(n_rows, n_columns) * 2.0 - 1
