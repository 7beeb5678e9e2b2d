"""The cells of the benchmark of groups: errors in standard deviations of rows, medians of runs."""

from itertools import combinations

import numpy as np
import pandas as pd
from _groups_tables import clusters, flights, flights_frame, zipf

from skdp import FriendlyCoreKMeans, MarginalReleaser, PrivateCovariance, PrivateMean
from skdp.accounting import Plan
from skdp.base import Budget
from skdp.gate._curator import make_curator
from skdp.kernel._parts import persons_table
from skdp.mechanisms import make_entropy
from skdp.readers._persons import Persons
from skdp.table._groups import CAP_STEPS, release_contribution_bound

__all__ = ["cap_cells", "cluster_cells", "matrix_cells", "mean_cells", "table_cells"]

FLIGHTS = ["month", "hour", "origin", "carrier", "dep", "arr", "far", "late"]
DROPPED = 5, 16, 50  # rows kept of a group by the naive way
FAR, PER_ROW = 0.3, 2.2  # what a cap leaves out, noise of a mean in d columns per root of d


def naive(make, cap, seed):
    """Return an estimator with the budget divided by the cap, as group privacy asks."""
    return make(epsilon=1.0 / cap, delta=1e-6 / (cap * np.exp(1.0)), random_state=seed)


def summary(cell, method, runs, *, target=None, fits=()):
    """Return one row of the table: the median of runs, and the caps that were found."""
    caps = sorted({int(fit.rows_per_group_) for fit in fits})
    return {
        "cell": cell,
        "method": method,
        "error": float(np.median(runs)),
        "target": target,
        "caps": "-".join(str(cap) for cap in dict.fromkeys(caps[:1] + caps[-1:])),
    }


def mean_cells(runs):
    """Yield errors of the mean, against all rows and against the mean that a cap defines."""
    for name, table, own_caps, own_most, rows_most in (
        ("flights", flights(), (1, 50, 100), 0.012, 0.015),
        ("Zipf 1.5", zipf(), (1,), 0.001, 0.035),
    ):
        sd, everything = table.X.std(axis=0), table.X.mean(axis=0)

        def error(location, target, sd=sd):
            return float(np.sqrt(np.mean(np.square((location - target) / sd))))

        for cap in (1, 50, 100, 200, "auto"):
            fits = [
                PrivateMean(random_state=seed, rows_per_group=cap).fit(table.X, groups=table.groups)
                for seed in range(runs)
            ]
            own = [error(fit.location_, table.target(fit.rows_per_group_)) for fit in fits]
            most = own_most if cap in own_caps else None
            yield summary(f"{name}: mean", f"cap {cap}, own target", own, target=most, fits=fits)
            rows = [error(fit.location_, everything) for fit in fits]
            most = rows_most if cap == "auto" else None
            yield summary(f"{name}: mean", f"cap {cap}, all rows", rows, target=most, fits=fits)
        for cap in (1, *DROPPED):
            rows = []
            for seed in range(runs):
                X = table.dropped(cap, np.random.default_rng(seed))
                rows.append(error(naive(PrivateMean, cap, seed).fit(X).location_, everything))
            label = "one row each" if cap == 1 else f"{cap} rows each, group privacy"
            yield summary(f"{name}: mean", f"{label}, all rows", rows)


def table_cells(runs):
    """Yield the mean total variation of all two-way tables of eight columns of the flights."""
    frame, X = flights_frame(), flights().X
    cuts = (("dep", 0, 7), ("arr", 1, 7), ("far", 3, 4))
    coded = {name: frame[name].astype("category").cat.codes for name in FLIGHTS[:4]}
    coded |= {
        name: np.searchsorted(np.quantile(X[:, j], np.arange(1, k) / k), X[:, j])
        for name, j, k in cuts
    }
    coded["late"] = (X[:, 1] > 15).astype(int)
    table = np.column_stack([np.asarray(coded[name], dtype=int) for name in FLIGHTS])
    sizes = (table.max(axis=0) + 1).tolist()
    domain = {name: list(range(k)) for name, k in zip(FLIGHTS, sizes, strict=True)}
    frame = pd.DataFrame(table, columns=FLIGHTS)
    groups = flights()

    def variation(releaser, weights):
        losses = []
        for one, two in combinations(range(len(FLIGHTS)), 2):
            shape = sizes[one], sizes[two]
            cells = np.ravel_multi_index(table[:, [one, two]].T, shape)
            true = np.bincount(cells, weights, minlength=np.prod(shape))
            told = np.maximum(
                np.asarray(releaser.marginal([FLIGHTS[one], FLIGHTS[two]], as_frame=False)).ravel(),
                0,
            )
            losses.append(np.abs(true / true.sum() - told / max(told.sum(), 1e-9)).sum() / 2)
        return float(np.mean(losses))

    everything = np.ones(len(table))
    for cap, most in ((1, 0.045), (60, 0.10), ("auto", None)):
        fits = [
            MarginalReleaser(2, domain=domain, random_state=seed, rows_per_group=cap).fit(
                frame, groups=groups.groups
            )
            for seed in range(runs)
        ]
        own = [variation(fit, groups.weights(fit.rows_per_group_)) for fit in fits]
        rows = [variation(fit, everything) for fit in fits]
        yield summary(
            "flights: 2-way TV", f"cap {cap}, own target", own, target=most if cap == 1 else None,
            fits=fits,
        )  # fmt: skip
        yield summary(
            "flights: 2-way TV", f"cap {cap}, all rows", rows, target=most if cap == 60 else None,
            fits=fits,
        )  # fmt: skip
    for cap in (1, 5):
        rows = []
        for seed in range(runs):
            kept = type(groups)(table, groups.groups).dropped(cap, np.random.default_rng(seed))
            releaser = MarginalReleaser(
                2, domain=domain, epsilon=1 / cap, delta=1e-6 / (cap * np.e), random_state=seed
            )
            rows.append(variation(releaser.fit(pd.DataFrame(kept, columns=FLIGHTS)), everything))
        label = "one row each" if cap == 1 else f"{cap} rows each, group privacy"
        yield summary("flights: 2-way TV", f"{label}, all rows", rows)


