"""Checks of what targets may do to a fit: they are as private as the rows that they belong to."""

import gc
import inspect
import pickle
import weakref
from dataclasses import replace

import numpy as np

from skdp.audit._checks_common import (
    answers,
    fitted,
    of_whole_rows,
    refusal,
    require,
    secure,
    small,
    values,
)
from skdp.audit._draw import AuditRandom
from skdp.audit._interference import compare_fits, script
from skdp.audit._samples import Sample
from skdp.audit._sensitivity import conditional_sensitivity
from skdp.audit._tables import Table
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
