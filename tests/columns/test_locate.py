"""Columns that people have: located from histograms over all floats, clipped where it pays."""

import warnings

import numpy as np
import pytest

from skdp import PrivateMean
from skdp.columns._locate import Clipping
from skdp.columns._magnitude_histogram import (
    CELLS,
    ENDS,
    MagnitudeHistogram,
    OctaveEnds,
    is_significant,
)
from skdp.exceptions import LowAccuracyWarning
from skdp.kernel._bins import OctaveCells
from skdp.kernel._lattice import Boxed
from skdp.location._column_strategies import unboxed
from skdp.location._release import MeanRelease
from skdp.readers import ArrayRows

seeded = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


def _columns(rng, n):
    """Return one column of every kind that people have."""
    few = rng.random(n)
    return {
        "rate": (few < 0.05) * 1.0,
        "half": (few < 0.5) * 1.0,
        "zeros": np.zeros(n),
        "constant": np.full(n, 37.2),
        "years": 1990.0 + rng.integers(0, 30, n),
        "days": 1.6e9 + 86400.0 * rng.integers(0, 700, n),
        "counts": rng.poisson(2.0, n) * 1.0,
        "zero-inflated": np.where(few < 0.3, rng.poisson(6.0, n), 0) * 1.0,
        "prices": np.round(rng.lognormal(8, 1, n)),
        "heavy": 1 + rng.pareto(2.0, n),
        "signed": np.where(few < 0.3, -1, 1) * rng.lognormal(2, 1, n),
        "far": 1e6 + rng.standard_normal(n),
        "tiny": 1e-300 * rng.standard_normal(n),
    }


@pytest.mark.parametrize("halvings", [0, 1, 2])
@pytest.mark.parametrize(("first", "octaves"), [(0, 2047), (1000, 40), (0, 3), (2040, 100)])
def test_a_number_is_in_the_one_cell_that_holds_it(first, octaves, halvings):
    cells = OctaveCells(first, octaves, halvings)
    told = OctaveEnds(cells)
    rng = np.random.default_rng(0)
    x = np.ldexp(rng.uniform(-1, 1, 20000), rng.integers(-1080, 1024, 20000))
    edges = np.concatenate([told.edges[[0, 1, -2, -1]], [0.0, 5e-324, 1.0, 1024.0, 1.7e308]])
    with np.errstate(over="ignore"):
        near = np.nextafter(edges, 0), np.nextafter(edges, np.inf)
    x = np.concatenate([x, edges, -edges, *near])
    x = x[np.isfinite(x)]
    beyond = np.abs(x) > told.edges[-1]
    side = np.searchsorted(told.edges, np.abs(x[~beyond]))  # 0 for the middle, closed above
    held = np.bincount(cells.n_side + np.where(x[~beyond] < 0, -side, side), None, cells.n_cells)
    assert beyond.any() == (first + octaves < 2047)
    np.testing.assert_array_equal(cells.counts(x), held)
    np.testing.assert_array_equal(told.high[cells.n_side :], told.edges)
    np.testing.assert_array_equal(told.low, -told.high[::-1])


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_noise_rarely_stands_out(law):
    """At most 5 of 100 histograms are asked for; 2 are seen. Mistaken below once in 10^6."""
    rng = np.random.default_rng(1)
    draw = rng.normal if law == "gaussian" else rng.laplace
    told = [
        is_significant(np.rint(draw(0, 20, CELLS.n_cells)), ENDS.octave, 20.0, law=law, false=0.05)
        for _ in range(400)
    ]
    assert sum(seen.any() for seen in told) <= 0.05 * 400 + 4.7 * np.sqrt(0.05 * 400)


@pytest.mark.parametrize("n_cells", [1, 2, 8, 12, 40])
def test_short_histograms_are_read(n_cells):
    counts = np.zeros(n_cells)
    counts[-1] = 500.0
    seen = is_significant(counts, np.arange(n_cells), 10.0)
    assert seen.tolist() == [*[False] * (n_cells - 1), True]


