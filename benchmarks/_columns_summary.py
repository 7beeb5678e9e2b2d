"""Tables of what was measured on real columns, for the screen and for the documentation."""

import math

import numpy as np

__all__ = ["against", "by_kind", "by_table", "document", "worst"]


def by_kind(rows):
    """Return one line per list, n, epsilon and kind of column; kind "all" first."""
    cells = sorted({(r["list"], r["epsilon"], r["n"]) for r in rows})
    kinds = ["all", *dict.fromkeys(r["kind"] for r in rows)]
    lines = []
    for which, epsilon, n in cells:
        here = [r for r in rows if (r["list"], r["epsilon"], r["n"]) == (which, epsilon, n)]
        for kind in kinds:
            chosen = [r for r in here if kind in ("all", r["kind"])]
            if chosen:
                head = {"list": which, "kind": kind, "n": n, "epsilon": epsilon}
                lines.append(head | _line(chosen))
    return lines


def _line(rows):
    R = _values(rows, "R")
    least = min(rows, key=lambda r: r["covered"])
    fits = sum(r["scales"] for r in rows)
    return {
        "columns": len(rows),
        "R": _part(R, 0.5),
        "q90": _part(R, 0.9),
        "q95": _part(R, 0.95),
        "worst": _part(R, 1.0),
        "covered": float(np.mean([r["covered"] for r in rows])),
        "least": least["covered"],
        "least of": least["column"],
        "infinite": float(np.mean([r["infinite"] for r in rows])),
        "warned": float(np.mean([r["warned"] for r in rows])),
        "unequal pairs": float(np.mean([r["unequal pairs"] for r in rows])),
        "absurd std": sum(r["standard absurd"] for r in rows) / fits,
        "absurd iqr": sum(r["robust absurd"] for r in rows) / fits,
        "rank": _part(_values(rows, "rank near"), 0.5),
        "rank q95": _part(_values(rows, "rank near"), 0.95),
        "rank worst": _part(_values(rows, "rank near"), 1.0),
        "rank exact, worst": _part(_values(rows, "rank"), 1.0),
        "rank covered": float(np.mean([r["rank covered"] for r in rows])),
        "deciles": _part(_values(rows, "deciles near"), 0.5),
        "deciles worst": _part(_values(rows, "deciles near"), 1.0),
        "bounds / floor": _part(_values(rows, "bounds / floor"), 0.5),
        "covered bounds": _mean(_values(rows, "covered bounds")),
        "R bounds": _part(_values(rows, "R bounds"), 0.5),
        "R bounds, pure": _part(_values(rows, "R bounds, pure"), 0.5),
        "R diffprivlib": _part(_values(rows, "R diffprivlib"), 0.5),
        "std error": _part(_values(rows, "std error"), 0.5),
        "std error bounds": _part(_values(rows, "std error bounds"), 0.5),
        "std error bounds, pure": _part(_values(rows, "std error bounds, pure"), 0.5),
        "std error diffprivlib": _part(_values(rows, "std error diffprivlib"), 0.5),
        "rank bounds": _part(_values(rows, "rank bounds"), 0.5),
        "rank diffprivlib": _part(_values(rows, "rank diffprivlib"), 0.5),
    }


def _values(rows, key):
    return [r[key] for r in rows if r.get(key) is not None]


def _mean(values):
    return float(np.mean(values)) if values else None


def _part(values, part):
    """Return a quantile that is one of the values; infinite ones are values too."""
    return float(np.quantile(values, part, method="higher")) if values else None


def worst(rows, number=10):
    """Return the columns with the largest R, over all n."""
    judged = [r for r in rows if r.get("R") is not None]
    return sorted(judged, key=lambda r: -r["R"])[:number]


def by_table(rows):
    """Return one line per joint fit: geometric means, extremes and coverage over its columns."""
    lines = []
    for key in dict.fromkeys((r["list"], r["table"], r["n"], r["epsilon"]) for r in rows):
        here = [r for r in rows if (r["list"], r["table"], r["n"], r["epsilon"]) == key]
        least = min(here, key=lambda r: r["covered"])
        alone = max(here, key=lambda r: r["of alone"] or 0.0)
        head = dict(zip(("list", "table", "n", "epsilon"), key, strict=True))
        lines.append(
            head
            | {
                "d": len(here),
                "sqrt d": math.sqrt(len(here)),
                "R": _geometric(_values(here, "R")),
                "R worst": _part(_values(here, "R"), 1.0),
                "frontier": _geometric(_values(here, "frontier")),
                "R alone": _geometric(_values(here, "R alone")),
                "of alone": _geometric(_values(here, "of alone")),
                "of alone, worst": alone["of alone"],
                "worst of": alone["column"],
                "covered": float(np.mean([r["covered"] for r in here])),
                "least": least["covered"],
                "least of": least["column"],
            }
        )
    return lines


