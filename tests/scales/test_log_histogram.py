import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skdp.kernel._bins import LARGEST
from skdp.scales import LogBins, read_scale, top_scale
from skdp.scales._column_noise import SCALE

PER_OCTAVE = (1, 2, 4, 8, 16)


def exact_bin(x, p):
    """Return floor(p log2 x) + 1 + 1074 p from integers: x = m 2^q, and 2^k <= m^p < 2^(k+1)."""
    m, denominator = x.as_integer_ratio()
    k = (m**p).bit_length() - 1
    return k - p * (denominator.bit_length() - 1) + 1074 * p + 1


def floats_of_all_exponents(p, rng):
    """Powers of two, bin edges, random mantissas, the floats next to them; with subnormals."""
    mantissas = np.concatenate([np.exp2(np.arange(p) / p), 1 + rng.random(3)])
    x = np.ldexp(mantissas, np.arange(-1074, 1024)[:, None]).ravel()
    x = np.concatenate([x, np.nextafter(x, 0), np.nextafter(x, np.inf), [5e-324, LARGEST]])
    return np.unique(x[(x > 0) & np.isfinite(x)])


@pytest.mark.parametrize("p", PER_OCTAVE)
def test_bins_of_all_floats_agree_with_exact_integers(p, rng):
    x = floats_of_all_exponents(p, rng)
    bins = LogBins(p).index(x)
    expected = np.array([exact_bin(v, p) for v in x.tolist()])
    # an irrational edge is rounded to a float, which may lie one bin too high and no other value
    on_edge = np.isin(np.frexp(x)[0], np.exp2(np.arange(1, p) / p) / 2)
    np.testing.assert_array_equal(bins[~on_edge], expected[~on_edge])
    assert np.isin(bins[on_edge] - expected[on_edge], (0, 1)).all()
    assert (np.diff(bins) >= 0).all()


@pytest.mark.parametrize("p", PER_OCTAVE)
def test_values_that_are_no_positive_floats(p):
    bins = LogBins(p)
    values = [0.0, -0.0, 5e-324, LARGEST, math.inf, math.nan]
    top = bins.n_bins - 1
    assert bins.index(np.array(values)).tolist() == [0, 0, 1, exact_bin(LARGEST, p), top, -1]
    assert bins.counts(np.array(values)).sum() == 5  # NaN is in no bin
    assert bins.counts(np.array([])).sum() == 0


floats = st.floats(0) | st.sampled_from([0.0, -0.0, math.nan, math.inf, 1e300, 5e-324])


@given(st.lists(floats, max_size=8), floats, st.sampled_from(PER_OCTAVE))
def test_one_value_moves_one_bin_by_one(values, new, p):
    bins = LogBins(p)
    change = bins.counts(np.array([*values, new])) - bins.counts(np.array(values))
    assert change.min() == 0 and change.sum() == (0 if math.isnan(new) else 1)


@given(floats, floats, st.sampled_from(PER_OCTAVE), st.integers(0, 126), st.integers(0, 13))
def test_a_narrow_range_is_the_whole_one_with_its_ends_collected(x, around, p, below, above):
    whole = LogBins(p)
    narrow = LogBins.around(around, per_octave=p, below=below, above=above)
    assert -1074 <= narrow.low < narrow.high <= 1024
    i, j = (bins.index(np.array([x]))[0] for bins in (whole, narrow))
    shift = p * (narrow.low + 1074)
    assert j == (-1 if i < 0 else min(max(i - shift, 0), narrow.n_bins - 1))
    if 2.0**-1074 <= around <= LARGEST / 2**14 and below > 0:
        inside = narrow.index(np.array([around]))[0]
        assert 0 < inside < narrow.n_bins - 1


def test_columns_are_counted_apart(rng):
    values = np.exp(rng.normal(size=(50, 4)) * 100)
    values[rng.random(values.shape) < 0.2] = np.nan
    values[rng.random(values.shape) < 0.2] = 0
    bins = LogBins(2)
    counts = bins.column_counts(values)
    for j in range(4):
        np.testing.assert_array_equal(counts[j], bins.counts(values[:, j]))
    assert bins.column_counts(np.empty((0, 4))).shape == (4, bins.n_bins)


@pytest.mark.parametrize("p", PER_OCTAVE)
def test_upper_edges_bound_their_bins(p, rng):
    bins = LogBins(p)
    x = floats_of_all_exponents(p, rng)
    index, edges = bins.index(x), np.array([bins.upper_edge(i) for i in range(bins.n_bins)])
    assert edges[0] == 0 and edges[-1] == LARGEST and (np.diff(edges) >= 0).all()
    # an edge is rounded: relatively by 2e-13 (its exponent is), below the normal floats by one step
    slack = np.maximum(x * 2e-13, 5e-324)
    assert (x - slack <= edges[index]).all()
    assert (x >= edges[index - 1] - slack).all()


