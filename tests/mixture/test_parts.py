"""Clipped normal vectors, gains, integer shares and frames against independent computations."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi

from skdp.kernel._lattice import UNIT
from skdp.kernel._mixtures import MixtureFrame, _certified, exponential, integer_shares
from skdp.mixture._normal import Clipped, design, quantile
from skdp.mixture._shrinkage_update import _shaped, gain


@pytest.mark.parametrize("d", [1, 2, 5, 40])
@pytest.mark.parametrize("p", [0.3, 0.9])
def test_answers_of_clipped_normal_vectors(d, p):
    """Against integrals over the length: of radial functions, by Stein's identity and the score."""
    c = Clipped(d, quantile(d, p) ** 0.5)

    def mean(f):
        ends = (0, c.rho), (c.rho, d**0.5 + 15)
        return sum(quad(lambda r: f(r) * chi.pdf(r, d), *end)[0] for end in ends)

    assert c.second() == pytest.approx(mean(lambda r: min(r / c.rho, 1) ** 2), rel=1e-7)
    assert c.mean == pytest.approx(mean(lambda r: min(r, c.rho) * r) / d, rel=1e-7)
    by_score = mean(lambda r: min(r / c.rho, 1) ** 2 * (r**2 - d) / 2)
    assert c.trace == pytest.approx(by_score, rel=1e-6)
    assert c.shape == pytest.approx(
        mean(lambda r: min(r / c.rho, 1) ** 2 * r**2) / d / (d + 2), rel=1e-7
    )


def test_a_vector_longer_than_declared_is_left_out():
    z, most = np.array([[3.0, 3.0, 3.0, np.nan], [4.0, 4.0, 4.0, 0.0]]), np.array([25, 24, 100, 99])
    assert _certified(z, np.array([1.1, 1, 2, 1]), most).T.tolist() == [
        [3, 4],
        [0, 0],
        [6, 8],
        [0, 0],
    ]


def test_the_variance_inverts_the_trace():
    c = Clipped(10, 3.0)
    for s in (0.05, 0.5, 1.0, 3.0, 40.0):
        assert c.variance(c.second(s)) == pytest.approx(s, rel=1e-4)
    assert c.variance(-1.0) == 2.0**-6
    assert c.variance(2.0) == 2.0**6


def test_a_power_undoes_what_directions_make_of_two_variances():
    a, b = 0.2, 1.8  # E[v v^T] of directions of N(0, diag(a, b)) is sqrt a / (sqrt a + sqrt b)
    seen = a**0.5 / (a**0.5 + b**0.5)
    shape = 1 / 4  # 1 / (d + 2)
    E = (np.array([[seen, 1 - seen]]) - 0.5) / shape
    np.testing.assert_allclose(_shaped(E, np.array([2.0])), [[a, b]], rtol=1e-12)


def test_gains():
    x = np.array([[0.1, -0.1, 0.1, -0.1], [9.0, -9.0, 9.0, -9.0]])
    v = np.ones(2)
    assert gain(x, v, np.full(2, np.inf)).tolist() == [1.0, 1.0]
    kalman = gain(0.01 * x, v, np.array([1.0, 3.0]))
    np.testing.assert_allclose(kalman, [0.5, 0.75])
    own = gain(x[1:], v[:1], np.zeros(1))
    assert own[0] > 0.97
    assert gain(x[:1], v[:1], np.zeros(1))[0] == 0
    assert gain(np.empty((2, 0)), v, v).tolist() == [0, 0]


def test_integer_shares_are_rounded_responsibilities():
    rng = np.random.default_rng(0)
    lengths = list(10 ** rng.uniform(-2, 2, size=(4, 500)))
    logs = rng.normal(size=4)
    shares = np.array(integer_shares(logs, lengths, 15))
    exact = logs[:, None] - np.square(lengths) / 2
    exact = np.exp(exact - exact.max(axis=0))
    exact *= 2.0**15 / exact.sum(axis=0)
    assert (shares == np.floor(shares)).all()
    assert (shares.sum(axis=0) <= 2**15).all()
    assert (np.abs(shares + 0.5 - exact) <= 0.5001).all()
    wild = [np.array([np.inf, np.nan, 0.0]), np.array([np.inf, 1.0, np.inf])]
    with np.errstate(all="ignore"):
        shares = np.array(integer_shares(np.zeros(2), wild, 15))
    assert shares[:, :2].tolist() == [[0, 0], [0, 0]]
    assert shares[:, 2].tolist() == [2**15 - 1, 0]


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_frames_whiten(kind):
    rng = np.random.default_rng(0)
    k, d = 3, 5
    means = rng.uniform(-0.5, 0.5, size=(k, d))
    if kind in ("full", "tied"):
        A = rng.normal(size=(k if kind == "full" else 1, d, d))
        roots = np.linalg.cholesky(A @ A.transpose(0, 2, 1)) / 10
    else:
        roots = rng.uniform(0.05, 0.2, size=(k, d))
    frame = MixtureFrame(kind, np.full(k, 1 / k), means, roots)
    Q = np.trunc(rng.uniform(-0.6, 0.6, size=(20, d)) * UNIT)
    full = np.stack([np.diag(r) for r in roots]) if roots.ndim == 2 else roots
    for j, z in enumerate(frame.whitened(Q)):
        L = full[j % len(full)]
        np.testing.assert_allclose(z.T @ L.T + means[j], Q / UNIT, atol=1e-6)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("d", [1, 2, 10, 1000])
def test_every_design_is_finite_and_reaches_farther_with_more_signal(kind, d):
    weak, strong = (design(kind, 3, d, signal) for signal in (0.1, 1e6))
    assert weak[0] < strong[0]
    for reach, weight in (weak, strong):
        assert 0.6 * d**0.5 < reach < 2 * d**0.5 + 1
        assert 0.1 <= weight.number <= 2
        assert 0.1 <= weight.vector <= 2


def test_the_exponential_is_to_nine_digits_and_keeps_what_is_no_number(rng):
    x = np.r_[0.0, -0.0, -1e-300, -100 * rng.random(1000), -138.0]
    np.testing.assert_allclose(exponential(x), np.exp(x), rtol=1e-9)
    wild = exponential(np.array([-np.inf, -1e9, np.nan]))
    assert wild[0] == wild[1] == 2.0**-200 and np.isnan(wild[2])
