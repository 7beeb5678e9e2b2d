"""Boosting with pairs on real tables, beside additive models, DP-EBM and boosting without privacy.

    python benchmarks/boosting.py [--only PREFIX ...] [--fresh] [--epsilon E ...] [--splits N]
                                  [--seed S] [--no-peers] [--json PATH]

boosting  PrivateBoostingClassifier or -Regressor
additive  PrivateAdditiveClassifier or -Regressor
DP-EBM    interpret, with exact bounds
plain     boosted trees of scikit-learn, without privacy

AUC or R^2 of a fifth of the rows that was held out, the mean of splits; ``least`` is the least
difference of boosting and additive in a split. Classes and levels of categories are public for all,
delta is 1e-6. Tables of ``--fresh`` were looked at once; the others were seen while rules were
chosen. ``calibrated`` is the mean of predicted probabilities over that of the class.
"""

import argparse
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from _boosting_tables import FRESH, SEEN, missing, split
from _harness import print_table, write_json
from _supervised_peers import DELTA, dp_ebm, plain_boosting
from sklearn.metrics import r2_score, roc_auc_score
from threadpoolctl import threadpool_limits

import skdp

DEFAULT_JSON = Path(__file__).parent / "results" / "boosting.json"
COLUMNS = [
    *("cell", "metric", "boosting", "additive", "difference", "least", "DP-EBM", "plain"),
    *("pairs", "calibrated", "seconds", "splits"),
]


def fitted(kind, train, epsilon, seed):
    """Return a fitted model of skdp, which knows classes and levels."""
    told = {"epsilon": epsilon, "delta": DELTA, "random_state": seed}
    told["categories"] = train.categories or None
    if set(np.unique(train.y)) == {0.0, 1.0}:
        return getattr(skdp, f"Private{kind}Classifier")(classes=[0, 1], **told).fit(
            train.X, train.y.astype(int)
        )
    return getattr(skdp, f"Private{kind}Regressor")(**told).fit(train.X, train.y)


def predicted(model, X):
    """Return probabilities of the second class, or numbers."""
    return model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X)


def measure(name, epsilon, splits, seed, with_peers):
    scores, pairs, means, seconds = {}, [], [], []
    for index in range(seed, seed + splits):
        train, test = split(name, index)
        classes = [0, 1] if set(np.unique(train.y)) == {0.0, 1.0} else None
        score = r2_score if classes is None else roc_auc_score
        found = {}
        start = time.process_time()
        model = fitted("Boosting", train, epsilon, index)
        seconds.append(time.process_time() - start)
        found["boosting"] = predicted(model, test.X)
        pairs.append(len(model.terms_) - model.n_features_in_)
        found["additive"] = predicted(fitted("Additive", train, epsilon, index), test.X)
        if with_peers:
            found["plain"] = plain_boosting(train, test, classes, epsilon, index)
            if find_spec("interpret"):
                found["DP-EBM"] = dp_ebm(train, test, classes, epsilon, index)
        if classes is not None:
            means.append(found["boosting"].mean() / test.y.mean())
        for method, values in found.items():
            scores.setdefault(method, []).append(float(score(test.y, values)))
    apart = np.subtract(scores["boosting"], scores["additive"])
    return {
        "cell": f"{name} {epsilon:g}",
        "metric": "R2" if classes is None else "AUC",
        **{method: f"{np.mean(values):.4f}" for method, values in scores.items()},
        "difference": f"{apart.mean():+.4f}",
        "least": f"{apart.min():+.4f}",
        "pairs": float(np.mean(pairs)),
        "calibrated": float(np.mean(means)) if means else None,
        "seconds": float(np.median(seconds)),
        "splits": splits,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="where results go")
    parser.add_argument("--only", nargs="*", default=[""], help="tables whose names begin so")
    parser.add_argument("--fresh", action="store_true", help="tables that were looked at once")
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.1, 0.3, 1.0, 3.0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="of splits and noise")
    parser.add_argument("--no-peers", action="store_true", help="skdp alone")
    args = parser.parse_args()
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in FRESH if args.fresh else SEEN:
            if not name.startswith(tuple(args.only)):
                continue
            if missing(name):
                print("left out:", name, missing(name))
                continue
            for epsilon in args.epsilon:
                rows.append(measure(name, epsilon, args.splits, args.seed, not args.no_peers))
                shown = {**rows[-1], "cell": rows[-1]["cell"].ljust(14)}
                print_table([shown], COLUMNS, header=len(rows) == 1)
    if args.only == [""]:
        write_json(args.json, rows)


if __name__ == "__main__":
    main()
