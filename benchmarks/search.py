"""What a private search costs and gains.

    python benchmarks/search.py [runs|search] [TABLE[:N] ...]

AUC of a fifth of the rows that was held out, the mean of N splits, three by default; delta is 1e-6,
classes and levels are public. ``runs``: one fit with the defaults, the same with the rows and the
budget of a run of a search, and the best of six candidates by the test rows, which no search can
reach. ``search``: one fit beside ``PrivateSearchCV`` over these candidates, with its defaults,
where rows are enough for a search; the others are one fit with .994 of mu. The tables have set
``min_rows``; ``children``, ``heart`` and others of ``boosting.py`` have not.
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
from skdp.model_selection._budgets import search_budgets

TABLES = "churn", "credit", "lending", "nass", "adult", "diamonds", "late"
EPSILONS = 0.3, 1.0, 3.0
DELTA, SPLITS = 1e-6, 3
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


def runs(name, epsilon, seed):
    """Return the AUC of one fit, and of a run and the best candidate less that."""
    train, test = split(name, seed)
    y, model = train.y.astype(int), model_of(train, epsilon, seed)
    one = area(model.fit(train.X, y), test)
    search = PrivateSearchCV(model, GRID, epsilon=epsilon, delta=DELTA)
    run = search_budgets(epsilon, DELTA, search._trials(), 6, 0.0).run
    kept = np.random.default_rng(seed).random(len(y)) >= search.holdout
    alike = clone(model).set_params(epsilon=float(run.epsilon), delta=float(run.delta))
    alike = area(alike.fit(train.X[kept].reset_index(drop=True), y[kept]), test)
    each = [
        area(clone(model).set_params(n_bins=b, n_cycles=c).fit(train.X, y), test)
        for b, c in itertools.product(*GRID.values())
    ]
    return [one, alike - one, *(np.array(each) - one)]


def searched(name, epsilon, seed):
    """Return the AUC of one fit, that of a search less that, and whether there was one."""
    train, test = split(name, seed)
    y, model = train.y.astype(int), model_of(train, epsilon, seed)
    one = area(model.fit(train.X, y), test)
    plain = clone(model).set_params(random_state=None)
    search = PrivateSearchCV(plain, GRID, epsilon=epsilon, delta=DELTA, random_state=seed)
    search.fit(train.X, y)
    return [one, area(search, test) - one, search.best_index_ >= 0]


def main(what="runs", *tables):
    """Print a line for each table and epsilon."""
    for cell, epsilon in itertools.product(tables or TABLES, EPSILONS):
        name, _, splits = cell.partition(":")
        if missing(name):
            print(name, "needs", *missing(name))
            continue
        start = time.process_time()
        measure = runs if what == "runs" else searched
        seeds = range(int(splits or SPLITS))
        told = np.array([measure(name, epsilon, seed) for seed in seeds], dtype=float)
        mean, seconds = told.mean(axis=0), time.process_time() - start
        line = f"{name:10} {epsilon:<4g} one fit {mean[0]:.4f}  "
        if what == "runs":
            line += f"a run {mean[1]:+.4f}  best candidate {mean[2:].max():+.4f}"
        else:
            line += f"search {mean[1]:+.4f} (least {told[:, 1].min():+.4f})  "
            line += f"searched {mean[2]:.2f}"
        print(f"{line}  {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
