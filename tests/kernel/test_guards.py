"""Guards, margins and edges of the kernel that hostile rows rarely meet, each by its definition."""

from dataclasses import replace

import numpy as np
import pytest

from skdp.accounting import Budget
from skdp.covariance._run import identity_frame
from skdp.kernel import _totals
from skdp.kernel._bounded import short_pairs
from skdp.kernel._cells import Codes, Pair
from skdp.kernel._columns import EdgeCells, WeighedCells
from skdp.kernel._coordinates import Design
from skdp.kernel._friends import SECOND_COUNT, HIndex, SoftCore
from skdp.kernel._gradients import LogitStep
from skdp.kernel._histograms import Cells, capped_sensitivity
from skdp.kernel._lattice import BITS, LIMIT, lattice_points
from skdp.kernel._layout import WIDEST, Layout, check_layout
from skdp.kernel._mixtures import FINE, MixtureFrame, _certified, integer_shares, log_density
from skdp.kernel._sampled import Members
from skdp.kernel._statistic import Offer, Shape
from skdp.kernel._sums import Count
from tests.kernel.test_tickets import RADIUS, Fit
from tests.kernel.test_views import table


def test_a_count_of_a_sample_is_bounded_to_the_last_unit():
    fit = Fit(size=500.0)
    count = fit.sample.ask(Members(), share=0.02, label="x")
    h = fit.sample.ask(HIndex(RADIUS), share=0.02, label="x")
    n_up, _ = fit.sample.bounds(SoftCore(RADIUS, count.ticket, h.ticket))
    q = fit.sample._log.quantile[SECOND_COUNT]
    assert n_up == np.ceil(count.value[0]) + np.ceil(q * count.scale) + 1


def test_one_long_column_of_many_adds_nothing():
    z, most = np.array([[3.0, 3.0, 5.0], [4.0, 5.0, 0.5]]), np.array([25.0, 25.0, 25.0])
    assert _certified(z, 1.0, most).tolist() == [[3, 0, 5], [4, 0, 0]]
    assert _certified(z[:, [0, 2]], 1.0, most[:2]).tolist() == [[3, 5], [4, 0]]


def test_one_long_pair_of_many_adds_nothing():
    first, second = np.array([3, 3, 1]), np.array([4, 5, 1])
    assert [x.tolist() for x in short_pairs(first, second, 25)] == [[3, 0, 1], [4, 0, 1]]


@pytest.mark.parametrize("bits", [5, 15])
def test_shares_of_alike_components_use_all_of_a_row(bits):
    lengths = [np.array([0.0, 1.0, np.nan])] * 4
    shares = np.array(integer_shares(np.zeros(4), lengths, bits))
    assert (shares[:, :2] >= 2.0**bits / 4 - 1).all() and (shares.sum(axis=0)[:2] <= 2**bits).all()
    assert (shares[:, 2] == 0).all() or np.isnan(shares[:, 2]).all()


def test_mixtures_have_positive_weights_and_roots():
    frame = MixtureFrame("diag", np.ones(2) / 2, np.zeros((2, 3)), np.ones((2, 3)))
    frame.check(Shape(3))
    for other in (
        replace(frame, weights=np.array([1.0, 0.0])),
        replace(frame, weights=np.array([2.0, -1.0])),
        replace(frame, roots=np.array([[1.0, 1, 1], [1, 0, 1]])),
        replace(frame, roots=-np.ones((2, 3))),
    ):
        with pytest.raises(ValueError, match="weights, positive roots"):
            other.check(Shape(3))


def test_log_densities_of_mixtures_to_a_step():
    rng, unit = np.random.default_rng(0), 2.0**BITS / LIMIT
    weights, means = rng.dirichlet(np.ones(3)), rng.normal(size=(3, 2))
    roots = rng.uniform(0.5, 2.0, size=(3, 2))
    frame = MixtureFrame("diag", weights, means, roots)
    y = rng.normal(size=(50, 2))
    logits = np.log(weights) - np.log(roots).sum(axis=1)
    logits = logits - 0.5 * np.square((y[:, None] - means) / roots).sum(axis=2)
    whole = np.log(np.exp(logits).sum(axis=1))
    told = log_density(frame, np.rint(y * unit))
    assert (whole - told > -1e-4).all() and (whole - told < 1 / FINE + 1e-4).all()


@pytest.mark.parametrize("size", [1e-300, 1.0, LIMIT, 1e10, 1e300])
def test_lattice_points_stay_in_the_ball(size):
    y = np.random.default_rng(0).normal(size=(200, 3)) * size
    y[0], y[1] = [size, 0, 0], [-size, -size, size]
    q = lattice_points(y).astype(object)
    assert np.array_equal(q, np.array(q).astype(np.int64))
    assert max(int(a) ** 2 + int(b) ** 2 + int(c) ** 2 for a, b, c in q) < 4**BITS


