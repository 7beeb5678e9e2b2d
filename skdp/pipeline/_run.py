"""The private part of a pipeline: fit the steps in turn, each under its part of the budget."""

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skdp._compat import output_config, safe_indexing
from skdp._estimator import PrivateEstimator
from skdp._grant import without
from skdp._pieces import public_row
from skdp._schema import read_rows
from skdp.chunks._tables import Tables
from skdp.contracts import BoundedStatistic, Core, Released, contract_of
from skdp.contracts._chain import parts_of
from skdp.denoising._parameter import fit_denoiser
from skdp.kernel._persons import are_there
from skdp.pipeline._pieces import fit_branches, through
from skdp.pipeline._tree import spending, unfold
from skdp.preprocessing._sensitivity_preprocessor import BoundedValues, SensitivityPreprocessor
from skdp.rowwise._made_up import made_up_rows

__all__ = ["fit_on_tables", "mapped", "n_rows_of", "run"]

UNKNOWN = "nothing was found to denoise: too few rows for this epsilon in the step before it"


def run(steps, X, y, curator, *, started=None, rehearsal=False, absent=None, persons=None):
    """Fit the steps, each on what the step before it hands on; return the last denoised vector.

    ``started`` is called with the name of every step. In a rehearsal, on made-up rows, the last
    step only looks at what it would be fitted on. The last step is given y; rows that are
    ``absent`` are none to any step, and neither are their targets.

    Notes
    -----
    **Privacy** with ``persons``, whose rows they are. Every grant holds all of them, so no step can
    read rows as if they were nobody's. A core, or what is bounded, is one of rows drawn from each
    person: from there on all other rows are absent, and every step reads the same ones.
    """
    value = before = None
    steps = [(name, step) for name, step in steps if not isinstance(step, str | None)]
    if absent is not None:
        _leave_out(absent, steps)
    for number, (name, step) in enumerate(steps):
        if started is not None:
            started(name)
        last = number == len(steps) - 1
        contract = contract_of(step) if parts_of(step)[0] is None else None
        if contract is not None and Released in contract.consumes:
            value, scale, law = before
            value, _ = fit_denoiser(value, scale, step, law=law)
            if not hasattr(step, "sure_"):
                curator.doubt(UNKNOWN)
            continue
        kind = None if contract is None else contract.yields(None)
        if last and rehearsal and isinstance(step, PrivateEstimator):
            return step._look(X, y)
        if isinstance(step, SensitivityPreprocessor) and persons is not None:
            absent = _all_but_one(step, X, absent, persons, curator.coins)
        fitted = _fit(step, X, y if last else None, absent)
        if last:
            return value
        if isinstance(kind, Core):
            mask = fitted.get_support(local=True)  # of rows, not of values
            absent = ~mask if absent is None else absent | ~mask
            X = without(X, absent)
            _leave_out(absent, steps[number + 1 :])
            core = fitted.certificate()
            _hand_on(core if persons is None else _alone(core), steps[number + 1][1])
        elif isinstance(kind, BoundedStatistic):
            X = fitted.bounded_values()
        elif isinstance(kind, Released):
            before = fitted.released_vector()
        else:
            X = mapped(fitted, X)
    return value


def _fit(step, X, y, absent):
    """Fit one step; steps of scikit-learn, which take no table without rows, on a made-up row."""
    if isinstance(X, BoundedValues) or isinstance(step, PrivateEstimator):
        return step.fit(X) if y is None else step.fit(X, y)
    if isinstance(step, SensitivityPreprocessor):
        return step.fit(X if absent is None else without(X, absent))
    if isinstance(X, Tables):
        return fit_on_tables(step, X)
    if X.shape[0] == 0:
        for _, leaf in spending([("", step)]):
            leaf.ledger.empty = True
    return step.fit(_some_rows(X))


def fit_on_tables(step, X):
    """Fit a step on Tables; if it spends nothing, on a made-up row, as it learns from types."""
    if isinstance(step, PrivateEstimator):
        return step.fit(X)
    if spending([("", step)]):
        return fit_branches(step, X, fit_on_tables, mapped)
    return step.fit(public_row(X))


def mapped(step, X):
    """Return the rows that a fitted step makes of rows; a filter keeps all rows."""
    if isinstance(step, str | None):
        return X
    if parts_of(step)[0] is None and isinstance(contract_of(step).yields(None), Core):
        return X
    if isinstance(X, Tables):
        return through(X, mapped, step)
    given = _some_rows(X)
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


def _some_rows(X):
    """Return X, or one made-up row of its kind if it has none."""
    return X if X.shape[0] else safe_indexing(made_up_rows(X), [0])


def n_rows_of(X):
    """Return the number of rows of a table."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _all_but_one(step, X, absent, persons, coins):
    """Return which rows are not the one that is drawn from those of their person."""
    rows = read_rows(clone(step), X if absent is None else without(X, absent))
    others = np.ones(n_rows_of(X), dtype=bool)
    others[persons.of(are_there(rows)).first_by_key(coins, "representative")] = False
    return others


def _alone(core):
    """Return a core for a table of its rows alone."""
    return type(core)(np.ones(core.mask.sum()), core.predicate, core.n_up, core.level)


def _leave_out(absent, steps):
    """Tell the steps that spend which rows are none."""
    for _, leaf in spending(steps):
        leaf.ledger.absent = absent


def _hand_on(certificate, step):
    """Tell a step that spends what the filter before it knows of the core."""
    grant = getattr(step, "ledger", None)
    if grant is not None:
        grant.certificate = certificate
