"""Tables of odd types, and rows that neighbours have in addition.

A table is made of a kind, its schema, and of rows, tuples of Python values that the kind can hold:
two neighbours are two calls of :func:`table` with the same kind, so their schemas are the same.
"""

import datetime
import math

import numpy as np
from scipy import sparse

DIGITS = 0.00731337  # in every number: a message that shows an entry shows these digits
SIGNS = ("73133", "Canary")
COLORS = ("red", "green", "blue")
DAY = datetime.datetime(2020, 1, 1)
INTEGERS = {
    "i1": (-(2**7), 2**7 - 1),
    "i2": (-(2**15), 2**15 - 1),
    "i4": (-(2**31), 2**31 - 1),
    "i8": (-(2**63), 2**63 - 1),
    "u1": (0, 2**8 - 1),
    "u8": (0, 2**64 - 1),
}
FLAVOURS = ("plain", "ties", "twins", "spread", "huge", "gaps", "infinite")
HOSTILE = ("far", "twin", "nan", "huge", "missing", "word", "inf", "zero", "canary", "least")


def _numpy(dtype, order="C"):
    return lambda rows, d: np.array(rows, dtype=dtype, order=order).reshape(len(rows), d)


def _columns(rows, d):
    return [[row[j] for row in rows] for j in range(d)]


def _pandas(*dtypes, names="abcd", index=None):
    def make(rows, d):
        import pandas

        columns = [
            pandas.Series(column, dtype=_dtype(dtypes[j % len(dtypes)]))
            for j, column in enumerate(_columns(rows, d))
        ]
        frame = pandas.concat(columns, axis=1)
        frame.columns = list(names[:d])
        if index is not None:
            frame.index = [index(i) for i in range(len(frame))]
        return frame

    return make


def _dtype(name):
    import pandas

    if name == "category":
        return pandas.CategoricalDtype(list(COLORS))
    return name


def _polars(*dtypes):
    def make(rows, d):
        import polars

        chosen = [getattr(polars, dtypes[j % len(dtypes)]) for j in range(d)]
        return polars.DataFrame(
            {
                "abcd"[j]: polars.Series(column, dtype=chosen[j], strict=False)
                for j, column in enumerate(_columns(rows, d))
            },
        )

    return make


def _one_dimension(rows, d):
    return np.array([row[0] for row in rows], dtype=np.float64)


def _compressed(rows, d):
    return sparse.csr_matrix(np.array(rows, dtype=np.float64).reshape(len(rows), d))


def _cube(rows, d):
    return np.array(rows, dtype=np.float64).reshape(len(rows), d, 1)


