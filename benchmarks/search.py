"""What a private search costs and gains.

    python benchmarks/search.py [runs|search|quick|worst|declined] [TABLE[:N[:EPSILON]] ...]

AUC of a fifth of the rows that was held out, the mean of N splits, three by default; delta is 1e-6,
classes and levels are public. ``runs``: one fit with the defaults, the same with the rows and the
budget of a run of a search, and the best of six candidates by the test rows, which no search can
reach. ``search``: one fit beside ``PrivateSearchCV`` over these candidates, with its defaults,
where rows are enough for a search; the others are one fit with .994 of mu. ``quick``: the same,
where rows are enough, with scores of all rows at once in place of one by one. ``worst``: one fit
beside each candidate with the rows and the budget of a run: the winner of any search is one of
them. ``declined``: one fit beside that in place of a search, with the same seeds of noise. The
tables have set ``min_rows``; ``children``, ``heart`` and others of ``boosting.py`` have not.
"""

import itertools
import sys
import time
import warnings

import numpy as np
from _boosting_tables import missing, split
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from skdp import PrivateAdditiveClassifier, PrivateSearchCV
from skdp.metrics import PrivateClassifierReport
from skdp.model_selection._budgets import search_budgets

TABLES = "churn", "credit", "lending", "nass", "adult", "diamonds", "late"
EPSILONS = 0.3, 1.0, 3.0
DELTA, SPLITS = 1e-6, 3
MEAN_TRIALS = 10  # of a geometric law: the defaults
GRID = {"n_bins": [8, 16, 32], "n_cycles": [2, 4]}


def area(model, test):
    """Return the AUC of a fitted model on the rows that were held out."""
    return roc_auc_score(test.y, model.predict_proba(test.X)[:, 1])


def model_of(train, epsilon, seed):
    """Return the additive model with its defaults."""
    return PrivateAdditiveClassifier(
        classes=[0, 1],
        categories=train.categories or None,
        epsilon=epsilon,
        delta=DELTA,
        random_state=seed,
    )


def budgets_of(model, epsilon):
    """Return the SearchBudgets of a search with its defaults, and the part of a run's rows."""
    search = PrivateSearchCV(model, GRID, epsilon=epsilon, delta=DELTA)
    budgets = search_budgets(epsilon, DELTA, search._trials(), 6, 0.0, counted=True)
    return budgets, 1 - search.holdout


def with_budget(model, budget):
    """Return a clone with another budget."""
    return clone(model).set_params(epsilon=float(budget.epsilon), delta=float(budget.delta))


def each_of(model, X, y, test):
    """Return the AUC of each candidate."""
    return [
        area(clone(model).set_params(n_bins=b, n_cycles=c).fit(X, y), test)
        for b, c in itertools.product(*GRID.values())
    ]


def runs(name, epsilon, seed):
    """Return the AUC of one fit, and of a run and the best candidate less that."""
    train, test = split(name, seed)
    y, model = train.y.astype(int), model_of(train, epsilon, seed)
    one = area(model.fit(train.X, y), test)
    budgets, part = budgets_of(model, epsilon)
    kept = np.random.default_rng(seed).random(len(y)) < part
    alike = with_budget(model, budgets.run).fit(train.X[kept].reset_index(drop=True), y[kept])
    return [one, area(alike, test) - one, *(np.array(each_of(model, train.X, y, test)) - one)]


def worst(name, epsilon, seed):
    """Return the AUC of one fit, and that of each candidate as a run less that."""
    train, test = split(name, seed)
    y, model = train.y.astype(int), model_of(train, epsilon, seed)
    one = area(model.fit(train.X, y), test)
    budgets, part = budgets_of(model, epsilon)
    kept = np.random.default_rng(seed).random(len(y)) < part
    run = with_budget(model, budgets.run)
    each = each_of(run, train.X[kept].reset_index(drop=True), y[kept], test)
    return [one, *(np.array(each) - one)]


