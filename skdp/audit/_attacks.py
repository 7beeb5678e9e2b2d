"""Attacks that a released float has to withstand."""

import numpy as np

from skdp.audit._bounds import epsilon_lower_bound

__all__ = ["precision_attack"]


def precision_attack(sampler, *, confidence=0.999):
    """Attack the low bits of released floats.

    Parameters
    ----------
    sampler : callable
        ``sampler(value)`` returns an array of independent releases of the number ``value``.
    confidence : float, default=0.999
        Probability with which the bound holds.

    Returns
    -------
    epsilon_lower : float
        Lower bound on the epsilon between the values 0 and 1. It is 0 for noise on a grid and
        limited by the number of draws alone for ``value + float_noise``.

    See Also
    --------
    audit, skdp.mechanisms.rounded_laplace

    Notes
    -----
    The event is "abs(y) < 1/4 and y is no multiple of 2^-53". Floats near 0 are finer than that,
    but 1 + noise near 0 has noise near -1, whose floats, like their sums with 1, are multiples of
    2^-53 (Mironov, "On significance of the least significant bits for differential privacy", 2012).

    **Privacy**: none: for samplers of made-up numbers alone.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import precision_attack
    >>> rng = np.random.default_rng(0)
    >>> bool(precision_attack(lambda value: value + rng.laplace(size=20000)) > 4)
    True
    """

    def count(value):
        y = np.asarray(sampler(value), dtype=np.float64)
        return np.sum((np.abs(y) < 0.25) & (np.rint(y * 2.0**53) != y * 2.0**53)), y.size

    return epsilon_lower_bound(*count(0.0), *count(1.0), confidence=confidence)
