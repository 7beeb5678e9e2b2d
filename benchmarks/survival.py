"""Survival: curves of real tables, coverage, and the log-rank test beside the classical one.

    python benchmarks/survival.py nulls|simulated|power|curves|coverage|cox [--reps N] [--only TEXT]

The functions of ``skdp.stats`` run as they are, by seeds; delta is 1e-6. ``nulls``: false alarms at
5 % of tables whose groups have one law of survival; ``simulated``: the same with normal noise in
place of exact integers, ten times as fast, with a public horizon. ``power``: at a hazard ratio of
.6, with the classical test beside it. ``curves``: the root mean squared error to the curve without
privacy, at 100 times up to the .95 quantile of the durations of a table of ``lifelines``; medians
of all fits. ``coverage``: of intervals and bands for the population. ``cox``: errors and coverage
of coefficients of normal columns. One CPU.
"""

import argparse
import re
import warnings
import zlib
from pathlib import Path

import numpy as np
from _harness import print_table, write_json
from comparing_groups import rejected
from scipy.special import ndtr

from skdp.accounting import Budget
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning
from skdp.kernel.applied._scores import GAIN
from skdp.metrics._curves import prefix_strategy
from skdp.stats import PrivateCoxRegression, PrivateSurvival, private_logrank_test
from skdp.stats._logrank import BINS, FIRST
from skdp.stats._logrank_laws import Residuals
from skdp.stats._search import ROWS
from skdp.stats._survival_input import Counts

SIZES = ((25, 25), (150, 150), (1500, 1500), (60, 240), (600, 2400))
EPSILONS = (1.0, 0.1)
LAWS = {  # of the time to the event, and what a table's horizon would be
    "weibull": (lambda rng, n: rng.weibull(1.3, size=n), 1.6),
    "lognormal": (lambda rng, n: rng.lognormal(0, 1.5, size=n), 3.0),
    "rare": (lambda rng, n: rng.exponential(60.0, size=n), 2.0),  # 2 % have the event
}
THREE_GROUPS = ((17, 17, 16), (100, 100, 100), (1000, 1000, 1000), (300, 600, 2100))
CENSORED = {  # of two groups, and a third if any: uniform from .2 to these
    "equal": (2.0, 2.0, 2.0),
    "unequal": (2.5, 0.7, 1.2),
    "heavy": (0.5, 0.5, 0.5),
}
KINDS = "nulls", "simulated", "power", "curves", "coverage", "cox"
COLUMNS = {  # of Cox: draws of columns, with means of about 0
    "normal": lambda rng, shape: rng.normal(size=shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape) - 1,
    "gamma": lambda rng, shape: rng.gamma(2.0, size=shape) - 2,
    "lognormal": lambda rng, shape: rng.lognormal(0, 0.75, size=shape) - 1.3,
    "rates": lambda rng, shape: (rng.random(shape) < [0.5, 0.2, 0.05]) - np.array([0.5, 0.2, 0.05]),
}
THREE = 0.5, -0.3, 0.0
COX = (  # rows, epsilon, coefficients, end of censoring, horizon, columns
    (10_000, 1.0, (0.5, -0.3, 0.2, 0.0, 0.0), 2.0, 1.5, "normal"),
    (10_000, 1.0, (0.5, -0.3, 0.2, 0.0, 0.0), 2.0, None, "normal"),
    (10_000, 1.0, (0.5, -0.3, 0.2, 0.0, 0.0), 0.5, 0.5, "normal"),
    (4000, 1.0, (1.0, 0.5), 2.0, 1.5, "normal"),
    (30_000, 0.1, (0.5, -0.3), 2.0, 1.5, "normal"),
    *((4000, 1.0, THREE, 2.0, None, columns) for columns in COLUMNS),
    *((20_000, 5.0, THREE, 2.0, None, columns) for columns in COLUMNS),
)
TABLES = (("lung", "time", "status", 1095), ("rossi", "week", "arrest", 52))
TABLES = (*TABLES, ("gbsg2", "time", "cens", 3000))


def drawn(rng, law, ends, sizes, ratio=1.0):
    """Return durations, events and groups from 0; the hazard of group 1 is ``ratio`` times."""
    draw, _ = LAWS[law]
    durations, events, slower = [], [], ratio ** (-1 / 1.3)
    for end, n, scale in zip(ends, sizes, (1.0, slower, 1.0), strict=False):
        life, left = scale * draw(rng, n), rng.uniform(0.2, end, size=n)
        durations.append(np.minimum(life, left))
        events.append(life <= left)
    return (*map(np.concatenate, (durations, events)), np.repeat(np.arange(len(sizes)), sizes))


def null_cells():
    """Yield (name, function of a generator and a seed that returns a p-value)."""
    for epsilon in EPSILONS:
        for law, (_, horizon) in LAWS.items():
            for censored, ends in CENSORED.items():
                for sizes in (*SIZES, *THREE_GROUPS):
                    for end in (horizon, None):
                        name = f"{law} {censored} {_of(sizes)} epsilon={epsilon} "
                        name += "horizon found" if end is None else "horizon public"
                        yield name, _null(law, ends, sizes, epsilon, end)


