"""Synthetic rows beside SWIFT, AIM and MST, of the same discretised tables at the same rho.

``python synthetic.py --peers FOLDER`` reads what ``_synthetic_peers.py`` has saved there as
``METHOD_TABLE_EPSILON.npz``; run that with the rho that ``--rho`` prints. All methods see the
training rows; distances are to these, a boosted model is scored on the rows for tests. ``--only``
adds to the JSON, and keeps what it has of other tables, methods and budgets. ``--page`` writes the
table of chosen pairs of the page from the JSON; **bold** is where SWIFT is better.
"""

import argparse
import json
import resource
import time
import warnings
from functools import partial
from itertools import combinations
from math import prod
from pathlib import Path

import numpy as np
from _harness import print_table, write_json
from _synthetic_tables import REAL, TABLES, rdataset, wide
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from skdp import MarginalReleaser
from skdp.accounting import gaussian_mu
from skdp.exceptions import SeededNoiseWarning

EPSILONS, DELTA, TRIPLES = (0.1, 1.0, 10.0), 1e-6, 80
SINGLE = 60.0  # weight of a cell of one column, of pairs 1


def rho(epsilon):
    return gaussian_mu(epsilon, DELTA) ** 2 / 2


METHODS, PEERS = ("all pairs", "rows", "rows, target"), ("swift", "aim", "mst")
CHOSEN = {"rows": '``"rows"``', "rows, target": "and ``target``", "swift": "SWIFT"}
SHOWN = "pairs", "triples", "auc"
PAGE = Path(__file__).parents[1] / "doc" / "_synthetic_table.rst"


def release(codes, levels, epsilon, seed=0, method="all pairs"):
    """Return a fit of all columns and all pairs, or of chosen pairs."""
    d = len(levels)
    if method != "all pairs":
        target = d - 1 if method.endswith("target") else None
        return MarginalReleaser(
            domain=dict(enumerate(map(int, levels))),
            workload="rows",
            target=target,
            epsilon=epsilon,
            delta=DELTA,
            random_state=seed,
        ).fit(codes)
    sets = [[j] for j in range(d)] + [list(pair) for pair in combinations(range(d), 2)]
    weights = [SINGLE] * d + [1.0] * (len(sets) - d)
    return MarginalReleaser(
        domain=dict(enumerate(map(int, levels))),
        workload=sets,
        weights=weights,
        postprocess="none",
        epsilon=epsilon,
        delta=DELTA,
        random_state=seed,
    ).fit(codes)


def shares(rows, levels, columns):
    shape = [levels[c] for c in columns]
    keys = np.ravel_multi_index(tuple(rows[:, c] for c in columns), shape)
    return np.bincount(keys, minlength=prod(shape)) / len(rows)


def scores(rows, table):
    """Return mean total variation of pairs and of triples, and the area under the curve."""
    codes, levels, test = table_of(table)
    real, d = codes[~test], len(levels)
    triples = np.array(list(combinations(range(d), 3)))
    if len(triples) > TRIPLES:
        triples = triples[np.random.default_rng(5).choice(len(triples), TRIPLES, replace=False)]

    def distance(sets):
        found = [shares(rows, levels, s) - shares(real, levels, s) for s in sets]
        return float(np.mean([np.abs(gap).sum() / 2 for gap in found]))

    return {
        "pairs": distance(list(combinations(range(d), 2))),
        "triples": distance(triples.tolist()),
        "auc": _auc(rows, codes[test]),
    }


def _auc(rows, test):
    """Return the area under the curve of a model of rows, NaN for a target of three levels."""
    if len(np.unique(test[:, -1])) > 2:
        return float("nan")
    if len(np.unique(rows[:, -1])) < 2:
        return 0.5
    model = HistGradientBoostingClassifier(random_state=0).fit(rows[:, :-1], rows[:, -1])
    return float(roc_auc_score(test[:, -1], model.predict_proba(test[:, :-1])[:, 1]))


def table_of(name):
    return TABLES[name]() if name in TABLES else rdataset(name)


def quality(options, table):
    codes, levels, test = table_of(table)
    real = codes[~test]
    again = real[np.random.default_rng(0).integers(len(real), size=len(real))]
    for name, rows in (("real rows", real), ("real rows, drawn again", again)):
        yield {"table": table, "method": name, **scores(rows, table)}
    for epsilon in options.epsilons:
        for method in options.methods:
            runs = []
            for seed in range(options.reps):
                start = time.process_time()
                rows = release(real, levels, epsilon, seed, method).sample()
                seconds = time.process_time() - start
                runs.append({**scores(rows, table), "cpu s": seconds})
            yield {"table": table, "method": method, "epsilon": epsilon, **_summary(runs)}
        for peer in PEERS:
            path = options.peers and options.peers / f"{peer}_{table}_{epsilon:g}.npz"
            if path and path.exists():
                saved = np.load(path)
                cost = {"cpu s": float(saved["seconds"][0]), "MB": float(saved["megabytes"])}
                told = scores(saved["rows"].astype(np.int64), table)
                yield {"table": table, "method": peer, "epsilon": epsilon, **told, **cost}


