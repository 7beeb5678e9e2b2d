import math
import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skdp

MU = 0.2367


@pytest.fixture
def yardstick(bench):
    return bench("_columns_yardstick")


def rate(p, n=1000):
    return (np.arange(n) < p * n).astype(float)


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("p", [0.002, 0.03, 0.4])
def test_the_oracle_of_a_rate_has_a_closed_form(yardstick, p, shift):
    # hypot(C / (n mu), p (1 - C)) is smallest at C = p^2 / (p^2 + 1 / (n mu)^2)
    best = p / math.hypot(1, p * 1000 * MU)
    assert yardstick.oracle(rate(p) + shift, MU) == pytest.approx(best, rel=1e-6)


def test_the_oracle_counts_one_side_only_and_never_cancels_two(yardstick):
    x = np.repeat([-1.0, 1.0], 500)
    assert yardstick.oracle(x, MU) == pytest.approx(0.5 / math.hypot(1, 0.5 * 1000 * MU), rel=1e-6)


def test_the_oracle_is_no_worse_than_any_radius_that_is_tried(yardstick):
    x = np.random.default_rng(0).lognormal(0, 2, size=1000)
    for radius in np.geomspace(0.01, x.max(), 50):
        bias = np.maximum(x - radius, 0).mean()
        noise = radius / (1000 * MU)
        assert yardstick.oracle(x, MU) <= math.hypot(bias, noise) * (1 + 1e-9)


def test_a_frontier_is_that_of_one_column_alone_and_of_many_alike(yardstick):
    rng = np.random.default_rng(1)
    x = rng.gamma(2, size=(2000, 1))
    assert 0.8 < yardstick.frontier(x, MU)[0] < 1.05  # the oracle knows fewer centres
    X = rng.choice([-1.0, 1.0], size=(2000, 9))  # every row is as long as its box
    assert yardstick.frontier(X, MU) == pytest.approx(np.full(9, 3.0), rel=0.1)


def test_a_constant_column_has_no_yardstick(yardstick):
    assert yardstick.oracle(np.full(100, 2013.0), MU) == 0
    assert yardstick.ratio([1.0, 2.0], 0.0) is None


def test_a_rank_error_is_the_distance_from_all_ranks_of_an_atom(yardstick):
    x = np.sort(rate(0.3, 10))  # seven zeros, three ones
    errors = [yardstick.rank_error(x, v, 0.5) for v in (0.0, 1.0, -1.0, 0.5, math.inf)]
    np.testing.assert_allclose(errors, [0.0, 0.2, 0.5, 0.2, 1.0])
    assert yardstick.rank_error(x, 1e-9, 0.5) > 0.1
    assert yardstick.rank_error(x, 1e-9, 0.5, slack=1e-6) == 0


def test_an_interval_holds_a_quantile_or_not(yardstick):
    x = np.arange(10.0)  # its medians: [4, 5]
    held = [yardstick.contains_quantile(x, *ends, 0.5) for ends in [(4, 4), (5, 9), (6, 9), (0, 3)]]
    assert held == [True, True, False, False]


def test_pairs_of_widths_are_unequal_beyond_a_factor(yardstick):
    share = yardstick.share_of_unequal_pairs
    assert share([1.0, 1.4, 1.5]) == 0
    assert share([1.0, 1.4, 1.6]) == pytest.approx(1 / 3)
    assert share([0.0, 0.0, math.inf, math.inf]) == pytest.approx(4 / 6)


@pytest.mark.parametrize(
    ("scale", "truth", "spread", "expected"),
    [
        (31.0, 1.0, 1.0, True),
        (29.0, 1.0, 1.0, False),
        (1e-59, 0.1, 0.1, True),
        (1.0, 1e-9, 1e-9, False),
        (0.2, 0.0, 0.1, False),
        (1e-9, 0.0, 0.0, True),
        (math.nan, 1.0, 1.0, True),
    ],
)
def test_a_scale_is_absurd_beyond_thirty(yardstick, scale, truth, spread, expected):
    assert yardstick.absurd(scale, truth, spread) == expected


def test_no_table_is_both_tuned_on_and_kept_aside(bench):
    data = bench("_columns_data")
    tables = {name: {c.table for c in columns} for name, columns in data.LISTS.items()}
    assert not tables["tuned"] & tables["aside"]
    assert not tables["aside"] & {"randhie", "fair", "affairs"}  # tuned on, by other names
    for name, columns in data.LISTS.items():
        assert len({c.name for c in columns}) == len(columns) >= 55
        assert {c.kind for c in columns} == set(data.KINDS)
        assert {t.name for t in data.TABLES if t.list == name} <= tables[name] | {"adult"}


