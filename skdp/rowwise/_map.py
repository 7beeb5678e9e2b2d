"""One way of mapping rows: a row that fails is absent, and nothing of it decides on another."""

import numpy as np

from skdp.rowwise._form import FormError
from skdp.utils._config import get_config
from skdp.utils._threads import quiet

__all__ = ["each_row", "is_elementwise", "map_rows"]

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
            yield block[i : i + 1]
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
