"""Null tables by the thousand: looks and laws of the tests as they are, noise of normal floats.

A test first looks at all rows, labels unseen. So under its null hypothesis every arrangement of the
labels is as likely as any other, whatever was found: for each look ``ARRANGED`` are drawn, each
with noise of its own. Columns of independent numbers are arranged against one another.
"""

import math
import zlib
from functools import cache
from types import SimpleNamespace

import numpy as np

from skdp.accounting import Budget
from skdp.kernel.applied._scores import COUNT, PRODUCT, ROW, SCORE, SQUARE
from skdp.stats import _tests
from skdp.stats._association import pair_result
from skdp.stats._laws import GroupSums
from skdp.stats._search import find_ranks, find_windows

ARRANGED = 20  # for each look
FIRST, LOW = 2000, 0.04  # of a rate of .055 the first have at most .04 with probability .001
DELTA = 1e-6
PAIR = np.sqrt([PRODUCT, SCORE, SCORE, SQUARE, SQUARE, ROW])
FIND = {
    "ranks": lambda rows, k: find_ranks(rows, None),
    "means": lambda rows, k: find_windows(rows, None, "light", k),
    "numbers": lambda rows, k: find_windows(rows, None, "light", power=2),
}


class _Rows:
    """Rows that answer as a Table does, by normal floats that are rounded: no bill, half the time.

    ``amount`` is the square of mu.
    """

    def __init__(self, X, amount, rng):
        self.X, self.rng, self.n_features, self.remaining = X, rng, X.shape[1], 1.0
        self.budget = SimpleNamespace(measure="gdp", amount=amount, mu=math.sqrt(amount))

    def ask(self, statistic, step, *, share=None):
        sd = float(statistic.l2) / math.sqrt(self.budget.amount * self._paid(share or step.at_most))
        exact = np.asarray(statistic.total(self.X))
        value = np.rint(exact + sd * self.rng.normal(size=exact.shape))
        return SimpleNamespace(value=value, scale=sd)

    def child(self, label, share):
        return _Rows(self.X, self.budget.amount * self._paid(share), self.rng)

    def _paid(self, share):
        self.remaining -= float(share)
        return float(share)


@cache
def mu_of(epsilon):
    return float(Budget.gaussian(epsilon, DELTA).mu)


def look_at(X, find, epsilon, rng, of=2):
    """Return what a test finds in rows, and the mu that is left for its second stage."""
    rows = _Rows(X, mu_of(epsilon) ** 2, rng)
    return FIND[find](rows, of), rows.budget.mu * math.sqrt(rows.remaining)


def of_labels(find, look, x, label, rng, at=0.0):
    """Return the result for labels of rows: of "ranks" or "means"; of one group, of its mean."""
    (found, mu), k = look, int(label.max()) + 1
    t, ok, sd = found.scores.of(x)[:, 0], bool(found.found[0]), np.hypot(1, COUNT) / mu
    sums = [np.bincount(label, w, k) for w in (t, 1 - t * t, np.ones(len(t)))]
    sums += rng.normal(size=(3, k)) * sd * np.array([[1], [1], [1 / COUNT]])
    sums = GroupSums(*sums, sd, sd / COUNT, (found.n, found.count_sd))
    if find == "ranks":
        return _tests.rank_result(sums, "two-sided", ok)
    return _tests.mean_result(sums, found.middle[0], found.half[0], "two-sided", ok, at)


def of_columns(ranks, look, t, u, rng):
    """Return the result for scores of two columns."""
    found, mu = look
    n = len(t)
    sums = np.array([t @ u, t.sum(), u.sum(), n - t @ t, n - u @ u, n])
    sums += rng.normal(size=6) / mu / PAIR
    return pair_result(sums, 1 / mu / PAIR, found, ranks, "two-sided")


def of_rates(hits, n, sd, rng):
    """Return the result for rates of two groups."""
    counts = np.array([n - hits, hits]) + sd * rng.normal(size=(2, 2))
    return _tests.rate_result(counts, sd, "two-sided")


def _p(result):
    return result.pvalue if result.told else 1.0


def of_groups(find, draw, sizes, epsilon):
    """Return what draws p-values of tests of "ranks" or "means" of groups of one law."""
    k, label = len(sizes), np.repeat(np.arange(len(sizes)), sizes)

    def run(rng):
        x = draw(rng, len(label))[:, None]
        look = look_at(x, find, epsilon, rng, k)
        for _ in range(ARRANGED):
            yield _p(of_labels(find, look, x, rng.permutation(label), rng))

    return run


