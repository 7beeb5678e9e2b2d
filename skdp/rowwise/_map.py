"""One way of mapping rows: a row that fails is absent, and nothing of it decides on another."""

import numpy as np
from sklearn import preprocessing
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer as _SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.rowwise._form import N_TAME, FormError, as_table, dummy_rows, form_of
from skdp.rowwise._groups import anew
from skdp.utils._compat import safe_indexing
from skdp.utils._config import get_config
from skdp.utils._threads import quiet

BLOCK_ROWS = 2**14
ALIGNED = 64  # bytes: every row lies alike in memory, whatever is beside it


def is_elementwise(func):
    """Return whether a function is a ufunc that reads one entry for each that it returns.

    One with a signature reads whole columns, one of several arguments or results returns no table,
    and one of objects alone, as of :func:`numpy.frompyfunc`, is a function of Python, which may
    keep a memory of the entries before. All of these are functions like any other.
    """
    if type(func) is not np.ufunc or func.signature is not None:
        return False
    return (func.nin, func.nout) == (1, 1) and func.types != ["O->O"]


def map_rows(func, X, form, *, at_once=False):
    """Return what ``func`` makes of every row.

    Notes
    -----
    **Privacy**: row i of the result is a function of row i of X and of ``form``, which is public:
    the call for it sees a copy of it, at the same place of memory modulo 64 bytes, without its
    number and without its index. A row on which ``func`` raises an exception, or returns what is
    not of the form, is missing in the result (NaN), and decides on nothing else: be it an exit or
    a panic of foreign code, all but KeyboardInterrupt, which is the user's. In the private
    part of a fit, under ``invalid_rows="ignore"``, this holds silently; else the caller holds the
    data, and is told by an exception that quotes nothing. With ``at_once``, halves of a block that
    fails are tried by themselves, which changes nothing for the rows of a row-wise function.
    Assumed of functions of the user: they keep no memory of earlier calls, and reach for no other
    data.
    """
    A = form.missing(X.shape[0])
    with np.errstate(all="ignore"), quiet():
        for start in range(0, len(A), BLOCK_ROWS):
            block, out = _rows(X, start, start + BLOCK_ROWS), A[start : start + BLOCK_ROWS]
            if at_once:
                _fill(func, block, form, out)
            else:
                _fill_each(func, block, form, out)
    return form.table(A, X)


def each_row(func, X, *others, failures=None, width=None):
    """Return ``func(row, *entries)``, a number, for every row with its entries; NaN if it fails.

    With a ``width`` it returns so many numbers for a row. As for :func:`map_rows`, a row decides on
    its own numbers only; a failure is silent. The exceptions are added to the list ``failures``, if
    given, which is as private as the rows.
    """
    values = np.full((X.shape[0], *(() if width is None else (width,))), np.nan)
    with np.errstate(all="ignore"), quiet():
        for start in range(0, len(values), BLOCK_ROWS):
            block = _rows(X, start, start + BLOCK_ROWS)
            for i, row in enumerate(_each(block), start):
                try:
                    values[i] = func(row, *(other[i] for other in others))
                except KeyboardInterrupt:  # of the user
                    raise
                except BaseException as error:
                    if failures is not None:
                        failures.append(error)
    return values


def _fill(func, block, form, out):
    failure = None
    try:
        array = isinstance(block, np.ndarray) and block.dtype == out.dtype
        if array and is_elementwise(func):
            func(np.ascontiguousarray(block), out=out, casting="unsafe")
        else:
            out[:] = form.array(func(_copy(block)), len(out))
    except KeyboardInterrupt:  # of the user
        raise
    except BaseException as error:
        failure = error
    if failure is None:
        return
    _refuse(failure)
    if len(out) == 1:
        out[:] = form.missing(1)
        return
    half = len(out) // 2
    _fill(func, _rows(block, 0, half), form, out[:half])
    _fill(func, _rows(block, half, len(out)), form, out[half:])


def _fill_each(func, block, form, out):
    shape, dtype = (1, out.shape[1]), out.dtype
    mixed = dtype.kind == "O" and form.frame is not None
    for i, row in enumerate(_each(block)):
        failure = None
        try:
            Z = func(row)
            plain = type(Z) is np.ndarray and Z.dtype is dtype and Z.shape == shape
            out[i] = Z if plain and not mixed else form.array(Z, 1)
        except KeyboardInterrupt:  # of the user
            raise
        except BaseException as error:
            failure = error
        if failure is not None:
            _refuse(failure)


