"""Parities of binary attributes, the queries of the paper, in place of residuals."""

import numpy as np

from skdp.marginals._residuals import transform


def uniform_shares(layout):
    """Return equal shares for a ``layout``: of binary ones the same noise in every parity.

    This makes the largest noise of a parity smallest, as the shares ``1 / s_T`` sum to a constant.

    Parameters
    ----------
    layout : Layout

    Returns
    -------
    shares : ndarray of shape (n_sets,)

    See Also
    --------
    skdp.MarginalReleaser, skdp.marginals.Layout

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.marginals import Layout
    >>> from skdp.marginals.published import uniform_shares
    >>> layout = Layout((2, 2), (np.zeros((1, 0), int), np.array([[0], [1]]), np.array([[0, 1]])))
    >>> uniform_shares(layout).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    return np.full(len(layout.lengths), 1 / len(layout.lengths))


def walsh_hadamard(arrays):
    """Return sums of entries with the signs of parities, over all axes but the first.

    Of tables of shape (m, 2, ..., 2) these are the parities of all subsets of the axes (index 1:
    in the set), for x = 1 - 2 bit; of parities, 2^k times the tables. Exact for integers, and for
    arrays of Python integers or Fractions.

    Parameters
    ----------
    arrays : ndarray of shape (m, 2, ..., 2)

    Returns
    -------
    sums : ndarray of the same shape

    See Also
    --------
    to_parities

    Notes
    -----
    **Privacy**: exact: as private as what it is given, and free of cost for what is released.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.marginals.published import walsh_hadamard
    >>> walsh_hadamard(np.array([[[4, 3], [2, 1]]])).tolist()
    [[[10, 2], [4, 0]]]
    """
    signs = np.array([[1, 1], [1, -1]], dtype=arrays.dtype)
    return transform(arrays, [signs] * (arrays.ndim - 1))


def to_parities(layout, values):
    """Return the parities of a binary ``layout`` from residuals: ``values`` times 2^(|T| / 2).

    Parameters
    ----------
    layout : Layout
        Of binary attributes.
    values : ndarray of shape (n_sets,)
        Residuals, in rows.

    Returns
    -------
    parities : ndarray of shape (n_sets,)

    See Also
    --------
    from_parities, walsh_hadamard

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.marginals import Layout
    >>> from skdp.marginals.published import to_parities
    >>> layout = Layout((2,), (np.zeros((1, 0), int), np.array([[0]])))
    >>> to_parities(layout, np.array([10.0, 2.0])).round(3).tolist()
    [10.0, 2.828]
    """
    return values * np.sqrt(2.0**layout.orders)


def from_parities(layout, parities):
    """Return the residuals of a binary ``layout`` from ``parities``, by :func:`to_parities`.

    Parameters
    ----------
    layout : Layout
        Of binary attributes.
    parities : ndarray of shape (n_sets,)

    Returns
    -------
    values : ndarray of shape (n_sets,)
        Residuals, in rows.

    See Also
    --------
    to_parities

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.marginals import Layout
    >>> from skdp.marginals.published import from_parities, to_parities
    >>> layout = Layout((2,), (np.zeros((1, 0), int), np.array([[0]])))
    >>> from_parities(layout, to_parities(layout, np.array([10.0, 2.0]))).round(3).tolist()
    [10.0, 2.0]
    """
    return parities / np.sqrt(2.0**layout.orders)
