"""Checks of targets, private as their rows are, of refusals, and of what must not be there."""

import gc
import inspect
import pickle
import weakref
from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.utils.validation import has_fit_parameter

from skdp.audit._draw import AuditRandom, Sample
from skdp.audit._interference import compare_fits, script
from skdp.audit._observe import (
    answers,
    audited_clone,
    fitted,
    of_whole_rows,
    recorded_fit,
    refusal,
    released,
    require,
    secure,
    small,
    values,
)
from skdp.audit._sensitivity import conditional_sensitivity
from skdp.audit._tables import Table, single_precision
from skdp.audit._transcript import FixedKeys
from skdp.utils._config import config_context

SECRET = "86243"
N_PAIRS = 12  # with targets that nothing asks for


def check_invalid_targets_are_absent(name, estimator, data):
    """Check that a row is none whose target is missing or infinite (row 10)."""
    if _kind(estimator) is None:
        return
    rows = small(data)
    keys, half = AuditRandom("keys").words(len(rows) + 1), len(rows) // 2
    rows = Sample(rows.X, rows.y.astype(np.float64 if rows.y.dtype.kind in "fiub" else object))
    for bad in (np.nan, np.inf, -np.inf) if rows.y.dtype != object else (None, np.nan):
        invalid = Sample(rows.take([0]).X, np.array([bad], dtype=rows.y.dtype))
        with config_context(invalid_rows="ignore"):
            got = values(estimator, rows.inserted(half, invalid), FixedKeys(keys))
            want = values(estimator, rows, FixedKeys(np.delete(keys, half)))
        same = of_whole_rows(got) == of_whole_rows(want)
        require(same, f"{name}: a row whose target is invalid counts.")


def _kind(estimator):
    """Return of what kind the target is that an estimator reads, "number" or "class", or None."""
    return getattr(estimator, "_target", None)


def wrong_targets(y):
    """Yield (what, targets) that cannot belong to the rows."""
    yield "no target", None
    yield "too few targets", y[1:]
    yield "two columns of targets", np.stack([y, y], axis=1)
    yield "complex targets", np.full(len(y), 1j + float(SECRET))


def _never(rows, curator):
    raise RuntimeError("the target was read")


def check_wrong_targets_refused(name, estimator, data):
    """Check that what is no target is refused without quoting it, before the charge (10, 17)."""
    if not _kind(estimator):
        return
    rows = small(data)
    for invalid_rows in ("error", "ignore"):
        for what, wrong in wrong_targets(rows.y):
            twin = secure(estimator, ledger=None)
            twin._release_from = _never
            with (
                config_context(invalid_rows=invalid_rows),
                refusal((ValueError, TypeError), name, what) as texts,
            ):
                twin.fit(rows.X, wrong)
            require(SECRET not in str(texts), f"{name}: the message about {what} quotes a value.")


def check_spare_targets(name, estimator, data):
    """Check that a y that is passed without need tells nothing, and moves nothing (row 10)."""
    known = inspect.signature(estimator.fit).parameters
    if data.y is not None or data.groups is not None or "y" not in known:
        return
    rows = small(data)
    numbers = np.ldexp(1 + AuditRandom("spare targets").uniform(len(rows)), 3)
    first = replace(rows, y=numbers)
    if not answers(estimator, first):
        return  # it refuses a y
    others = {"reversed": numbers[::-1], "alike": np.full_like(numbers, 7.0), "far": 1e9 * numbers}
    tables = [Table(f"targets {what}", replace(rows, y=y)) for what, y in others.items()]
    tables.append(Table("targets of two classes", replace(rows, y=np.arange(len(rows)) % 2)))
    compare_fits(estimator, [Table("targets", first), *tables], [script(estimator, first, 0, 0)])
    conditional_sensitivity(estimator, first, n_pairs=N_PAIRS)


