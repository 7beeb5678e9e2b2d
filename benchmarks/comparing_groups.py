"""Private tests of groups: false alarms at 5 %, and power beside scipy.

    python benchmarks/comparing_groups.py [--quick|--power|--intervals] [--reps N] [--only CELLS]
        [--json P]

Null tables: a cell is a test, a law of the rows, sizes of the groups and an epsilon; delta is 1e-6.
With 10,000 tables a rate of .05 is told to within .0043 (95 %). The functions of ``skdp.stats`` run
as they are, by seeds; ``--quick`` (:mod:`_null_tables`): with normal noise, one search for every
20 tables, and 2,000 tables of cells far below 5 %. Bounds of "none" leave the search to the test.
Intervals: how many of 95 % cover a statistic of a real table, from which rows are drawn.
Power: the part of tables in which groups half a deviation apart are told apart; scipy has .80 with
64 rows a group.
"""

import argparse
import re
import warnings
import zlib
from pathlib import Path

import _null_tables
import _real_intervals
import numpy as np
from _harness import print_table, write_json
from scipy import stats as scipy_stats

from skdp import stats
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning

SIZES = ((25, 25), (150, 150), (1500, 1500), (60, 240), (600, 2400))
EPSILONS = (1.0, 0.1)
LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "ties": lambda rng, n: rng.poisson(0.7, size=n) * 1.0,
}
UNEQUAL = {  # two laws of one mean
    "sd 1, 2": (lambda rng, n: rng.normal(size=n), lambda rng, n: rng.normal(size=n) * 2),
    "normal, exponential": (
        lambda rng, n: rng.normal(size=n),
        lambda rng, n: rng.exponential(size=n) - 1,
    ),
}
RATES = (0.02, 0.5)
ONE = {  # laws of one sample, and their means
    **{law: (LAWS[law], mean) for law, mean in (("normal", 0.0), ("t3", 0.0), ("ties", 0.7))},
    "lognormal": (LAWS["lognormal"], np.exp(0.5)),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0),
    "uniform": (lambda rng, n: rng.random(n), 0.5),
    "many zeros": (lambda rng, n: rng.exponential(size=n) * (rng.random(n) < 0.3), 0.3),
    "few counts": (lambda rng, n: rng.poisson(0.1, size=n) * 1.0, 0.1),
    **{f"rate {p}": (lambda rng, n, p=p: (rng.random(n) < p) * 1.0, p) for p in (0.02, 0.3)},
}


def null_cells():
    """Yield (name, function of a generator and a seed that returns a p-value)."""
    for epsilon in EPSILONS:
        for n, m in SIZES:
            cell = f"epsilon={epsilon} n={n},{m}"
            of_two = {
                "ranks": stats.private_mannwhitneyu,
                "means": stats.private_ttest_ind,
                "distance": stats.private_ks_2samp,
            }
            for law, draw in LAWS.items():
                for name, test in of_two.items():
                    yield f"{name} {law} {cell}", _two(test, draw, draw, n, m, epsilon)
                yield f"kruskal {law} {cell}", _three(draw, n, m, epsilon)
            for law, (first, other) in UNEQUAL.items():
                test = stats.private_ttest_ind
                yield f"means {law} {cell}", _two(test, first, other, n, m, epsilon)
            yield f"spearman normal {cell}", _pair(stats.private_spearmanr, n + m, epsilon)
            yield f"pearson normal {cell}", _pair(stats.private_pearsonr, n + m, epsilon)
            yield f"one sample normal {cell}", _one(n + m, epsilon)
            for p in RATES:
                yield f"rates {p} {cell}", _rates(p, n, m, epsilon)
                yield f"chi2 3x4 {p} {cell}", _table(p, n + m, epsilon)


def _two(test, first, other, n, m, epsilon):
    def run(rng, seed):
        x, y = first(rng, n), other(rng, m)
        return test(x, y, epsilon=epsilon, random_state=seed).pvalue

    return run


