"""The private part of a pipeline: fit the steps in turn, each under its part of the budget."""

from functools import partial

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skdp._unread import StepRows, mapped_here
from skdp.contracts._chain import parts_of
from skdp.contracts._contract import contract_of
from skdp.contracts._kinds import Core, Joined, Released
from skdp.denoising._auto import fit_denoiser
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._persons import present_rows
from skdp.kernel._table import annex
from skdp.pipeline._batched import columns_of, fit_branches, through
from skdp.pipeline._tree import spending, unfold
from skdp.preprocessing._sensitivity_preprocessor import SensitivityPreprocessor
from skdp.readers._tables import Tables
from skdp.rowwise._dummy_rows import dummy_rows
from skdp.table._batched import public_row
from skdp.table._schema import read_rows
from skdp.utils._compat import output_config, safe_indexing

__all__ = ["mapped", "n_rows_of", "run"]

UNKNOWN = "nothing to denoise: too few rows in the step before. Use a larger epsilon or more rows"


def run(steps, view, *, started=None, rehearsal=False):
    """Fit the steps, each on what the step before it hands on; return the last denoised vector.

    ``started`` is called with the name of every step. In a rehearsal, on made-up rows, the last
    step only looks at what it would be fitted on.

    Notes
    -----
    **Privacy** with groups. Every view has the persons along, so no step can read rows as if they
    were nobody's. A core, or what is bounded, is one of rows drawn from each person: from there on
    all other rows are absent, and every step reads the same ones.
    """
    value = before = None
    steps = [(name, step) for name, step in steps if not isinstance(step, str | None)]
    for number, (name, step) in enumerate(steps):
        if started is not None:
            started(name)
        last = number == len(steps) - 1
        contract = contract_of(step) if parts_of(step)[0] is None else None
        if contract is not None and Released in contract.consumes:
            value, scale, law = before
            value, _ = fit_denoiser(value, scale, step, law=law)
            if not hasattr(step, "risk_estimate_"):
                view.doubt(UNKNOWN)
            continue
        kind = None if contract is None else contract.yields(None)
        if last and rehearsal and isinstance(step, PrivateEstimator):
            return step._rehearse_within(view)
        if isinstance(step, SensitivityPreprocessor):
            view = _bounded(step, view)
            continue
        fitted = _fit(step, view)
        if last:
            return value
        if isinstance(kind, Core):
            view = _in_core(fitted, view, steps[number + 1][1])
        elif isinstance(kind, Joined):
            view = mapped_here(view, partial(StepRows.joined, function=fitted._joined))
        elif isinstance(kind, Released):
            before = fitted.released_vector()
        else:
            view = _shown(fitted, view)
    return value


def _fit(step, view):
    """Fit one step; one that spends nothing on a made-up row, as it learns from types."""
    if isinstance(step, PrivateEstimator):
        return step.fit(view)
    rows, _ = annex(view)  # a step of another library
    if spending([("", step)]):
        return fit_branches(step, rows, view, _fit, _columns, _shown)
    return step.fit(public_row(rows))


def _columns(view, columns):
    """Return some columns of a view, as scikit-learn selects them."""
    select = partial(columns_of, columns=columns)
    return mapped_here(view, lambda rows: rows.mapped(select))


def _shown(step, view):
    """Return the view that a fitted step makes of another; a filter keeps all rows."""
    plain = output_config("transform", step)["dense"] == "default"
    row_map = step._row_map() if plain and hasattr(step, "_row_map") else None
    if row_map is not None:
        return view.map(row_map)
    return mapped_here(view, lambda rows: rows.mapped(partial(mapped, step)))


def _in_core(fitted, view, following):
    """Return a view without the rows outside a core, of which the step that follows is told."""
    mask, core = fitted.get_support(local=True), fitted.certificate()  # of rows, not of values
    if view.grouped:  # the core of a table of its rows alone
        core = type(core)(np.ones(core.mask.sum()), core.predicate, core.n_up, core.level)
    grant = getattr(following, "ledger", None)
    if grant is not None:
        grant.certificate = core
    return mapped_here(view, lambda rows: rows.without(~mask))


def _bounded(step, view):
    """Return what a preprocessor bounds, of persons by one row that is drawn from those of each."""
    rows, curator = annex(view)  # bounded statistics are functions of many rows together
    if view.grouped:
        read = read_rows(clone(step), rows.present())
        others = np.ones(n_rows_of(rows.X), dtype=bool)
        drawn = rows.persons.of(present_rows(read)).first_by_key(curator.coins, "representative")
        others[drawn] = False
        rows = rows.without(others)
    bounded = step.fit(rows.present()).bounded_values()
    return mapped_here(view, lambda _: rows.holding(bounded))


def mapped(step, X):
    """Return the rows that a fitted step makes of rows; a filter keeps all rows."""
    if isinstance(step, str | None):
        return X
    if parts_of(step)[0] is None and isinstance(contract_of(step).yields(None), Core):
        return X
    if isinstance(X, Tables):
        return through(X, mapped, step)
    given = X if X.shape[0] else safe_indexing(dummy_rows(X), [0])
    _refuse_objects(step, given)
    Z = step.transform(np.ascontiguousarray(given) if isinstance(given, np.ndarray) else given)
    Z = Z.toarray() if sparse.issparse(Z) else Z
    return Z if given is X else safe_indexing(Z, slice(0, 0))


def _refuse_objects(step, X):
    """Raise ValueError where scikit-learn would make frames of arrays of objects.

    Their types would be chosen by all entries, so that one row decides on the type of others.
    """
    objects = getattr(getattr(X, "dtype", None), "kind", "") == "O"
    for _, part in unfold("", step):
        form = getattr(part, "_form", None)
        makes = form is not None and form.frame is None and form.dtype.kind == "O"
        if (objects or makes) and output_config("transform", part)["dense"] != "default":
            raise ValueError(
                "set_output would make frames of arrays of objects, whose entries choose the types "
                'of columns. Pass a DataFrame, or use set_output(transform="default").'
            )


def n_rows_of(X):
    """Return the number of rows of a table."""
    return X.shape[0] if hasattr(X, "shape") else len(X)