def _refuse(error):
    """Pass over the failure of a row in silence, or tell a caller who holds the data.

    Called after the ``except`` block: what is raised inside it would carry the error along.
    """
    config = get_config()
    if config["invalid_rows"] == "ignore":
        return
    if config["debug"]:
        raise error
    if isinstance(error, FormError):
        raise ValueError(
            "a function of rows returned something else for a row than for made-up rows: another "
            "number of rows or columns, or text in place of numbers. For every table of one row it "
            "must return a table of one row, with NaN where there is nothing to return. Under "
            'skdp.config_context(invalid_rows="ignore") such rows count as absent.'
        )
    raise ValueError(
        f"a function of rows failed on a row with {type(error).__name__}. What it says could quote "
        "the row and is not shown; skdp.config_context(debug=True) shows it. Let the function "
        "return NaN for such rows (an encoder: handle_unknown), or set "
        'skdp.config_context(invalid_rows="ignore"), where they count as absent.'
    )


def _rows(X, start, stop):
    if hasattr(X, "iloc"):
        return X.iloc[start:stop]
    return X[start:stop]


def _copy(block):
    if hasattr(block, "clear"):  # polars frames cannot be written to
        return block
    return block.copy() if hasattr(block, "iloc") else np.array(block, order="C")


def _each(block):
    """Yield the rows of a block, tables of one row, each a copy that nothing else uses."""
    n = block.shape[0]
    if hasattr(block, "iloc"):
        yield from _each_of_frame(block)
    elif hasattr(block, "columns"):
        for i in range(n):
            yield anew(block[i : i + 1])
    else:
        rows = _aligned_copy(block)
        yield from (rows[i : i + 1] for i in range(n))


def _each_of_frame(block):
    """Yield the rows of a block of pandas, each in memory of its own, with index 0."""
    n, columns, frame = len(block), block.columns, type(block)
    if _one_type(block):
        rows = _aligned_copy(block.to_numpy())
        for i in range(n):
            yield frame(rows[i : i + 1], columns=columns.view(), copy=False)
        return
    block.attrs = {}
    first = block.iloc[:1].reset_index(drop=True).index
    for i in range(n):
        row = block.iloc[i : i + 1].copy()
        row.index = first.view()
        yield row


def _one_type(block):
    """Return whether all columns are numbers of one type of numpy."""
    types = set(block.dtypes)
    return len(types) == 1 and all(isinstance(t, np.dtype) and t.kind in "fiub" for t in types)


