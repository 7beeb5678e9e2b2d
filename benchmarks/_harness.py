"""Run methods on cells and tell what came out: errors, times, the facts of the machine.

A cell is any object with a ``name``, ``draw(rng) -> (data, truth)``, ``error(result, truth)`` and,
if it wants its own, a number ``reps`` of repetitions. A method is a function
``method(data, cell, truth, rng) -> result``. All methods see the same data. Every random stream
depends on the seed, the name of the cell, the repetition and the name of the method, so that a cell
gives the same numbers alone and among others.
"""

import json
import math
import os
import platform
import sys
import time
import zlib
from importlib.metadata import PackageNotFoundError, version

import numpy as np

__all__ = ["environment", "print_table", "run_cells", "summarize", "trimmed_mean", "write_json"]

PACKAGES = ("skdp", "numpy", "scipy", "scikit-learn", "opendp", "diffprivlib")


def run_cells(cells, methods, reps=None, seed=0, *, progress=None):
    """Run every method on every cell.

    Parameters
    ----------
    cells : iterable of cells
    methods : dict of str to method
    reps : int or None, default=None
        Repetitions; None takes those of each cell (20 if it has none).
    seed : int, default=0
    progress : callable or None, default=None
        Called with the rows of each cell as it ends.

    Returns
    -------
    rows : list of dict
        One per cell and method. A call that raises counts as an infinite error.
    """
    rows = []
    for cell in cells:
        times = reps or getattr(cell, "reps", None) or 20
        runs = {name: ([], [], []) for name in methods}
        for rep in range(times):
            data, truth = cell.draw(_stream(seed, cell.name, rep))
            for name, method in methods.items():
                errors, seconds, raised = runs[name]
                rng = _stream(seed, cell.name, rep, name)
                start = time.perf_counter()
                try:
                    result = method(data, cell, truth, rng)
                except Exception as exception:  # a crash is a result of the benchmark too
                    raised.append(type(exception).__name__)
                    errors.append(math.inf)
                    continue
                seconds.append(time.perf_counter() - start)
                errors.append(float(cell.error(result, truth)))
        done = [{"cell": cell.name, "method": m, **summarize(*runs[m])} for m in methods]
        rows += done
        if progress is not None:
            progress(done)
    return rows


def summarize(errors, seconds=(), raised=()):
    """Return the numbers that describe one cell and one method; ``errors`` keeps them all."""
    errors = np.nan_to_num(np.asarray(errors, dtype=float), nan=math.inf, posinf=math.inf)
    return {
        "trimmed": trimmed_mean(errors),
        "median": float(np.median(errors)),
        "q99": float(np.quantile(errors, 0.99, method="higher")),
        "max": float(errors.max()),
        "rms": float(np.sqrt(np.mean(np.square(errors)))),
        "ms": 1e3 * float(np.median(seconds)) if len(seconds) else math.inf,
        "reps": len(errors),
        "raised": sorted(set(raised)),
        "errors": errors,
    }


def trimmed_mean(values, part=0.1):
    """Return the mean of the values between the quantiles ``part`` and ``1 - part``."""
    values = np.sort(values)
    cut = int(part * len(values))
    return float(values[cut : len(values) - cut].mean())


def _stream(*names):
    keys = [n if isinstance(n, int) else zlib.crc32(n.encode()) for n in names]
    return np.random.default_rng(keys)


def environment():
    """Return versions and the machine, without names or paths of anybody's computer."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "default"),
        **{name: _version(name) for name in PACKAGES if _version(name)},
    }


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def print_table(rows, columns=None, *, header=True, file=None):
    """Print rows in aligned columns; numbers with three significant digits.

    Parameters
    ----------
    rows : list of dict
    columns : sequence of str or None, default=None
        Keys to print; by default those of the first row except ``errors``.
    header : bool, default=True
    file : file object or None, default=None
        Standard output by default.
    """
    if not rows:
        return
    columns = columns or [key for key in rows[0] if key != "errors"]
    table = [[_text(row.get(key)) for key in columns] for row in rows]
    shown = [list(columns), *table] if header else table
    wide = [max(len(c), *(len(line[j]) for line in table)) for j, c in enumerate(columns)]
    for line in shown:
        text = "  ".join(
            t.ljust(w) if j == 0 else t.rjust(w)
            for j, (t, w) in enumerate(zip(line, wide, strict=True))
        )
        print(text.rstrip(), file=file or sys.stdout, flush=True)


def _text(value):
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return str(value)


def write_json(path, rows, **more):
    """Write ``{"environment", **more, "rows"}``; six digits, no single errors, no infinities."""
    rows = [{k: v for k, v in row.items() if k != "errors"} for row in rows]
    content = _plain({"environment": environment(), **more, "rows": rows})
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f'"{k}": {_block(v)}' for k, v in content.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _block(value):
    """One line per entry of a list: small files, readable differences."""
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(json.dumps(entry) for entry in value) + "\n]"
    return json.dumps(value)


def _plain(value):
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}") if math.isfinite(value) else str(float(value))
    return value.item() if isinstance(value, np.generic) else value
