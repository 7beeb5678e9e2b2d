"""Graphs: bases are orthonormal, fits are minima, degrees of freedom are derivatives."""

import time

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from skdp.denoising import (
    AutoDenoiser,
    GraphWaveletDenoiser,
    Noise,
    PrivateHistogram,
    Rule,
    TrendFilterDenoiser,
)
from skdp.denoising._auto import _bend
from skdp.denoising._base import unbiased_risk
from skdp.denoising._graph import (
    TrendFilter,
    _least_tree,
    edges_of,
    is_thin,
    read_graph,
    spanning_forest,
    tree_wavelets,
)
from skdp.mechanisms import make_entropy


def grid(height, width):
    nodes = np.arange(height * width).reshape(height, width)
    i = np.concatenate([nodes[:, :-1].ravel(), nodes[:-1].ravel()])
    j = np.concatenate([nodes[:, 1:].ravel(), nodes[1:].ravel()])
    return sparse.csr_array((np.ones(i.size), (i, j)), shape=(nodes.size,) * 2)


def random_graph(rng, n=40, m=50):
    """With several components, loops, weights and double edges."""
    return sparse.coo_array((rng.normal(size=m), rng.integers(n, size=(2, m))), shape=(n, n))


def test_graphs_of_every_kind_are_one():
    path = read_graph(None, 4).toarray()
    assert np.array_equal(path, np.eye(4, k=1) + np.eye(4, k=-1))
    for given in (np.eye(4, k=1), 3 * np.eye(4, k=-1) + np.eye(4), sparse.csc_matrix(path)):
        assert np.array_equal(read_graph(given, 4).toarray(), path)
    with pytest.raises(ValueError, match="one node per coordinate"):
        read_graph(path, 5)


def test_networkx_graphs():
    networkx = pytest.importorskip("networkx")
    want = networkx.to_numpy_array(networkx.grid_2d_graph(3, 4))
    assert np.array_equal(read_graph(networkx.grid_2d_graph(3, 4), 12).toarray(), want)


@pytest.mark.parametrize("seed", range(8))
def test_spanning_forests_span(seed, rng):
    graph = read_graph(random_graph(np.random.default_rng(seed)), 40)
    n, labels = connected_components(graph, directed=False)
    for make in (spanning_forest, _make_least):
        parent = make(graph, make_entropy(seed))
        roots = np.flatnonzero(parent == np.arange(40))
        assert roots.size == n
        child = np.flatnonzero(parent != np.arange(40))
        assert np.all(graph.toarray()[child, parent[child]] == 1)
        tree = sparse.csr_array((np.ones(child.size), (child, parent[child])), shape=(40, 40))
        assert np.array_equal(connected_components(tree, directed=False)[1], labels)


def _make_least(graph, entropy):
    labels = connected_components(graph, directed=False)[1]
    return _least_tree(graph, np.unique(labels, return_index=True)[1], entropy)


def test_trees_are_uniform():
    """A square with a diagonal has 8 spanning trees; chi-square with 7 degrees, p = 1e-6 at 41."""
    square = np.array([[0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 1], [1, 0, 1, 0]])
    graph, entropy, seen = read_graph(square, 4), make_entropy(0), {}
    for _ in range(800):
        parent = spanning_forest(graph, entropy)
        tree = frozenset(frozenset((i, p)) for i, p in enumerate(parent.tolist()) if i != p)
        seen[tree] = seen.get(tree, 0) + 1
    assert len(seen) == 8
    assert sum((k - 100) ** 2 / 100 for k in seen.values()) < 41


def test_long_cycles_end():
    """The walk on a cycle takes n^2 steps: the tree of least weights answers."""
    n = 5_000
    cycle = read_graph(None, n).tolil()
    cycle[0, n - 1] = 1
    start = time.process_time()
    parent = spanning_forest(read_graph(cycle, n), make_entropy(0))
    assert np.count_nonzero(parent == np.arange(n)) == 1
    assert time.process_time() - start < 30


@pytest.mark.parametrize("graph", [grid(7, 9), random_graph(np.random.default_rng(1), 63), None])
def test_wavelets_are_an_orthonormal_basis(graph):
    graph = read_graph(graph, 63)
    basis, n_constant = tree_wavelets(spanning_forest(graph, make_entropy(0)))
    assert np.abs((basis @ basis.T).toarray() - np.eye(63)).max() < 1e-13
    n, labels = connected_components(graph, directed=False)
    assert n_constant == n
    for row in basis[:n].toarray():
        component = labels[np.flatnonzero(row)[0]]
        np.testing.assert_allclose(
            row, (labels == component) / np.sqrt((labels == component).sum())
        )