def _summary(runs):
    """Return the number of runs, their means and the standard errors of these."""
    told = {"fits": len(runs)}
    for name in runs[0]:
        values = [run[name] for run in runs]
        told[name] = float(np.mean(values))
        told[f"{name} +-"] = float(np.std(values, ddof=1) / len(values) ** 0.5) if values[1:] else 0
    return told


def merged(old, new):
    """Return the rows of both, by epsilon and method; a new one takes the place of an old one."""
    methods = ["real rows", "real rows, drawn again", *METHODS, *PEERS]
    found = {(row.get("epsilon", 0), row["method"]): row for row in old + new}
    return [found[key] for key in sorted(found, key=lambda key: (key[0], methods.index(key[1])))]


def page_table(content):
    """Return the table of chosen pairs, by table and epsilon, and what SWIFT has made of each."""
    lines = [".. written by python benchmarks/synthetic.py --page", "", ".. list-table::"]
    lines += ["   :header-rows: 1", ""]
    head = ["table", "epsilon", "rows", "fits", "pairs", "triples", "AUC", "CPU s"]
    found = [row for table in TABLES for row in content[table] if row["method"] in CHOSEN]
    for cells in [head, *(_cells(row, found) for row in found)]:
        lines += [f"   {' ' if at else '*'} - {cell}" for at, cell in enumerate(cells)]
    return "\n".join(lines) + "\n"


def _cells(row, found):
    ours = [
        one
        for one in found
        if (one["table"], one["epsilon"]) == (row["table"], row["epsilon"])
        and one["method"] in METHODS
    ]
    cells = [row["table"], f"{row['epsilon']:g}", CHOSEN[row["method"]], row.get("fits", 1)]
    for name in SHOWN:
        text = f"{row[name]:.{3 if name == 'auc' else 4}f}"
        sign = 1 if name == "auc" else -1
        wins = row["method"] == "swift" and sign * row[name] > max(sign * one[name] for one in ours)
        spread = f" ({row[f'{name} +-']:.4f})" if row.get(f"{name} +-") else ""
        cells.append(f"**{text}**" if wins else text + spread)
    return [*cells, f"{row['cpu s']:.0f}"]


def costs(_):
    codes, levels, test = TABLES["adult"]()
    million = np.random.default_rng(0).choice(codes[~test], size=1_000_000)
    for method in METHODS[:2]:
        start = time.process_time()
        fit = release(million, levels, 1.0, method=method)
        yield _cost(f"{method}: fit of adult, 1,000,000 rows", start)
        start = time.process_time()
        fit.sample()
        yield _cost(f"{method}: 1,000,000 rows of it", start)
    codes, levels = wide()
    sets = list(combinations(range(100), 2))[::50]
    for epsilon in (1.0, 10.0):
        for method in METHODS[:2]:
            start = time.process_time()
            rows = release(codes, levels, epsilon, method=method).sample(len(codes))
            told = _cost(f"{method}: fit and rows of 100 columns, epsilon {epsilon:g}", start)
            apart = [shares(rows, levels, s) - shares(codes, levels, s) for s in sets]
            yield {**told, "pairs": float(np.mean([np.abs(gap).sum() / 2 for gap in apart]))}


def _cost(what, start):
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"what": what, "cpu s": time.process_time() - start, "MB so far": memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", type=Path, help="folder of what the peers have saved")
    parser.add_argument("--rho", action="store_true", help="print epsilon and rho, and end")
    parser.add_argument("--reps", type=int, default=10)
    parser.add_argument("--epsilons", type=float, nargs="*", default=EPSILONS)
    parser.add_argument("--methods", choices=METHODS, nargs="*", default=METHODS)
    parser.add_argument("--page", action="store_true", help="write the page from the JSON")
    parser.add_argument("--only", choices=[*TABLES, *REAL, "costs"])
    default = Path(__file__).parent / "results" / "synthetic.json"
    parser.add_argument("--json", type=Path, default=default)
    options = parser.parse_args()
    if options.rho:
        print("\n".join(f"{epsilon:g} {rho(epsilon)!r}" for epsilon in EPSILONS))
        return
    if options.page:
        PAGE.write_text(page_table(json.loads(options.json.read_text())))
        return
    warnings.simplefilter("ignore", SeededNoiseWarning)
    names = [*TABLES, *([options.only] if options.only in REAL else [])]
    made = {name: partial(quality, table=name) for name in names} | {"costs": costs}
    old = json.loads(options.json.read_text()) if options.only and options.json.exists() else {}
    done = {name: rows for name, rows in old.items() if name in (*TABLES, *REAL, "costs")}
    for name, rows in made.items():
        if options.only in (None, name):
            print(f"\n{name}")
            found = []
            for row in rows(options):
                found.append(row)
                print_table([row])
            done[name] = found if name == "costs" else merged(done.get(name, []), found)
    write_json(options.json, [], **done)


if __name__ == "__main__":
    main()
