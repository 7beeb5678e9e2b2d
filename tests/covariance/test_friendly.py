"""Random parts that agree on a covariance matrix, and noise in proportion to it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step, pure_to_gdp
from skdp.accounting._matrix_noise import gdp_to_pure, noise_delta
from skdp.audit import conditional_sensitivity, non_interference
from skdp.audit._transcript import matrix_distance, matrix_factor
from skdp.covariance import PrivateCovariance, published
from skdp.covariance.published import (
    FAILED,
    SHARES,
    TAKEN,
    TOO_FEW,
    average_distance,
    exact_average,
    friendly_covariance,
    friendly_covariance_plan,
    friendly_factor,
    part_matrices,
    parts_for,
)
from skdp.exceptions import AuditFailure, PlanError, SeededNoiseWarning
from skdp.friendly.published import CovarianceDistance
from skdp.gate._curator import Curator
from skdp.mechanisms import RowKeys, make_entropy
from skdp.readers import ArrayRows
from tests._curators import CannedCurator, FixedKeys, check_replay
from tests.accounting._literature import safe_distance

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{SeededNoiseWarning.__module__}.SeededNoiseWarning"
)
RICH = Budget("gdp", Fraction(144), Fraction(1, 10**8), Fraction(90), Fraction(1))
LAWS = {"part noise": "matrix"}


def plan_of(budget=RICH):
    steps = tuple(Step(name, LAWS.get(name, "gaussian"), SHARES[name]) for name in SHARES)
    return Plan(budget, steps, tuple((name, budget.failure / 3) for name in SHARES))


def turned(rng, n, d, condition):
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    L = Q * np.logspace(0, np.log10(condition) / 2, d)
    return rng.normal(size=(n, d)) @ L.T + 100 * np.sqrt(condition), np.linalg.inv(L)


def error(S, root):
    return np.linalg.norm(root @ S @ root.T - np.eye(len(root)))


# --- averages


def distance(A, B):
    values = np.linalg.eigvals(np.linalg.solve(A, B)).real
    return max(values.max(), 1 / values.min()) - 1


def test_averages_of_friends_are_as_close_as_claimed(rng):
    """Random and extreme matrices within the distance of friends of friends of one another."""
    worst = 0.0
    for _ in range(3000):
        n, d, gamma = int(rng.integers(2, 6)), int(rng.integers(1, 4)), float(rng.uniform(0.1, 2))
        g = (1 + gamma) ** 2
        if rng.random() < 0.5:  # commuting: the common ones and one other at the same end
            others, one, two = [np.eye(d)] * (n - 1), np.eye(d), np.diag(g ** rng.integers(0, 2, d))
        else:
            Q = [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(n + 1)]
            made = [q @ np.diag(g ** rng.uniform(-0.5, 0.5, d)) @ q.T for q in Q]
            others, (one, two) = made[:-2], made[-2:]
        both = [sum([*others, last]) / n for last in (one, two)]
        alone = sum(others) / (n - 1)
        moved = max(distance(*both), distance(alone, both[0]), distance(alone, both[1]))
        worst = max(worst, moved / average_distance(gamma, n))
    assert 0.999 < worst <= 1


def test_averages_are_exact(rng):
    A = rng.normal(size=(7, 3, 3)) * 10.0 ** rng.integers(-250, 250, size=(3, 3))
    A[2, 1, 1] = 0.0
    exact = exact_average(A)
    for i in range(3):
        for j in range(3):
            assert exact[i, j] == sum(map(Fraction, A[:, i, j].tolist())) / 7
    assert exact_average(A[:0]).tolist() == np.eye(3).tolist()


# --- parts


def test_matrices_of_parts_are_their_covariances_and_hang_on_their_rows_alone(rng):
    X, predicate = rng.normal(size=(4000, 3)) @ rng.normal(size=(3, 3)) + 1e6, CovarianceDistance()
    keys = rng.integers(0, 2**64, size=4001, dtype=np.uint64)
    for centered in (False, True):
        M = part_matrices(
            ArrayRows(X - 1e6 * centered), FixedKeys(keys[1:]), 20, predicate,
            assume_centered=centered,
        )  # fmt: skip
        part = (FixedKeys(keys[1:]).keys(0, 4000, use="parts") >> np.uint64(32)) * 20
        for p in range(20):
            rows = X[part >> np.uint64(32) == p] - 1e6 * centered
            expected = rows.T @ rows / len(rows) if centered else np.cov(rows, rowvar=False)
            assert np.allclose(M[p], expected, rtol=1e-6)
    for row in (np.zeros(3), np.full(3, 1e200), np.array([np.nan, 0, 0]), X[5]):
        more = part_matrices(
            ArrayRows(np.vstack([row, X - 1e6]), block_rows=77), FixedKeys(keys), 20, predicate,
            assume_centered=True,
        )  # fmt: skip
        changed = ~np.equal(M, more).all(axis=(1, 2)) & ~np.isnan(M[:, 0, 0])
        assert changed.sum() == np.isfinite(row).all()


def test_parts_without_a_proper_matrix_have_none():
    coins, predicate = RowKeys(make_entropy(0)), CovarianceDistance()
    rng = np.random.default_rng(0)
    for X in (
        np.empty((0, 2)), np.zeros((500, 2)), rng.normal(size=(9, 2)), np.full((500, 2), np.nan),
        np.repeat(rng.normal(size=(500, 1)), 2, axis=1), 1e-300 * rng.normal(size=(500, 2)),
        1e308 * rng.uniform(-1, 1, size=(500, 2)),
    ):  # fmt: skip
        assert np.isnan(part_matrices(ArrayRows(X), coins, 10, predicate)).all()


# --- the noise of the Curator


def test_the_noise_is_the_least_that_the_share_pays_for():
    """Charged: epsilon with pure_to_gdp(epsilon)^2 = share mu^2; delta: the planned event."""
    S, s = exact_average(np.eye(4)[None]), average_distance(1.0, 900)
    curator = Curator(plan_of(), make_entropy(0))
    asked = {"distance": s, "largest": 0.25, "label": "part noise", "event": "part noise"}
    release = curator.matrix(S, share=SHARES["part noise"], **asked)
    (charge,) = curator.close("x").charges
    assert (charge.mechanism, charge.share) == ("matrix", SHARES["part noise"])
    assert charge.sensitivity == s and charge.scale == release.scale
    epsilon = gdp_to_pure(math.sqrt(RICH.amount * SHARES["part noise"]))
    assert pure_to_gdp(epsilon) ** 2 <= RICH.amount * SHARES["part noise"]
    p = float(RICH.failure / 3)
    law = {"distance": s, "d": 4}
    assert noise_delta(epsilon, eta=release.scale, **law) <= p * (1 - 2.0**-20)
    assert noise_delta(epsilon, eta=0.98 * release.scale, **law) > p
    # the closed bound of lemma 9.1 would allow a far smaller distance
    assert safe_distance(epsilon, p, eta=release.scale, d=4) < s / 5
    # too large a noise: nothing is paid or released
    curator = Curator(plan_of(), make_entropy(0))
    asked["largest"] = release.scale / 1.1
    assert curator.matrix(S, share=SHARES["part noise"], **asked) is None
    assert curator.remaining == 1 and curator.close("x").charges == ()
    zcdp = Plan(Budget.zcdp(1.0, 1e-6), (Step("part noise", "matrix"),))
    with pytest.raises(PlanError, match="Gaussian budget"):
        Curator(zcdp, make_entropy(0)).matrix(S, share=0.5, **asked)


def test_the_distance_of_audits_is_that_of_eigenvalues(rng):
    for d in (1, 3, 8):
        A, B = (exact_average(np.cov(rng.normal(size=(40, d)).T).reshape(1, d, d)) for _ in "ab")
        a, b = A.astype(float), B.astype(float)
        assert matrix_distance(A, B) == pytest.approx(distance(a, b), rel=1e-5)
        assert np.allclose(matrix_factor(A) @ matrix_factor(A).T, a)
        assert matrix_distance(A, A) == 0
        assert matrix_distance(A, -A) > 1e100


# --- replays


def neighbours(seed):
    """Return rows that agree, the same with a hostile row more, and keys of common rows alike."""
    rng = np.random.default_rng(seed)
    d = 1 + seed % 3
    X, _ = turned(rng, 60 * 25 * (d + 1), d, 10.0 ** rng.uniform(0, 10))
    X = X * 10.0 ** float(rng.choice([0, -100, 100]))
    size = np.abs(X).max()
    row = [
        np.zeros(d), np.full(d, 1e300), X[0], np.full(d, np.nan), X.mean(axis=0),
        size * rng.normal(size=d), 1e3 * X[1], 1e-300 * X[0], -np.inf * np.ones(d),
    ][seed % 9]  # fmt: skip
    keys = rng.integers(0, 2**64, size=len(X) + 1, dtype=np.uint64)
    j = int(rng.integers(len(X) + 1))
    return X, np.insert(X, j, row, axis=0), np.delete(keys, j), keys


def replayed(seed, gamma=1.0):
    X, Y, keys_x, keys_y = neighbours(seed)
    if seed % 2:  # the smaller table answers, or the larger
        X, Y, keys_x, keys_y = Y, X, keys_y, keys_x
    run = CannedCurator(plan_of(), "noise", seed=seed, coins=FixedKeys(keys_x))
    one = friendly_factor(ArrayRows(X), run, n_parts=60, gamma=gamma)
    again = CannedCurator(plan_of(), run.answers, coins=FixedKeys(keys_y))
    two = friendly_factor(ArrayRows(Y, block_rows=91), again, n_parts=60, gamma=gamma)
    assert np.array_equal(one, two)
    assert run.close("x") == again.close("x")
    return one, run, again


def test_replay_on_hostile_neighbours():
    worst, moved = 0.0, []
    for seed in range(18):
        one, run, again = replayed(seed)
        assert one is not None
        worst = max(worst, check_replay(run, again))
        moved.append(matrix_distance(run.records[-1].value, again.records[-1].value))
        assert run.records[-1].law == "matrix"
    assert 0 < worst <= 1
    assert max(moved) > 0.01  # a matrix that leaves the core of 60 moves the average


def test_too_small_a_declared_distance_is_found(monkeypatch):
    monkeypatch.setattr(published, "average_distance", lambda g, n: average_distance(g, n) / 30)
    with pytest.raises(AuditFailure, match="part noise"):
        for seed in range(18):
            check_replay(*replayed(seed)[1:])


@pytest.mark.nightly
def test_replay_many():
    for seed in range(100, 300):
        _, run, again = replayed(seed, gamma=(1.0, 2.0)[seed % 2])
        assert check_replay(run, again) <= 1


def test_replay_of_the_whole_road():
    """From the count of rows to the final Gram matrix, at a budget that pays for few parts."""
    plan = friendly_covariance_plan(Budget.gaussian(100.0, 1e-6))
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, _ = turned(rng, 8000, 2, 10.0 ** rng.uniform(0, 10))
        row = [np.zeros(2), X[0], 1e6 * X[0], np.full(2, 1e300), np.full(2, np.nan), -X[1]][seed]
        keys = rng.integers(0, 2**64, size=8001, dtype=np.uint64)
        with np.errstate(all="ignore"):
            run = CannedCurator(plan, "noise", seed=seed, coins=FixedKeys(np.delete(keys, 7)))
            one = friendly_covariance(ArrayRows(X), run)
            again = CannedCurator(plan, run.answers, coins=FixedKeys(keys))
            two = friendly_covariance(
                ArrayRows(np.insert(X, 7, row, axis=0), block_rows=501), again
            )
        assert np.array_equal(one.covariance, two.covariance)
        assert run.close("x") == again.close("x") and run.remaining == 0
        assert run.close("x").decisions[0] == TAKEN
        assert check_replay(run, again) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("n, d, epsilon", [(200, 2, 1.0), (5000, 1, 60.0)])
def test_audits_of_answers(n, d, epsilon):
    X = np.random.default_rng(0).normal(size=(n, d)) * 1e3 + 5
    estimator = PrivateCovariance(method="friendly", epsilon=epsilon)
    report = non_interference(estimator, X, n_transcripts=1)
    assert report.ok and ("friendly/part noise" in report.releases) == (n == 5000)
    assert conditional_sensitivity(estimator, X, n_pairs=4).ok


# --- the road


@pytest.mark.parametrize("d, n, condition", [(1, 8000, 1), (3, 16000, 1e10), (6, 30000, 1e4)])
def test_the_road_is_taken_and_good(d, n, condition, debug):
    """Spread of the error without privacy: 1 / sqrt(d (d + 1)) of it; alike rows in both."""
    X, root = turned(np.random.default_rng(d), n, d, condition)
    fit = PrivateCovariance(epsilon=50.0, method="friendly", random_state=d).fit(X)
    report = fit.privacy_report_
    assert report.decisions[0] == TAKEN and fit.resolved_rank_ == d
    exact = error(np.cov(X, rowvar=False).reshape(d, d), root)
    assert error(fit.covariance_, root) < 1.1 * exact + 0.03
    assert "main/column scales" not in {charge.label for charge in report.charges}
    assert sum(c.share for c in report.charges if not c.label.startswith("main/")) <= 0.76
    assert sum(p for _, p in report.failure_events) == report.budget.failure


def test_the_start_alone_is_right_up_to_a_factor(debug):
    """|B - S| <= eta sqrt(8 d) + 4 d eta^2 in the metric of S, nearly always."""
    X, root = turned(np.random.default_rng(1), 20000, 4, 1e8)
    run = CannedCurator(plan_of(), "noise", seed=1)
    C = friendly_factor(ArrayRows(X), run, n_parts=150, gamma=1.0)
    eta = run.records[-1].scale
    gap = root @ C @ C.T @ root.T - np.eye(4)
    assert np.linalg.norm(gap, 2) < 1.5 * (eta * math.sqrt(32) + 16 * eta**2)
    C = friendly_factor(ArrayRows(X), CannedCurator(plan_of()), n_parts=150, gamma=1.0)
    assert error(C @ C.T, root) < 0.1


def test_with_few_rows_the_other_road_gets_the_budget(debug):
    X, root = turned(np.random.default_rng(2), 3000, 3, 100)
    fit = PrivateCovariance(epsilon=8.0, method="friendly", random_state=0).fit(X)
    report = fit.privacy_report_
    assert report.decisions[0] == TOO_FEW and error(fit.covariance_, root) < 0.3
    main = [c for c in report.charges if c.label.startswith("main/")]
    assert sum(c.share for c in main) == Fraction(1) - Fraction(0.01)
    assert not [c for c in report.charges if c.label.startswith("friendly/")]


def test_if_the_parts_do_not_agree_the_other_road_is_taken(debug):
    """Tails so heavy that the largest row decides the matrix of its part."""
    rng = np.random.default_rng(3)
    X = rng.standard_cauchy(size=(20000, 2)) ** 3
    fit = PrivateCovariance(epsilon=60.0, method="friendly", random_state=0).fit(X)
    report = fit.privacy_report_
    assert report.decisions[0] == FAILED and np.isfinite(fit.covariance_).all()
    assert not [c for c in report.charges if c.mechanism == "matrix"]
    assert [c for c in report.charges if c.label == "main/column scales"]


def test_parts_are_as_many_as_the_budget_asks_for():
    t, _ = parts_for(1e9, Budget.gaussian(4.9, 1e-6), 5)
    assert 500 < t < 2000
    assert parts_for(1e9, Budget.gaussian(20.0, 1e-6), 5)[0] < t
    assert parts_for(t * 60, Budget.gaussian(4.9, 1e-6), 5) is None
    assert parts_for(1e12, Budget.gaussian(1.0, 1e-6), 5)[0] > 10000
    for epsilon, d in ((0.5, 2), (1e3, 2), (1.0, 60)):
        assert parts_for(1e15, Budget.gaussian(epsilon, 1e-6), d) is None
    assert parts_for(-5.0, Budget.gaussian(4.9, 1e-6), 5) is None


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 60.0, 1e4])
def test_no_table_makes_a_fit_fail(epsilon, debug):
    rng = np.random.default_rng(4)
    for X in (
        np.zeros((50, 2)), np.array([[1.0, 2.0]]), np.full((300, 2), 1e200),
        np.full((9000, 2), np.finfo(float).max), 10.0 ** rng.uniform(-300, 300, size=(9000, 2)),
    ):  # fmt: skip
        fit = PrivateCovariance(epsilon=epsilon, method="friendly", random_state=0).fit(X)
        assert np.isfinite(fit.covariance_).all()
