"""Quantiles by noisy ranks: sensitivity, exactness, accuracy, intervals, the ends."""

import numpy as np
import pytest

import skdp
from skdp import PrivateMedian, PrivateQuantile, PrivateRobustScaler
from skdp.columns._ranks import Ranks, previous_float
from skdp.columns._ranks_read import is_told, plain_decimal
from skdp.exceptions import LowAccuracyWarning
from skdp.kernel._columns import EdgeCells

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
DECILES = np.arange(1, 10) / 10


def columns(rng, n):
    return {
        "normal": rng.normal(size=n),
        "lognormal": rng.lognormal(10, 1, size=n),
        "Cauchy": rng.standard_cauchy(n) + 40,
        "counts": rng.poisson(3, n).astype(float),
        "zeros": np.where(rng.random(n) < 0.7, 0.0, rng.lognormal(3, 1, n).round(2)),
        "rare": np.where(rng.random(n) < 0.92, 0.0, 99999.0),
        "binary": (rng.random(n) < 0.3).astype(float),
        "dates": 1.6e9 + rng.integers(0, 3 * 10**7, n),
        "negative": -rng.poisson(9, n).astype(float) - 5,
        "small": 1e-200 * rng.normal(size=n),
    }


def rank_error(x, value, q):
    x = np.sort(x)
    below, upto = (np.searchsorted(x, value, side=side) for side in ("left", "right"))
    return np.maximum(0, np.maximum(below - q * len(x), q * len(x) - upto))


# --- sensitivity


# --- exactness


def test_cells_partition_the_line_and_are_closed_above():
    X = np.array([[-np.inf], [-1.0], [-0.0], [0.0], [5e-324], [1.0], [1.0], [2.0], [np.nan]])
    cuts = np.array([-1.0, float(previous_float(0.0)), 0.0, float(previous_float(1.0)), 1.0])
    counts = EdgeCells(np.array([0]), (np.r_[-np.inf, cuts, np.inf],), "finite").total(X)
    assert counts.tolist() == [1, 0, 2, 1, 2, 1]  # NaN and infinity in none


def test_without_cuts_all_rows_are_in_one_cell():
    X = np.array([[1.0], [2.0], [np.nan]])
    line = np.array([-np.inf, np.inf])
    assert EdgeCells(np.array([0]), (line,), "finite").total(X).tolist() == [2]


@pytest.mark.parametrize("seed", range(30))
def test_few_rows_and_much_budget_always_answer(seed, debug):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.choice([1, 2, 5, 20, 60])), 2)) * 10 ** rng.uniform(-3, 6, size=2)
    X = X.round() if seed % 2 else X
    bounds = (-5.0, 10.0) if seed % 3 == 0 else None
    q = [0.1, 0.5, 0.9] if seed % 4 else 0.5
    epsilon = float(rng.choice([1, 10, 100, 1e4]))
    fit = PrivateQuantile(q, epsilon=epsilon, bounds=bounds, random_state=seed).fit(X)
    assert np.isfinite(fit.location_).all() and (fit.noise_scale_ > 0).all()


def test_without_noise_ranks_are_exact_and_know_how_well():
    """Three histograms of one column: z scores of the ranks have mean square 1, by 8 % here."""
    rng, x, z = np.random.default_rng(0), np.sort(np.random.default_rng(1).normal(size=5000)), []
    for sd in (1e-6, 30.0):
        for _ in range(100):
            ranks = Ranks()
            for m in (1, 6, 12):
                cuts = np.sort(rng.normal(size=m))
                counts = np.diff(np.searchsorted(x, cuts, side="right"), prepend=0, append=len(x))
                ranks.add(cuts, counts + sd * rng.normal(size=m + 1), sd)
            fit = ranks.fit()
            exact = np.append(np.searchsorted(x, fit.x[:-1], side="right"), len(x))
            error = (fit.raw - exact)[1:]
            assert (np.diff(fit.rank) >= 0).all() and fit.rank[0] == 0
            if sd < 1:
                assert np.abs(error).max() < 1e-3
            else:
                z.append(np.mean(error**2 / np.diag(fit.covariance)[1:]))
    assert np.mean(z) == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize(
    ("low", "high", "decimal"),
    [
        (39.2, 40.7, 40.0),
        (-8.1, -8.0, -8.0),
        (-6.2, -4.5, -5.0),
        (0.29, 0.31, 0.3),
        (-1.0, 0.0, 0.0),
        (0.0, 0.7, 0.1),
        (1023.7, 1024.1, 1024.0),
        (1e300, np.inf, 1e308),
    ],
)
def test_plain_decimals(low, high, decimal):
    assert plain_decimal(low, high)[0] == decimal


