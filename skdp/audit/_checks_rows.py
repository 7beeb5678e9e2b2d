"""Checks of what rows may do to a fit."""

import gc
import pickle
import warnings
import weakref

import numpy as np
import sklearn
from sklearn.utils import get_tags

from skdp._config import config_context
from skdp.audit._checks_common import (
    fitted,
    released,
    require,
    small_table,
    table,
    unflagged,
    values,
)
from skdp.audit._draw import Draw
from skdp.audit._observe import audited_clone
from skdp.audit._transcript import FixedKeys

MAY_BE_INFINITE = (
    "noise_scale_",
    "clipping_bound_",
    "core_noise_",
    "sure_",
)  # "nothing is known" is an answer


def check_invalid_rows_are_absent(name, estimator, X=None):
    """Check that a row with NaN or infinity is no row, under every switch (row 1)."""
    if get_tags(estimator).input_tags.allow_nan:
        return  # NaN is a value to it
    rows = small_table(X)
    bad, keys = rows, Draw("keys").words(len(rows) + 3)
    where = [0, len(rows) // 2, len(rows)]
    for i, x in zip(where, (np.nan, np.inf, -np.inf), strict=True):
        bad = np.insert(bad, i, rows[0], axis=0)
        bad[i, -1] = x
    valid = np.isfinite(bad).all(axis=1)
    want = values(estimator, bad[valid], FixedKeys(keys[valid]))
    with config_context(invalid_rows="ignore"):
        got = values(estimator, bad, FixedKeys(keys))
    require(got == want, f"{name}: a row with NaN counts under invalid_rows='ignore'.")
    with sklearn.config_context(assume_finite=True):
        got = values(estimator, bad, FixedKeys(keys))
    require(got == want, f"{name}: a row with NaN counts under assume_finite.")


def hostile_tables(X):
    """Yield (name, table): few rows, many columns, degenerate columns, the ends of float64."""
    d = X.shape[1]
    yield "no rows", X[:0]
    yield "one row", X[:1]
    yield "two rows", X[:2]
    yield "rows all alike", np.repeat(X[:1], 50, axis=0)
    yield "zeros", np.zeros((50, d))
    yield "constant columns", np.where(np.arange(d) == d - 1, X, 7.0)
    yield "collinear columns", X[:, :1] * np.arange(1.0, d + 1)
    yield "the largest floats", np.full((50, d), np.finfo(float).max)
    yield "both ends", np.where(np.arange(50)[:, None] % 2, 1.0, -1.0) * np.full((50, d), 1e308)
    yield "subnormal numbers", np.full((50, d), 5e-324)
    yield "one huge row", np.concatenate([X, np.full((1, d), 1e300)])
    yield "more columns than rows", np.tile(X[:3], 5)


def check_always_answers(name, estimator, X=None):
    """Check that degenerate tables give finite answers without a word (2, 3, 4, 19, 20)."""
    for kind, rows in hostile_tables(small_table(X)):
        if not _fits(estimator, rows.shape[1]):
            continue
        with unflagged(), config_context(invalid_rows="ignore"):
            warnings.filterwarnings("error", category=RuntimeWarning)
            try:
                fit = audited_clone(estimator).fit(rows)
            except Exception as error:
                text = f"{name}: {kind}: the fit raises {type(error).__name__}."
            else:
                text = None
        require(text is None, text)
        for attribute, value in released(fit).items():
            try:
                numbers = np.asarray(value, dtype=np.float64)
            except (TypeError, ValueError):
                continue
            fine = not np.isnan(numbers).any()
            if not attribute.endswith(MAY_BE_INFINITE):
                fine = fine and np.isfinite(numbers).all()
            require(fine, f"{name}: {kind}: {attribute} is not finite.")


def _fits(estimator, n_features):
    """Tell whether public parameters fit a number of columns: 10 bins in 15 columns do not."""
    try:
        estimator._check_public(n_features)
    except ValueError:
        return False
    return True


def check_types_and_layouts(name, estimator, X=None):
    """Check that equal rows give equal values in any type, layout and order (6, 8, 25)."""
    rows = np.rint(np.clip(small_table(X), -100, 100))
    keys = Draw("keys").words(len(rows))
    want = values(estimator, rows, FixedKeys(keys))
    frozen = rows.copy()
    frozen.flags.writeable = False
    same = {
        "int64": rows.astype(np.int64),
        "float32": rows.astype(np.float32),
        "float16": rows.astype(np.float16),
        "column-major": np.asfortranarray(rows),
        "strided": np.repeat(rows, 2, axis=0)[::2],
        "read-only": frozen,
        "big-endian": rows.astype(">f8"),
    }
    for kind, twin in same.items():
        require(
            values(estimator, twin, FixedKeys(keys)) == want, f"{name}: {kind} changes a value."
        )
    order = Draw("order").sample(len(rows), len(rows))
    got = values(estimator, rows[order], FixedKeys(keys[order]))
    require(got == want, f"{name}: the order of the rows changes a value.")


def check_no_row_is_stored(name, estimator, X=None):
    """Check that no entry is in pickle, repr or HTML, in any usual form (rows 21, 22)."""
    draw, shape = Draw("canary"), small_table(X).shape
    floats = np.ldexp(1 + draw.uniform(shape), 3)
    whole = 2**40 + draw.below(2**40, shape).astype(np.int64)
    for rows in (floats, floats.astype(np.float32), whole):
        fit = fitted(estimator, rows)
        blob = pickle.dumps(fit)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = repr(fit) + fit._repr_html_() + str(fit.privacy_report_)
        for x in rows.ravel():
            forms = {np.float64(c * x).tobytes() for c in (1.0, -1.0, 0.5, 2.0)}
            forms |= {np.float32(x).tobytes(), x.tobytes()}
            found = any(form in blob for form in forms) or repr(x.item()) in text
            require(not found, f"{name}: an entry of the table survives the fit.")


def check_rows_left_alone(name, estimator, X=None):
    """Check that a fit neither writes to its table nor keeps it alive (rows 8, 21)."""
    rows = table(X)
    before = rows.copy()
    fit = fitted(estimator, rows)
    require(np.array_equal(rows, before), f"{name}: a fit changes its table.")
    reference = weakref.ref(rows)
    del rows
    gc.collect()
    require(reference() is None, f"{name}: a fit keeps its table alive.")
    require(hasattr(fit, "privacy_report_"), f"{name}: there is no report.")


def check_frame_index_not_stored(name, estimator, X=None):
    """Check that column names are kept, and the index of a frame is not (rows 7, 26)."""
    try:
        import pandas as pd
    except ImportError:
        return
    rows = small_table(X)
    index = [f"person-{i}-86243" for i in range(len(rows))]
    columns = [f"column {j}" for j in range(rows.shape[1])]
    fit = fitted(estimator, pd.DataFrame(rows, index=index, columns=columns))
    require(b"-86243" not in pickle.dumps(fit), f"{name}: the index of a frame survives the fit.")
    require(list(fit.feature_names_in_) == columns, f"{name}: column names are lost.")
    frame = pd.DataFrame(np.concatenate([rows, rows[:1]]), columns=columns).astype("Float64")
    frame.iloc[-1, 0] = pd.NA
    with config_context(invalid_rows="ignore"):
        got = values(estimator, frame)
    require(got == values(estimator, rows), f"{name}: a row with NA counts.")