def of_one_mean(draw, mean, n, epsilon):
    """Return what draws the p-value of a test of one mean; the rows are other ones each time."""

    def run(rng):
        x = draw(rng, n)[:, None]
        look = look_at(x, "means", epsilon, rng, 1)
        yield _p(of_labels("means", look, x, np.zeros(n, dtype=int), rng, mean))

    return run


def of_distances(draw, sizes, epsilon):
    """Return what draws p-values of the largest distance of two groups of one law."""
    label = np.repeat([0, 1], sizes)

    def run(rng):
        x = draw(rng, len(label))[:, None]
        found, mu = look_at(x, "ranks", epsilon, rng)
        edges = found.scores.edges[0][1:-1]
        cell, m = np.searchsorted(edges, x[:, 0], side="right"), len(edges) + 1
        for _ in range(ARRANGED):
            counts = np.bincount(2 * cell + rng.permutation(label), minlength=2 * m).reshape(m, 2)
            counts = counts + rng.normal(size=(m, 2)) / mu
            yield _p(_tests.distance_result(counts, 1 / mu, bool(found.found[0])))

    return run


def of_pairs(ranks, draw, n, epsilon):
    """Return what draws p-values of correlations of two independent columns of one law."""

    def run(rng):
        X = draw(rng, 2 * n).reshape(n, 2)
        look = look_at(X, "ranks" if ranks else "numbers", epsilon, rng)
        t, u = look[0].scores.of(X).T
        for _ in range(ARRANGED):
            yield _p(of_columns(ranks, look, t, rng.permutation(u), rng))

    return run


def of_counts(cells, n, epsilon, rates):
    """Return what draws p-values of a table of independent cells, rows of it by groups if rates."""
    sd = 1 / mu_of(epsilon)

    def run(rng):
        for _ in range(ARRANGED):
            if rates:
                yield _p(of_rates(rng.binomial(n, cells), n, sd, rng))
            else:
                counts = rng.multinomial(n, cells.ravel()).reshape(cells.shape)
                yield _p(_tests.cell_result(counts + sd * rng.normal(size=cells.shape), sd))

    return run


def cells(laws, sizes, epsilons, rates, means):
    """Yield (name, run) for every test, law of the rows, sizes of groups and epsilon.

    ``means``: a dict of name: (law, its mean), for the test of one sample.
    """
    for epsilon in epsilons:
        for n, m in sizes:
            cell, three = f"epsilon={epsilon} n={n},{m}", (n // 2, n - n // 2, m)
            for law, draw in laws.items():
                yield f"ranks {law} {cell}", of_groups("ranks", draw, (n, m), epsilon)
                yield f"kruskal {law} {cell}", of_groups("ranks", draw, three, epsilon)
                yield f"means {law} {cell}", of_groups("means", draw, (n, m), epsilon)
                yield f"oneway {law} {cell}", of_groups("means", draw, three, epsilon)
                yield f"distance {law} {cell}", of_distances(draw, (n, m), epsilon)
                yield f"spearman {law} {cell}", of_pairs(True, draw, n + m, epsilon)
                yield f"pearson {law} {cell}", of_pairs(False, draw, n + m, epsilon)
            for law, (draw, mean) in means.items():
                yield f"one sample {law} {cell}", of_one_mean(draw, mean, n + m, epsilon)
            for p in rates:
                yield f"rates {p} {cell}", of_counts(p, np.array([n, m]), epsilon, True)
                table = np.outer([p, 0.3, 0.7 - p], [0.1, 0.2, 0.3, 0.4])
                yield f"chi2 3x4 {p} {cell}", of_counts(table, n + m, epsilon, False)


def rejected(name, run, tables, level=0.05):
    """Return how many null tables were drawn, the part that is rejected, and its standard error.

    All of ``tables``, unless the first ``FIRST`` show so low a rate that one above .055 is as good
    as impossible.
    """
    rng, rates, drawn = np.random.default_rng(zlib.crc32(name.encode())), [], 0
    while drawn < tables:
        told = [p <= level for p in run(rng)]
        rates.append(np.mean(told))
        drawn += len(told)
        if drawn == FIRST and np.mean(rates) <= LOW:
            break
    return drawn, float(np.mean(rates)), float(np.std(rates) / np.sqrt(len(rates)))
