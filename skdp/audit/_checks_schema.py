"""Checks of what is refused, and of what must not be there."""

import numpy as np
from scipy import sparse
from sklearn.utils.validation import has_fit_parameter

from skdp.audit._checks_common import (
    fitted,
    refusal,
    released,
    require,
    secure,
    small,
)
from skdp.audit._interference import script
from skdp.audit._observe import audited_clone, recorded_fit
from skdp.audit._tables import single_precision
from skdp.utils._config import config_context

SECRET = "86243"
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
