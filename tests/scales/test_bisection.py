import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skdp.kernel._table import Table
from skdp.readers import ArrayRows
from skdp.readers._loop import order_of_floats
from skdp.scales import private_median
from skdp.scales._log_histogram import float_of_order
from tests._curators import canned

LARGEST = float(np.finfo(float).max)
finite = st.floats(allow_nan=False, allow_infinity=False)
hostile = st.sampled_from([0.0, -0.0, 1.0, 5e-324, -1e-300, 1e300, LARGEST, -LARGEST]) | finite


def order_of(x):
    """Rank of a float among all floats, from its bytes, as a python int; -0.0 just below 0.0."""
    bits = struct.unpack("<q", struct.pack("<d", x))[0]
    return bits if bits >= 0 else -(bits & (2**63 - 1)) - 1


@given(st.lists(hostile, min_size=1, max_size=8))
def test_the_integers_have_the_order_of_the_floats(values):
    ordered = order_of_floats(np.array(values))
    assert [int(i) - 2**63 for i in ordered] == [order_of(x) for x in values]
    np.testing.assert_array_equal(float_of_order(ordered), values)


def test_every_integer_stands_for_a_finitefloat_of_order():
    ends = np.array([0, 1, 2**52, 2**63 - 1, 2**63, 2**64 - 2**52, 2**64 - 1], dtype=np.uint64)
    assert np.isfinite(float_of_order(ends)).all()


tables = st.integers(1, 3).flatmap(
    lambda d: st.integers(0, 8).flatmap(lambda n: arrays(float, (n, d), elements=hostile))
)


@pytest.mark.slow
@given(tables)
def test_without_noise_it_finds_the_upper_median(Z):
    n, d = Z.shape
    found = private_median(Table(ArrayRows(Z), canned()), share=0.5, label="x")
    assert found.shape == (d,) and np.isfinite(found).all()
    for j in range(d if n else 0):
        median = sorted(Z[:, j], key=order_of)[n // 2]
        # 46 levels leave 2^18 neighbouring floats, a relative precision of 2^-34
        assert abs(order_of(found[j]) - order_of(median)) <= 2**18


@pytest.mark.parametrize("size", 10.0 ** np.arange(-300, 301, 60))
def test_precision_over_the_whole_range(size, rng):
    Z = size * (1 + rng.random((101, 2)))
    found = private_median(Table(ArrayRows(Z), canned()), share=0.5, label="x")
    np.testing.assert_allclose(found, np.median(Z, axis=0), rtol=2.0**-33)


def test_the_levels_spend_their_share():
    curator = canned()
    private_median(Table(ArrayRows(np.zeros((3, 2))), curator), share=0.25, label="x")
    assert abs(float(1 - curator.remaining) - 0.25) < 1e-12
