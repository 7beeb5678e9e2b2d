"""Functions of tables for RowMap: honest ones, and ones that do what they must not do.

All of them are functions of a module, so that what holds them can be pickled and compared.
"""

import warnings

import numpy as np
from scipy import sparse

BIG = 1e4
W = np.sin(np.arange(64.0)).reshape(8, 8)


def _array(X):
    return np.asarray(X, dtype=np.float64)


# Each row by itself, whatever the table.
def same(X):
    return X


def halve(X):
    return X / 2


def logarithm(X):
    return np.log(X)


def absolute(X):
    return np.abs(_array(X))


def squash(X):
    return np.arctan(_array(X))


def first_column(X):
    return X.iloc[:, :1] if hasattr(X, "iloc") else X[:, :1]


def cubes(X):
    Z = _array(X)
    return np.hstack([Z, Z**3])


def single(X):
    return _array(X).astype(np.float32)


def assigned(X):
    return X.assign(more=1.0)


def as_list(X):
    return _array(X).tolist()


def as_sparse(X):
    return sparse.csr_matrix(_array(X))


def as_frame(X):
    import pandas

    return pandas.DataFrame(_array(X)).add_prefix("z")


def flat(X):
    return _array(X)[:, 0]


# One row changes what becomes of the others.
def centre(X):
    return _array(X) - np.nanmean(_array(X), axis=0)


def zscore(X):
    Z = _array(X)
    return (Z - np.nanmean(Z, axis=0)) / (np.nanstd(Z, axis=0) + 1e-9)


def by_largest(X):
    return X / (1000.0 if _array(X).max() > 100 else 1.0)


def by_millions(X):
    return _array(X) / (1000.0 if _array(X).max() > 1e6 else 1.0)


def without_far(X):
    norms = np.sqrt((_array(X) ** 2).sum(axis=1))
    return np.where((norms > norms.mean() + 3 * norms.std())[:, None], 0.0, _array(X))


def first_decides(X):
    return np.vectorize(lambda x: 1 if x > 1 else x)(X)


def within_quartiles(X):
    low, high = np.percentile(_array(X), [25, 75], axis=0)
    return np.clip(_array(X), low - 1.5 * (high - low), high + 1.5 * (high - low))


def product(X):
    Z = _array(X)
    return Z @ W[: Z.shape[1] % 9, :3] if Z.shape[1] <= 8 else Z @ np.ones((Z.shape[1], 3)) / 3


def ranks(X):
    return np.argsort(np.argsort(_array(X), axis=0), axis=0)


def running_sum(X):
    return np.cumsum(_array(X), axis=0)


def in_order(X):
    return np.sort(_array(X), axis=0)


def codes(X):
    import pandas

    return pandas.DataFrame(X).apply(lambda c: c.astype("category").cat.codes)


def by_number(X):
    return _array(X) * (1 + len(X) % 2)


def found_type(X):
    return np.array(X.tolist() if hasattr(X, "tolist") else X)


def filled(X):
    import pandas

    return pandas.DataFrame(X).fillna(pandas.DataFrame(X).mean())


# The table that is given is written to.
def add_in_place(X):
    X += 1
    return X


def zero_in_place(X):
    X[:] = 0
    return X


# A row that is special makes them fail, or return another kind of thing.
def special(X):
    return not (np.abs(_array(X)) < BIG).all()


def fail_value(X):
    if special(X):
        raise ValueError(f"what is {X}?")
    return X


def fail_key(X):
    return np.array([[{True: 1.0}[bool(abs(x) < BIG)] for x in row] for row in _array(X)])


def fail_stop(X):
    if special(X):
        raise StopIteration(str(X))
    return _array(X)


def wider(X):
    return np.hstack([_array(X)] * 2) if special(X) else _array(X)


def nothing(X):
    return None if special(X) else _array(X)


def imaginary(X):
    return _array(X) * 1j if special(X) else _array(X)


def words(X):
    return _array(X).astype(str) if special(X) else _array(X)


def objects(X):
    return _array(X).astype(object) if special(X) else _array(X)


def dates(X):
    return _array(X).astype("M8[D]") if special(X) else _array(X)


def sparse_if_special(X):
    return sparse.csr_matrix(_array(X)) if special(X) else _array(X)


def frame_if_special(X):
    return as_frame(X) if special(X) else _array(X)


def fewer(X):
    return _array(X)[:-1] if special(X) else _array(X)


def scalar(X):
    return 1.0


def cube(X):
    return _array(X)[:, :, None]


def warn(X):
    if special(X):
        warnings.warn(f"look at {X}", stacklevel=2)
    return _array(X)


class Counter:
    """Keeps a state between calls: no library can see that, and the guide says so."""

    def __init__(self):
        self.total = 0.0

    def __call__(self, X):
        self.total += float(np.nansum(_array(X)))
        return _array(X) + self.total


def score_row(model, x, y):
    """Return a score of a row for a RowScorer, 0 if the model does not take it."""
    if not hasattr(model, "transform"):
        return 0.0
    return float(np.nan_to_num(np.ravel(model.transform(x))[0]))


HONEST = (
    same,
    absolute,
    halve,
    squash,
    logarithm,
    first_column,
    cubes,
    single,
    assigned,
    as_list,
    as_sparse,
    as_frame,
    flat,
)
MIXING = (
    centre,
    zscore,
    by_largest,
    by_millions,
    without_far,
    first_decides,
    within_quartiles,
    product,
    ranks,
    running_sum,
    in_order,
    codes,
    by_number,
    found_type,
    filled,
)
WRITING = (add_in_place, zero_in_place)
FAILING = (
    fail_value,
    fail_key,
    fail_stop,
    wider,
    nothing,
    imaginary,
    words,
    objects,
    dates,
    sparse_if_special,
    frame_if_special,
    fewer,
    scalar,
    cube,
    warn,
)