# --- what comes out


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_deciles_of_any_column_are_near_in_rank_and_covered(delta):
    """Nine deciles of 5,000 rows: all within 2 % in rank, half of the columns within .8 %."""
    table = columns(np.random.default_rng(0), 5000)
    X = np.stack([*table.values()], axis=1)
    worst, covered = [], []
    for j, x in enumerate(X.T):
        fit = PrivateQuantile(DECILES, delta=delta, random_state=j).fit(x[:, None])
        value, (low, high) = fit.location_[:, 0], fit.interval()
        worst.append(rank_error(x, value, DECILES).max() / len(x))
        exact = np.quantile(x, DECILES, method="inverted_cdf")
        covered.append((low[:, 0] <= exact) & (exact <= high[:, 0]))
        assert (np.diff(value) >= 0).all() and (low <= fit.location_).all()
        assert (low < high).all() and (fit.location_ <= high).all()
    assert max(worst) < (0.02 if delta else 0.04) and np.median(worst) < 0.008
    assert np.mean(covered) > 0.93


def test_one_quantile_scalar_or_sequence_and_any_order():
    X = np.random.default_rng(0).normal(size=(4000, 2))
    one = PrivateQuantile(0.5, random_state=0).fit(X)
    median, several = (
        e.fit(X) for e in (PrivateMedian(random_state=0), PrivateQuantile((0.5,), random_state=0))
    )
    assert one.location_.shape == one.noise_scale_.shape == (2,)
    assert several.location_.shape == several.interval()[0].shape == (1, 2)
    assert np.array_equal(one.location_, several.location_[0])
    assert np.array_equal(one.location_, median.location_)
    assert rank_error(X[:, 0], one.location_[0], 0.5) < 40
    mixed = PrivateQuantile([0.9, 0.1, 0.9], random_state=0).fit(X).location_
    assert (mixed[0] == mixed[2]).all() and (mixed[0] > mixed[1]).all()
    wide = one.interval(0.95, simultaneous=True)
    assert (wide[0] <= one.interval()[0]).all() and (wide[1] >= one.interval()[1]).all()


def test_bounds_start_the_search_and_hold_the_result():
    x = np.random.default_rng(0).normal(size=(3000, 1))
    fit = PrivateQuantile([0.1, 0.5, 0.9], bounds=(0.0, 1.0), random_state=0).fit(x)
    assert [c.label for c in fit.privacy_report_.charges].count("octaves") == 0
    assert fit.location_[0, 0] == 0 and fit.location_[2, 0] > 0.95
    low, high = fit.interval()
    assert (low >= 0).all() and (high <= 1).all()
    few = PrivateMedian(bounds=(2.0, 4.0), epsilon=0.1, random_state=0)
    with pytest.warns(LowAccuracyWarning, match="too few"):
        few.fit(np.full((3, 1), 2.5))
    assert 2 <= few.location_[0] <= 4 and np.isinf(few.noise_scale_[0])


@pytest.mark.parametrize("n", [0, 1, 5])
def test_too_few_rows_are_told(n):
    with (
        skdp.config_context(invalid_rows="ignore"),
        pytest.warns(LowAccuracyWarning, match="too few"),
    ):
        fit = PrivateQuantile([0.2, 0.5], random_state=0).fit(np.ones((n, 2)))
    assert (fit.location_ == 0).all() and np.isinf(fit.noise_scale_).all()
    low, high = fit.interval()
    assert (low == -np.inf).all() and (high == np.inf).all()


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"center": 0.0}, "bounds"),
        ({"sensitivity": 1.0}, "bounds"),
        ({"denoiser": "auto"}, "bounded"),
        ({"q": [0.0, 0.5]}, "PrivateMinMax"),
        ({"q": [[0.5]]}, "sequence"),
        ({"q": "half"}, "q"),
        ({"q": [0.5, np.nan]}, "sequence"),
        ({"q": []}, "sequence"),
        ({"bounds": (1.0, 0.0)}, "bounds"),
        ({"q": [0.5], "method": "bounded"}, "ranks"),
        ({"bounds": (0.0, 1.0), "method": "bounded"}, "ranks"),
    ],
)
def test_what_cannot_be_is_refused_before_the_charge(wrong, what):
    ledger = skdp.PrivacyLedger(10.0, 0.1)
    with pytest.raises(ValueError, match=what):
        PrivateQuantile(ledger=ledger, **wrong).fit(np.zeros((10, 1)))
    assert len(ledger.entries()) == 1


def test_several_quantiles_do_not_centre_rows_and_are_no_vector():
    X = np.random.default_rng(0).normal(size=(500, 1))
    fit = PrivateQuantile([0.2, 0.5], random_state=0).fit(X)
    with pytest.raises(ValueError, match="number as q"):
        fit.transform(X)
    with pytest.raises(ValueError, match="bounded"):
        fit.released_vector()


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_robust_scales_are_told_or_one(delta):
    table = columns(np.random.default_rng(0), 5000)
    X = np.stack([*table.values()], axis=1)
    low, high = np.quantile(X, [0.25, 0.75], axis=0, method="inverted_cdf")
    for j, name in enumerate(table):
        fit = PrivateRobustScaler(delta=delta, random_state=j).fit(X[:, [j]])
        if low[j] == high[j]:
            assert fit.scale_[0] == 1, name
            assert any("equal" in text for text in fit.privacy_report_.decisions)
        else:
            assert 0.5 < fit.scale_[0] / (high[j] - low[j]) < 2, name


# --- what is told


def told(fit):
    return np.isfinite(fit.noise_scale_)


@pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
def test_an_outer_quantile_of_years_is_no_number_of_many_octaves():
    """One of .95 of 2,500 rows with epsilon = .1: the noise hides the end of the column."""
    years = np.random.default_rng(0).choice([2009.0, 2010.0, 2011.0], size=(2500, 1))
    fits = [PrivateQuantile(0.95, epsilon=0.1, random_state=i).fit(years) for i in range(30)]
    assert all(abs(fit.location_[0] - 2010) < 10 for fit in fits if fit.reliable_)
    assert np.mean([abs(fit.location_[0] - 2010) < 1000 for fit in fits]) > 0.8
    assert all(fit.reliable_ == told(fit).all() for fit in fits)


@pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_what_is_told_is_within_half_a_deviation_or_near_in_rank(delta):
    rng, n_told = np.random.default_rng(0), 0
    for i in range(3):
        for j, x in enumerate(columns(rng, int(rng.choice([200, 600]))).values()):
            fit = PrivateQuantile([0.05, 0.5, 0.95], delta=delta, random_state=10 * i + j)
            value, sure = fit.fit(x[:, None]).location_[:, 0], told(fit)[:, 0]
            far = np.abs(value - np.quantile(x, fit.q, method="inverted_cdf")) > 0.5 * x.std()
            off = [rank_error(x, v, q) > 0.02 * len(x) for v, q in zip(value, fit.q, strict=True)]
            assert x.std() < 1e-100 or not np.any(sure & far & off)
            n_told += sure.sum()
            assert np.isfinite(np.array(fit.interval())[:, sure, 0]).all()
    assert n_told > 20


@pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
def test_the_median_of_yes_or_no_is_near_one_of_them():
    """Between them lies no row: the noise hides to which of the two the middle belongs."""
    for seed in range(12):
        X = (np.random.default_rng(seed).random((12500, 5)) < 0.527).astype(float)
        results = PrivateMedian(epsilon=0.3, random_state=seed).fit(X).results()
        assert np.all(np.abs(results["value"] - 1)[results["reliable"]] < 0.25)


@pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
@pytest.mark.parametrize("offset", [0.0, 170.0, 1e6])
def test_a_decimal_next_to_a_quantile_does_not_mislead_the_search(offset):
    """An early cut there is noise as to its side: the search looks on both."""
    X = np.random.default_rng(1).standard_normal((20000, 2))
    fits = [PrivateMedian(delta=0.0, random_state=s).fit(X + offset) for s in range(15)]
    assert sum(np.isinf(fit.noise_scale_).sum() for fit in fits) <= 1
    error = np.abs([fit.location_ - offset for fit in fits] - np.median(X, axis=0))
    assert error.max() < 0.03


def test_good_tables_are_told_and_a_doubt_is_of_one_quantile_and_column():
    rng = np.random.default_rng(0)
    age = rng.normal(48, 17, size=20000).clip(18, 99).round()
    X = np.column_stack([age, age < 40, np.full(20000, 8 / 3)])
    fit = PrivateQuantile([0.05, 0.5, 0.95], random_state=0).fit(X)
    assert fit.reliable_ and told(fit).all()
    with pytest.warns(LowAccuracyWarning, match="long beside the spread"):
        fit = PrivateQuantile([0.5, 0.99], random_state=0).fit(X[:1500])
    assert told(fit)[0].all() and not told(fit)[1].any() and np.isfinite(fit.location_).all()
    heavy = np.column_stack([age < 40, rng.lognormal(0, 6, 20000)])[:1500]
    with pytest.warns(LowAccuracyWarning, match="\ncolumn 1: "):
        PrivateQuantile(0.95, random_state=0).fit(heavy)


@pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
def test_reliable_medians_of_small_groups_are_near():
    rng = np.random.default_rng(0)
    for size in (25, 600):
        key = np.repeat(np.arange(12.0), size)
        days = rng.lognormal(4, 1, size=len(key)).round()
        medians = skdp.PrivateGroupBy(PrivateMedian(), 0, range(12), epsilon=3.0, random_state=1)
        for level, median in medians.fit(np.column_stack([key, days])).estimators_.items():
            x = days[key == level]
            if median.reliable_:
                assert abs(median.location_[0] - np.median(x)) < 0.5 * x.std()
            assert size == 25 or median.reliable_


def test_spreads_that_ranks_tell_are_no_larger_than_the_standard_deviation():
    """With exact ranks: two shares of the rows, at or below a and above b, are as far apart."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        x = np.sort(rng.choice([*columns(rng, 50).values()][rng.integers(10)], size=50))
        cuts = np.unique(x)
        points = np.concatenate([[-np.inf], cuts, [np.inf]])
        rank = np.searchsorted(x, points, side="right").astype(float)
        for reach in (1.01, 2.0):  # standard deviations: an interval so long is none that is told
            value = float(np.median(x))
            ends = value + np.array([-reach, reach]) * x.std()
            at = (points <= ends[0]) | (points >= ends[1])
            curve = points[at], rank[at] - 25, np.full(at.sum(), 1e-9)
            if at.sum() > 2 and x.std() > 0:
                assert not is_told(*curve, value, "gaussian")
