"""Steps on tables in pieces: each is fitted on a view, and maps pieces where they are."""

from copy import deepcopy
from functools import partial

from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator

from skdp.contracts._chain import parts_of
from skdp.contracts._row_wise import PARTS, qualified
from skdp.pipeline._tree import spending
from skdp.readers._tables import Tables
from skdp.table._batched import public_row, with_current_config
from skdp.utils._compat import safe_indexing

__all__ = ["columns_of", "fit_branches", "through", "worker_copy"]


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
