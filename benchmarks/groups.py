"""Fits that protect groups: accuracy beside simpler ways, the cap, and the cost.

Prints a table, and writes benchmarks/results/groups.json: ``python benchmarks/groups.py [--only
mean] [--runs 3]``. Under ten minutes in all.
"""

import argparse
import warnings
from pathlib import Path

from _groups_cells import cap_cells, cluster_cells, matrix_cells, mean_cells, table_cells
from _groups_cost import cost_cells
from _harness import print_table, write_json

RESULTS = Path(__file__).resolve().parent / "results" / "groups.json"
CELLS = {
    "mean": mean_cells,
    "tables": table_cells,
    "clusters": cluster_cells,
    "covariance": matrix_cells,
    "cap": cap_cells,
    "cost": cost_cells,
}


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=CELLS, action="append")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in arguments.only or CELLS:
        found = list(CELLS[name](arguments.runs))
        print_table(found)
        print()
        rows += found
    write_json(arguments.out, rows, epsilon=1.0, delta=1e-6, unit="group")


if __name__ == "__main__":
    main()
