"""The Curator of a search, and the Curators of its runs."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from skdp.accounting import Plan, Step
from skdp.accounting._selection import search_charge
from skdp.gate._curator import Curator, make_curator, replaced_curator
from skdp.gate._parallel import SubsetKeys
from skdp.kernel._table import replaced_table
from skdp.mechanisms import make_entropy
from skdp.mechanisms._repeats import draw_candidates
from skdp.model_selection._candidates import corners, kinds_of, model_of
from skdp.model_selection._runs import Runs, Table
from skdp.model_selection._scorers import as_numbers
from skdp.readers._persons import Persons
from skdp.rowwise._dummy_rows import dummy_rows
from skdp.table._split_target import dummy_target, final_step
from skdp.utils._compat import safe_indexing
from skdp.utils._config import config_context
from skdp.utils._threads import quiet

__all__ = ["SearchCurator", "dry_run"]

NOTE = "one run of a search: the guarantee of what was published is that of the search"


N_ROWS = 12


class SearchCurator(Curator):
    """Books a search as one release, and lends every run a Curator and the keys of its rows."""

    def __init__(self, plan, entropy, make):
        super().__init__(plan, entropy)
        self._make = make
        self.coins = self._make_session(plan).coins

    def draw(self, trials, n_candidates, *, mu, label):
        """Draw the number of runs, and the number of a candidate for each. Never published.

        Notes
        -----
        **Privacy**: nothing of it depends on rows. The whole search is charged here; the number of
        runs tells how good the winner had to be, and stays inside the fit.
        """
        self.book(label, mu)
        return draw_candidates(n_candidates, trials.draw(self._entropy), self._entropy)

    def book(self, label, mu):
        """Charge all of the budget, for runs of which one is published."""
        self._pay(label, "repeat", 1)
        self._record(search_charge(label, mu))

    def seed(self):
        """Return the ``random_state`` of a run: None, or of a seeded search another seed."""
        return int(self._entropy.words(1)[0] >> np.uint64(33)) if self._entropy.seeded else None

    @contextmanager
    def lent(self, numbers):
        """Let Curators that are made in this context deal the keys of the rows at ``numbers``."""

        def make(plan, entropy):
            noted = replace(plan, assumptions=(*plan.assumptions, NOTE))
            curator = self._make_session(noted, entropy)
            curator.coins = SubsetKeys(curator.coins, numbers)
            return curator

        with replaced_curator(make):
            yield

    def for_score(self, plan, numbers):
        """Return a Curator for releases about the rows at ``numbers``."""
        with self.lent(numbers):
            return make_curator(plan, self._entropy)

    def _make_session(self, plan, entropy=None):
        with replaced_curator(self._make):
            return make_curator(plan, entropy or self._entropy)


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
