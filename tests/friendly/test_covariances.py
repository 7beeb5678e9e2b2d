from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import eigh

from skdp.friendly.published import CovarianceDistance


def samples(rng, n, d, m):
    Z = rng.normal(size=(n, m, d))
    mix = rng.normal(size=(d, d)) * 10.0 ** rng.integers(-8, 9, size=d)  # units far apart
    return np.einsum("nmi,nmj->nij", Z @ mix, Z @ mix) / m


def distance(A, B):
    ratios = eigh(B, A, eigvals_only=True)
    return max(ratios[-1], 1 / ratios[0]) - 1


@pytest.mark.parametrize("d", [1, 2, 5, 20])
@pytest.mark.parametrize("gamma", [0.3, 1.0])
def test_the_rule_is_the_distance_by_generalised_eigenvalues(d, gamma):
    rng = np.random.default_rng(d)
    Z = rng.normal(size=(40, int(d * rng.uniform(15, 30) / gamma**1.5) + 4, d))
    A = np.einsum("nmi,nmj->nij", Z, Z) / Z.shape[1]
    predicate = CovarianceDistance(gamma)
    related = predicate.matrix(A, A)
    exact = np.array([[distance(a, b) for b in A] for a in A])
    clear = np.abs(exact - gamma) > 1e-9
    assert np.array_equal(related[clear], (exact <= gamma)[clear])
    assert np.array_equal(related, related.T)
    assert 40 < related.sum() < 1600
    assert np.array_equal(predicate.friends(A), related.sum(axis=1))
    assert np.array_equal(predicate.friends(A, A[:7]), related[:, :7].sum(axis=1))


def test_units_and_order_of_rows_do_not_matter():
    rng = np.random.default_rng(0)
    A = samples(rng, 30, 4, 60)
    A = A / 2 + A.transpose(0, 2, 1) / 2
    related = CovarianceDistance(1.0).matrix(A, A)
    assert 30 < related.sum() < 900
    units = 2.0 ** np.array([-60, 0, 33, 100])
    scaled = A * np.outer(units, units)
    assert np.array_equal(CovarianceDistance(1.0).matrix(scaled, scaled), related)
    order = rng.permutation(30)
    assert np.array_equal(CovarianceDistance(1.0).matrix(A[order], A), related[order])


def positive_definite(M):
    """Decide by Gaussian elimination in exact arithmetic whether M >= 0 with positive pivots."""
    M = [[Fraction(x) for x in row] for row in M]
    for k in range(len(M)):
        if M[k][k] <= 0:
            return False
        for i in range(k + 1, len(M)):
            factor = M[i][k] / M[k][k]
            for j in range(k, len(M)):
                M[i][j] -= factor * M[k][j]
    return True


def test_friends_are_within_gamma_in_exact_arithmetic_at_the_very_edge():
    rng, met = np.random.default_rng(1), set()
    for trial in range(60):
        d = 2 + trial % 2
        A = samples(rng, 1, d, 5)[0]
        A = A / 2 + A.T / 2
        values, vectors = np.linalg.eigh(A)
        root = (vectors * np.sqrt(np.abs(values))) @ vectors.T
        ratios = np.array([2.0] + [0.5] * (d - 1)) * (1 + rng.integers(-40, 41) * 2.0**-46)
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        B = root @ (Q * ratios) @ Q.T @ root
        B = B / 2 + B.T / 2
        friend = CovarianceDistance(1.0).matrix(A[None], B[None])[0, 0]
        met.add(bool(friend))
        if friend:
            exact = [[[Fraction(x) for x in row] for row in M] for M in (A, B)]
            for P, Q_ in (exact, exact[::-1]):
                assert positive_definite([
                    [2 * p - q for p, q in zip(*rows, strict=True)]
                    for rows in zip(P, Q_, strict=True)
                ])  # fmt: skip
    A = np.array([[2.0, 1], [1, 3]])
    factors = np.array([1.9999999, 2 - 2.0**-30, 2.0, 2.0000001])
    related = CovarianceDistance(1.0).matrix(A[None], factors[:, None, None] * A)[0]
    assert related.tolist() == [True, True, False, False]
    assert False in met


def test_one_plus_distance_is_submultiplicative_and_averages_move_little():
    rng = np.random.default_rng(2)
    gamma, predicate = 1.0, CovarianceDistance(1.0)
    for d, m in ((1, 40), (3, 60)):
        Z = rng.normal(size=(60, m, d))
        A = np.einsum("nmi,nmj->nij", Z, Z) / m
        related, n = predicate.matrix(A, A), len(A)
        common = related.astype(int) @ related.astype(int) > 0
        exact = np.array([[distance(a, b) for b in A] for a in A])
        assert common.sum() > related.sum()
        assert exact[common].max() <= (1 + gamma) ** 2 - 1
        core = A[np.flatnonzero(related.sum(axis=1) > n / 2)]
        bound = ((1 + gamma) ** 2 - 1) / len(core)
        for j in range(len(core)):
            assert distance(core.mean(axis=0), np.delete(core, j, axis=0).mean(axis=0)) <= bound


HOSTILE = [
    np.zeros((2, 2)), np.ones((2, 2)), np.diag([1.0, 0]), np.diag([1.0, -1]), -np.eye(2),
    np.diag([1.0, np.nan]), np.diag([1.0, np.inf]), np.full((2, 2), np.nan),
    np.array([[1.0, np.inf], [0, 1]]), np.array([[1.0, 5], [5, 1]]),
    np.array([[1.0, 1 - 2.0**-52], [1 - 2.0**-52, 1]]), np.diag([1e308, 0]), np.diag([5e-324, 1]),
    np.array([[1e-300, 1e300], [1e300, 1e-300]]), np.diag([-1e308, 1e308]),
]  # fmt: skip


def test_hostile_matrices_are_nobodys_friends_not_even_their_own():
    A = np.stack([*HOSTILE, np.eye(2), 1e300 * np.eye(2), 1e-300 * np.eye(2)])
    related = CovarianceDistance(4.0).matrix(A, A)
    bad = len(HOSTILE)
    wrong = [i for i in range(bad) if related[i].any() or related[:, i].any()]
    assert wrong == []
    assert np.array_equal(related[bad:, bad:], np.eye(3, dtype=bool))
    assert np.array_equal(CovarianceDistance(4.0).friends(A), related.sum(axis=1))


@pytest.mark.parametrize("make", [
    lambda: CovarianceDistance(0.0), lambda: CovarianceDistance(5.0),
    lambda: CovarianceDistance().friends(np.zeros((3, 2, 1))),
    lambda: CovarianceDistance().matrix(np.zeros((3, 2, 2)), np.zeros((3, 1, 1))),
])  # fmt: skip
def test_wrong_parameters_are_refused(make):
    with pytest.raises(ValueError):
        make()