def _geometric(values):
    return float(np.exp(np.mean(np.log(np.maximum(values, 1e-300))))) if values else None


def against(rows, tables, before):
    """Return R over that of an earlier run of the same cells, by kind and by table.

    Parameters
    ----------
    rows, tables : list of dict
    before : dict
        What an earlier run wrote as JSON.
    """
    keys = ("list", "table", "column", "n", "epsilon")
    earlier = {tuple(r.get(k) for k in keys): r for r in before["rows"] + before["joint"]}
    groups = {}
    for row in rows + tables:
        old = earlier.get(tuple(row.get(k) for k in keys))
        if old is not None and row["R"] is not None:
            name = row.get("kind") or f"joint {row['table']}"
            times = row["R"] / max(float(old["R"]), 1e-300)  # infinities are written as words
            head = (row["list"], name, row["n"], row["epsilon"])
            groups.setdefault(head, []).append((times, row["column"]))
    return [
        dict(zip(("list", "kind", "n", "epsilon"), head, strict=True))
        | {"R / before": _geometric([times for times, _ in pairs])}
        | {"worst": max(pairs)[0], "worst of": max(pairs)[1]}
        for head, pairs in groups.items()
    ]


LISTS = {"aside": "not used for tuning", "tuned": "used for tuning"}
FIGURES = {
    "columns": "number",
    "R": "R, median",
    "q95": "95th percentile",
    "worst": "worst",
    "covered": "coverage",
    "least": "least",
    "unequal pairs": "unequal pairs",
    "absurd std": "absurd scales",
    "rank": "rank error",
    "rank worst": "worst",
}
NAMED = {"column": "column", "kind": "kind", "epsilon": "epsilon", "n": "n", "R": "R"}
NAMED |= {"covered": "coverage", "warned": "warned"}
JOINT = {"table": "table", "told": "columns", "d": "d", "epsilon": "epsilon", "n": "n"}
JOINT |= {
    "R": "R, geometric mean",
    "frontier": "frontier",
    "R worst": "worst",
    "of alone": "over alone",
}
JOINT |= {"of alone, worst": "worst", "covered": "coverage"}


def document(rows, tables):
    """Return a part of a page in reStructuredText: by n, by kind, the worst columns, joint fits."""
    parts = [".. written by benchmarks/columns.py --doc", ""]
    lines = [line | {"told": LISTS[line["list"]]} for line in by_kind(rows)]
    overall = [line for line in lines if line["kind"] == "all"]
    if overall:
        head = {"told": "columns", "epsilon": "epsilon", "n": "n"}
        parts.append(_list_table("All columns", overall, head | FIGURES))
    kinds = [line for line in lines if line["list"] == "aside" and line["kind"] != "all"]
    if kinds:
        head = {"kind": "columns", "epsilon": "epsilon", "n": "n"}
        parts.append(_list_table(f"Columns {LISTS['aside']}, by kind", kinds, head | FIGURES))
    judged = [r for r in rows if r["list"] == "aside"]
    if judged:
        parts.append(_list_table("The ten largest R of them", worst(judged), NAMED))
        least = sorted(judged, key=lambda r: r["covered"])[:10]
        parts.append(_list_table("The ten lowest coverages of them", least, NAMED))
    if tables:
        joint = [line | {"told": LISTS[line["list"]]} for line in by_table(tables)]
        parts.append(_list_table("Joint fits", joint, JOINT))
    return "\n".join(parts)


def _list_table(title, lines, shown):
    text = [f".. list-table:: {title}", "   :header-rows: 1", ""]
    for cells in (list(shown.values()), *([_cell(x[key]) for key in shown] for x in lines)):
        text += [f"   {'* -' if j == 0 else '  -'} {cell}" for j, cell in enumerate(cells)]
    return "\n".join([*text, ""])


def _cell(value):
    if value is None:
        return "none"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
