"""The candidates of a search, and the models that its runs fit."""

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from skdp._estimator import PrivateEstimator
from skdp.exceptions import PlanError

__all__ = ["candidates_of", "check_run", "model_of"]

BUDGET = {"epsilon", "delta", "random_state", "ledger"}


def candidates_of(param_distributions):
    """Return the candidates, a list of dicts.

    Raises
    ------
    ValueError
        If there are none, or if they name what every run gets from the search.
    """
    try:
        candidates = list(ParameterGrid(param_distributions))
    except TypeError as error:
        raise ValueError(
            "param_distributions must be a dict of lists, or a list of such dicts: candidates are "
            "drawn uniformly from a public list. Draw from a distribution beforehand."
        ) from error
    names = {name for params in candidates for name in params}
    refused = sorted(name for name in names if name.rpartition("__")[2] in BUDGET)
    if refused or not candidates:
        raise ValueError(
            f"param_distributions must have candidates and must not name {sorted(BUDGET)}; got "
            f"{refused}. Every run of a search has the same budget, computed from that of the "
            "search, noise of its own, and no ledger: the search is charged as a whole."
        )
    return candidates


def model_of(estimator, params, budget, seed):
    """Return an unfitted model of a candidate with the budget of a run.

    Seeds and ledgers of private steps inside it are replaced too: a ledger would tell the number
    of runs.
    """
    model = clone(estimator).set_params(**clone(params, safe=False))
    known = model.get_params()
    own = {"epsilon": float(budget.epsilon), "delta": float(budget.delta)}
    chosen = {name: value for name, value in own.items() if name in known}
    for name in known:
        prefix, _, last = name.rpartition("__")
        private = not prefix or isinstance(known[prefix], PrivateEstimator)
        if private and last in ("random_state", "ledger"):
            chosen[name] = seed if last == "random_state" else None
    return model.set_params(**chosen)


def check_run(estimator, params, budget):
    """Raise ValueError or PlanError if a candidate cannot be a run with this budget."""
    model = model_of(estimator, params, budget, None)
    if hasattr(model, "_parameter_constraints"):
        model._validate_params()
    plan = model.plan()
    planned, problems = plan.budget, plan.problems
    if problems:
        raise PlanError("\n".join(["a run of this search cannot be carried out:", *problems]))
    if (
        planned.unit != budget.unit
        or planned.amount > budget.amount
        or planned.failure > budget.failure
    ):
        raise ValueError(
            f"{type(model).__name__} plans a {planned.unit!r} budget that does not fit into a run, "
            f"which has a {budget.unit!r} budget. A search takes estimators whose releases are all "
            "Gaussian, or all pure with delta=0."
        )
