"""Units of columns: powers of two that one row hardly moves, and rows that are measured in them."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from skdp.accounting import Budget, Plan
from skdp.kernel._coordinates import InUnits
from skdp.kernel._table import opened
from skdp.mixture import PrivateGMM
from skdp.mixture._base import BLIND, column_units, unit_steps
from skdp.readers import ArrayRows
from tests._curators import CannedCurator, FixedKeys

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


def _curator(transcript, keys, epsilon=1.0):
    plan = Plan(Budget.gaussian(epsilon, 1e-6), unit_steps())
    return CannedCurator(plan, transcript, coins=FixedKeys(keys))


def test_units_are_near_the_scales_wherever_the_columns_lie():
    rng = np.random.default_rng(0)
    n, scales = 5000, np.array([1e-3, 1.0, 300.0, 1e6, 0.0])
    X = rng.normal(size=(n, 5)) * scales + [0, -1e4, 7, 1e9, 3]
    keys = rng.integers(2**63, size=n, dtype=np.uint64)
    units = column_units(opened(ArrayRows(X), _curator("noise", keys)))
    assert (np.frexp(units)[0] == 0.5).all()
    np.testing.assert_array_less(np.abs(np.log2(units[:4] / scales[:4])), 2)
    assert units[4] == 1
    alike = X[:, :1] * [1.0, 2.0, -1.0]
    assert column_units(opened(ArrayRows(alike), _curator("noise", keys))) is None


def test_few_rows_take_the_units_of_their_bounds_or_none():
    keys = np.arange(50, dtype=np.uint64)
    rows = ArrayRows(np.ones((50, 2)))
    curator = _curator("noise", keys)
    assert column_units(opened(rows, curator)) is None
    assert any(BLIND in text for text in curator.close("").decisions)
    box = np.array([0.0, 0.0]), np.array([1.0, 1e5])
    assert np.ptp(np.log2(column_units(opened(rows, _curator("noise", keys)), box=box))) > 15


def test_rows_in_units_are_exact_and_stay_absent():
    X = np.array([[1.0, 3.0], [1e300, np.inf], [-1e300, 1.0], [np.nan, 0.0]])
    y = InUnits(np.array([2.0**-500, 4.0])).over(ArrayRows(X)).take(np.arange(4))
    assert y[0].tolist() == [2.0**500, 0.75]
    assert y[2].tolist() == [-(2.0**1000), 0.25]
    assert np.isnan(y[[1, 3]]).all()


def test_units_of_columns_do_not_matter():
    rng = np.random.default_rng(1)
    units = np.array([1e-3, 1.0, 1e6])
    X = (rng.normal(size=(9000, 3)) + 8 * rng.integers(2, size=(9000, 1))) * units
    held_out = (rng.normal(size=(5000, 3)) + 8 * rng.integers(2, size=(5000, 1))) * units
    mine = PrivateGMM(2, random_state=0).fit(X)
    best = GaussianMixture(2, random_state=0).fit(X)
    assert best.score(held_out) - mine.score(held_out) < 0.02
    assert any("unlike" in text for text in mine.privacy_report_.decisions)
