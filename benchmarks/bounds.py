"""Means and variances between public bounds: skdp beside diffprivlib, and beside the floor.

    python benchmarks/bounds.py [--wide] [--reps N] [--json PATH]

Errors are root mean squares in units of (high - low) / n for means, of its square over n for
variances. The floor is what no mechanism for a private number of rows can be better than if the
rows lie on one of the bounds: 1 / M, where M is mu of Gaussian noise or epsilon / sqrt(2) of
Laplace noise. Both peers have pure differential privacy. diffprivlib hides what a row is and takes
the number of rows to be known; skdp hides whether a row is there, and how many there are.
Coverage is that of 95 % intervals. ``--wide``: bounds that are far wider than the rows, beside fits
without bounds: root mean squares of the errors of means in deviations of the rows, of variances and
of scales beside their own size, and medians of half the width of intervals.
"""

import argparse
import math
import sys
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
from _harness import print_table, write_json

from skdp import PrivateMean, PrivateStandardScaler, PrivateVariance
from skdp.accounting import Budget
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning

SIZES, EPSILONS, DELTA = (50, 500, 5000), (0.1, 1.0), 1e-6
COLUMNS = {  # name -> (bounds, what draws n entries)
    "rate 0.5 %": ((0, 1), lambda rng, n: (rng.random(n) < 0.005) * 1.0),
    "rate 5 %": ((0, 1), lambda rng, n: (rng.random(n) < 0.05) * 1.0),
    "rate 50 %": ((0, 1), lambda rng, n: (rng.random(n) < 0.5) * 1.0),
    "age": ((0, 100), lambda rng, n: np.rint(17 + 73 * rng.beta(1.6, 3.8, size=n))),
    "hours": ((0, 100), lambda rng, n: np.rint(np.clip(rng.normal(40, 12, size=n), 1, 99))),
    "zero-inflated": ((0, 1), lambda rng, n: (rng.random(n) < 0.08) * rng.random(n)),
}

WIDE = {  # name -> (bounds, what draws entries)
    "wages, n=10000": ((0, 200), lambda rng: rng.lognormal(2.5, 0.6, size=10_000)),
    "N(170, 7), n=3000": ((100, 250), lambda rng: rng.normal(170, 7, size=3000)),
    "N(0, 1), n=5000": ((-1000, 1000), lambda rng: rng.normal(size=5000)),
    "N(10, 1), n=3000, 12 at 100": (
        (0, 100),
        lambda rng: np.append(rng.normal(10, 1, size=2988), np.full(12, 100.0)),
    ),
}


def wide_rows(reps):
    """Yield a row of errors for every table and road, with bounds and without."""
    for name, (ends, draw) in WIDE.items():
        x = draw(np.random.default_rng(sorted(WIDE).index(name)))[:, None]
        for bounds in (ends, None):
            told = []
            for seed in range(reps):
                options = {"bounds": bounds, "random_state": seed}
                mean, var = PrivateMean(**options).fit(x), PrivateVariance(**options).fit(x)
                scale = PrivateStandardScaler(**options).fit(x).scale_[0]
                truth = np.array([x.mean(), x.var()])
                unit = np.array([x.std(), x.var()])
                value = np.array([mean.location_[0], var.var_[0]])
                ends_of = np.array([[*mean.interval()], [*var.interval()]])[:, :, 0]
                held = (ends_of[:, 0] <= truth) & (truth <= ends_of[:, 1])
                half = np.diff(ends_of, axis=1)[:, 0] / 2 / unit
                told.append([*((value - truth) / unit), scale / x.std() - 1, *half, *held])
            told = np.array(told)
            names = "error mean", "error var", "error scale", "half mean", "half var"
            errors = [
                *np.sqrt(np.mean(np.square(told[:, :3]), axis=0)),
                *np.median(told[:, 3:5], axis=0),
            ]
            held = dict(zip(("covers mean", "covers var"), told[:, 5:].mean(axis=0), strict=True))
            row = {"rows": name, "bounds": bounds or "none"}
            yield row | dict(zip(names, map(float, errors), strict=True)) | held


def peer():
    """Return the tools of diffprivlib, whose models need what scikit-learn no longer has."""
    sys.modules.setdefault("diffprivlib.models", ModuleType("diffprivlib.models"))
    from diffprivlib import tools
    from diffprivlib.utils import PrivacyLeakWarning

    warnings.simplefilter("ignore", PrivacyLeakWarning)
    return tools


def cell(name, n, epsilon, reps, tools):
    """Return a row of the table: errors and coverage of everything at one cell."""
    (low, high), draw = COLUMNS[name]
    rng = np.random.default_rng([n, round(10 * epsilon), sorted(COLUMNS).index(name)])
    strengths = {"delta": Budget.gaussian(epsilon, DELTA).mu, "pure": epsilon / math.sqrt(2)}
    errors, covered, width = {}, {}, high - low

    def note(key, value, truth, unit):
        errors.setdefault(key, []).append((value - truth) * n / unit)

    for _ in range(reps):
        x = draw(rng, n)
        seed = int(rng.integers(2**31))
        for kind, delta in (("delta", DELTA), ("pure", 0.0)):
            options = {"epsilon": epsilon, "delta": delta, "bounds": (low, high)}
            mean = PrivateMean(**options, random_state=seed).fit(x[:, None])
            variance = PrivateVariance(**options, random_state=seed + 1).fit(x[:, None])
            for what, fitted, value, truth, unit in (
                ("mean", mean, mean.location_, x.mean(), width),
                ("var", variance, variance.var_, x.var(), width**2),
            ):
                note((what, kind), value[0], truth, unit)
                lower, upper = fitted.interval()
                covered.setdefault((what, kind), []).append(lower[0] <= truth <= upper[0])
        for what, tool, truth, unit in (
            ("mean", tools.mean, x.mean(), width),
            ("var", tools.var, x.var(), width**2),
        ):
            value = tool(x, epsilon=epsilon, bounds=(low, high), random_state=seed)
            note((what, "diffprivlib"), value, truth, unit)
    rms = {key: float(np.sqrt(np.mean(np.square(e)))) for key, e in errors.items()}
    row = {"column": name, "n": n, "epsilon": epsilon}
    for what in ("mean", "var"):
        row |= {f"{what} {kind}": rms[what, kind] for kind in ("delta", "pure", "diffprivlib")}
    row |= {f"floor {kind}": 1 / strength for kind, strength in strengths.items()}
    return row | {f"covers {' '.join(key)}": float(np.mean(c)) for key, c in covered.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=200)
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    warnings.simplefilter("ignore", LowAccuracyWarning)
    if options.wide:
        return print_table(list(wide_rows(options.reps)))
    tools = peer()
    rows = [cell(c, n, e, options.reps, tools) for e in EPSILONS for n in SIZES for c in COLUMNS]
    print_table(rows)
    if options.json:
        write_json(options.json, rows, delta=DELTA, reps=options.reps)


if __name__ == "__main__":
    main()