def cluster_cells(runs):
    """Yield costs of centres over those of scikit-learn on all rows."""
    from sklearn.cluster import KMeans

    tables = [(f"clusters, {n:,} groups", clusters(n), 6, 1.01) for n in (5000, 20_000)]
    tables.append(("flights, k=3", _scaled(flights()), 3, None))
    for name, table, k, most in tables:
        best = KMeans(k, n_init=3, random_state=0).fit(table.X)

        def cost(centers, table=table, best=best):
            square = sum(
                np.square(part[:, None] - centers).sum(axis=2).min(axis=1).sum()
                for part in np.array_split(table.X, 1 + len(table.X) // 50_000)
            )
            return float(square / best.inertia_)

        for cap in (1, "auto"):
            fits = [
                FriendlyCoreKMeans(k, random_state=seed, rows_per_group=cap).fit(
                    table.X, groups=table.groups
                )
                for seed in range(runs)
            ]
            costs = [cost(fit.cluster_centers_) for fit in fits]
            yield summary(f"{name}: cost", f"cap {cap}", costs, target=most, fits=fits)
        for cap in (1, 5):
            costs = []
            for seed in range(runs):
                X = table.dropped(cap, np.random.default_rng(seed))

                def make(k=k, **budget):
                    return FriendlyCoreKMeans(k, **budget)

                costs.append(cost(naive(make, cap, seed).fit(X).cluster_centers_))
            label = "one row each" if cap == 1 else f"{cap} rows each, group privacy"
            yield summary(f"{name}: cost", label, costs)


def _scaled(table):
    return type(table)((table.X - table.X.mean(axis=0)) / table.X.std(axis=0), table.groups)


def matrix_cells(runs):
    """Yield errors of the covariance: Frobenius norm where it is the identity, over root d."""
    table = flights()
    true = np.cov(table.X.T)
    root = np.linalg.inv(np.linalg.cholesky(true))

    def error(fit):
        d = len(true)
        return float(np.linalg.norm(root @ fit.covariance_ @ root.T - np.eye(d)) / np.sqrt(d))

    for cap, most in ((1, 0.20), ("auto", None)):
        fits = [
            PrivateCovariance(random_state=seed, rows_per_group=cap).fit(
                table.X, groups=table.groups
            )
            for seed in range(runs)
        ]
        errors = [error(fit) for fit in fits]
        yield summary("flights: covariance", f"cap {cap}", errors, target=most, fits=fits)
    for cap in (1, 5):
        errors = [
            error(
                naive(PrivateCovariance, cap, s).fit(table.dropped(cap, np.random.default_rng(s)))
            )
            for s in range(runs)
        ]
        label = "one row each" if cap == 1 else f"{cap} rows each, group privacy"
        yield summary("flights: covariance", label, errors)


def cap_cells(runs, draws=40):
    """Yield how much the error of a mean, by its model, exceeds that of the best cap."""
    tables = [("flights", flights())]
    tables += [
        (f"Zipf {p}, {n:,}", zipf(n, power=p)) for p in (1.1, 1.5, 2.0) for n in (5000, 50_000)
    ]
    budget, worst = Budget.gaussian(1.0, 1e-6), []
    for name, table in tables:
        for d in (1, 5, 20):
            noise, sizes = PER_ROW * np.sqrt(d), table.sizes
            n = sizes.sum()

            def loss(cap, sizes=sizes, noise=noise, n=n):
                weights = np.minimum(1.0, sizes / cap)
                moved = np.abs(weights / weights.sum() - sizes / n).sum() / 2
                return float(np.hypot(noise / (weights.sum() * budget.mu), FAR * moved))

            caps = np.unique(np.geomspace(1, sizes.max(), 200).astype(int))
            best = min(map(loss, caps))
            ratios = []
            for seed in range(draws):
                curator = make_curator(
                    Plan(budget, CAP_STEPS, privacy_unit="group"), make_entropy(seed)
                )
                persons = persons_table(Persons(table.groups, len(sizes)), curator)
                ratios.append(
                    loss(release_contribution_bound(persons, noise=noise, least=40.0)) / best
                )
            worst.append(float(np.median(ratios)))
            yield summary(f"cap: {name}, d={d}", "loss over best, median", ratios, target=1.7)
    yield {
        "cell": "cap: all",
        "method": "median of cells",
        "error": float(np.median(worst)),
        "target": 1.05,
    }
    yield {"cell": "cap: all", "method": "worst cell", "error": max(worst), "target": 1.7}
