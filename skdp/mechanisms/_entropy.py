"""Where random words come from: the operating system, or a seed for tests and documentation."""

import os
from hashlib import shake_128

import numpy as np
from sklearn.utils import check_random_state

from skdp.utils._threads import is_at_rows

AT_ROWS = (
    "random words are drawn where releases are made, once: a statistic of rows may be computed "
    "anywhere, and again."
)


class SystemEntropy:
    """Cryptographic words; none is kept between calls, so forks, threads, copies share none."""

    seeded = False

    def words(self, n):
        """Return ``n`` fresh independent uniform words, an array of uint64."""
        _not_at_rows()
        return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)

    def __reduce__(self):
        return SystemEntropy, ()


class _Unpicklable:
    def __reduce_ex__(self, protocol):
        raise TypeError(
            f"{type(self).__name__} cannot be pickled or copied: the copy would repeat its words. "
            "Keep random_state as the parameter and call make_entropy where it is used."
        )


class SeededEntropy(_Unpicklable):
    """A reproducible stream of words (PCG64): who knows ``seed`` can subtract the noise."""

    seeded = True

    def __init__(self, seed):
        self._seed, self._stream = seed, np.random.PCG64(seed)

    def words(self, n):
        """Return the next ``n`` words of the stream, an array of uint64."""
        _not_at_rows()
        return self._stream.random_raw(n)


def make_entropy(random_state=None):
    """Return the source of words that a ``random_state`` parameter stands for.

    Parameters
    ----------
    random_state : None, int, numpy.random.RandomState or numpy.random.Generator, default=None
        None is the operating system, the only choice that protects anything. Everything else
        gives the same law from a seeded stream; an instance is advanced by the draw of the seed.

    Returns
    -------
    entropy : SystemEntropy or SeededEntropy

    See Also
    --------
    RowKeys, rounded_gaussian

    Notes
    -----
    **Privacy**: noise from a seed hides nothing from those who know or guess the seed; a fit with
    one warns, and its report says so.

    Examples
    --------
    >>> from skdp.mechanisms import make_entropy, rounded_laplace
    >>> one, two = (rounded_laplace(10.0, 3, make_entropy(0)) for _ in range(2))
    >>> bool((one == two).all())
    True
    """
    if random_state is None:
        return SystemEntropy()
    if isinstance(random_state, np.random.Generator):
        draw = random_state.integers
    else:
        draw = check_random_state(random_state).randint
    return SeededEntropy(int.from_bytes(draw(0, 2**32, size=4, dtype=np.uint32).tobytes()))


def spawned(entropy, name):
    """Return the source of words of one of several that run side by side.

    That of the operating system is its own. A seeded one is a function of the seed and the name
    alone, whatever has been drawn and whoever else there is; other names have other streams.
    """
    if not isinstance(entropy, SeededEntropy):
        return entropy
    words = shake_128(f"{entropy._seed}/{name}".encode()).digest(16)
    return SeededEntropy(int.from_bytes(words))


class RowKeys(_Unpicklable):
    """Independent uniform keys, one per row, that are never published.

    A key depends on a secret seed, its use and the row number alone, so it is alike for every
    chunking: SHAKE-128 in counter mode, seeded by four words of ``entropy``.

    Parameters
    ----------
    entropy : SystemEntropy or SeededEntropy
        Source of the secret seed, see :func:`make_entropy`.

    See Also
    --------
    make_entropy

    Notes
    -----
    **Privacy**: keys are independent of the rows; the proofs that use them need them to stay
    secret.

    Examples
    --------
    >>> from skdp.mechanisms import RowKeys, make_entropy
    >>> keys = RowKeys(make_entropy(0))
    >>> bool((keys.keys(0, 10)[4:] == keys.keys(4, 10)).all())  # whatever the blocks
    True
    """

    _BLOCK = 4096

    def __init__(self, entropy):
        self._seed = entropy.words(4).tobytes()

    def keys(self, start, stop, use=""):
        """Return the keys of rows ``start, ..., stop - 1``, an array of uint64.

        Every ``use``, a constant text, has keys of its own, independent of those of other uses.
        """
        _not_at_rows()
        start, stop = int(start), int(stop)
        if not 0 <= start <= stop:
            raise ValueError(f"keys needs 0 <= start <= stop; got start={start}, stop={stop}.")
        first, last = start // self._BLOCK, -(-stop // self._BLOCK)
        words = b"".join(
            shake_128(self._seed + block.to_bytes(8) + use.encode()).digest(8 * self._BLOCK)
            for block in range(first, last)
        )
        offset = first * self._BLOCK
        return np.frombuffer(words, dtype=np.uint64)[start - offset : stop - offset]


def _not_at_rows():
    """Raise RuntimeError in a statistic: a retry would draw another noise for the same budget."""
    if is_at_rows():
        raise RuntimeError(AT_ROWS)