def test_constants_pass_through_wavelets(rng):
    y = np.full((1, 63), 5.0)
    got = GraphWaveletDenoiser(grid(7, 9), noise_scale=100.0).fit_transform(y)
    np.testing.assert_allclose(got, y)


@pytest.mark.parametrize("order", [0, 1])
def test_the_fit_is_a_minimum(order, rng):
    """W (y - x) = D' u with |u| <= lambda, and u = lambda sign(D x) where D x is not zero."""
    graph = read_graph(grid(6, 6), 36)
    y, w = 3 * rng.normal(size=36), rng.uniform(0.5, 2, 36)
    problem = TrendFilter(graph, order, w)
    i, j = edges_of(graph)
    D = np.zeros((i.size, 36))
    D[np.arange(i.size), i], D[np.arange(i.size), j] = 1, -1
    D = D if order == 0 else D.T @ D
    for penalty in (0.5, 2.0):
        x, u = problem.solve(y, penalty, tolerance=1e-7, most=100_000)
        np.testing.assert_allclose(w * (y - x), D.T @ u, atol=1e-9 if order == 0 else 1e-4)
        assert np.abs(u).max() <= penalty
        bent = np.abs(D @ x) > 1e-3
        np.testing.assert_allclose(u[bent], penalty * np.sign(D @ x)[bent], atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("order", "alike"), [(0, True), (0, False), (1, True)])
def test_the_risk_of_a_fixed_penalty_is_unbiased(order, alike, rng):
    """At 4.5 standard errors over 150 runs."""
    n, theta = 48, np.repeat([0.0, 3.0, -2.0], 16)
    scale = np.ones(n) if alike else np.exp(rng.uniform(-0.7, 0.7, n))
    v = scale**2
    noise, problem = Noise(scale), TrendFilter(read_graph(grid(6, 8), n), order, v.mean() / v)
    unit, found = np.sqrt(v.mean()), []
    for _ in range(150):
        y = theta + scale * rng.normal(size=n)
        x, u = problem.solve(y / unit, 1.0, tolerance=1e-4, most=20_000)
        risk = unbiased_risk(y, noise, Rule(unit * x, problem.slopes(x, u, 1.0), None))
        found.append(risk - np.sum(np.square(unit * x - theta)))
    assert abs(np.mean(found)) < 4.5 * np.std(found) / np.sqrt(150)


def test_wavelet_risk_is_unbiased(rng):
    theta, scale = np.repeat([0.0, 3.0, -2.0], 16), np.exp(rng.uniform(-0.7, 0.7, 48))
    noisy = theta + scale * rng.normal(size=(300, 48))
    fit = GraphWaveletDenoiser(grid(6, 8), noise_scale=scale, threshold=1.0, n_trees=2).fit(noisy)
    found = fit.risk_estimate_ - np.square(fit.transform(noisy) - theta).sum(axis=1)
    assert abs(found.mean()) < 4.5 * found.std() / np.sqrt(300)


def test_pieces_are_found(rng):
    theta = np.where(np.add.outer(np.arange(20), np.arange(20)) < 18, 0.0, 6.0).ravel()
    noisy = (theta + rng.normal(size=400))[None]
    for denoiser, part in (
        (GraphWaveletDenoiser(grid(20, 20)), 0.45),
        (TrendFilterDenoiser(grid(20, 20)), 0.15),
        (TrendFilterDenoiser(grid(20, 20), order=1), 0.45),
    ):
        fit = denoiser.set_params(noise_scale=1.0).fit(noisy)
        loss = np.square(fit.transform(noisy)[0] - theta).sum()
        assert loss < part * 400
        assert abs(fit.risk_estimate_[0] - loss) < 4 * np.sqrt(2 * 400)


def test_both_solvers_of_order_one_agree(rng):
    graph, y, w = read_graph(grid(6, 7), 42), 3 * rng.normal(size=42), rng.uniform(0.5, 2, 42)
    split, steps = TrendFilter(graph, 1, w), TrendFilter(graph, 1, w)
    assert split._splitting is not None
    steps._splitting = None
    for penalty in (0.5, 4.0):
        fits = [s.solve(y, penalty, tolerance=1e-6, most=50_000) for s in (split, steps)]
        np.testing.assert_allclose(fits[0][0], fits[1][0], atol=1e-4)
        assert split.slopes(*fits[0], penalty).sum() == steps.slopes(*fits[1], penalty).sum()


def test_graphs_without_a_thin_order_are_left_to_gradient_steps(rng):
    ends = rng.integers(20_000, size=(2, 60_000))
    knot = sparse.coo_array((np.ones(60_000), ends), shape=(20_000,) * 2)
    assert not is_thin(read_graph(knot, 20_000))
    assert is_thin(read_graph(grid(320, 320), 320**2))


