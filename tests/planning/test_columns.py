import numpy as np
import pytest
from scipy.special import ndtri

from skdp import PrivateLinearRegression, PrivateMean
from skdp.planning._expected import Simulation
from skdp.planning._families import GRID, Column, stated_columns

AGES = {0: 17, 0.05: 19, 0.25: 28, 0.5: 37, 0.75: 48, 0.95: 63, 1: 90}
WAGES = {0.1: 3.5, 0.5: 9.0, 0.9: 60.0, 1: 5000.0}
VISITS = {0: 0, 0.6: 0, 0.9: 3, 0.99: 12, 1: 70}


def drawn(*quantiles, n=20_000):
    columns = [Column.of(given) for given in quantiles]
    return stated_columns(columns, np.random.default_rng(0), n)


@pytest.mark.parametrize("told", [AGES, WAGES, VISITS], ids=["ages", "wages", "visits"])
def test_columns_have_the_stated_quantiles(told):
    (x,) = drawn(told)[0].T
    for p, value in told.items():
        off = 3 * np.sqrt(p * (1 - p) / len(x))
        low, high = np.quantile(x, np.clip([p - off, p + off], 0, 1))
        assert low <= value <= high or p in (0, 1)
    assert x.max() <= max(told.values())
    assert x.min() >= min(told.values()) or 0 not in told


def test_two_quantiles_are_those_of_a_normal_law():
    column = Column.of({0.05: 10.0, 0.95: 20.0})
    np.testing.assert_allclose(column.at(GRID), 15 + 5 * GRID / ndtri(0.95), rtol=1e-12)


def test_whole_numbers_and_atoms_are_kept():
    x, zeros = drawn(AGES, VISITS)[0].T
    assert np.array_equal(x, np.rint(x)) and len(np.unique(x)) > 40
    assert 0.6 <= np.mean(zeros == 0) <= 0.8  # those below 1 / 2 are rounded to 0
    assert np.any(drawn(WAGES)[0] % 1)


def test_standard_units_and_a_common_cause():
    z = drawn({0.1: -3.0, 0.9: 9.0}, AGES)[1]
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=0.03)
    np.testing.assert_allclose(z.std(axis=0), 1, atol=0.03)
    assert 0.05 < np.corrcoef(z.T)[0, 1] < 0.15


@pytest.mark.parametrize(
    "wrong", [{0.5: 1}, {0: 2, 1: 1}, {-0.1: 0, 1: 1}, {0: "a", 1: "b"}, [1, 2], {0: np.nan, 1: 1}]
)
def test_what_is_no_list_of_quantiles_is_said(wrong):
    with pytest.raises(ValueError, match="quantiles of a column are"):
        PrivateMean().expected_error(100, family=[wrong])


def test_plans_draw_stated_columns():
    def rows(estimator, family, n_features=None):
        return Simulation(estimator, n_features, family, None, None, 1, 0).rows

    X, _ = rows(PrivateMean(), [AGES, WAGES]).draw(0, 500)
    assert X.shape == (500, 2) and X[:, 0].max() <= 90
    assert rows(PrivateMean(), AGES, 3).draw(0, 10)[0].shape == (10, 3)
    assert "stated quantiles" in str(rows(PrivateMean(), AGES))
    X, _ = rows(PrivateMean(bounds=(0, 40)), [AGES]).draw(0, 500)
    assert X.min() >= 17 and X.max() == 40
    line = rows(PrivateLinearRegression(), [AGES, WAGES])
    truth = [
        np.linalg.lstsq(np.c_[X, np.ones(len(X))], y)[0]
        for X, y in (line.draw(0, 4000), line.test(0, 4000))
    ]
    np.testing.assert_allclose(truth[0][0], truth[1][0], rtol=0.3)


def test_scales_that_are_told_are_planned_with():
    alike = [{0.05: 50 - 1.645 * sd, 0.95: 50 + 1.645 * sd} for sd in (1, 20)]
    own, told = (
        PrivateMean().expected_error(800, 2, family=f, n_sims=8) for f in ("normal", alike)
    )
    assert told.median > 1.5 * own.median
