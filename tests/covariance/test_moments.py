import math

import numpy as np

from skdp.accounting import Step
from skdp.covariance._distance_histogram import release_distance_histogram, release_size
from skdp.covariance._release import denoised, denoisers, floored, noise_bound, release_moments
from skdp.covariance._run import DrawnRows, draw_rows, identity_frame
from skdp.kernel._sums import Count
from skdp.kernel._table import Table
from skdp.kernel._totals import keyed_rows
from skdp.mechanisms import RowKeys, make_entropy
from skdp.readers import ArrayRows
from tests._curators import canned


def _moments(X, frame, radius, block_rows=None):
    rows = DrawnRows(Table(ArrayRows(X, block_rows=block_rows), canned()), len(X))
    return release_moments(
        rows, frame, radius=radius, share=0.1, sum_share=0.01, steps=(Step("x"),) * 2
    )


def test_noise_of_the_mean_of_a_gram_matrix_and_its_transpose(rng):
    """Standard deviations within 10 %: 400 matrices, 4 sigma are 9 % for the 1200 entries."""
    frame, diagonal, off = identity_frame(np.zeros(3), np.ones(3)), [], []
    for seed in range(400):
        curator = canned(transcript="noise") if seed == 0 else _noisy(seed)
        rows = DrawnRows(Table(ArrayRows(np.zeros((1, 3))), curator), 1.0)
        moments = release_moments(
            rows,
            frame,
            radius=1.0,
            share=0.01,
            sum_share=0,
            steps=(Step("x"),) * 2,
        )
        diagonal += list(np.diag(moments.gram))
        off += list(moments.gram[np.triu_indices(3, 1)])
        assert moments.total_sd == 0
    assert abs(np.std(diagonal) / moments.gram_sd - 1) < 0.1
    assert abs(np.std(off) * math.sqrt(2) / moments.gram_sd - 1) < 0.1


def _noisy(seed):
    curator = canned(transcript="noise")
    curator._entropy = make_entropy(seed)
    return curator


def test_a_drawn_table_is_alike_for_every_blocking(rng):
    X = rng.normal(size=(5000, 2))
    coins = RowKeys(make_entropy(1))

    def drawn(rows, use="a", n=1000):
        return keyed_rows(rows, coins, 0.2, n, use).take(np.arange(100))

    def lengths(rows):
        far = keyed_rows(rows, coins, 0.2, 1e9, "a")
        return Table(identity_frame(np.zeros(2), np.ones(2)).over(far), canned())

    rows, others = ArrayRows(X), ArrayRows(X, block_rows=77)
    assert np.array_equal(drawn(rows), drawn(others))
    assert not np.array_equal(drawn(rows), drawn(rows, "b"))
    told = [lengths(some).ask(Count(), share=0.1, label="x").value[0] for some in (rows, others)]
    assert told[0] == told[1] and abs(told[0] - 1000) < 5 * math.sqrt(800)
    table = Table(rows, canned())
    assert draw_rows(table, 3000.0, n=5000.0, use="a").table is table
    nobody = draw_rows(Table(ArrayRows(X[:0]), canned()), 10.0, n=5000.0, use="a")
    assert nobody.table.ask(Count(), share=0.1, label="x").value[0] == 0


def test_spread_tells_quantiles_and_squares(rng):
    X = rng.normal(size=(20000, 5))
    frame = identity_frame(np.zeros(5), np.ones(5))
    rows = DrawnRows(Table(ArrayRows(X), canned()), 20000.0)
    spread = release_distance_histogram(rows, frame, per_octave=16, share=0.1, step=Step("x"))
    lengths = np.linalg.norm(X, axis=1)
    for part in (0.5, 0.1, 0.05):
        assert abs(spread.quantile(part) / np.quantile(lengths, 1 - part) - 1) < 0.08
    assert abs(spread.mean_square([100.0])[0] / 5 - 1) < 0.05
    clip = spread.best_radius(1e-5, 0.6, 20.0)
    assert np.quantile(lengths, 0.99) < clip.radius < 2.5 * np.quantile(lengths, 0.96)
    every = np.arange(5)
    size = release_size(rows, frame, among=every, share=0.1, step=Step("x"))
    assert abs(size / math.sqrt(5) - 1) < 0.3
    zeros = DrawnRows(Table(ArrayRows(np.zeros((20000, 5))), canned()), 20000.0)
    assert release_size(zeros, frame, among=every, share=0.1, step=Step("x")) == 0.0
    none = DrawnRows(Table(ArrayRows(np.zeros((0, 5))), canned()), 20000.0)
    assert release_size(none, frame, among=every, share=0.1, step=Step("x")) is None


