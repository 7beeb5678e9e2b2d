"""Groups of rows, gathered in few passes."""

import numpy as np

__all__ = ["takes"]

GATHERED_BYTES = 2**26


def takes(rows, groups):
    """Yield the rows of one group of indices after the other.

    A source that has to be read from its beginning gathers as many groups in one pass as fit into
    64 MB.
    """
    most = GATHERED_BYTES // (8 * max(1, rows.n_features))
    waiting, size = [], 0
    for group in groups:
        if waiting and (rows.random_access or size + len(group) > most):
            yield from _taken(rows, waiting)
            waiting, size = [], 0
        waiting.append(group)
        size += len(group)
    yield from _taken(rows, waiting)


def _taken(rows, groups):
    if groups:
        block = rows.take(np.concatenate(groups))
        yield from np.split(block, np.cumsum([len(group) for group in groups])[:-1])