def test_what_stands_out_is_seen_and_narrow():
    counts = np.zeros(CELLS.n_cells)
    counts[[CELLS.n_side, CELLS.n_side + 1100]] = 900, 300
    seen = is_significant(counts, ENDS.octave, 20.0)
    assert np.flatnonzero(seen).tolist() == [CELLS.n_side, CELLS.n_side + 1100]


def test_several_histograms_are_read_as_each_by_itself():
    rng = np.random.default_rng(3)
    counts = np.rint(rng.normal(0, 20, size=(6, CELLS.n_cells)))
    for k, width in enumerate((1, 2, 4, 8, 16, 40)):  # rows that ever wider windows show
        counts[k, CELLS.n_side + 3 : CELLS.n_side + 3 + width] += 600 / width
    counts[:, CELLS.n_side] += 100
    together = is_significant(counts, ENDS.octave, 20.0)
    each = [is_significant(own, ENDS.octave, 20.0) for own in counts]
    assert np.array_equal(together, each) and together.any(axis=1).sum() > 3


def test_rows_in_a_box_are_functions_of_rows():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((500, 3)) * [1e-300, 1, 1e300]
    X[[3, 4, 5], [0, 1, 2]] = np.nan, np.inf, -np.inf
    boxed = Boxed(np.array([0, 1, -1e300]), np.array([1e-301, 2, 1]))
    box = boxed.over(ArrayRows(X, block_rows=77))
    whole = np.concatenate([block for _, block in box.blocks()])
    assert np.isnan(whole[[3, 4, 5]]).all()
    assert np.nanmax(np.abs(whole)) == 1
    assert np.array_equal(box.take(np.array([7, 499])), whole[[7, 499]])
    one_by_one = [boxed.over(ArrayRows(X[i : i + 1])) for i in range(500)]
    alone = np.concatenate([b.take(np.array([0])) for b in one_by_one])
    assert np.array_equal(alone, whole, equal_nan=True)


@seeded
@pytest.mark.parametrize("rate", [0.95, 0.98, 1.0])
@pytest.mark.parametrize(("value", "other"), [(1.0, 0.0), (1.0, 2.0), (-2013.0, 0.0)])
def test_others_beside_equal_entries_are_seen_or_allowed_for(rate, value, other):
    """What is not equal is likely a zero, or another level of the same code. Misses: 1 in 200."""
    n = 5000
    x = np.full((n, 1), value)
    x[round(rate * n) :] = other
    for seed in range(5):
        mean = PrivateMean(random_state=seed).fit(x)
        low, high = mean.interval(0.9999)
        assert low[0] <= x.mean() <= high[0]
        assert abs(mean.location_[0] - x.mean()) < 0.006 * abs(value)
        assert high[0] - low[0] < 0.05 * abs(value)


