"""Write the tables of the page of benchmarks from the JSON that benchmarks have left.

    python benchmarks/page.py [--results FOLDER] [--out doc/_benchmarks_tables.rst]

Every cell that was run is shown. **Bold** are those in which the peer is better.
"""

import argparse
import json
from pathlib import Path

HERE = Path(__file__).parent
OUT = HERE.parent / "doc" / "_benchmarks_tables.rst"


def means(content):
    """Return the table of means: the error of skdp over that of the best CoinPress."""
    rows = [
        [row["cell"], row["reps"], row["skdp"] / row["CoinPress"], row["/ floor"]]
        for row in content["summary"]
        if isinstance(row.get("CoinPress"), float)
    ]
    head = ["cell", "repetitions", "skdp / CoinPress", "skdp / floor"]
    return head, [(row, [2] if row[2] > 1 else []) for row in rows]


def bounded(content):
    """Return the table of means between bounds: root mean squared errors of pure mechanisms."""
    keys = ["mean pure", "mean diffprivlib", "var pure", "var diffprivlib"]
    head = ["column", "n", "epsilon", *keys]
    rows = [
        ([row["column"], row["n"], row["epsilon"], *(row[key] for key in keys)], row)
        for row in content["rows"]
    ]
    return head, [
        (line, [at for at, key in ((3, "mean"), (5, "var")) if _loses(row, key)])
        for line, row in rows
    ]


def _loses(row, key):
    return row[f"{key} pure"] > row[f"{key} diffprivlib"]


def quantiles(content):
    """Return the table of quantiles: worst errors of nine deciles, in ranks."""
    rows = [[row["cell"], row["skdp"], row["with bounds"]] for row in content["rows"]]
    head = ["cell", "skdp, no bounds", "exact bounds given"]
    return head, [(row, [1] if row[1] > row[2] else []) for row in rows]


TABLES = {  # what a table is called, its file, how it is read, the command that makes the file
    "Means, beside CoinPress": ("mean.json", means, "python benchmarks/mean.py --quick"),
    "Means and variances between bounds, beside diffprivlib": (
        "bounds.json",
        bounded,
        "python benchmarks/bounds.py --reps 100 --json benchmarks/results/bounds.json",
    ),
    "Nine deciles, beside a search between exact bounds": (
        "quantiles.json",
        quantiles,
        "python benchmarks/quantiles.py --reps 5 --json benchmarks/results/quantiles.json",
    ),
}


def text_of(value):
    """Return a number with three digits, or text, for a cell of a table."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def table_of(name, head, rows, command, environment):
    """Return a table in reStructuredText, and what stood around its run."""
    versions = ", ".join(
        f"{key} {environment[key]}"
        for key in ("skdp", "numpy", "diffprivlib")
        if environment.get(key)
    )
    lost = sum(bool(marked) for _, marked in rows)
    lines = [name, "-" * len(name), ""]
    lines += [f"``{command}``, with {versions}. The peer is better in {lost} of {len(rows)} cells."]
    lines += ["", ".. list-table::", "   :header-rows: 1", ""]
    for cells in [head, *([_marked(row, marked) for row, marked in rows])]:
        first, *others = map(text_of, cells)
        lines += [f"   * - {first}", *(f"     - {cell}" for cell in others)]
    return "\n".join(lines) + "\n"


def _marked(row, marked):
    return [f"**{text_of(x)}**" if at in marked else x for at, x in enumerate(row)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    parts = [".. written by benchmarks/page.py\n"]
    for name, (file, read, command) in TABLES.items():
        content = json.loads((args.results / file).read_text(encoding="utf-8"))
        head, rows = read(content)
        parts.append(table_of(name, head, rows, command, content["environment"]))
    args.out.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
