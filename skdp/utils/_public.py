"""Public randomness: choices that need not be secret and must not depend on the rows."""

from hashlib import shake_128

import numpy as np
from sklearn.utils import check_random_state

from skdp.utils._numbers import plain


def public_seed(random_state):
    """Return the seed of public choices for a ``random_state`` parameter, 0 for None."""
    if random_state is None:
        return 0
    return int(check_random_state(random_state).randint(2**31 - 1))


def public_words(n, *key):
    """Return n words, an array of uint64: a function of ``key``, numbers and texts, alone."""
    text = repr(plain(key)).encode()  # of Python's numbers: those of numpy show their type
    return np.frombuffer(shake_128(text).digest(8 * int(n)), dtype=np.uint64)
