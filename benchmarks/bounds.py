"""Means and variances between public bounds: skdp beside diffprivlib, and beside the floor.

    python benchmarks/bounds.py [--reps N] [--json PATH]

Errors are root mean squares in units of (high - low) / n for means, of its square over n for
variances. The floor is what no mechanism for a private number of rows can be better than if the
rows lie on one of the bounds: 1 / M, where M is mu of Gaussian noise or epsilon / sqrt(2) of
Laplace noise. Both peers have pure differential privacy. diffprivlib hides what a row is and takes
the number of rows to be known; skdp hides whether a row is there, and how many there are.
Coverage is that of 95 % intervals.
"""

import argparse
import math
import sys
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
from _harness import print_table, write_json

from skdp import PrivateMean, PrivateVariance
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
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    warnings.simplefilter("ignore", LowAccuracyWarning)
    tools = peer()
    rows = [cell(c, n, e, options.reps, tools) for e in EPSILONS for n in SIZES for c in COLUMNS]
    print_table(rows)
    if options.json:
        write_json(options.json, rows, delta=DELTA, reps=options.reps)


if __name__ == "__main__":
    main()
