"""Every candidate on public rows: what is wrong with it is told before anything is charged."""

import numpy as np

from skdp.accounting import Plan, Step
from skdp.kernel._table import replaced_table
from skdp.mechanisms import make_entropy
from skdp.model_selection._candidates import corners, kinds_of, model_of
from skdp.model_selection._curator import SearchCurator
from skdp.model_selection._runs import Runs, Table
from skdp.model_selection._scorers import as_numbers
from skdp.readers._persons import Persons
from skdp.rowwise._dummy_rows import dummy_rows
from skdp.table._split_target import dummy_target, final_step
from skdp.utils._compat import safe_indexing
from skdp.utils._config import config_context
from skdp.utils._threads import quiet

__all__ = ["dry_run"]

N_ROWS = 12


def dry_run(table, budgets, scorer, estimator, candidates):
    """Fit and score the candidates on made-up rows with the columns of a table.

    Of candidates that differ in numbers only, those with the least and the largest numbers.
    """
    public, everybody = _public_table(table, estimator), np.arange(N_ROWS)
    with (
        config_context(invalid_rows="ignore", debug=True),
        np.errstate(all="ignore"),
        quiet(),
        replaced_table(None),
    ):
        plan = Plan(budgets.total, (Step("search", "repeat"),))
        curator = SearchCurator(plan, make_entropy(), None)
        runs, tried = Runs(public, curator, everybody, everybody), candidates[0]
        try:
            reference = None
            if budgets.reference is not None:
                reference = runs.fitted(model_of(estimator, tried, budgets.reference, None))
            runs.prepare(scorer, reference, budgets.reference)
            for tried in (params for kind in kinds_of(candidates) for params in corners(kind)):
                runs.try_score(runs.fitted(model_of(estimator, tried, budgets.run, None)), budgets)
            if budgets.alone is not None:
                tried = {}
                runs.fitted(model_of(estimator, tried, budgets.alone, None))
        except Exception as error:
            raise ValueError(
                f"the candidate {tried} cannot be fitted and scored on such columns: {error}"
            ) from error


def _public_table(table, estimator):
    """Return made-up rows of the columns and types of a table, and targets of two kinds."""
    nobody = np.arange(0)
    given, y = table.head(), table.targets(nobody)
    X = dummy_rows(as_numbers(given) if table.numbers else given)
    if table.numbers and hasattr(given, "columns"):
        X = type(given)({name: X[:, j] for j, name in enumerate(given.columns)})
    y = None if y is None else _public_targets(estimator, y)
    each = None if table.persons is None else Persons(np.arange(N_ROWS), N_ROWS)
    return Table(safe_indexing(X, np.arange(N_ROWS)), y, numbers=table.numbers, persons=each)


def _public_targets(estimator, y):
    """Return made-up targets, of the public classes or of the type of y."""
    made = dummy_target(estimator, y, N_ROWS)
    known = getattr(final_step(estimator), "classes", None) is not None
    return made if known else np.resize([0, 1], N_ROWS).astype(y.dtype)