def _of(sizes):
    return "n=" + ",".join(map(str, sizes))


def _null(law, ends, sizes, epsilon, horizon):
    given = {"levels": list(range(len(sizes))), "horizon": horizon, "epsilon": epsilon}

    def run(rng, seed):
        rows = drawn(rng, law, ends, sizes)
        return private_logrank_test(*rows, **given, random_state=seed).pvalue

    return run


def simulated(rows, horizon, epsilon, rng, delta=1e-6):
    """Return the p-value of a test whose noise is normal floats: sums and laws are its own."""
    durations, events, group = rows
    k = int(group.max()) + 1
    mu = float(Budget.gaussian(epsilon, delta).mu)
    left = 1 - float(ROWS.at_most)
    edges = np.linspace(0, horizon, BINS + 1)
    inverse, inverse_other = (prefix_strategy(n)[1] for n in (BINS, BINS + 1))
    sd = GAIN / mu / np.sqrt(FIRST * left)
    at = np.minimum(np.searchsorted(edges[1:], durations, side="left"), BINS)
    code = at + (BINS + 1) * (2 * group + (events & (at < BINS)))
    counts = np.bincount(code, minlength=2 * k * (BINS + 1)).reshape(k, 2, BINS + 1)
    noise = rng.normal(size=(k, 2, BINS + 1))
    hits = counts[:, 1, :-1] + noise[:, 1, :-1] @ (sd * inverse).T
    others = counts[:, 0] + noise[:, 0] @ (sd * inverse_other).T
    residuals = Residuals(Counts(edges, hits, others, sd * inverse, sd * inverse_other))
    asked = residuals.question(1)
    block = np.column_stack([durations, events])
    sums = [asked.step * asked.total(block[group == g]) for g in range(k)]
    sd = asked.step * float(asked.l2) / mu / np.sqrt((1 - FIRST) * left)
    law = residuals.test(*residuals.scaled(sums + sd * rng.normal(size=np.shape(sums)), sd))
    if not law.told:
        return 1.0
    return 2 * ndtr(-abs(law.z)) if k == 2 else law.pvalue


def simulated_cells():
    """Yield the null cells with a public horizon, by :func:`simulated`."""
    for epsilon in EPSILONS:
        for sizes in (*SIZES, *THREE_GROUPS):
            for law, (_, horizon) in LAWS.items():
                for censored, ends in CENSORED.items():

                    def run(rng, seed, given=(law, ends, sizes), end=horizon, epsilon=epsilon):
                        return simulated(drawn(rng, *given), end, epsilon, rng)

                    yield f"{law} {censored} {_of(sizes)} epsilon={epsilon}", run


def power_cells():
    """Yield (name, private run, classical run), at a hazard ratio of .6."""
    for n in (105, 140, 200, 230, 262):
        for horizon in (1.6, None):

            def private(rng, seed, n=n, horizon=horizon):
                rows = drawn(rng, "weibull", (2.0, 2.0), (n, n), 0.6)
                given = {"levels": [0, 1], "horizon": horizon, "random_state": seed}
                return private_logrank_test(*rows, **given).pvalue

            def classical(rng, seed, n=n):
                return logrank(*drawn(rng, "weibull", (2.0, 2.0), (n, n), 0.6))

            yield f"n={n},{n} horizon {horizon or 'found'}", private, classical


def logrank(t, e, g):
    """Return the classical two-sided p-value, without ties."""
    order = np.argsort(t)
    e, g = e[order], g[order]
    at_risk = np.arange(len(t), 0, -1)
    p = np.cumsum(g[::-1])[::-1] / at_risk
    d, v = (e * (g - p)).sum(), (e * p * (1 - p)).sum()
    return 2 * ndtr(-abs(d) / np.sqrt(v))


def kaplan_meier(t, e, times):
    """Return the curve without privacy."""
    order = np.lexsort((~e, t))
    t, e = t[order], e[order]
    S = np.cumprod(1 - e / np.arange(len(t), 0, -1))
    return np.append(1.0, S)[np.searchsorted(t, times, side="right")]


def curve_rows(reps):
    """Yield a row for each table, epsilon, and public or found horizon."""
    from lifelines import datasets

    for name, duration, event, end in TABLES:
        table = getattr(datasets, f"load_{name}")()
        t, e = table[duration].to_numpy(float), table[event].to_numpy() == 1
        times = np.linspace(0, end, 101)[1:]
        times = times[times <= np.quantile(t, 0.95)]
        exact = kaplan_meier(t, e, times)
        for horizon in (end, None):
            for epsilon in (0.5, 1.0, 3.0, 10.0):
                told = [_error(t, e, times, exact, horizon, epsilon, seed) for seed in range(reps)]
                row = {"table": name, "rows": len(t), "horizon": horizon or "found"}
                rmse, bins = np.nanmedian(told, axis=0)
                yield {**row, "epsilon": epsilon, "rmse": rmse, "bins": bins}


