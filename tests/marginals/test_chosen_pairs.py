"""Pairs of columns chosen by released scores: sensitivities, questions, what is left to answer."""

import math
from itertools import combinations

import numpy as np
import pytest

from skdp import MarginalReleaser
from skdp.audit import conditional_sensitivity
from skdp.kernel._residual_sums import PairDistances
from skdp.marginals import Bins, _noisy_tables
from skdp.marginals._chosen_pairs import Allocation, CellErrors, combined
from skdp.marginals._noisy_tables import (
    DenoisedTables,
    NoisyTables,
    shared_directions,
    shrunk_inside,
    shrunk_singular_values,
)
from skdp.readers import ArrayRows

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
LEVELS = (9, 8, 7, 6, 5)
DOMAIN = dict(enumerate(LEVELS))


def rows_of(n=4000, seed=0):
    """Return codes: columns 0 to 2 depend on each other, 3 on none, 4 on the first."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, n_levels, size=n) for n_levels in LEVELS])
    for j, near in ((1, 0.7), (2, 0.7), (4, 0.5)):
        follows = rng.random(n) < near
        X[follows, j] = X[follows, 0] % LEVELS[j]
    return X


def rows_fit(X, epsilon=1.0, seed=0, **parameters):
    fit = MarginalReleaser(
        workload="rows", domain=DOMAIN, epsilon=epsilon, random_state=seed, **parameters
    )
    return fit.fit(X)


# --- the three releases


def distances(X, n, shares):
    return np.asarray(PairDistances(n, shares).over(ArrayRows(X.astype(float))))


@pytest.mark.parametrize("n", [0.0, 300.0, 2.0**36])
def test_a_row_moves_no_score_by_more_than_one_and_some_row_all_of_them(n):
    rng, X = np.random.default_rng(3), rows_of(300)
    shares = tuple(rng.dirichlet(np.ones(k)) for k in LEVELS)
    before, asked = distances(X, n, shares), PairDistances(n, shares)
    want = [
        np.abs(
            np.histogram2d(
                X[:, i], X[:, j], bins=[np.arange(LEVELS[i] + 1), np.arange(LEVELS[j] + 1)]
            )[0]
            - np.rint(n * np.outer(shares[i], shares[j]))
        ).sum()
        for i, j in combinations(range(5), 2)
    ]
    assert before.tolist() == want and asked.squared_l2 == asked.l1 == 10
    longest = 0
    corners = [[0] * 5, [k - 1 for k in LEVELS], [0, 7, 0, 5, 0], *X[:30].tolist()]
    for row in corners:
        moved = distances(np.vstack([X, row]), n, shares) - before
        assert np.abs(moved).max() <= 1
        longest = max(longest, int(np.square(moved).sum()))
    assert longest == 10
    for odd in ([np.nan, 0, 0, 0, 0], [0, 0, 0, 0, 5], [0.5, 0, 0, 0, 0], [-1, 0, 0, 0, 0]):
        assert np.array_equal(distances(np.vstack([X, odd]), n, shares), before)


@pytest.mark.slow
def test_questions_are_the_same_for_neighbours_and_answers_move_by_what_is_stated():
    """Bins of all numbers: hostile rows are in levels and pairs that nobody has."""
    X = rows_of(150).astype(float)
    X[:, 0] = np.minimum(X[:, 0], 7)
    ends = ([-np.inf, *np.arange(k - 1) + 0.5, np.inf] for k in LEVELS)
    domain = {j: Bins(edges, missing=True) for j, edges in enumerate(ends)}
    fit = MarginalReleaser(workload="rows", domain=domain, epsilon=4.0, random_state=0)
    report = conditional_sensitivity(fit, X, n_pairs=8)
    assert 0.5 < report.ratio <= 1


def test_the_plan_tells_three_releases_and_a_small_domain_has_one():
    X = rows_of()
    fit = rows_fit(X)
    charges = {charge.label: float(charge.share) for charge in fit.privacy_report_.charges}
    assert list(charges) == ["singles", "scores", "residuals"]
    assert charges == pytest.approx({"singles": 0.1, "scores": 0.05, "residuals": 0.85})
    assert sum(charges.values()) <= 1
    paid = sum(
        np.sum(m.layout.row_lengths / np.square(m.sd)) for m in (fit.singles_, fit.measurement_)
    )
    assert paid == pytest.approx(0.95 * float(fit.plan().budget.mu) ** 2, rel=1e-3)
    small = MarginalReleaser(workload="rows", domain={0: 9, 1: 8, 2: 7}, random_state=0)
    assert [step.label for step in small.plan().steps] == ["residuals"]
    small.fit(X[:, :3])
    assert small.joint_.size and small.singles_ is None and len(small.workload_[0]) == 3
    one = MarginalReleaser(workload="rows", domain={0: 9}, random_state=0).fit(X[:, :1])
    assert one.sample(50).shape == (50, 1)


def test_bought_levels_come_first():
    X = np.random.default_rng(0).normal(size=(3000, 5))
    fit = MarginalReleaser(workload="rows", domain="auto", n_bins=8, epsilon=20.0, random_state=0)
    fit.fit(X)
    labels = list(dict.fromkeys(charge.label for charge in fit.privacy_report_.charges))
    assert labels[-3:] == ["singles", "scores", "residuals"] and labels[0] == "row count"
    assert fit.sample(100).shape == (100, 5)


def test_one_row_of_a_person_is_read():
    X = rows_of(600)
    fit = rows_fit(X, 1e4).fit(X, groups=np.arange(600) // 3)
    assert abs(fit.n_rows_ - 200) < 2


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"workload": "all", "target": 0}, "workload='rows'"),
        ({"target": 9}, "no column 9"),
        ({"target": "town"}, "town"),
        ({"weights": np.ones(10)}, "no weights"),
        ({"error": "worst"}, "error='mean'"),
        ({"domain": {0: 2**13, 1: 2**13, 2: 3}}, "at most"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_charge(parameters, match):
    fit = MarginalReleaser(**{"workload": "rows", "domain": DOMAIN, **parameters})
    with pytest.raises(ValueError, match=match):
        fit.fit(rows_of(100)[:, : len(fit.domain)])


# --- which pairs pay


def test_errors_of_cells_are_sums_of_the_smaller_of_noise_and_share():
    rng = np.random.default_rng(0)
    laws = [rng.dirichlet(np.full(k, 0.5)) for k in (3, 40, 700)]
    errors = CellErrors(laws)
    for t in np.geomspace(1e-12, 0.9, 25):
        told, slope = errors(np.full(3, t))
        want = [np.minimum(t, law).sum() for law in laws]
        steep = [t * np.count_nonzero(law > t) for law in laws]
        assert np.allclose(told, want, rtol=0.03) and np.all(told <= np.array(want) * (1 + 1e-9))
        assert np.all(slope <= told * (1 + 1e-9))
        assert np.allclose(slope, steep, rtol=0.5, atol=0.05)
    assert np.allclose(errors(np.full(3, 7.0)), [[1, 1, 1], [0, 0, 0]])


def test_gains_are_slopes_of_the_error_and_parts_are_in_proportion():
    rng = np.random.default_rng(1)
    shares = [rng.dirichlet(np.ones(k)) for k in LEVELS]
    e = rng.uniform(0.01, 0.3, size=10)
    allocation = Allocation(LEVELS, e, shares, 4000.0)
    before, weights = np.full(5, 0.01), np.ones(10)
    parts = np.concatenate([*np.array(allocation.best(before, weights), dtype=object)]).astype(
        float
    )
    error, gain = allocation.errors(parts, before, weights)
    for place in np.flatnonzero(parts)[:6]:
        moved = parts.copy()
        moved[place] *= 1.001
        slope = (allocation.errors(moved, before, weights)[0] - error) / 0.001
        assert -slope == pytest.approx(gain[place], rel=0.1, abs=1e-6)
    there = parts > 0
    assert np.allclose(parts[there], (gain / gain[there].sum())[there], rtol=0.1, atol=2e-3)
    assert error < allocation.errors(np.full(15, 1 / 15), before, weights)[0]


def test_pairs_that_tell_nothing_are_dropped_and_the_target_weighs_more():
    X = rows_of()
    fit = rows_fit(X, 0.5)
    chosen = [tuple(pair) for pair in fit.workload_[1].tolist()]
    assert (0, 1) in chosen and (0, 2) in chosen and 2 <= len(chosen) < 10
    dropped = next(pair for pair in combinations(range(5), 2) if pair not in chosen)
    for answer in (fit.marginal, fit.interval, fit.cell_scale):
        with pytest.raises(ValueError, match="no table of the workload"):
            answer(list(dropped))
    report = fit.synthetic_report(fit.sample())
    assert report.columns[-1] == tuple(map(str, chosen[-1]))
    assert report.unreleased == 10 - len(chosen)
    assert f"{report.unreleased} pairs of columns have no released table" in str(report)
    aimed = rows_fit(X, 0.5, target=4)
    layout = aimed.measurement_.layout
    assert (0, 4) in layout.position
    plain = fit.measurement_.layout.position.get((0, 4))
    own = aimed.measurement_.sd[layout.position[0, 4]]
    assert plain is None or own < fit.measurement_.sd[plain]


def test_noise_that_hides_everything_leaves_single_columns():
    allocation = Allocation(LEVELS, np.full(10, 0.1), [np.full(k, 1 / k) for k in LEVELS], 1e-4)
    singles, pairs = allocation.best(np.full(5, 5000.0), np.ones(10))
    assert np.allclose(singles, 0.2) and not pairs.any()
    counts = []
    for seed in range(4):  # of which some release a negative number of rows
        fit = rows_fit(rows_of(40), 1e-3, seed)
        counts.append(fit.singles_.values[0])
        assert not fit.reliable_ and fit.sample(9).shape == (9, 5)
    assert min(counts) < 0 < max(counts)


# --- what is made of them


def test_both_releases_of_single_columns_are_joined_by_precision():
    fit = rows_fit(rows_of(), 1.0)
    both = combined(fit.singles_, fit.measurement_)
    precision = 1 / np.square(fit.singles_.sd) + 1 / np.square(fit.measurement_.sd[:6])
    assert np.allclose(both.sd[:6], precision**-0.5)
    assert np.array_equal(both.sd[6:], fit.measurement_.sd[6:])
    own, first, second = (m.values[0] for m in (both, fit.singles_, fit.measurement_))
    assert min(first, second) <= own <= max(first, second)


@pytest.mark.slow
def test_intervals_of_chosen_tables_cover():
    X = rows_of()
    exact = np.histogram2d(X[:, 0], X[:, 1], bins=[np.arange(10), np.arange(9)])[0]
    inside = []
    for seed in range(12):
        low, high = rows_fit(X, 1.0, seed).interval([0, 1])
        inside.append(((low <= exact) & (exact <= high)).mean())
    assert abs(np.mean(inside) - 0.95) < 0.03


def test_shrunk_singular_values_tell_their_error():
    """Over 200 draws; three standard errors."""
    rng = np.random.default_rng(0)
    S = 3.0 * np.outer(rng.normal(size=9), rng.normal(size=6))
    told, real, raw, ranks = [], [], [], []
    for _ in range(200):
        R = S + rng.normal(size=S.shape)
        found, rank, risk = shrunk_singular_values(R, 1.0)
        told.append(risk)
        real.append(np.sum(np.square(found - S)))
        raw.append(np.sum(np.square(R - S)))
        ranks.append(rank)
    error = np.std(np.subtract(told, real)) / math.sqrt(200)
    assert abs(np.mean(told) - np.mean(real)) < 3 * error + 0.03 * np.mean(real)
    assert np.mean(real) < 0.6 * np.mean(raw) and 1 <= np.median(ranks) <= 2
    noise, rank, _ = shrunk_singular_values(rng.normal(size=(40, 30)), 1.0)
    assert rank <= 1 and np.linalg.norm(noise) < 6
    assert np.allclose(shrunk_singular_values(S, 1e-9)[0], S)
    assert not shrunk_singular_values(np.zeros((3, 2)), 1.0)[0].any()


def test_directions_that_other_tables_share_find_what_one_table_hides():
    """Over 100 draws of nine tables; the told error is unbiased to within three standard errors."""
    rng = np.random.default_rng(0)
    levels = np.linalg.qr(rng.normal(size=(12, 2)))[0]
    others = [rng.normal(size=(2, n)) for n in (9, 4, 1, 14, 9, 9, 5, 6)]
    S = np.outer(levels[:, 0], rng.normal(size=9) * 1.3)
    told, real, alone = [], [], []
    for _ in range(100):
        beside = [2 * levels @ one + rng.normal(size=(12, one.shape[1])) for one in others]
        left, R = shared_directions(beside), S + rng.normal(size=S.shape)
        assert 1 <= left.shape[1] <= 3 and np.allclose(left.T @ left, np.eye(left.shape[1]))
        found, rank, risk = shrunk_inside(R, 1.0, left, np.eye(9))
        assert rank <= left.shape[1]
        told.append(risk)
        real.append(np.sum(np.square(found - S)))
        alone.append(np.sum(np.square(shrunk_singular_values(R, 1.0)[0] - S)))
    error = np.std(np.subtract(told, real)) / 10
    assert abs(np.mean(told) - np.mean(real)) < 3 * error
    assert np.mean(real) < 0.9 * np.mean(alone)
    assert shared_directions([rng.normal(size=(30, 20)), rng.normal(size=(30, 5))]).shape[1] <= 1
    assert shared_directions([rng.normal(size=(300, 5))]).shape[1] <= 1


def test_what_all_pairs_of_a_column_share_is_found_in_each_without_its_own_noise(monkeypatch):
    """Columns are bins of one number: the order of their levels is a factor of every pair."""
    rng, levels = np.random.default_rng(2), (9, 8, 7, 8, 9)
    latent = rng.normal(size=(4000, 1))
    X = np.argsort(np.argsort(latent + 1.5 * rng.normal(size=(4000, 5)), axis=0), axis=0)
    X = X * np.array(levels) // 4000
    shared = _noisy_tables.shared_directions
    errors = {True: [], False: []}
    for seed in range(2):
        fit = MarginalReleaser(
            workload="rows", domain=dict(enumerate(levels)), epsilon=0.5, random_state=seed
        ).fit(X)
        both, chosen = combined(fit.singles_, fit.measurement_), fit.workload_[1]
        others = np.bincount(chosen.ravel(), minlength=5) - 1  # the pair in question is not asked
        for shares in errors:
            seen = []

            def found(tables, shares=shares, seen=seen):
                seen.append(len(tables))
                return shared(tables)[:, : None if shares else 0]

            monkeypatch.setattr(_noisy_tables, "shared_directions", found)
            tables = DenoisedTables(both, 0.1)
            for pair in chosen.tolist():
                exact = np.zeros([levels[c] for c in pair])
                np.add.at(exact, tuple(X[:, pair].T), 1 / len(X))
                errors[shares].append(np.abs(tables.law(tuple(pair)).shares - exact).sum())
            assert sorted(seen) == sorted(n for n in others[chosen].ravel() if n > 0)
    assert np.mean(errors[True]) < 0.95 * np.mean(errors[False])


def test_denoised_tables_are_nearer_and_none_is_lost_where_noise_is_small():
    X, errors = rows_of(), []
    exact = rows_fit(X, 1e6).measurement_
    for seed in range(3):
        fit = rows_fit(X, 1.0, seed)
        both = combined(fit.singles_, fit.measurement_)
        tables = DenoisedTables(both, 0.2)
        raw = NoisyTables(both)
        for pair in tables.sets:
            table = np.zeros((LEVELS[pair[0]], LEVELS[pair[1]]))
            np.add.at(table, tuple(X[:, list(pair)].T), 1 / len(X))
            errors.append([np.abs(t.law(pair).shares - table).sum() for t in (tables, raw)])
    assert np.mean(errors, axis=0)[0] < 0.8 * np.mean(errors, axis=0)[1]
    sharp = DenoisedTables(exact, 1e6)
    for pair in sharp.sets:
        assert np.allclose(sharp.law(pair).shares, NoisyTables(exact).law(pair).shares, atol=1e-3)


@pytest.mark.slow
def test_rows_of_chosen_pairs_are_nearer_where_most_pairs_tell_nothing():
    far = {"rows": 0.0, "all": 0.0}
    for seed in range(2):
        X = np.hstack([rows_of(seed=2 * seed), rows_of(seed=2 * seed + 1)])
        for workload in far:
            fit = MarginalReleaser(
                domain=dict(enumerate(LEVELS * 2)),
                workload=workload,
                epsilon=0.5,
                random_state=seed,
            ).fit(X)
            far[workload] += _distance(fit.sample(), X, LEVELS * 2)
    assert far["rows"] < 0.9 * far["all"]


@pytest.mark.parametrize("workload", ["all", "rows"])
@pytest.mark.parametrize("some", [False, True])
def test_what_cannot_occur_stays_out_of_rows_and_what_is_rare_stays_in(some, workload):
    rng, n = np.random.default_rng(0), 20000
    man, state = rng.integers(2, size=n), rng.integers(8, size=n)
    pregnant = ((man == 0) & (rng.random(n) < 0.1)) | ((man == 1) & (rng.random(n) < 0.025) & some)
    city, more = 3 * state + rng.integers(3, size=n), rng.integers([3, 4], size=(n, 2))
    X = np.column_stack([man, pregnant, state, city, more]).astype(int)
    domain = dict(enumerate([2, 2, 8, 24, 3, 4]))
    fit = MarginalReleaser(domain=domain, workload=workload, random_state=0).fit(X)
    rows, men = fit.sample(), int((pregnant & (man == 1)).sum())
    drawn = int(((rows[:, 0] == 1) & (rows[:, 1] == 1)).sum())
    assert abs(drawn - men) < 2 * fit.cell_scale([0, 1])
    assert (rows[:, 3] // 3 != rows[:, 2]).mean() < 0.025  # noise, in 168 empty cells of 192
    far = np.abs(np.bincount(rows[:, 3], minlength=24) - np.bincount(X[:, 3], minlength=24))
    assert far.max() < 4 * fit.cell_scale([3])


def _distance(A, B, levels):
    found = []
    for i, j in combinations(range(len(levels)), 2):
        bins = [np.arange(levels[i] + 1), np.arange(levels[j] + 1)]
        a, b = (np.histogram2d(X[:, i], X[:, j], bins=bins)[0] / len(X) for X in (A, B))
        found.append(np.abs(a - b).sum() / 2)
    return np.mean(found)
