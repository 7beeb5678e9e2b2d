"""Checks of targets, of parameters as numpy numbers, of refusals, of what must not be there."""

import gc
import inspect
import math
import pickle
import weakref
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from skdp.audit._checks_budget import underpaid
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


N_ROWS = 30
ROUNDING = 1e-3  # of what is computed with narrow floats, as long as prices hold
WIDE = 100  # its square overflows eight bits
APART = ("random_state", "ledger", "verbose", "n_jobs")  # enter no price


def numpy_twins(estimator):
    """Yield (what, parameters of Python's numbers, the same of numpy's).

    First all parameters in the narrowest types that hold them, then one by one in several types,
    and integers at 100 in eight bits as well. Numbers in lists, tuples and dicts count.
    """
    numbers = {
        name: value
        for name, value in estimator.get_params().items()
        if name.rpartition("__")[2] not in APART and _is_number(value)
    }
    narrow = {name: _as_numpy(value, narrowest_dtype) for name, value in numbers.items()}
    yield "all parameters", {n: _as_python(v) for n, v in narrow.items()}, narrow
    for name, value in numbers.items():
        twins = [_as_numpy(value, kind) for kind in (narrowest_dtype, unsigned, wide, single)]
        if _holds_integers(value):
            twins += [_as_numpy(value, whole), _as_numpy(_filled(value), np.int8)]
        for twin in _distinct(twins):
            yield name, {name: _as_python(twin)}, {name: twin}


def narrowest_dtype(value):
    """Return the narrowest signed integer or single float near a number."""
    if isinstance(value, (bool, np.bool_)):
        return np.bool_(value)
    if isinstance(value, Integral):
        kinds = (np.int8, np.int16, np.int32, np.int64)
        fits = (k for k in kinds if np.iinfo(k).min <= value <= np.iinfo(k).max)
        return next(fits, int)(value)
    return np.float32(value) if float(np.float32(value)) == value else np.float64(value)


def unsigned(value):
    """Return the narrowest unsigned integer, or an extended float."""
    if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)):
        return np.longdouble(value)
    return np.min_scalar_type(int(value)).type(value) if 0 <= value < 2**64 else int(value)


def wide(value):
    """Return a number of 64 bits."""
    if isinstance(value, (bool, np.bool_)):
        return np.bool_(value)
    integral = isinstance(value, Integral) and abs(value) < 2**63
    return np.int64(value) if integral else np.float64(value)


def single(value):
    """Return a single float for a float, else a number of 32 bits."""
    if isinstance(value, Integral):
        return np.int32(value) if abs(value) < 2**31 else wide(value)
    return np.float32(value)


def whole(value):
    """Return the narrowest integer for a float that is one."""
    return value if isinstance(value, (bool, np.bool_)) else narrowest_dtype(int(value))


def _is_number(value):
    """Whether a parameter is a number, or a container of numbers alone."""
    if isinstance(value, dict):
        return bool(value) and all(map(_is_number, value.values()))
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_is_number, value))
    return isinstance(value, Real)


def _holds_integers(value):
    if isinstance(value, (dict, list, tuple)):
        return all(map(_holds_integers, value.values() if isinstance(value, dict) else value))
    boolean = isinstance(value, (bool, np.bool_))
    return not boolean and float(value).is_integer()


def _filled(value):
    """Return the same structure with 100 in the place of every number."""
    return _as_numpy(value, lambda _: WIDE)


def _as_numpy(value, kind):
    """Return a number, or the numbers of a container, as ``kind`` makes them."""
    if isinstance(value, dict):
        return {key: _as_numpy(item, kind) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_as_numpy(item, kind) for item in value)
    with np.errstate(all="ignore"):
        return kind(value)


def _as_python(value):
    """Return numpy's numbers as those of Python that are equal to them."""
    return _as_numpy(value, _python)


def _python(x):
    if isinstance(x, (bool, np.bool_)):
        return bool(x)
    return int(x) if isinstance(x, Integral) else float(x)


def _distinct(twins):
    """Return twins without repetition of type and value."""
    return {repr(_as_numpy(twin, lambda x: (type(x), x))): twin for twin in twins}.values()


def check_numpy_parameters(name, estimator, data):
    """Check that numpy's numbers as parameters do what Python's do, or are refused (row 9)."""
    rows = data.take(np.arange(min(len(data), N_ROWS)))
    for what, python, numpy in numpy_twins(estimator):
        got, want = _asked(estimator, rows, numpy), _asked(estimator, rows, python)
        fine = got is None or _nearly_equal(got, want)
        require(fine, f"{name}: {what} as numpy's numbers asks for other releases or noise.")


def _asked(estimator, rows, params):
    """Return what a fit with these parameters asks its Curator for, None if it is refused first.

    A list of numbers and texts.
    """
    refusals = ValueError, TypeError
    try:
        twin = audited_clone(estimator, **params)
        plan = clone(twin).plan()
    except refusals:
        return None
    records, curators, error = recorded_fit(twin, rows, "noise")
    if isinstance(error, refusals) and not curators:
        return None
    reports = [curator.close("audit") for curator in curators]
    asked = [plan.budget.measure, plan.budget.amount, error and type(error).__name__]
    for step in plan.steps:
        asked += [step.label, step.mechanism, step.at_most, step.times]
    for record in records:
        label, law, shape, sensitivity, scale = record.request
        asked += [label, law, str(shape), sensitivity, scale]
    for report in reports:
        asked += [str(underpaid(report)), *(charge.share for charge in report.charges)]
    return asked


def _nearly_equal(got, want):
    """Tell whether two lists of numbers and texts are alike, numbers up to rounding."""
    if want is None or len(got) != len(want):
        return False
    return all(
        math.isclose(a, b, rel_tol=ROUNDING)
        if isinstance(a, Real) and isinstance(b, Real)
        else a == b
        for a, b in zip(got, want, strict=True)
    )