def _error(t, e, times, exact, horizon, epsilon, seed):
    fit = PrivateSurvival(horizon=horizon, epsilon=epsilon, random_state=seed).fit(t, e)
    if not fit.curves_:
        return np.nan, np.nan
    H = np.append(0.0, fit.curves_[0].hazard(True))  # of all bins, known or not
    at = times <= fit.times_[-1]
    S = np.exp(-np.interp(times[at], fit.times_, H))
    return np.sqrt(np.mean((S - exact[at]) ** 2)), len(fit.times_) - 1


def coverage_rows(reps):
    """Yield a row for each law, number of rows and epsilon: what intervals of 95 % cover."""
    for shape in (1.3, 0.7):
        for epsilon in (0.5, 1.0, 3.0):
            for n in (228, 1000, 5000):
                for horizon in (1.6, None):
                    name = f"weibull {shape} n={n} epsilon={epsilon} horizon {horizon or 'found'}"
                    yield {"cell": name, **_coverage(name, shape, epsilon, n, horizon, reps)}


def _coverage(name, shape, epsilon, n, horizon, reps):
    rng, told, known = np.random.default_rng(zlib.crc32(name.encode())), [], []
    median, area = np.log(2) ** (1 / shape), np.linspace(0, 1, 2001)
    area = np.trapezoid(np.exp(-(area**shape)), area)
    for seed in range(reps):
        life, left = rng.weibull(shape, size=n), rng.uniform(0.2, 2.0, size=n)
        fit = PrivateSurvival(horizon=horizon, epsilon=epsilon, random_state=seed)
        fit.fit(np.minimum(life, left), life <= left)
        here = np.isfinite(fit.survival_function_)[1:]
        known.append(here.mean())
        if not here.any():
            continue
        truth = np.exp(-(fit.times_**shape))
        at, band = (
            ((low <= truth) & (truth <= high))[1:]
            for low, high in (fit.interval(), fit.interval(simultaneous=True))
        )
        _, (low, high) = fit.quantile(0.5)
        inside = [at[here].mean(), band.all(), low <= median <= high]
        mean, (low, high) = fit.restricted_mean(1.0) if fit.times_[-1] > 1 else (np.nan, (0, 0))
        told.append([*inside, low <= area <= high if np.isfinite(mean) else np.nan])
    names = "interval", "band", "median", "restricted mean"
    return {"known": np.mean(known)} | dict(zip(names, np.nanmean(told, axis=0), strict=True))


def cox_rows(reps):
    """Yield a row for each cell: the error of a coefficient, and what intervals of 95 % cover."""
    for n, epsilon, beta, end, horizon, columns in COX:
        name = (
            f"n={n} epsilon={epsilon} beta={beta} end={end} horizon {horizon or 'found'} {columns}"
        )
        rng, off, inside = np.random.default_rng(zlib.crc32(name.encode())), [], []
        for seed in range(reps):
            X = COLUMNS[columns](rng, (n, len(beta)))
            life, left = rng.weibull(1.3, size=n), rng.uniform(0.1, end, size=n)
            life *= np.exp(-X @ beta / 1.3)
            model = PrivateCoxRegression(horizon=horizon, epsilon=epsilon, random_state=seed)
            model.fit(X, life <= left, np.minimum(life, left))
            low, high = model.interval()
            off.append(model.coef_ - beta)
            inside.append(np.where(np.isfinite(low), (low <= beta) & (beta <= high), np.nan))
        told, off = np.isfinite(inside), np.array(off)
        rmse = np.sqrt(np.mean(np.square(off[told]))) if told.any() else np.nan
        cover = np.nanmean(inside) if told.any() else np.nan
        yield {"cell": name, "told": told.mean(), "rmse": rmse, "cover": cover}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=KINDS)
    parser.add_argument("--reps", type=int, default=10_000)
    parser.add_argument("--only", default="", help="cells whose names fit this pattern")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore", LowAccuracyWarning)
    warnings.simplefilter("ignore", SeededNoiseWarning)
    rows = []
    tables = {"curves": curve_rows, "coverage": coverage_rows, "cox": cox_rows}
    if args.what in tables:
        for row in tables[args.what](args.reps):
            rows.append(row)
            print_table([row], header=len(rows) == 1)
    else:
        cells = {"power": power_cells, "nulls": null_cells, "simulated": simulated_cells}
        columns = ("private", "classical") if args.what == "power" else ("false alarms",)
        for name, *runs in cells[args.what]():
            if re.search(args.only, name):
                told = zip(columns, runs, strict=True)
                told = {column: rejected(name, run, args.reps) for column, run in told}
                rows.append({"cell": name, "reps": args.reps, **told})
                print_table(rows[-1:], header=len(rows) == 1)
    if args.json:
        write_json(args.json, rows)


if __name__ == "__main__":
    main()