def test_logistic_steps_of_inner_rows_are_gradients():
    rng, b = np.random.default_rng(0), np.array([0.3, -2.0, 1.0])
    X, y = rng.normal(size=(400, 2)) * [0.5, 0.2], (rng.random(400) < 0.5).astype(float)
    edges = np.array([[-30.0, -30.0], [30.0, 30.0]])
    asked = LogitStep(
        Design(identity_frame(np.zeros(2), np.ones(2)), edges), 8.0, b[:, None], 1.0, 400.0
    ).at(Offer(Budget.gaussian(1.0, 1e-6), 0.5, 1))
    V = np.column_stack([X, np.ones(400)])
    p = 1 / (1 + np.exp(-(V @ b)))
    told = asked.total(np.column_stack([X, y]))[0] * asked.step
    gradient, curvature = V.T @ (y - p), (V * (p * (1 - p))[:, None]).T @ V
    # a row loses less than a step of each kind of integer to rounding
    assert np.abs(told[:, 0] - gradient).max() < 0.02 * np.abs(V).sum(axis=0).max()
    assert np.abs(told[:, 1:] * 8.0 / asked.gain - curvature).max() < 0.05 * curvature.max()


@pytest.mark.parametrize(
    ("is_levels", "found"),
    [(False, [-1, 0, 0, 1, 1, -1, -1, -1]), (True, [-1, 0, -1, 1, 2, -1, -1, -1])],
)
def test_edges_of_bins_and_levels(is_levels, found):
    cells = Cells((0,), (np.array([0.0, 1.0, 2.0]),), (is_levels,))
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 2.5, np.nan, np.inf])
    assert cells.places(x[:, None]).tolist() == found and cells.shape == (2 + is_levels,)


@pytest.mark.parametrize(
    ("m", "k", "found"), [(1, 1, (2, 2)), (2, 1, (2, 2)), (2, 2, (2, 4)), (7, 3, (7, 19))]
)
def test_sensitivities_of_capped_counts(m, k, found):
    assert capped_sensitivity(m, k) == found


def test_codes_of_targets_that_are_none():
    y = np.array([-7.0, 0.0, 1.9, 2.0, 3.0, 1e300])
    assert Codes(3)(y).tolist() == [0, 0, 1, 2, 2, 2]


@pytest.mark.parametrize(("first", "second"), [(2, 0), (0, 2), (-1, 0), (0, -1)])
def test_pairs_of_features_that_are_not_there(first, second):
    one = np.zeros(2, dtype=np.int64)
    Pair(0, 1, one, one).fits([2, 2])
    with pytest.raises(ValueError, match="that are there"):
        Pair(first, second, one, one).fits([2, 2])


def test_columns_without_cells_are_refused():
    good, none = np.array([0.0, 1.0]), np.array([0.0])
    EdgeCells(np.array([0, 1]), (good, good)).check(Shape(2))
    for edges in ((good, none), (none, good), (none, none)):
        with pytest.raises(ValueError):
            EdgeCells(np.array([0, 1]), edges).check(Shape(2))


def test_layouts_that_are_too_wide_or_too_large():
    levels = (2,) * (WIDEST + 1)
    sets = tuple(np.arange(k, dtype=np.int64)[None] for k in range(WIDEST + 2))
    with pytest.raises(ValueError, match="at most 16 attributes"):
        check_layout(Layout(levels, sets), WIDEST + 1)
    singles = np.arange(3, dtype=np.int64)[:, None]
    pairs = np.array([[0, 1], [1, 2]])
    none = np.zeros((1, 0), dtype=np.int64)
    check_layout(Layout((2**9, 2**9, 2), (none, singles, pairs)), 3)
    with pytest.raises(ValueError, match="a table has at most 2"):
        check_layout(Layout((2**13, 2**13, 2), (none, singles, pairs)), 3)


@pytest.mark.parametrize("q", [0.1, 0.9])
def test_rows_are_drawn_with_the_probability_asked_for(monkeypatch, q):
    monkeypatch.setattr(_totals, "HELD_ENTRIES", 0)  # so that they are read block by block
    n = 20_000
    drawn = table(np.zeros((n, 2))).thinned(q * n, n, use="u")
    count = drawn.ask(Count(), share=1, label="a").value[0]
    assert abs(count - q * n) < 5 * np.sqrt(q * (1 - q) * n)  # one run of 3.5 million alarms


@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("size", [500.0, 4000.0, 1e9])
def test_samples_have_the_size_asked_for(size, persons):
    n = 5000  # of 10 000 told: half of the size is met
    whole = table(np.zeros((n, 2)), np.arange(n) if persons else None)
    heads = 50.0 if persons else 10_000  # released: a sample goes by it
    sample = whole.sample(size, 10_000)
    q = min(1.0, size / heads)
    assert sample.q == q and sample.n == q * heads
    count = sample.ask(Members(), share=1, label="a").value[0]
    assert abs(count - q * n) <= 5 * np.sqrt(q * (1 - q) * n)  # one run of 3.5 million alarms


@pytest.mark.parametrize("dtype", [np.uint64, np.int8])
def test_matrices_whose_squares_or_products_are_other_numbers_are_refused(dtype):
    asked = WeighedCells(np.array([0]), (np.array([0.0, 1, 2]),), (np.array([[100, 1]]),))
    asked.check(Shape(1))
    assert asked.squared_l2 == 10_000
    with pytest.raises(ValueError, match="matrices"):
        replace(asked, matrices=(asked.matrices[0].astype(dtype),)).check(Shape(1))
