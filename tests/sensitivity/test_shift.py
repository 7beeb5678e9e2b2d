import numpy as np
import pytest

from skdp.sensitivity import (
    STATISTICS,
    Quantile,
    StatisticMap,
    TrimmedMean,
    WinsorisedMean,
    bounded_statistic,
    statistic_map,
)
from tests.sensitivity.test_bounded import TRUTHS


@pytest.mark.parametrize("statistic", TRUTHS, ids=str)
def test_the_mapped_table_has_the_bounded_statistic(statistic, rng):
    for x in (rng.normal(loc=5, size=80), rng.standard_cauchy(80), rng.lognormal(0, 2, size=81)):
        for D in (0.01, 0.3, 100.0):
            x = x.copy()
            x[3] = np.nan
            given = {"sensitivity": D}
            bounded = bounded_statistic(x, statistic, **given)
            mapped = statistic_map(x, statistic, **given).apply(x)
            assert np.isnan(mapped[3])
            value = TRUTHS[statistic](mapped[np.isfinite(mapped)])
            expected = bounded.origin + bounded.unit * bounded.value
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.nanmax(np.abs(x)))


@pytest.mark.parametrize("statistic", [*STATISTICS, Quantile(0.3), TrimmedMean(0.1)], ids=str)
def test_tables_without_anything_to_map(statistic):
    x = np.array([np.nan, np.inf])
    assert statistic_map(x, statistic, sensitivity=1.0) == StatisticMap()
    for constant in (0.0, 4.0):
        mapped = statistic_map([constant] * 3, statistic, sensitivity=1.0).apply([constant] * 3)
        assert np.isfinite(mapped).all()


@pytest.mark.parametrize("statistic", [*STATISTICS, Quantile(0.3), WinsorisedMean(0.1)], ids=str)
def test_hostile_tables_give_finite_maps(statistic):
    x = np.array([1.7e308, -1.7e308, 1.7e308, 0.0, 1.0, 5e-324])
    mapping = statistic_map(x, statistic, sensitivity=1.0)
    assert all(np.isfinite([mapping.shift, mapping.factor, mapping.pivot]))


def test_a_map_does_not_show_itself():
    assert repr(StatisticMap(3.25)) == "StatisticMap(private)"
    assert StatisticMap(1.0, 2.0, 5.0).apply([5.0, 6.0]).tolist() == [6.0, 8.0]