@pytest.mark.parametrize("p", [1, 2, 8])
def test_noise_alone_is_no_scale(p, rng):
    # A false anchor has probability <= SCALE per read-out by the union bound over windows:
    # 3 false ones among 400 would be seen with probability below 1e-4 over another choice of seed.
    bins, sd = LogBins(p), 37.0
    assert SCALE <= 2e-4
    runs = [top_scale(rng.normal(0, sd, bins.n_bins), sd, 100.0, bins) for _ in range(400)]
    assert sum(run is not None for run in runs) < 3


def noisy(values, bins, sd, rng):
    return bins.counts(values) + np.rint(rng.normal(0, sd, bins.n_bins))


@pytest.mark.parametrize("p", [1, 2, 8])
def test_scales_of_all_sizes_are_found(p, rng):
    # 1500 values with noise of sd 10: windows stand out by more than 20 sd, seen with certainty
    # up to 1e-4. 90 % of |N(0, 1)| lie below 1.64; the answer is an edge of a bin.
    # Eight bins are meant for distances that hardly vary: the search starts half an octave up.
    bins = LogBins(p)
    for size in 10.0 ** np.arange(-300, 301, 25):
        values = np.abs(rng.normal(size=1500)) * size
        found = top_scale(noisy(values, bins, 10.0, rng), 10.0, 1500.0, bins)
        assert (1.0 if p == 8 else 1.2) < found / size < 4.1


@pytest.mark.parametrize("far", [1e2, 1e6, 1e300, math.inf])
def test_a_tail_of_outliers_does_not_count(far, rng):
    bins = LogBins(2)
    values = np.append(np.abs(rng.normal(size=2000)), np.full(100, far))  # 5 %, the tail is 10 %
    found = top_scale(noisy(values, bins, 10.0, rng), 10.0, 2100.0, bins)
    assert 1.2 < found < 4.1


def test_a_heavy_tail_has_a_scale(rng):
    bins = LogBins(1)
    values = np.abs(rng.standard_cauchy(3000))  # 90 % below 6.3
    assert 4 <= top_scale(noisy(values, bins, 10.0, rng), 10.0, 3000.0, bins) <= 16


def test_zeros_have_the_scale_zero(rng):
    bins = LogBins(1)
    assert top_scale(noisy(np.zeros(1000), bins, 10.0, rng), 10.0, 1000.0, bins) == 0.0
    # a third of the values may be zeros without hiding the scale of the others
    values = np.append(np.zeros(500), np.abs(rng.normal(size=1000)))
    assert 1 < top_scale(noisy(values, bins, 10.0, rng), 10.0, 1500.0, bins) <= 4


def test_a_few_rows_are_not_enough(rng):
    bins = LogBins(1)
    assert top_scale(noisy(np.ones(20), bins, 10.0, rng), 10.0, 40.0, bins) is None
    assert top_scale(noisy(np.array([]), bins, 10.0, rng), 10.0, 40.0, bins) is None


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_a_histogram_tells_nothing_zeros_or_a_scale(law, rng):
    """Noise of scale 10; every group below is 12 sd or more, so a wrong answer has < 1e-3."""
    bins, draw = LogBins(2), {"gaussian": rng.normal, "laplace": rng.laplace}[law]

    def read(*groups):
        values = np.concatenate([np.full(n, x) for x, n in groups] or [[]])
        counts = bins.counts(values) + np.rint(draw(0, 10.0, bins.n_bins))
        return read_scale(counts, 10.0, values.size, bins, law=law)

    nothing, zeros = read(), read((0.0, 3000))
    assert nothing.nothing and not nothing.zeros and nothing.scale == 0
    assert zeros.zeros and not zeros.nothing and zeros.scale == 0
    mixed = read((0.0, 1000), (3.0, 2000))
    assert not mixed.zeros and not mixed.nothing and 3 <= mixed.scale <= 6


@pytest.mark.parametrize("rate", [0.02, 0.05, 0.09])
@pytest.mark.parametrize("size", [1e-200, 1.0, 1e5])
def test_where_nearly_all_are_zeros_the_others_tell_the_scale(rate, size, rng):
    bins, n = LogBins(2), 30000
    values = np.where(np.arange(n) < rate * n, size, 0.0)
    told = read_scale(noisy(values, bins, 10.0, rng), 10.0, n, bins)
    assert size <= told.scale <= 1.5 * size and told.bulk == 0


def test_the_number_for_a_reading(rng):
    bins = LogBins(1)
    for values, number in ((np.zeros(0), None), (np.zeros(900), 0.0), (np.full(900, 1.5), 2.0)):
        counts = noisy(values, bins, 10.0, rng)
        assert top_scale(counts, 10.0, 900.0, bins) == number
        assert (number or 0.0) == read_scale(counts, 10.0, 900.0, bins).scale
