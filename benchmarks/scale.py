"""Large tables: memory and passes over parquet files, threads, growth with the number of rows.

python benchmarks/scale.py [--only PART ...] [--fits NAME ...] [--scale 0.01] [--json PATH]

Every fit runs in a process of its own. The whole takes an hour and writes up to 4 GB into a
temporary folder (``--folder`` says where), which is deleted.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from _harness import print_table, write_json
from _scale_parts import PARTS

DEFAULT_JSON = Path(__file__).parent / "results" / "scale.json"


def measure(part, scale, folder, fits):
    """Return the rows of a part; its tables are gone afterwards."""
    with TemporaryDirectory(dir=folder) as place:
        rows = []
        for row in PARTS[part](scale, Path(place), fits):
            print(f"{part}: {row['fit']}", file=sys.stderr)
            rows.append(row)
        print_table(rows, list(dict.fromkeys(key for row in rows for key in row)))
        return [{"part": part, **row} for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument("--fits", nargs="+", metavar="NAME", help="those of a part by default")
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of rows")
    parser.add_argument("--folder", type=Path, help="where tables are written")
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="where results go")
    args = parser.parse_args()
    rows = []
    for part in args.only:
        print(f"\n{part}: {PARTS[part].__doc__.splitlines()[0]}")
        rows += measure(part, args.scale, args.folder, args.fits)
        write_json(args.json, rows, scale=args.scale)


if __name__ == "__main__":
    main()