def test_unequal_noise_of_order_one(rng):
    """The estimate is an upper one: on average at least the loss, at 4.5 standard errors."""
    theta, scale = np.linspace(0, 9, 48), np.exp(rng.uniform(-0.7, 0.7, 48))
    noisy = theta + scale * rng.normal(size=(60, 48))
    fit = TrendFilterDenoiser(noise_scale=scale, order=1, penalty=4.0).fit(noisy)
    loss = np.square(fit.transform(noisy) - theta).sum(axis=1)
    found = fit.risk_estimate_ - loss
    assert found.mean() > -4.5 * found.std() / np.sqrt(60)
    assert loss.mean() < 0.4 * np.square(noisy - theta).sum(axis=1).mean()


def test_one_coordinate():
    for cls in (GraphWaveletDenoiser, TrendFilterDenoiser):
        assert cls(noise_scale=1.0).fit_transform([[3.0]]) == pytest.approx(3.0)


def test_auto_takes_the_graph_where_it_helps(rng):
    """Sixteen blocks of values from a wide normal law: nothing but the graph tells them."""
    theta = np.kron(4 * rng.normal(size=(4, 4)), np.ones((5, 5))).ravel()
    noise = rng.normal(size=(2, 400))
    on_graph = AutoDenoiser(grid(20, 20), noise_scale=1.0)
    assert on_graph.fit(theta + noise).chosen_ == ["constant pieces"] * 2
    shuffled = rng.permutation(theta)
    without, its = (AutoDenoiser(noise_scale=1.0, **more) for more in ({}, {"graph": grid(20, 20)}))
    np.testing.assert_array_equal(
        its.fit_transform(shuffled + noise), without.fit_transform(shuffled + noise)
    )
    counts = AutoDenoiser(grid(20, 20), noise_scale=1.0, support="nonnegative")
    assert counts.fit_transform(theta + noise).min() >= 0


def test_auto_on_a_graph_needs_gaussian_noise():
    auto = AutoDenoiser(grid(2, 2), noise_scale=1.0)
    with pytest.raises(ValueError, match="Gaussian"):
        auto.set_params(noise_distribution="laplace").fit(np.ones((1, 4)))
    with pytest.raises(ValueError, match="one node per coordinate"):
        auto.set_params(noise_distribution="gaussian").fit(np.ones((1, 5)))
    assert PrivateHistogram(denoiser=auto, epsilon=1.0)._law() == "gaussian"


@pytest.mark.parametrize("order", [0, 1])
def test_the_noise_of_a_choice_is_bounded(order, rng):
    """tr (J_g - J_h)^2 with J_h = s I, from derivatives by differences, is at most the bound."""
    graph, y = grid(5, 6), 2 * rng.normal(size=30)
    problem = TrendFilter(read_graph(graph, 30), order, np.ones(30))

    def fit(y):
        return problem.solve(y, 1.0, tolerance=1e-6, most=20_000)

    x, u = fit(y)
    J = np.stack([fit(y + 1e-3 * e)[0] - x for e in np.eye(30)], axis=1) / 1e-3
    slope = problem.slopes(x, u, 1.0)
    assert np.trace(J) == pytest.approx(slope.sum(), abs=0.03)
    g, h = Rule(x, slope, None, mixes=True), Rule(y, np.full(30, 0.7), None)
    bound = _bend(g, slope, h, h.slope).sum()
    assert np.sum(np.square(J - 0.7 * np.eye(30))) <= bound + 0.03


@pytest.mark.slow
def test_a_city_takes_seconds(rng):
    """3784 nodes: a basis in 2 s, eight penalties in 5 s; 100,000 nodes: eight in a minute."""
    start = time.process_time()
    tree_wavelets(spanning_forest(read_graph(grid(88, 43), 3784), make_entropy(0)))
    assert time.process_time() - start < 2
    theta = 5.0 * (np.add.outer(np.arange(88), np.arange(43)).ravel() > 60)
    for order in (0, 1):
        start = time.process_time()
        fit = TrendFilterDenoiser(grid(88, 43), noise_scale=1.0, order=order)
        fit.fit(theta + rng.normal(size=(1, 3784)))
        assert time.process_time() - start < 5
    large = GraphWaveletDenoiser(grid(320, 320), noise_scale=1.0, n_trees=1)
    assert large.fit(rng.normal(size=(1, 320**2))).risk_estimate_[0] < 0.1 * 320**2
    start = time.process_time()
    fused = TrendFilterDenoiser(grid(320, 320), noise_scale=1.0)
    assert fused.fit(rng.normal(size=(1, 320**2))).risk_estimate_[0] < 0.1 * 320**2
    assert time.process_time() - start < 60
