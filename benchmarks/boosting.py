"""Boosting with pairs on real tables, beside additive models, DP-EBM and boosting without privacy.

    python benchmarks/boosting.py [--only PREFIX ...] [--tables seen|fresh|blind|again|last]
                                  [--epsilon E ...] [--splits N] [--seed S] [--no-peers]
                                  [--json PATH]
    python benchmarks/boosting.py --cost
    python benchmarks/boosting.py --doubts [TABLE ...]

boosting  PrivateBoostingClassifier or -Regressor
additive  PrivateAdditiveClassifier or -Regressor
DP-EBM    interpret, with exact bounds
plain     boosted trees of scikit-learn, without privacy

AUC, R^2 or accuracy (of many classes) of a fifth of the rows that was held out, the mean of splits;
``least`` is the least difference of boosting and additive in a split. Classes and levels of
categories are public for all, delta is 1e-6. Tables ``seen`` were, while rules were chosen; a group
``nine`` has those of ``supervised.py``. Tables ``fresh`` were looked at once, and one of them has
changed a rule; so has then one of ``blind``, and then one of ``again``; ``last`` were looked at
once in the end. ``calibrated`` is the mean of predicted probabilities over that of the class.
``--cost``: CPU of a million rows of ten columns, and the peak of memory of a fifth of them and of
all, from files. ``--doubts``: of fits of 300 to 10,000 rows of tables, how many are called
reliable, and how many of them predict no better than the mean, or than chance.
"""

import argparse
import time
import warnings
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from _boosting_tables import AGAIN, BLIND, FRESH, LAST, NINE, SEEN, Table, missing, split
from _harness import print_table, write_json
from _supervised_costs import peak
from _supervised_peers import DELTA, dp_ebm, plain_boosting
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from threadpoolctl import threadpool_limits

import skdp

GROUPS = {
    "seen": list(SEEN),
    "fresh": list(FRESH),
    "blind": list(BLIND),
    "again": list(AGAIN),
    "last": list(LAST),
    "nine": [f"nine {name}" for name in NINE],
}
DEFAULT_JSON = Path(__file__).parent / "results" / "boosting.json"
DOUBTED = [
    *("churn", "credit", "movies", "gss", "insured", "vote", "youth", "colleges"),
    *("wage 1988", "weather", "customers", "cars", "cards", "bikes", "films", "phones"),
]
METRICS = {r2_score: "R2", roc_auc_score: "AUC", accuracy_score: "accuracy"}
COLUMNS = [
    *("cell", "metric", "boosting", "additive", "difference", "least", "DP-EBM", "plain"),
    *("pairs", "calibrated", "seconds", "splits"),
]


def fitted(kind, train, classes, epsilon, seed):
    """Return a fitted model of skdp, which knows classes and levels."""
    told = {"epsilon": epsilon, "delta": DELTA, "random_state": seed}
    told["categories"] = train.categories or None
    if classes is None:
        return getattr(skdp, f"Private{kind}Regressor")(**told).fit(train.X, train.y)
    model = getattr(skdp, f"Private{kind}Classifier")(classes=classes, **told)
    return model.fit(train.X, train.y.astype(int))


def predicted(model, X):
    """Return probabilities of the second of two classes, or what is predicted."""
    if len(getattr(model, "classes_", ())) == 2:
        return model.predict_proba(X)[:, 1]
    return model.predict(X)


def classes_of(y):
    """Return the classes of a target, None for numbers."""
    labels = np.unique(y)
    return labels.astype(int) if np.array_equal(labels, np.arange(len(labels))) else None


def measure(name, epsilon, splits, seed, with_peers):
    scores, pairs, means, seconds = {}, [], [], []
    for index in range(seed, seed + splits):
        train, test = split(name, index)
        classes = None if name.endswith("_number") else classes_of(train.y)
        score = r2_score
        if classes is not None:
            score = roc_auc_score if len(classes) == 2 else accuracy_score
        found = {}
        start = time.process_time()
        model = fitted("Boosting", train, classes, epsilon, index)
        seconds.append(time.process_time() - start)
        found["boosting"] = predicted(model, test.X)
        pairs.append(len(model.terms_) - model.n_features_in_)
        found["additive"] = predicted(fitted("Additive", train, classes, epsilon, index), test.X)
        if with_peers:
            found["plain"] = plain_boosting(train, test, classes, epsilon, index)
            if find_spec("interpret") and len(classes if classes is not None else ()) < 3:
                found["DP-EBM"] = dp_ebm(train, test, classes, epsilon, index)
        if score is roc_auc_score:
            means.append(found["boosting"].mean() / test.y.mean())
        for method, values in found.items():
            scores.setdefault(method, []).append(float(score(test.y, values)))
    apart = np.subtract(scores["boosting"], scores["additive"])
    return {
        "cell": f"{name} {epsilon:g}",
        "metric": METRICS[score],
        **{method: f"{np.mean(values):.4f}" for method, values in scores.items()},
        "difference": f"{apart.mean():+.4f}",
        "least": f"{apart.min():+.4f}",
        "pairs": float(np.mean(pairs)),
        "calibrated": float(np.mean(means)) if means else None,
        "seconds": float(np.median(seconds)),
        "splits": splits,
    }