@seeded
def test_one_common_value_is_not_taken_for_all():
    """Hours: two thirds are 40, and the others, no cell of which stands out, move the mean."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random(700) < 0.65, 40.0, rng.integers(33, 60, 700))[:, None]
    for seed in range(10):
        mean = PrivateMean(random_state=seed).fit(x)
        low, high = mean.interval(0.999)
        assert low[0] <= x.mean() <= high[0]


@seeded
def test_missing_values_beside_far_entries_are_seen():
    """Zeros among a million +- 1 lie 20 octaves beyond the bulk, farther than tails reach there."""
    x = 1e6 + np.random.default_rng(0).standard_normal((20000, 1))
    x[:800] = 0
    mean = PrivateMean(random_state=0).fit(x)
    assert abs(mean.location_[0] - x.mean()) < 5 * mean.noise_scale_[0] < 2000


@seeded
@pytest.mark.parametrize("kind", list(_columns(np.random.default_rng(0), 1)))
def test_a_mean_of_every_kind_is_near_and_in_its_interval(kind):
    """Errors of 40 sums of clipped entries at epsilon 1, where 4.5 are the least."""
    x = _columns(np.random.default_rng(3), 20000)[kind]
    least = 1e-272 if kind != "zeros" else 0.01  # radii are at least 2^-900, and 1 among zeros
    for seed in range(3):
        mean = PrivateMean(random_state=seed).fit(x[:, None])
        low, high = mean.interval(0.999)
        assert low[0] <= x.mean() <= high[0]
        spread = np.quantile(np.abs(x - x.mean()), 0.999)
        assert (
            abs(mean.location_[0] - x.mean())
            <= 40 / len(x) * spread + 1e-12 * abs(x.mean()) + least
        )


@seeded
def test_no_column_ruins_another():
    """Age, hours and a gain that is mostly zero: alone and together, by the noise of the fit."""
    rng = np.random.default_rng(4)
    n = 20000
    age, hours = rng.gamma(8, 5, n), np.where(rng.random(n) < 0.5, 40, rng.normal(40, 12, n))
    gain = np.where(rng.random(n) < 0.08, rng.lognormal(8.5, 0.8, n), 0)
    X = np.column_stack([age, hours, gain, rng.random(n) < 0.02])
    for seed in range(3):
        mean = PrivateMean(random_state=seed).fit(X)
        low, high = mean.interval(0.999)
        assert ((low <= X.mean(axis=0)) & (X.mean(axis=0) <= high)).all()
        assert (np.abs(mean.location_ - X.mean(axis=0)) < [0.3, 0.3, 80, 0.005]).all()


@seeded
def test_amounts_that_are_rarely_paid_are_looked_at_again_beside_other_columns():
    rng = np.random.default_rng(7)
    n = 3000
    loss = np.where(rng.random(n) < 0.046, rng.normal(1900, 300, n), 0)
    X = np.column_stack([rng.normal(40, 12, n), loss, rng.gamma(8, 5, n), rng.normal(10, 2, n)])
    told = 0
    for seed in range(4):
        mean = PrivateMean(random_state=seed).fit(X)
        looks = [c.label for c in mean.privacy_report_.charges].count("columns")
        low, high = mean.interval()
        assert ((low <= X.mean(axis=0)) & (X.mean(axis=0) <= high)).all()
        told += looks == 2 and abs(mean.location_[1] - loss.mean()) < 0.4 * loss.mean()
    assert told >= 3


@seeded
def test_a_rate_among_few_is_told_with_a_warning():
    x = np.zeros((2000, 1))
    x[:10] = 1
    with pytest.warns(LowAccuracyWarning, match="nothing but zeros"):
        mean = PrivateMean(random_state=0).fit(x)
    assert abs(mean.location_[0] - 0.005) < 0.02
    low, high = mean.interval()
    assert np.isneginf(low[0])
    assert np.isposinf(high[0])
    low, high = mean.interval(clipping=False)
    assert high[0] - low[0] < 0.05


@seeded
def test_nothing_found_is_told():
    with pytest.warns(LowAccuracyWarning, match="nothing found"):
        mean = PrivateMean(epsilon=0.01, random_state=0).fit(np.full((20, 1), 5.0))
    assert np.isinf(mean.noise_scale_).all()
    assert np.isinf(np.abs(mean.interval())).all()


def test_no_answer_makes_a_mean_infinite():
    """Noise may be as large as it likes, and boxes as wide."""
    far = MeanRelease(np.array([1e300, -1e300]), np.ones(2), np.zeros((2, 2)), 10.0)
    clips = [Clipping(center, 2.0**900, 0.0, 0.0) for center in (0.0, -1.7e308)]
    with np.errstate(over="ignore"):
        assert np.isfinite(unboxed(far, clips).location).all()


@seeded
def test_no_interval_is_of_zero_width():
    for value in (0.1, -7.0, 2013.0, 1e200):
        mean = PrivateMean(random_state=0).fit(np.full((3000, 1), value))
        low, high = mean.interval()
        assert low[0] < value < high[0]
        assert high[0] - low[0] < 0.05 * abs(value)  # 40 other entries would not stand out
        assert abs(mean.location_[0] - value) < 1e-6 * abs(value)


@seeded
def test_a_tail_without_a_variance_is_told():
    x = 1 + np.random.default_rng(6).pareto(1.2, 20000)
    with pytest.warns(LowAccuracyWarning, match="so heavy a tail"):
        PrivateMean(random_state=0).fit(x[:, None])


@seeded
def test_good_columns_raise_no_warning():
    columns = _columns(np.random.default_rng(5), 20000)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LowAccuracyWarning)
        for kind in ("rate", "half", "years", "counts", "prices", "constant"):
            PrivateMean(random_state=0).fit(columns[kind][:, None])


@seeded
@pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
@pytest.mark.parametrize("far", [1e306, 1e308, 1.7976931348623157e308])
def test_columns_that_reach_the_ends_of_all_floats(far):
    """Means are finite; of such a column alone it is said that nothing is known."""
    rng = np.random.default_rng(0)
    for sign in (-1, 1):
        mean = PrivateMean(random_state=0).fit(np.full((6000, 1), sign * far))
        assert np.isfinite(mean.location_).all()
        assert mean.interval()[0][0] <= sign * far <= mean.interval()[1][0]
    wide = far * rng.choice([-1.0, 0.5, 1.0], 3000)
    for others in ([], [rng.normal(5, 1, 3000)], [np.where(rng.random(3000) < 0.1, 1.0, 0.0)]):
        mean = PrivateMean(random_state=0).fit(np.column_stack([wide, *others]))
        lower, upper = mean.interval()
        assert np.isfinite(mean.location_).all()
        assert (lower < upper).all()
        assert others or (lower[0], upper[0]) == (-np.inf, np.inf)


@seeded
@pytest.mark.parametrize("seed", range(3))
def test_rows_that_are_far_from_a_narrow_bulk_are_not_overlooked(seed):
    """Entries that are alike, and 300 to 600 of 30000 a million times as far as they are wide."""
    rng = np.random.default_rng(seed)
    few = rng.random(30000) < 0.02
    columns = {
        "coded": np.where(few, 1e6, rng.normal(3, 1, few.size)),
        "constant": np.where(few & (rng.random(few.size) < 0.6), -5e4, 12.5),
        "spread": np.where(few, 1e3 * rng.lognormal(0, 1, few.size), 7.0),
    }
    for name, x in columns.items():
        mean = PrivateMean(random_state=seed).fit(x[:, None])
        lower, upper = mean.interval()
        assert abs(mean.location_[0] - x.mean()) < 0.25 * abs(x.mean()), name
        assert name == "spread" or lower[0] < x.mean() < upper[0], name


def test_a_part_of_a_window_without_rows_is_nothing():
    """Three counts beyond the octaves that a second look believes, a fourth within that is none."""
    counts = np.zeros(CELLS.n_cells)
    at = CELLS.n_side + int(np.flatnonzero(ENDS.octave[CELLS.n_side + 1 :] == 50)[0]) + 1
    counts[at : at + 4] = -1, 37, 37, 37
    first = MagnitudeHistogram(counts, 10.0 * np.sqrt(2), "gaussian")
    both = first.pooled(counts, 10.0 * np.sqrt(2))
    assert both.seen[at]
    assert not both.seen[at + 1 : at + 4].any()
    assert both.kind == "nothing"


@seeded
def test_intervals_of_heavy_tails_know_that_their_largest_rows_are_chance():
    """Rows of a law without a variance: 11 of 60 means are missed, 18 without that."""
    missed = 0
    for seed in range(60):
        x = -np.random.default_rng(500 + seed).pareto(1.5, 5000)
        lower, upper = PrivateMean(random_state=seed).fit(x[:, None]).interval()
        missed += not lower[0] <= x.mean() <= upper[0]
    assert missed <= 13


@seeded
def test_counts_that_stand_out_in_no_cell_are_in_the_interval():
    """Visits to a doctor: 80 % are 0, the few above 2 make a seventh of the mean."""
    shares = np.array([0.798, 0.151, 0.034, 0.006, 0.005, 0.002, 0.002, 0.001, 0.001])
    x = np.random.default_rng(0).choice(9, size=(5190, 1), p=shares / shares.sum()).astype(float)
    held = 0
    for seed in range(20):
        low, high = PrivateMean(random_state=seed).fit(x).interval()
        held += low[0] <= x.mean() <= high[0]
    assert held >= 15  # by the law of the bulk alone 9