# Kind -> (what the columns hold, in turn; how the table is made).
KINDS = {
    "float64": (("float",), _numpy("f8")),
    "pandas": (("float",), _pandas("f8")),
    "int64": (("i4",), _numpy("i8")),
    "float32": (("float",), _numpy("f4")),
    "object": (("anything",), _numpy(object)),
    "pandas mixed": (("float", "text"), _pandas("f8", object)),
    "pandas Int64": (("i4?",), _pandas("Int64")),
    "pandas Float64": (("float?",), _pandas("Float64")),
    "pandas boolean": (("bool?",), _pandas("boolean")),
    "polars": (("float",), _polars("Float64")),
    "polars Int64": (("i4?",), _polars("Int64")),
    "polars mixed": (("float", "text"), _polars("Float64", "String")),
    "bool": (("bool",), _numpy(bool)),
    "int8": (("i1",), _numpy("i1")),
    "int16": (("i2",), _numpy("i2")),
    "int32": (("i4",), _numpy("i4")),
    "wide int64": (("i8",), _numpy("i8")),
    "uint8": (("u1",), _numpy("u1")),
    "uint64": (("u8",), _numpy("u8")),
    "float128": (("float",), _numpy("g")),
    "column-major": (("float",), _numpy("f8", "F")),
    "list": (("float",), lambda rows, d: [list(row) for row in rows]),
    "one dimension": (("float",), _one_dimension),
    "three dimensions": (("float",), _cube),
    "sparse": (("float",), _compressed),
    "complex": (("float",), _numpy("c16")),
    "date": (("date",), _numpy("M8[us]")),
    "words": (("text",), _numpy("U12")),
    "pandas float32": (("float",), _pandas("f4", "f8")),
    "pandas int": (("i4", "bool", "float"), _pandas("i4", bool, "f8")),
    "pandas int only": (("i4",), _pandas("i8")),
    "pandas words": (("text",), _pandas(object)),
    "pandas string": (("float", "text"), _pandas("f8", "string")),
    "pandas category": (("float", "colour"), _pandas("f8", "category")),
    "pandas object": (("anything",), _pandas(object)),
    "pandas date": (("float", "date"), _pandas("f8", "datetime64[ns]")),
    "pandas arrow": (("float?", "i4?"), _pandas("double[pyarrow]", "int64[pyarrow]")),
    "pandas twins": (("float",), _pandas("f8", names="aabb")),
    "pandas numbers": (("float",), _pandas("f8", names=(0, 1, 2, 3))),
    "pandas both": (("float",), _pandas("f8", names=("a", 1, "c", 3))),
    "pandas index": (("float",), _pandas("f8", index=lambda i: i // 2)),
    "polars bool": (("bool?", "float?"), _polars("Boolean", "Float32")),
    "polars date": (("float", "date"), _polars("Float64", "Datetime")),
}


def table(kind, rows, n_columns):
    """Return a table of a kind."""
    with np.errstate(all="ignore"):
        return KINDS[kind][1](rows, n_columns)


def rows_of(kind, n, n_columns, flavour="plain", seed=0):
    """Return ``n`` rows, tuples of values, that a table of the kind can hold."""
    rng = np.random.default_rng([seed, len(flavour), n])
    holds = KINDS[kind][0]
    columns = [_values(holds[j % len(holds)], n, flavour, rng) for j in range(n_columns)]
    rows = list(zip(*columns, strict=True))
    return [rows[i // 2] for i in range(n)] if flavour == "twins" else rows


def hostile_row(kind, rows, n_columns, how):
    """Return a row of a kind that is hostile in some way, or like the first of ``rows``."""
    if how == "twin" and rows:
        return rows[0]
    holds = KINDS[kind][0]
    return tuple(_hostile(holds[j % len(holds)], how) for j in range(n_columns))


def _values(what, n, flavour, rng):
    what = what.rstrip("?")
    if what in ("text", "colour"):
        return [COLORS[i] for i in (rng.random(n) ** 2 * 3).astype(int)]
    if what == "bool":
        return [bool(x) for x in rng.random(n) < (0.05 if flavour == "ties" else 0.4)]
    if what == "date":
        return [DAY + datetime.timedelta(days=int(x)) for x in rng.integers(0, 99, n)]
    x = rng.normal(size=n) + 5.0 * rng.integers(0, 2, n)
    if flavour == "ties":
        x = np.where(rng.random(n) < 0.95, 3.0, x)
    if flavour == "spread":
        x = np.exp(3 * x)
    if what in INTEGERS:
        low, high = INTEGERS[what]
        return [min(max(int(v), low), high) for v in np.round(2 * x)]
    x = np.round(x, 2) + DIGITS
    x = x * 1e200 if flavour == "huge" else x
    if flavour in ("gaps", "infinite"):
        x[rng.random(n) < 0.2] = np.nan if flavour == "gaps" else np.inf
    return [float(v) for v in x]


def _hostile(what, how):
    what, may_lack = what.rstrip("?"), what.endswith("?")
    if how in ("nan", "missing") and (may_lack or what in ("text", "colour", "date")):
        return None
    if what == "text":
        return {"zero": "", "word": "n/a Canary", "twin": COLORS[0]}.get(how, "Canary")
    if what == "colour":
        return COLORS[0]
    if what == "bool":
        return how != "zero"
    if what == "date":
        far = datetime.timedelta(days=80000)
        return DAY + (far if how in ("far", "huge", "canary") else far * 0)
    number = {
        "far": 1e6 + DIGITS,
        "twin": 1.0,
        "nan": math.nan,
        "missing": math.nan,
        "huge": 1e300,
        "inf": math.inf,
        "zero": 0.0,
        "canary": 73133.7,
        "least": -1e300,
        "tiny": 1e-300,
    }
    if what in INTEGERS:
        low, high = INTEGERS[what]
        x = number.get(how, 73133.0)
        x = 0 if math.isnan(x) else high if x > high else low if x < low else int(x)
        return min(max(x, low), high)
    if what == "anything" and how in ("word", "missing"):
        return "n/a Canary" if how == "word" else _missing()
    return number.get(how, -73133.7)


def _missing():
    import pandas

    return pandas.NA


def written(X):
    """Return a text that changes if any entry, name or type of a table does."""
    if sparse.issparse(X):
        return repr((X.shape, X.data.tolist(), X.indices.tolist()))
    if hasattr(X, "dtypes"):  # a frame of pandas or polars
        names = list(X.columns)
        if hasattr(X, "iloc"):
            columns = [X.iloc[:, j].tolist() for j in range(len(names))]
            return repr((names, [str(t) for t in X.dtypes], columns, list(X.index)))
        return repr((names, X.dtypes, [X[name].to_list() for name in names]))
    return repr((getattr(X, "dtype", None), X.tolist() if hasattr(X, "tolist") else X))
