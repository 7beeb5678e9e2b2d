"""Ranges and prefixes of ordered columns: the best measurements, their sensitivity, their noise."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from skdp import MarginalReleaser
from skdp.accounting import Budget
from skdp.kernel._table import opened
from skdp.marginals import Bins
from skdp.marginals._domain import read_domain, read_workload
from skdp.marginals._release import measure_ranges, range_errors
from skdp.marginals._residuals import RANGES, helmert, range_strategy, ranges_of, table_of
from skdp.readers import ArrayRows
from tests._curators import canned

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


def tables_for(levels, kind):
    domain = read_domain(dict(enumerate(levels)), len(levels))
    return read_workload(2, kind, None, "mean", domain)


def queries(levels, kind):
    """Return all queries as rows of zeros and ones."""
    a = np.arange(levels)
    pairs = [(i, j) for i, j in product(a, a) if i <= j and (kind == "ranges" or i == 0)]
    return np.array([(a >= i) & (a <= j) for i, j in pairs], dtype=float)


@pytest.mark.parametrize("kind", RANGES)
@pytest.mark.parametrize("levels", [2, 3, 7, 40])
def test_the_best_measurement_is_a_fortieth_from_a_lower_bound_at_most(kind, levels):
    strategy, H, Q = range_strategy(levels, kind), helmert(levels), queries(levels, kind)
    gram, n_queries = ranges_of(levels, kind)
    assert np.allclose(gram, Q.T @ Q) and n_queries == len(Q)
    lengths = np.sum(np.square(strategy.matrix @ H), axis=0)
    assert lengths.max() == pytest.approx(1)
    error = np.mean(np.sum(np.square(Q @ H.T @ np.linalg.inv(strategy.matrix)), axis=1))
    assert error == pytest.approx(strategy.error)
    assert strategy.least <= error * (1 + 1e-9) <= 1.031 * strategy.least
    rng = np.random.default_rng(levels)  # no other measurement of the same price beats the bound
    flat = np.sqrt(levels / (levels - 1)) * np.eye(levels - 1)
    tree = np.linalg.cholesky(np.linalg.inv(H @ gram @ H.T)).T
    for other in (
        flat,
        tree,
        *(strategy.matrix + rng.normal(size=(5, levels - 1, levels - 1)) / 9),
    ):
        longest = np.sum(np.square(other @ H), axis=0).max()
        cost = longest * np.mean(np.sum(np.square(Q @ H.T @ np.linalg.inv(other)), axis=1))
        assert cost >= strategy.least * (1 - 1e-9)


@pytest.mark.parametrize("kind", RANGES)
@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 1e4])
def test_what_is_stated_is_what_is_paid(kind, epsilon):
    levels = (6, 130, 3)
    tables, budget = tables_for(levels, kind), Budget.gaussian(epsilon, 1e-6)
    curator = canned("residuals", budget=budget)
    got = measure_ranges(opened(ArrayRows(np.zeros((3, 3))), curator), tables, kind, 1)
    stated = got.sd[0] ** -2.0
    for place, n in enumerate(levels):
        inverse = np.linalg.inv(got.factors[place])
        stated += np.max(np.sum(np.square(inverse @ helmert(n)), axis=0))
        assert got.sd[place + 1] ** 2 == pytest.approx(
            np.mean(np.square(got.factors[place])) * (n - 1)
        )
    paid = float(budget.amount)
    assert 0.999 * paid < stated <= paid * (1 + 1e-9)
    assert curator.records[0].value.dtype == np.int64


def test_exact_answers_come_back_exactly():
    rng, levels = np.random.default_rng(0), (300, 2)
    X = np.column_stack([rng.integers(0, n, size=5000) for n in levels]).astype(float)
    tables = tables_for(levels, "ranges")
    got = measure_ranges(opened(ArrayRows(X), canned("residuals")), tables, "ranges", 1)
    for place, n in enumerate(levels):
        counts = np.bincount(X[:, place].astype(int), minlength=n)
        assert np.allclose(table_of(got.layout, got.values, [place]), counts, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", RANGES)
def test_errors_are_those_of_all_queries(kind):
    levels, fits = (5, 4), []
    X = np.column_stack([np.arange(60) % 5, np.arange(60) % 4])
    for seed in range(90):
        model = MarginalReleaser(domain={0: 5, 1: 4}, workload=kind, random_state=seed, epsilon=50)
        fits.append(model.fit(X))
    z, total, worst = [], [], []
    for fit in fits:
        off = []
        for place, n in enumerate(levels):
            for query in queries(n, kind):
                low, high = np.flatnonzero(query)[[0, -1]]
                told = fit.count_between(place, low, high)
                off.append(told.count - (high - low + 1) * 60 / n)
                z.append(off[-1] / told.noise_scale)
                assert told.interval[0] <= max(told.count, 0) <= told.interval[1] + 1e-9
        per = [off[: len(queries(5, kind))], off[len(queries(5, kind)) :]]
        total.append(np.mean([np.mean(np.square(part)) for part in per]))
        worst.append(np.max(np.abs(off)))
    squares = np.array(z).reshape(90, -1)
    low, high = chi2.ppf([1e-5, 1 - 1e-5], 90) / 90
    assert np.all((np.mean(squares**2, axis=0) > low) & (np.mean(squares**2, axis=0) < high))
    assert np.mean(total) == pytest.approx(fits[0].noise_scale_ ** 2, rel=0.15)
    assert np.mean(np.array(worst) > fits[0].error_bound_) <= 0.05
    z = [(f.marginal(0) - 12) / f.cell_scale(0) for f in fits]
    assert np.std(z) == pytest.approx(1, abs=0.1)
    low, high = fits[0].interval(0)
    assert low.shape == high.shape == (5,)


def test_ranges_of_many_levels_are_less_off_than_sums_of_cells():
    """Mean squared errors of all ranges at the same price, by formula; measured in benchmarks."""
    levels, curators = (256,), (canned("residuals"), canned("residuals"))
    rows, told = ArrayRows(np.zeros((1, 1))), []
    for kind, curator in zip(RANGES, curators, strict=True):
        tables = tables_for(levels, kind)
        got = measure_ranges(opened(rows, curator), tables, kind, 1)
        flat = replace(
            got, factors={0: np.eye(255) * np.sqrt(255 / 256) / float(curator.budget.mu)}
        )
        told.append(range_errors(flat, kind)[0] / range_errors(got, kind)[0])
    assert told[0] ** 2 > 4.5 and told[1] ** 2 > 6


def test_ends_of_ranges_are_edges_or_levels():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(size=4000), "kids": rng.integers(0, 4, size=4000)})
    frame["size"] = rng.choice(["s", "m", "l", None], size=4000)
    edges = np.linspace(0, 1, 11).tolist()
    domain = {"x": Bins(edges), "kids": "auto", "size": ["s", "m", "l", None]}
    fit = MarginalReleaser(domain=domain, workload="ranges", epsilon=50.0, random_state=0).fit(
        frame
    )
    exact = {
        ("x", edges[2], edges[5]): frame.x.between(edges[2], edges[5], inclusive="left"),
        ("x", None, edges[5]): frame.x < edges[5],
        ("x", edges[2], None): frame.x >= edges[2],
        ("kids", 0, 2): frame.kids.between(1, 2),
        ("kids", None, 1): frame.kids <= 1,
        ("size", "s", "m"): frame["size"].isin(["s", "m"]),
        ("size", "m", None): frame["size"].isin(["m", "l"]),
    }
    for ends, inside in exact.items():
        told = fit.count_between(*ends)
        assert abs(told.count - inside.sum()) < 5 * told.noise_scale < 20, ends
    for ends, match in {
        ("x", 0.25, None): "edges of its bins",
        ("x", edges[5], edges[5]): "no level",
        ("size", "x", None): "has no level",
        ("size", "l", "s"): "no level",
    }.items():
        with pytest.raises(ValueError, match=match):
            fit.count_between(*ends)
    rows = fit.sample()
    assert fit.synthetic_report(rows).distance.max() < 0.005


def test_fits_with_groups_read_one_row_of_each():
    X, groups = np.arange(4000)[:, None] % 10, np.arange(4000) // 4
    fit = MarginalReleaser(domain={0: 10}, workload="prefixes", random_state=0).fit(
        X, groups=groups
    )
    assert abs(fit.n_rows_ - 1000) < 8 * fit.measurement_.sd[0]


@pytest.mark.parametrize(
    "parameters",
    [
        {"error": "worst"},
        {"weights": [1.0, 1.0]},
        {"postprocess": "projection"},
        {"nonnegative": True},
        {"domain": {0: 1025, 1: 2}},
    ],
)
def test_what_ranges_do_not_have_is_refused(parameters):
    X = np.zeros((10, 2))
    with pytest.raises(ValueError, match="workload='ranges'"):
        MarginalReleaser(workload="ranges", **{"domain": {0: 5, 1: 2}} | parameters).fit(X)