def test_the_estimated_risk_of_every_denoiser_is_unbiased(rng):
    """Over 400 matrices the mean estimate meets the mean loss within 5 standard errors."""
    k, sd, times = 6, 0.4, 400
    truth = np.diag([4.0, 1, 1, 1, 0.5, 0.5])
    truth[0, 3] = truth[3, 0] = 0.7
    gaps = []
    for _ in range(times):
        M = sd * rng.normal(size=(k, k))
        C = truth + (M + M.T) / 2
        # the levels of the soft threshold depend on the largest gap: compare fixed ones
        gaps.append([r - np.sum((F - truth) ** 2) for F, r in list(denoisers(C, sd))[:3]])
    gaps = np.array(gaps)
    assert np.all(np.abs(gaps.mean(axis=0)) < 5 * gaps.std(axis=0) / math.sqrt(times))


def test_the_soft_threshold_has_the_divergence_that_is_claimed(rng):
    k, sd = 5, 0.3
    M = rng.normal(size=(k, k))
    C = (M + M.T) / 2
    basis = []
    for i in range(k):
        for j in range(i + 1):
            E = np.zeros((k, k))
            E[i, j] = E[j, i] = 1.0 if i == j else math.sqrt(0.5)
            basis.append(E)
    gaps = np.linalg.eigvalsh(C)
    t = 0.25 * np.abs(gaps - gaps.mean()).max()  # level 8 of 32, the same for small changes

    def soft(C):
        values, V = np.linalg.eigh(C)
        gaps = values - values.mean()
        h = np.sign(gaps) * np.maximum(np.abs(gaps) - t, 0)
        return (V * (values.mean() + h)) @ V.T

    step = 1e-6
    slope = sum(np.sum(E * (soft(C + step * E) - soft(C - step * E))) / (2 * step) for E in basis)
    F, risk = list(denoisers(C, sd))[3 + 7]
    assert np.allclose(F, soft(C))
    K = k * (k + 1) / 2
    assert abs(risk - (np.sum((F - C) ** 2) - K * sd**2 + 2 * sd**2 * slope)) < 1e-4


def test_denoising_helps_where_there_is_noise_and_harms_nowhere(rng):
    for truth, most in ((np.eye(10), 0.25), (np.diag(np.arange(1.0, 11)), 0.65)):
        before = after = 0.0
        for _ in range(40):
            M = 0.5 * rng.normal(size=(10, 10))
            C = truth + (M + M.T) / 2
            before += np.sum((C - truth) ** 2)
            after += np.sum((denoised(C, 0.5) - truth) ** 2)
        assert after < most * before
    assert denoised(np.eye(3), 0.0) is not None


def test_floored_factors_are_positive(rng):
    M = rng.normal(size=(5, 5))
    F = floored(M + M.T)
    assert np.linalg.eigvalsh(F @ F.T).min() > 0
    assert not floored(-np.eye(3)).any()


def test_noise_bounds_hold(rng):
    """At 95 % by concentration: the share of failures over 300 draws stays far below 5 %."""
    for B in (np.eye(8), np.diag([10.0, 3, 1, 0.1])):
        for operator in (True, False):
            bound = noise_bound(B, 0.3, 0.05, operator=operator)
            norms = []
            for _ in range(300):
                M = 0.3 * rng.normal(size=(len(B), len(B)))
                E = B @ (M + M.T) @ B.T / 2
                norms.append(np.linalg.norm(E, 2) if operator else np.linalg.norm(E))
            assert np.mean(np.array(norms) > bound) < 0.02
            assert bound < 8 * np.median(norms)