def quick(name, epsilon, seed):
    """Return the AUC of one fit, and that of a search whose models score many rows at once."""
    rng = np.random.default_rng([seed, 99])
    train, test = split(name, seed)
    y, model = train.y.astype(int), model_of(train, epsilon, seed)
    alone = area(model.fit(train.X, y), test)
    budgets, part = budgets_of(model, epsilon)
    kept = rng.random(len(y)) < part
    X, held = (train.X[rows].reset_index(drop=True) for rows in (kept, ~kept))
    grid, told = [*itertools.product(*GRID.values())], []
    for _ in range(rng.geometric(1 / MEAN_TRIALS)):
        bins, cycles = grid[rng.integers(len(grid))]
        run, report = (with_budget(one, budgets.run) for one in (model, PrivateClassifierReport()))
        run.set_params(n_bins=bins, n_cycles=cycles, random_state=int(rng.integers(2**31)))
        run.fit(X, y[kept])
        report.set_params(random_state=int(rng.integers(2**31)))
        report.fit(y[~kept], run.predict_proba(held)[:, 1])
        told.append((report.roc_auc_, area(run, test)))
    return [alone, max(told)[1] - alone]


def declined(name, epsilon, seed):
    """Return the AUC of one fit, and that of the fit in place of a search less that."""
    train, test = split(name, seed)
    y, model = train.y.astype(int), model_of(train, epsilon, seed)
    alone = with_budget(model, budgets_of(model, epsilon)[0].alone)
    one = area(model.fit(train.X, y), test)
    return [one, area(alone.fit(train.X, y), test) - one]


def searched(name, epsilon, seed):
    """Return the AUC of one fit, that of a search less that, and whether there was one."""
    train, test = split(name, seed)
    y, model = train.y.astype(int), model_of(train, epsilon, seed)
    one = area(model.fit(train.X, y), test)
    plain = clone(model).set_params(random_state=None)
    search = PrivateSearchCV(plain, GRID, epsilon=epsilon, delta=DELTA, random_state=seed)
    search.fit(train.X, y)
    return [one, area(search, test) - one, search.best_index_ >= 0]


def told_of(what, told):
    """Return the words for what was measured, (splits, numbers)."""
    mean, error = told.mean(axis=0), told.std(axis=0, ddof=1) / np.sqrt(len(told))
    one = f"one fit {mean[0]:.4f}  "
    if what == "runs":
        return f"{one}a run {mean[1]:+.4f}  best candidate {mean[2:].max():+.4f}"
    if what == "worst":
        return f"{one}worst candidate {mean[1:].min():+.4f}  best {mean[1:].max():+.4f}"
    if what == "declined":
        return f"{one}in its place {mean[1]:+.5f} +- {error[1]:.5f}"
    words = f"{one}search {mean[1]:+.4f} +- {error[1]:.4f} (least {told[:, 1].min():+.4f})"
    return words if what == "quick" else f"{words}  searched {mean[2]:.2f}"


MEASURES = {
    "runs": runs,
    "search": searched,
    "quick": quick,
    "worst": worst,
    "declined": declined,
}


def main(what="runs", *tables):
    """Print a line for each table and epsilon."""
    measure = {
        "declined": declined,
        "runs": runs,
        "search": searched,
        "quick": quick,
        "worst": worst,
    }[what]
    for cell in tables or TABLES:
        name, splits, only = (*cell.split(":"), "", "")[:3]
        if missing(name):
            print(name, "needs", *missing(name))
            continue
        for epsilon in (float(only),) if only else EPSILONS:
            start, seeds = time.process_time(), range(int(splits or SPLITS))
            told = np.array([measure(name, epsilon, seed) for seed in seeds], dtype=float)
            seconds = time.process_time() - start
            print(f"{name:10} {epsilon:<4g} {told_of(what, told)}  {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
