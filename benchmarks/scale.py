"""Large tables: memory and passes over parquet files, threads, growth with the number of rows.

python benchmarks/scale.py [--only PART ...] [--fits NAME ...] [--scale 0.01] [--folder FOLDER]
                           [--json PATH] [--doc PATH]

Every fit runs in a process of its own, those of the part "dask" on a cluster of processes. The
whole takes an hour and writes up to 4 GB into a temporary folder, which is deleted. Times of a busy
machine are too long; seconds of CPU hardly are.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from _harness import print_table, write_json
from _scale_dask import of_dask
from _scale_parts import of_growth, of_jobs, of_parquet, of_passes

DEFAULT_JSON = Path(__file__).parent / "results" / "scale.json"
PARTS = {
    "parquet": of_parquet,
    "jobs": of_jobs,
    "growth": of_growth,
    "passes": of_passes,
    "dask": of_dask,
}
SHOWN = {"fit": "fit", "passes": "passes", "cpu": "seconds", "peer_cpu": "without privacy"}


def measure(part, scale, folder, fits):
    """Return the rows of a part; its tables are gone afterwards."""
    with TemporaryDirectory(dir=folder) as place:
        rows = []
        for row in PARTS[part](scale, Path(place), fits):
            print(f"{part}: {row['fit']}", file=sys.stderr)
            rows.append(row)
    print_table(rows, list(dict.fromkeys(key for row in rows for key in row)))
    return [{"part": part, **row} for row in rows]


def document(rows):
    """Return the passes and seconds of every fit as reStructuredText."""
    lines = [".. written by benchmarks/scale.py --only passes --doc", "", ".. list-table::"]
    lines += ["   :header-rows: 1", ""]
    for cells in (list(SHOWN.values()), *([_cell(row[key]) for key in SHOWN] for row in rows)):
        lines += [f"   {'* -' if j == 0 else '  -'} {cell}" for j, cell in enumerate(cells)]
    return "\n".join([*lines, ""])


def _cell(value):
    if value is None:
        return "none"
    return value if isinstance(value, str) else f"{value:.2g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument("--fits", nargs="+", metavar="NAME", help="those of a part by default")
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of rows")
    parser.add_argument("--folder", type=Path, help="where tables are written")
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="where results go")
    parser.add_argument("--doc", type=Path, help="write the passes as reStructuredText")
    args = parser.parse_args()
    rows = []
    for part in args.only:
        print(f"\n{part}: {PARTS[part].__doc__.splitlines()[0]}")
        rows += measure(part, args.scale, args.folder, args.fits)
        write_json(args.json, rows, scale=args.scale)
    if args.doc:
        args.doc.write_text(document([row for row in rows if row["part"] == "passes"]))


if __name__ == "__main__":
    main()