def test_a_column_is_measured_and_told_of(bench, rng):
    runs, summary = bench("_columns_runs"), bench("_columns_summary")
    sample = runs.Sample("normal", rng.normal(50, 10, size=(3000, 1)), 8.0, 1e-6, 2)
    row = {"list": "aside", "column": "t/x", "kind": "smooth", "n": 3000, "epsilon": 8.0}
    row |= runs.means(sample) | runs.scales(sample) | runs.spreads(sample) | runs.quantiles(sample)
    assert 0 < row["R"] < 10
    assert row["standard absurd"] == row["robust absurd"] == 0
    assert 0.8 < row["standard low"] <= row["standard high"] < 1.25
    assert row["rank near"] <= row["rank"] < 0.2
    page = summary.document([row], [])
    assert "t/x" in page and "not used for tuning" in page


@pytest.mark.parametrize("d", [1, 3, 30])
def test_the_noise_of_the_relative_peer_costs_one_step_each(bench, d):
    peer = bench("_fast_lloyd")
    assert np.sum(peer.scales(d) ** -2.0) == pytest.approx(1)
    few, most = (peer.steps(n, d, 4, 0.5, MU) for n in (100, 10**7))
    assert (few, most) == peer.STEPS


def test_the_relative_peer_finds_clusters_that_a_spread_start_finds(bench):
    rng = np.random.default_rng(0)
    centres = np.array([[-5.0, 0.0], [5.0, 0.0]])
    X = np.repeat(centres, 1000, axis=0) + rng.normal(size=(2000, 2))
    ball = {"center": np.zeros(2), "radius": 9.0}
    found = bench("_fast_lloyd").fast_lloyd(X, 2, **ball, epsilon=50.0, delta=1e-6, rng=rng)
    np.testing.assert_allclose(found[np.argsort(found[:, 0])], centres, atol=0.5)


def test_what_is_asked_of_clusters_is_told_and_judged(bench):
    target = bench("_clustering_cells").Target(median=1.1, of_one=1.5, beats="peer")
    assert target.asked() == {"median": 1.1, "of_one": 1.5, "beats": "peer"}
    good = {"skdp": [1.0, 1.05, 2.9], "ball": [1.0, 1.0], "peer": [1.0, 1.2]}
    assert target.met(good, [2.0, 2.0, 2.0], None)
    assert not target.met(good, [9.0, 9.0, 1.9], None)  # 2.9 is more than 1.5 times one centre
    assert not target.met({**good, "ball": [1.2, 1.2]}, [2.0] * 3, None)
    assert not target.met({**good, "skdp": [1.2, 1.2, 1.2]}, [2.0] * 3, None)


def test_clusterings_of_the_benchmark_have_names_of_their_own(bench):
    cells = bench("clustering").cells()
    assert len({c.name for c in cells}) == len(cells)


def test_a_cell_is_clustered_by_all_methods(bench):
    clustering = bench("clustering")
    cell = next(c for c in clustering.cells() if c.name == "lsun, epsilon=1")
    row = clustering.measure(cell, 1)
    assert 1 <= row["median"] < 100 and row["one"] > 1
    assert row["FastLloyd"] >= 1 and row["warned"] in ("0/1", "1/1")


@pytest.mark.slow
def test_no_frequent_mistake_is_graded_below_b(bench):
    mistakes = bench("mistakes")
    grades = {
        name: mistakes.grade(mistakes.told(act), patterns)
        for name, (act, *patterns) in mistakes.MISTAKES.items()
    }
    assert len(grades) == 40 and {name for name, one in grades.items() if one > "B"} == set()
    assert mistakes.grade("", ["seen"]) == mistakes.grade("Got 1", ["Got 2"]) == "D"


def test_a_step_that_learns_in_a_pipeline_of_scikit_learn_is_told_once_a_line():
    fitted = make_pipeline(skdp.PrivateStandardScaler(), skdp.PrivateMean())
    learns = make_pipeline(StandardScaler(), skdp.PrivateMean())
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for pipeline in (fitted, learns, learns):
            pipeline.fit(np.zeros((9, 1)))
    told = [one for one in seen if one.category is skdp.exceptions.WeakGuaranteeWarning]
    assert len(told) == 1 and "StandardScaler" in str(told[0].message)
    assert told[0].filename == __file__