def _three(draw, n, m, epsilon):
    def run(rng, seed):
        samples = draw(rng, n // 2), draw(rng, n - n // 2), draw(rng, m)
        return stats.private_kruskal(*samples, epsilon=epsilon, random_state=seed).pvalue

    return run


def _pair(test, n, epsilon):
    def run(rng, seed):
        return test(
            rng.normal(size=n), rng.normal(size=n), epsilon=epsilon, random_state=seed
        ).pvalue

    return run


def _one(n, epsilon):
    def run(rng, seed):
        return stats.private_ttest_1samp(
            rng.normal(size=n), 0.0, epsilon=epsilon, random_state=seed
        ).pvalue

    return run


def _rates(p, n, m, epsilon):
    def run(rng, seed):
        x, y = rng.random(n) < p, rng.random(m) < p
        return stats.private_proportions_test(x, y, epsilon=epsilon, random_state=seed).pvalue

    return run


def _table(p, n, epsilon):
    rows, columns = np.array([p, 0.3, 0.7 - p]), np.array([0.1, 0.2, 0.3, 0.4])

    def run(rng, seed):
        counts = rng.multinomial(n, np.outer(rows, columns).ravel()).reshape(3, 4)
        return stats.private_chi2_contingency(counts, epsilon=epsilon, random_state=seed).pvalue

    return run


def power_cells():
    """Yield (name, private run, run of scipy); groups are half a deviation apart.

    scipy has .8 with 64 rows a group (ranks, means), 81 (kruskal), 77 (oneway), 90 (distance), 128
    rows a quarter of a deviation away (one sample, pairs), 225 and 194 (correlations), 1,094 and
    1,320 a group (rates, chi2).
    """
    ranks = stats.private_mannwhitneyu, scipy_stats.mannwhitneyu
    means = stats.private_ttest_ind, scipy_stats.ttest_ind
    kruskal = stats.private_kruskal, scipy_stats.kruskal
    oneway = stats.private_f_oneway, scipy_stats.f_oneway
    distance = stats.private_ks_2samp, scipy_stats.ks_2samp
    spearman = stats.private_spearmanr, scipy_stats.spearmanr
    pearson = stats.private_pearsonr, scipy_stats.pearsonr
    one = stats.private_ttest_1samp, scipy_stats.ttest_1samp
    pairs = stats.private_ttest_rel, scipy_stats.ttest_rel
    two = (128, 141, 166, 256, 320)
    for bounds in ((-10.0, 10.0), None):
        for name, tests, sizes, drawn in (
            ("ranks", ranks, two, _shifted),
            ("means", means, two, _shifted),
            ("kruskal", kruskal, (160, 178), _three_shifted),
            ("oneway", oneway, (231, 308), _three_shifted),
            ("distance", distance, (135, 180), _shifted),
            ("spearman r=.2", spearman, (690, 855), _related),
            ("pearson r=.2", pearson, (970, 1552), _related),
            ("one sample", one, (512, 640, 768), _away),
            ("pairs", pairs, (512, 640, 768), _paired),
        ):
            for n in sizes:
                runs = _of_drawn(*tests, drawn, n, bounds=bounds)
                yield f"{name} n={n} bounds={bounds or 'none'}", *runs
    for n in (1400, 1750):
        yield f"rates .2 .25 n={n}", *_rated(n)
    chi2 = stats.private_chi2_contingency, scipy_stats.chi2_contingency
    for n in (1980, 2640):
        yield f"chi2 .2 .225 .25 n={n}", *_of_drawn(*chi2, _three_rated, n)


def _of_drawn(ours, theirs, drawn, n, **options):
    """Return what draws p-values of a private test, and of one of scipy."""

    def private(rng, seed):
        return ours(*drawn(rng, n), **options, random_state=seed).pvalue

    return private, lambda rng, seed: theirs(*drawn(rng, n)).pvalue


def _three_shifted(rng, n):
    return [rng.normal(shift, size=n) for shift in (0, 0.25, 0.5)]


def _shifted(rng, n):
    return rng.normal(size=n), rng.normal(0.5, size=n)


def _away(rng, n):
    return rng.normal(0.25, size=n), 0.0


def _paired(rng, n):
    before = rng.normal(size=n)
    return before + rng.normal(0.25, size=n), before


def _related(rng, n):
    x = rng.normal(size=n)
    return x, 0.2 * x + np.sqrt(0.96) * rng.normal(size=n)


def _three_rated(rng, n):
    return (np.array([[k, n - k] for k in rng.binomial(n, (0.2, 0.225, 0.25))]),)


def _rated(n):
    def private(rng, seed):
        x, y = rng.random(n) < 0.2, rng.random(n) < 0.25
        return stats.private_proportions_test(x, y, random_state=seed).pvalue

    def plain(rng, seed):
        a, b = (rng.random(n) < p for p in (0.2, 0.25))
        table = [[a.sum(), n - a.sum()], [b.sum(), n - b.sum()]]
        return scipy_stats.chi2_contingency(table, correction=False).pvalue

    return private, plain


def rejected(name, run, reps, level=0.05):
    """Return the part of tables whose p-value is at most a level; each cell has its own seeds."""
    first = zlib.crc32(name.encode())
    rng = np.random.default_rng(first)
    return float(np.mean([run(rng, (first + i) % 2**32) <= level for i in range(reps)]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int, default=10_000)
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--intervals", action="store_true")
    parser.add_argument("--only", default="", help="cells whose names fit this pattern")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore", LowAccuracyWarning)
    warnings.simplefilter("ignore", SeededNoiseWarning)
    rows, columns = [], ("private", "scipy") if args.power else ("false alarms",)
    if args.intervals:
        for row in _real_intervals.rows(args.only, args.reps):
            rows.append(row)
            print_table(rows[-1:], header=len(rows) == 1)
        return write_json(args.json, rows) if args.json else None
    if args.quick:
        for name, run in _null_tables.cells(LAWS, SIZES, EPSILONS, RATES, ONE):
            if re.search(args.only, name):
                told = _null_tables.rejected(name, run, args.reps)
                told = zip(("reps", "false alarms", "standard error"), told, strict=True)
                rows.append({"cell": name, **dict(told)})
                print_table(rows[-1:], header=len(rows) == 1)
        return write_json(args.json, rows) if args.json else None
    for name, *runs in power_cells() if args.power else null_cells():
        if re.search(args.only, name):
            told = {
                column: rejected(name, run, args.reps)
                for column, run in zip(columns, runs, strict=True)
            }
            rows.append({"cell": name, "reps": args.reps, **told})
            print_table(rows[-1:], header=len(rows) == 1)
    if args.json:
        write_json(args.json, rows)


if __name__ == "__main__":
    main()
