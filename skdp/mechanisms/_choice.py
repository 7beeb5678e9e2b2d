"""The exponential mechanism in integer arithmetic."""

from fractions import Fraction

import numpy as np

from skdp.mechanisms._exact import exact


def exponential_choice(scores, rate, entropy):
    """Draw an index i with probability exactly proportional to ``exp(rate * scores[i])``.

    Parameters
    ----------
    scores : array-like of int of shape (n_candidates,)
        Not empty; TypeError if not integers.
    rate : Fraction
        Non-negative and finite, else ValueError; an int or float is taken exactly.
    entropy : SystemEntropy or SeededEntropy
        Source of random words, see `make_entropy`.

    See Also
    --------
    make_entropy, skdp.sensitivity.personal_select

    Notes
    -----
    **Privacy.** If adding or removing one row moves every score by at most D, the choice costs
    epsilon = 2 D rate, and D rate when all scores move in one direction (McSherry and Talwar 2007).
    A uniform index is kept with probability exp(-rate (max - score)), drawn exactly, else drawn
    anew, so the kept one has the stated law; at most ``n_candidates`` trials are expected.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from skdp.mechanisms import exponential_choice, make_entropy
    >>> exponential_choice([0, 100, 0], Fraction(1, 2), make_entropy(0))
    1
    """
    scores = np.asarray(scores)
    if scores.ndim != 1 or scores.size == 0:
        raise ValueError(f"scores must have shape (n_candidates,), not empty; got {scores.shape}.")
    if scores.dtype.kind not in "iu":
        raise TypeError(f"scores must be integers, got dtype {scores.dtype}; put them on a grid.")
    if not 0 <= rate < float("inf"):
        raise ValueError(f"rate must be non-negative and finite, got {rate}.")
    rate, best = exact(rate), int(scores.max())
    while True:
        index = _randbelow(scores.size, entropy)
        if _bernoulli_exp(rate * (best - int(scores[index])), entropy):
            return index


def _bernoulli_exp(gamma, entropy):
    """Return True with probability exp(-gamma) (Canonne, Kamath and Steinke 2020, Algorithm 1)."""
    whole = gamma.numerator // gamma.denominator
    parts = (Fraction(1) if i < whole else gamma - whole for i in range(whole + 1))
    return all(_bernoulli_exp_small(part, entropy) for part in parts)


def _bernoulli_exp_small(gamma, entropy):
    k = 1
    while _randbelow(k * gamma.denominator, entropy) < gamma.numerator:  # Bernoulli(gamma / k)
        k += 1
    return k % 2 == 1


def _randbelow(n, entropy):
    """Return a uniform integer in {0, ..., n - 1}, by rejection."""
    n_bits = (n - 1).bit_length()
    n_words = -(-n_bits // 64)
    while True:
        draw = int.from_bytes(entropy.words(n_words).tobytes(), "little") >> (64 * n_words - n_bits)
        if draw < n:
            return draw