def _aligned_copy(block):
    """Return a copy whose rows begin at multiples of 64 bytes."""
    n, d = block.shape
    if block.dtype.itemsize not in (1, 2, 4, 8) or block.dtype.hasobject:
        return np.array(block, order="C")
    per_row = -(-max(d, 1) * block.dtype.itemsize // ALIGNED) * ALIGNED // block.dtype.itemsize
    room = np.empty(n * per_row + ALIGNED // block.dtype.itemsize, dtype=block.dtype)
    first = -room.ctypes.data % ALIGNED // block.dtype.itemsize
    rows = room[first : first + n * per_row].reshape(n, per_row)[:, :d]
    rows[:] = block
    return rows


MANY = 3001
MIXES, ROUNDS, SAME = "mixes rows", "same up to rounding", "same"


def detect_row_mixing(func, X):
    """Compare what ``func`` makes of public rows together, by themselves, and in another order.

    The first rows alone as well, which are finite: NaN can hide what a function does.

    Bits matter: a matrix product gives a row other last bits among other rows, and rows are
    rounded to a grid before they are counted; a row whose bits depend on another row breaks the
    proof of every sensitivity after it.
    """
    verdicts = [_probe(func, X), _probe(func, _take(X, range(min(N_TAME, X.shape[0]))))]
    return next((v for v in (MIXES, None, ROUNDS) if v in verdicts), SAME)


def _probe(func, X):
    n = X.shape[0]
    order = np.resize(np.concatenate([np.arange(1, n), [0, 0]]), MANY)
    try:
        with np.errstate(all="ignore"), quiet():
            whole = as_table(func(_take(X, range(n))), n)
            alone = [as_table(func(_take(X, [i])), 1) for i in range(n)]
            if {row.shape for row in alone} != {(1, whole.shape[1])}:
                return MIXES
            alone = np.concatenate(alone)
            parts = [as_table(func(_take(X, range(k))), k) for k in (2, 3, 5, 17) if k <= n]
            moved = as_table(func(_take(X, order)), len(order))
    except KeyboardInterrupt:  # of the user
        raise
    except BaseException:
        return None
    pairs = [(alone, whole), (moved, whole[order]), *((part, whole[: len(part)]) for part in parts)]
    if all(_same(a, b) for a, b in pairs):
        return SAME
    return ROUNDS if all(_near(a, b) for a, b in pairs) else MIXES


def _take(X, index):
    return safe_indexing(X, [int(i) for i in index])


def _same(a, b):
    if a.dtype.kind == "O" or a.dtype.kind != b.dtype.kind:
        return _equal_entries(a, b)
    if a.dtype.kind == "f":
        a, b = (np.where(np.isnan(Z), np.nan, Z) + 0.0 for Z in (a, b))  # one NaN, one zero
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def _near(a, b):
    if a.dtype.kind != "f" or b.dtype.kind != "f":
        return a.dtype.kind in "fiub" and b.dtype.kind in "fiub" and np.array_equal(a, b)
    return bool(np.allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=True))


def _equal_entries(a, b):
    """Compare objects; one that does not equal itself, as NaN, is like any other such."""
    return a.shape == b.shape and all(
        _missing(x) and _missing(y) if _missing(x) or _missing(y) else x == y
        for x, y in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    )


def _missing(x):
    return x is None or (x == x) is not True


class ByRows:
    """A transformer that learns from types alone, and to which a row is a matter of its own.

    In front of a class of scikit-learn it changes nothing but this: ``fit`` reads made-up rows of
    the columns and types of X, and a row on which ``transform`` fails decides on nothing else.
    """

    row_wise_of = None

    def fit(self, X, y=None):
        """Learn the columns of X and their types; no row is looked at."""
        rows = dummy_rows(X if hasattr(X, "dtype") or hasattr(X, "columns") else np.asarray(X))
        super().fit(safe_indexing(rows, [0]))
        self._form = form_of(super().transform, rows, trusted=True)
        return self

    def transform(self, X):
        """Map every row by itself."""
        check_is_fitted(self)
        X = X if hasattr(X, "shape") else np.asarray(X)
        return map_rows(super().transform, X, self._form, at_once=True)

    def fit_transform(self, X, y=None):
        """Fit, then map every row by itself."""
        return self.fit(X).transform(X)


def _by_rows(cls):
    space = {"__module__": __name__, "__doc__": ByRows.__doc__, "row_wise_of": cls}
    return type(cls.__name__, (ByRows, cls), space)


class _Rows(preprocessing.Normalizer):
    """Divides rows by norms of numbers that lie side by side.

    A sum over a column-major table, as frames give it, has other last bits for a single row.
    """

    def transform(self, X):
        """Scale every row to unit norm."""
        A = validate_data(
            self, X, dtype=[np.float64, np.float32], reset=False, order="C", copy=True
        )
        return preprocessing.normalize(A, norm=self.norm, copy=False)


Binarizer = _by_rows(preprocessing.Binarizer)
Normalizer = type(
    "Normalizer", (ByRows, _Rows), {"__module__": __name__, "row_wise_of": preprocessing.Normalizer}
)
PolynomialFeatures = _by_rows(preprocessing.PolynomialFeatures)
OneHotEncoder = _by_rows(preprocessing.OneHotEncoder)
OrdinalEncoder = _by_rows(preprocessing.OrdinalEncoder)
SimpleImputer = _by_rows(_SimpleImputer)

BY_ROWS = {
    cls.row_wise_of: cls
    for cls in (
        Binarizer,
        Normalizer,
        PolynomialFeatures,
        OneHotEncoder,
        OrdinalEncoder,
        SimpleImputer,
    )
}

# Fitted, these work entry by entry: the result for a row has the same bits in every table.
ENTRY_BY_ENTRY = {
    preprocessing.Binarizer,
    preprocessing.MaxAbsScaler,
    preprocessing.MinMaxScaler,
    preprocessing.OneHotEncoder,
    preprocessing.OrdinalEncoder,
    preprocessing.PolynomialFeatures,
    preprocessing.RobustScaler,
    preprocessing.StandardScaler,
}
CONTAINERS = {
    ColumnTransformer: "transformers_",
    FeatureUnion: "transformer_list",
    Pipeline: "steps",
}


def by_rows(step):
    """Let a step of scikit-learn, which must be row-wise, treat rows as :class:`ByRows` says."""
    cls = BY_ROWS.get(type(step))
    if cls is not None:
        step.__class__ = cls
    return step


def maps_rows_at_once(transformer):
    """Return whether a fitted transformer is known to map rows by themselves when given many."""
    if isinstance(transformer, str):
        return True  # "passthrough", "drop"
    if type(transformer) in CONTAINERS:
        parts = getattr(transformer, CONTAINERS[type(transformer)])
        return all(maps_rows_at_once(part[1]) for part in parts)
    if type(transformer) is preprocessing.FunctionTransformer:
        return transformer.func is None
    if any(map(_beyond_floats, getattr(transformer, "categories_", ()))):
        return False  # a column of integers with a gap is read as floats, which would merge them
    return type(transformer) in ENTRY_BY_ENTRY or isinstance(transformer, ByRows)


def _beyond_floats(categories):
    return categories.dtype.kind in "iu" and bool(np.any(np.abs(categories.astype(float)) >= 2**53))
