"""The private part of a pipeline: fit the steps in turn, each under its part of the budget."""

from copy import deepcopy
from functools import partial

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator

from skdp._unread import StepRows, Unread, mapped_here
from skdp.contracts import (
    PARTS,
    BoundedStatistic,
    Core,
    Joined,
    Released,
    contract_of,
    parts_of,
    qualified,
)
from skdp.denoising import Denoiser
from skdp.denoising._auto import fit_denoiser
from skdp.estimator._estimator import PrivateEstimator
from skdp.gate._curator import rehearsal_curator
from skdp.kernel._parts import present_rows
from skdp.kernel._table import annex, replaced_table
from skdp.pipeline._plan import allocate_budget, step_rows
from skdp.pipeline._tree import spending, unfold
from skdp.preprocessing._sensitivity_preprocessor import SensitivityPreprocessor
from skdp.readers._tables import Tables
from skdp.rowwise._form import dummy_rows
from skdp.table._batched import public_row, with_current_config
from skdp.table._schema import read_rows
from skdp.table._split_target import dummy_target
from skdp.utils._compat import output_config, safe_indexing
from skdp.utils._config import config_context
from skdp.utils._threads import quiet


def through(tables, function, step):
    """Return tables after a fitted step: ``function(step, table)`` maps each where it is."""
    mapped = with_current_config(partial(function, worker_copy(step)))
    return tables.mapped(mapped, mapped(tables.head()))


def worker_copy(step):
    """Return a fitted step that takes no ledger, grant or random words along."""
    if not spending([("", step)]):
        return step
    step = deepcopy(step)
    for _, leaf in spending([("", step)]):
        leaf.set_params(ledger=None, random_state=None)
    return step


def columns_of(table, columns):
    """Return some columns of a table of any kind, as scikit-learn selects them."""
    if not isinstance(table, Tables):
        return safe_indexing(table, columns, axis=1)
    select = partial(columns_of, columns=columns)
    return table.mapped(select, select(table.head()))


def fit_branches(step, rows, view, fit, some, shown):
    """Fit a container of scikit-learn part by part, as it would leave itself; return it."""
    row, fitted = public_row(rows), {}
    for name, part, columns in branches(step, row):
        of_part = view if columns is None else some(view, columns)
        if not isinstance(part, str | None) and of_part.n_features:
            fitted[name] = fit(clone(part), of_part)
        if parts_of(step)[1] and name in fitted:
            view = shown(fitted[name], view)
    return _joined(step, fitted, row)


def branches(step, row):
    """Return (name, part, columns) of the parts of a container, None for all columns.

    ``row`` is a made-up row, on which scikit-learn finds the columns.
    """
    parts, _ = parts_of(step)
    if not hasattr(step, "transformers"):
        return [(name, part, None) for name, part in parts]
    layout = ColumnTransformer([(name, "drop", columns) for name, _, columns in step.transformers])
    columns = {name: columns for name, _, columns in layout.fit(row).transformers_}
    return [(name, part, columns.get(name, [])) for name, part in parts]


def _joined(step, fitted, row):
    """Fit a container, whose parts are fitted, on a row that leaves them as they are."""
    name = PARTS[qualified(step)]
    given = {key: value for key in (name, "remainder") if (value := getattr(step, key, None))}
    stay = {key: FrozenEstimator(part) for key, part in fitted.items()}
    setattr(step, name, [(part[0], stay.get(part[0], part[1]), *part[2:]) for part in given[name]])
    if "remainder" in stay:
        step.remainder = stay["remainder"]
    step.fit(row)
    now = "transformers_" if hasattr(step, "transformers_") else name
    parts = [(part[0], fitted.get(part[0], part[1]), *part[2:]) for part in getattr(step, now)]
    step.set_params(**given)
    setattr(step, now, parts)
    return step


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


def rehearse(pipeline, X, y=None):
    """Fit the steps on made-up rows with the columns and types of X.

    Where a failure costs nothing.
    """
    plan, steps = allocate_budget(pipeline)
    started = []
    try:
        with (
            config_context(invalid_rows="ignore", debug=True),
            sklearn.config_context(assume_finite=True),
            quiet(),
            replaced_table(None),
        ):
            public = dummy_rows(X)
            target = None if y is None else dummy_target(pipeline, y, public.shape[0])
            view = Unread(step_rows(steps, public, target), rehearsal_curator(plan))
            run(steps, view, started=started.append, rehearsal=True)
        return
    except Exception as error:
        failure = f"{error}"
    if not started:
        raise ValueError(f"no rows can be made up to try the steps on: {failure}")
    raise ValueError(
        f"the step {started[-1]!r} cannot work on what the steps before it make of a table with "
        f"the columns and types of X: {failure}"
    )


def preview(steps, X, y=None):
    """Follow the rows up to the first step that spends, in every branch.

    What is raised here costs nothing: a row-wise step that fails on a row, NaN and infinity before
    the first release. The caller holds the data.
    """
    for number, (name, step) in enumerate(steps):
        if isinstance(step, str | None):
            continue
        if isinstance(step, PrivateEstimator):
            return _check(name, step, X, y, number)
        parts, in_turn = parts_of(step)
        if parts is None:
            if isinstance(step, Denoiser) or _learns_without_budget(step):
                return None
        elif in_turn:
            preview(parts, X, y)
        elif any(_spends(part) for _, part in parts):
            for branch in getattr(step, "transformers", None) or parts:
                preview([branch[:2]], X if len(branch) < 3 else _chosen(X, branch[2]), y)
        if _spends(step):
            return None
        X = mapped(clone(step).fit(public_row(X) if isinstance(X, Tables) else X), X)
    return None


def _chosen(X, chosen):
    like = public_row(X) if isinstance(X, Tables) else X
    return columns_of(X, chosen(like) if callable(chosen) else chosen)


def _check(name, step, X, y, number):
    """Read the rows as the step will, without fitting it."""
    try:
        clone(step).set_params(ledger=None)._look(X, y)
    except ValueError as error:
        if number == 0:
            raise
        failure = error
    else:
        return
    raise ValueError(
        f"the step {name!r} cannot read what the steps before it make of X: {failure} Let them "
        "return numbers for every row."
    )


def _spends(step):
    parts, _ = parts_of(step)
    if parts is not None:
        return any(_spends(part) for _, part in parts)
    return isinstance(step, PrivateEstimator)


def _learns_without_budget(step):
    """Whether the step reads several rows together without spending."""
    contract = contract_of(step)
    return contract is not None and isinstance(contract.yields(None), BoundedStatistic | Joined)