def check_no_target_is_stored(name, estimator, data):
    """Check that targets are left alone, and none of them is in a pickle (rows 21, 22)."""
    if _kind(estimator) is None:
        return
    rows = small(data)
    if rows.y.dtype.kind == "f":
        rows = Sample(rows.X, np.ldexp(1 + AuditRandom("target canary").uniform(len(rows)), 3))
    before, y = rows.y.copy(), rows.y.copy()
    fit = fitted(estimator, Sample(rows.X, y))
    require(np.array_equal(y, before), f"{name}: a fit changes its targets.")
    reference = weakref.ref(y)
    del y
    gc.collect()
    require(reference() is None, f"{name}: a fit keeps its targets alive.")
    blob = pickle.dumps(fit)
    entries = set(before.tolist()) if before.dtype.kind == "f" else ()
    found = any(np.float64(c * x).tobytes() in blob for x in entries for c in (1.0, -1.0))
    require(not found, f"{name}: a target survives the fit.")


PRIVATE = (
    "labels_",
    "inertia_",
    "n_samples_",
    "n_samples_seen_",
    "n_samples_fit_",
    "core_sample_indices_",
    "components_idx_",
    "support_",
    "support_vectors_",
    "dual_coef_",
    "_fit_X",
    "X_",
    "sample_weight_",
)


def wrong_tables(data):
    """Yield (what, table) with a recognisable value in every table."""
    planted = small(data).X.copy() if data.is_numeric else np.ones((60, data.n_features))
    planted[0, 0] = float(SECRET)
    yield "a one-dimensional array", planted[:, 0]
    yield "a three-dimensional array", planted[None]
    yield "a number", float(SECRET)
    yield "complex numbers", planted + 1j
    yield "a sparse matrix", sparse.csr_matrix(planted)
    yield "a list of unequal rows", [[float(SECRET)], [1.0, 2.0]]
    yield "no columns", planted[:, :0]
    if not data.is_numeric:
        return
    yield "strings", np.where(planted == planted, f"name {SECRET}", "")
    objects = planted.astype(object)
    objects[1, 0] = f"name {SECRET}"
    yield "objects", objects


def check_wrong_tables_refused(name, estimator, data):
    """Check that tables of another schema are refused without quoting them (rows 5, 17)."""
    y = () if data.y is None else (small(data).y,)
    for invalid_rows in ("error", "ignore"):
        for what, wrong in wrong_tables(data):
            # where rows may be absent, a map may leave out the objects that it cannot read
            needed = (what, invalid_rows) != ("objects", "ignore")
            needed &= what not in ("strings", "objects") or not getattr(estimator, "_mixed", False)
            vectors = getattr(estimator, "_reads_vectors", False)
            needed &= what != "a one-dimensional array" or not vectors
            with (
                config_context(invalid_rows=invalid_rows),
                refusal((ValueError, TypeError), name, what, needed=needed) as texts,
            ):
                secure(estimator, ledger=None).fit(wrong, *y)
            require(SECRET not in str(texts), f"{name}: the message about {what} quotes a value.")


def check_weights_refused(name, estimator, data):
    """Check that weights of rows above 1 are refused: they would scale sensitivities (11, 27)."""
    rows = small(data)
    takes = has_fit_parameter(estimator, "sample_weight")
    with refusal(ValueError if takes else TypeError, name, "sample_weight"):
        rows.fit(secure(estimator, ledger=None), sample_weight=np.full(len(rows), 2.0))


def check_no_private_internals(name, estimator, data):
    """Check that what scikit-learn's estimators keep of rows is absent (rows 12, 13)."""
    fit = fitted(estimator, small(data))
    noisy = (
        {"inertia_"} if hasattr(fit, "inertia_noise_scale_") else set()
    )  # a release, with its noise
    found = [name for name in PRIVATE if hasattr(fit, name) and name not in noisy]
    require(not found, f"{name} has {found}: neither public nor released.")


def check_attributes_are_agreed(name, estimator, data):
    """Check that the names of attributes are schema, and none is hidden (rows 12, 13)."""
    data = single_precision(small(data))
    names = []
    for t in (0, 2):
        for rows in (data, data.take(np.arange(1, len(data)))):
            twin = audited_clone(estimator)
            recorded_fit(twin, rows, script(estimator, data, t, 0))
            names.append(set(released(twin)))
    require(all(n == names[0] for n in names), f"{name}: attributes come and go with the rows.")
    hidden = [attribute for attribute in names[0] if not attribute.endswith("_")]
    hidden = [attribute for attribute in hidden if not attribute.startswith("_sklearn")]
    require(not hidden, f"{name}: a fit sets {hidden}; released attributes end in '_'.")
