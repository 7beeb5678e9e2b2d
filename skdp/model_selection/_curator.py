"""Candidates of a search, and the Curator that runs them behind the table."""

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import product

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import ParameterGrid, ParameterSampler

from skdp.accounting import Plan, Step
from skdp.accounting._selection import search_charge
from skdp.exceptions import PlanError
from skdp.gate._curator import Curator, make_curator, replaced_curator
from skdp.gate._parallel import SubsetKeys
from skdp.kernel._table import replaced_table
from skdp.mechanisms import make_entropy
from skdp.mechanisms._repeats import draw_candidates
from skdp.model_selection._runs import Runs, Table
from skdp.model_selection._scorers import as_numbers
from skdp.readers._persons import Persons
from skdp.rowwise._form import dummy_rows
from skdp.table._split_target import dummy_target, final_step
from skdp.utils._compat import safe_indexing
from skdp.utils._config import config_context
from skdp.utils._threads import quiet

BUDGET = {"epsilon", "delta", "random_state", "ledger"}
PUBLIC_SEED = 0
# What would print, write or send something once per run.
ALONE = {"verbose": False, "n_jobs": 1, "memory": None, "ledger": None}


def candidates_of(param_distributions, n_drawn):
    """Return the candidates, a list of dicts: a grid, or public draws if it has distributions."""
    try:
        candidates = list(_listed(param_distributions, n_drawn))
    except TypeError as error:
        raise ValueError(
            "param_distributions must be a dict, or a list of dicts, of lists of values and of "
            "distributions, which have a method rvs as those of scipy.stats."
        ) from error
    names = {name for params in candidates for name in params}
    refused = sorted(name for name in names if name.rpartition("__")[2] in BUDGET)
    if refused or not candidates:
        raise ValueError(
            f"param_distributions must have candidates and must not name {sorted(BUDGET)}; got "
            f"{refused}. Every run of a search has the same budget, computed from that of the "
            "search, noise of its own, and no ledger: the search is charged as a whole."
        )
    return [{name: _plain(value) for name, value in p.items()} for p in candidates]


def model_of(estimator, params, budget, seed):
    """Return an unfitted model of a candidate with the budget of a run, which keeps quiet.

    Whatever is printed, written to a disk or a ledger, or said by a worker once per run would tell
    the number of runs; so would the state of numpy's global generator, so that steps which draw
    from it get a public seed. Private ones get that of the run, which is None but for tests.
    """
    model = clone(estimator).set_params(**clone(params, safe=False))
    known = model.get_params()
    own = {"epsilon": float(budget.epsilon), "delta": float(budget.delta)}
    chosen = {name: value for name, value in own.items() if name in known}
    for name, value in known.items():
        prefix, _, last = name.rpartition("__")
        if last in ALONE:
            chosen[name] = ALONE[last]
        elif last == "random_state":
            private = not prefix or hasattr(known[prefix], "plan")
            chosen[name] = seed if private else PUBLIC_SEED if value is None else value
    model.set_params(**chosen)
    for part in (model, *known.values()):
        _validate(part)
    _check_plan(model, budget)
    return model


def check_runs(estimator, candidates, budget):
    """Raise ValueError or PlanError if a candidate cannot be a run with this budget.

    All parameters are validated; plans are made of the corners of every kind, and of every run.
    """
    for kind in kinds_of(candidates):
        for params in corners(kind):
            model = model_of(estimator, params, budget, None)
        parts = {**model.get_params(), "": model}
        for params in kind:
            for name in _numbers(params):
                prefix, _, last = name.rpartition("__")
                _validate(parts[prefix].set_params(**{last: params[name]}))


def kinds_of(candidates):
    """Return the candidates in lists of those that differ in numbers only."""
    kinds = {}
    for params in candidates:
        rest = {name: value for name, value in params.items() if not _silenced(name)}
        key = frozenset((name, _kind(value)) for name, value in rest.items())
        kinds.setdefault(key, []).append(params)
    return list(kinds.values())


def corners(kind):
    """Return candidates of a kind in which every number is among the least or the largest.

    What is too large or too small, by itself or beside other numbers, is so in one of them.
    """
    names = _numbers(kind[0])
    if 2 ** len(names) >= len(kind):
        return kind
    table = np.array([[params[name] for name in names] for params in kind], dtype=np.float64)
    ranks = [np.unique(column, return_inverse=True)[1] for column in table.T]
    ranks = np.transpose([rank / max(rank.max(), 1) for rank in ranks])
    ends = [np.argmax(ranks @ signs) for signs in product((-1, 1), repeat=len(names))]
    return [kind[i] for i in dict.fromkeys(ends)]


def refuse_frozen(estimator):
    """Raise ValueError for an estimator that fit leaves as it is."""
    if isinstance(estimator, FrozenEstimator):
        raise ValueError(
            "a FrozenEstimator keeps the fit that it has, so that a search would compare a model "
            "with itself. Pass the estimator inside it, frozen.estimator: every run fits a clone."
        )


def _validate(part):
    if hasattr(part, "_parameter_constraints") and not isinstance(part, type):
        part._validate_params()


JOINS = (
    "a GroupMap makes one row of several, so that rows that were held out cannot be scored one by "
    "one. Apply it first, GroupMap(func).fit_transform(X, groups=ids), and search on its rows."
)


def _check_plan(model, budget):
    plan = model.plan()
    planned, problems = plan.budget, plan.problems
    problems += (JOINS,) if getattr(model, "_joins", bool)() else ()
    if problems:
        raise PlanError("\n".join(["a run of this search cannot be carried out:", *problems]))
    if (
        planned.measure != budget.measure
        or planned.amount > budget.amount
        or planned.failure > budget.failure
    ):
        raise ValueError(
            f"{type(model).__name__} plans a {planned.measure!r} budget that does not fit into a "
            f"run, which has a {budget.measure!r} budget. A search takes estimators whose releases "
            "are all Gaussian, or all pure with delta=0."
        )


def _numbers(params):
    """Return the names of the parameters that are numbers."""
    return [
        name
        for name, value in params.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and not _silenced(name)
    ]


def _kind(value):
    """Return what two values that differ in size only have in common."""
    if value is None or isinstance(value, bool | str):
        return type(value), value
    return type(value) if isinstance(value, int | float) else id(value)


def _silenced(name):
    return name.rpartition("__")[2] in ALONE


def _listed(param_distributions, n_drawn):
    grids = param_distributions
    grids = [grids] if isinstance(grids, Mapping) else list(grids)
    drawn = any(
        hasattr(values, "rvs")
        for grid in grids
        if isinstance(grid, Mapping)
        for values in grid.values()
    )
    if drawn:
        return ParameterSampler(grids, n_drawn, random_state=PUBLIC_SEED)
    return ParameterGrid(grids)


def _plain(value):
    """Return a number of numpy as one of Python, whose arithmetic does not wrap."""
    return value.item() if isinstance(value, np.generic) else value


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
