"""Checks of what is refused, and of what must not be there."""

import numpy as np
from scipy import sparse

from skdp._config import config_context
from skdp.audit._checks_common import (
    fitted,
    refusal,
    released,
    require,
    secure,
    small_table,
)
from skdp.audit._interference import script
from skdp.audit._observe import audited_clone, recorded_fit
from skdp.audit._tables import single_precision

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


def wrong_tables(X):
    """Yield (what, table) with a recognisable value in every table."""
    planted = X.copy()
    planted[0, 0] = float(SECRET)
    yield "a one-dimensional array", planted[:, 0]
    yield "a three-dimensional array", planted[None]
    yield "a number", float(SECRET)
    yield "strings", np.where(X == X, f"name {SECRET}", "")
    objects = planted.astype(object)
    objects[1, 0] = f"name {SECRET}"
    yield "objects", objects
    yield "complex numbers", planted + 1j
    yield "a sparse matrix", sparse.csr_matrix(planted)
    yield "a list of unequal rows", [[float(SECRET)], [1.0, 2.0]]
    yield "no columns", planted[:, :0]


def check_wrong_tables_refused(name, estimator, X=None):
    """Check that tables of another schema are refused without quoting them (rows 5, 17)."""
    for invalid_rows in ("error", "ignore"):
        for what, wrong in wrong_tables(small_table(X)):
            with (
                config_context(invalid_rows=invalid_rows),
                refusal((ValueError, TypeError), name, what) as texts,
            ):
                secure(estimator, ledger=None).fit(wrong)
            require(SECRET not in texts[0], f"{name}: the message about {what} quotes a value.")


def check_weights_refused(name, estimator, X=None):
    """Check that weights of rows are refused: they would scale sensitivities (11, 27)."""
    rows = small_table(X)
    with refusal(TypeError, name, "sample_weight"):
        secure(estimator, ledger=None).fit(rows, sample_weight=np.ones(len(rows)))


def check_no_private_internals(name, estimator, X=None):
    """Check that what scikit-learn's estimators keep of rows is absent (rows 12, 13)."""
    fit = fitted(estimator, small_table(X))
    found = [attribute for attribute in PRIVATE if hasattr(fit, attribute)]
    require(not found, f"{name} has {found}: neither public nor released.")


def check_attributes_are_agreed(name, estimator, X=None):
    """Check that the names of attributes are schema, and none is hidden (rows 12, 13)."""
    X = single_precision(small_table(X))
    names = []
    for t in (0, 2):
        for rows in (X, X[1:]):
            twin = audited_clone(estimator)
            recorded_fit(twin, rows, script(estimator, X, t, 0))
            names.append(set(released(twin)))
    require(all(n == names[0] for n in names), f"{name}: attributes come and go with the rows.")
    hidden = [attribute for attribute in names[0] if not attribute.endswith("_")]
    hidden = [attribute for attribute in hidden if not attribute.startswith("_sklearn")]
    require(not hidden, f"{name}: a fit sets {hidden}; released attributes end in '_'.")