def doubts(names):
    """Print how many fits are called reliable, and how many of them are worth nothing."""
    for name in names:
        reliable, worthless, fits, doubted = 0, [], 0, 0
        for n, epsilon, seed in product((300, 1000, 3000, 10000), (0.1, 0.3, 1.0, 3.0), (0, 1)):
            train, test = split(name, seed)
            if len(train.y) < n:
                continue
            few = Table(train.X.iloc[:n].reset_index(drop=True), train.y[:n], train.categories)
            classes = classes_of(train.y)
            model = fitted("Boosting", few, classes, epsilon, seed)
            told = predicted(model, test.X)
            if classes is None:
                better = r2_score(test.y, told)
            else:
                better = 2 * roc_auc_score(test.y, told) - 1
            is_reliable = bool(np.all(model.reliable_))
            fits, reliable = fits + 1, reliable + is_reliable
            doubted += better > 0.1 and not is_reliable
            worthless += [f"{n} {epsilon:g}: {better:.3f}"] * (is_reliable and better <= 0)
        print(f"{name}: {fits} fits, {reliable} reliable, worthless {worthless}, ", end="")
        print(f"good ones that are doubted {doubted}", flush=True)


def drawn(n, seed):
    """Return ten columns and a class that needs a pair of them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 10))).rename(columns=lambda j: f"x{j}")
    score = X["x0"] * X["x1"] + X["x2"]
    return X, (score + rng.logistic(size=n) > 0).astype(int)


def cost(n=10**6, files=10):
    """Print what a large fit costs: files first, as a peak of memory never falls."""
    model = skdp.PrivateBoostingClassifier(classes=[0, 1], delta=DELTA, random_state=0)
    with TemporaryDirectory() as folder:
        for file in range(files):
            X, y = drawn(n // files, file)
            path = Path(folder) / f"{file}.parquet"
            X.assign(y=y).to_parquet(path, row_group_size=2**14)
            if file + 1 in (files // 5, files):
                start = time.process_time()
                model.fit(folder, "y")
                seconds, rows = time.process_time() - start, (file + 1) * n // files
                print(f"{rows} rows of files: {seconds:.0f} s, peak {peak() / 1024:.0f} MB")
    X, y = drawn(n, 0)
    for one in (model, HistGradientBoostingClassifier(random_state=0)):
        start = time.process_time()
        one.fit(X, y)
        print(f"{type(one).__name__}: {time.process_time() - start:.1f} s of CPU")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="where results go")
    parser.add_argument("--only", nargs="*", default=[""], help="tables whose names begin so")
    parser.add_argument("--tables", choices=list(GROUPS), default="seen", help="which tables")
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.1, 0.3, 1.0, 3.0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="of splits and noise")
    parser.add_argument("--no-peers", action="store_true", help="skdp alone")
    parser.add_argument("--cost", action="store_true", help="time and memory instead")
    parser.add_argument("--doubts", nargs="*", help="tables of numbers or two classes")
    args = parser.parse_args()
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if args.cost:
            return cost()
        if args.doubts is not None:
            return doubts(args.doubts or DOUBTED)
        for name in GROUPS[args.tables]:
            if not name.startswith(tuple(args.only)):
                continue
            if missing(name):
                print("left out:", name, missing(name))
                continue
            for epsilon in args.epsilon:
                rows.append(measure(name, epsilon, args.splits, args.seed, not args.no_peers))
                shown = {**rows[-1], "cell": rows[-1]["cell"].ljust(24)}
                print_table([shown], COLUMNS, header=len(rows) == 1)
    if args.only == [""]:
        write_json(args.json, rows)


if __name__ == "__main__":
    main()
