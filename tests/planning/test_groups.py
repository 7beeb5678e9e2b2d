import numpy as np
import pytest

from skdp import (
    FriendlyCoreKMeans,
    MarginalReleaser,
    PrivateCount,
    PrivateGroupBy,
    PrivateHistogram,
    PrivateLinearRegression,
    PrivateMean,
    PrivateMedian,
    PrivateStandardScaler,
    PrivateSum,
    PrivateVariance,
    make_private_pipeline,
)

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

# Estimator, number of columns, and the error that sampling one row of each group leaves.
GROUPED = [
    (PrivateMean(rows_per_group=4), 2, 0.01),
    (PrivateMedian(), 2, 0.1),
    (PrivateVariance(rows_per_group=4), 2, 0.05),
    (PrivateCount(), 1, 0.001),
    (PrivateSum((-3, 3), rows_per_group=4), 2, 0.01),
    (PrivateSum((-3, 3), rows_per_group=1), 2, 0.01),
    (PrivateSum((-3, 3), rows_per_group=9), 2, 0.01),
    (PrivateHistogram(6, range=(-4, 4)), 1, 0.05),
    (PrivateHistogram(6, range=(-4, 4), rows_per_group=9), 1, 0.05),
    (MarginalReleaser(2), 4, 0.05),
    (FriendlyCoreKMeans(2, n_init=1), 2, 0.3),
    (PrivateLinearRegression(), 2, 0.02),
    (make_private_pipeline(PrivateStandardScaler(), PrivateMean()), 2, 0.1),
]


@pytest.mark.slow
@pytest.mark.parametrize("estimator, d, small", GROUPED, ids=str)
def test_errors_vanish_without_privacy_and_grow_with_groups(estimator, d, small):
    free, dear = (
        estimator.expected_error(2000, d, epsilon=epsilon, n_sims=3, group_size=4)
        for epsilon in (1e3, 0.5)
    )
    rows = estimator.expected_error(2000, d, epsilon=0.5, n_sims=3)
    assert abs(free.median) <= small
    assert dear.median > rows.median
    assert "4 of each group" in str(dear) and dear.noise_scale is None


def test_plans_with_groups_are_fits_with_groups():
    seen = []

    class Watched(PrivateCount):
        def fit(self, X, y=None, *, groups=None):
            seen.append(np.bincount(groups))
            return super().fit(X, y, groups=groups)

    Watched().expected_error(10, group_size=4, n_sims=1)
    assert [size.tolist() for size in seen] == [[4, 4, 2]]


@pytest.mark.slow
def test_a_count_of_groups_has_the_error_of_fewer_rows():
    groups = PrivateCount().expected_error(4000, group_size=10, n_sims=80)
    assert groups.median == pytest.approx(PrivateCount().expected_error(400).median, rel=0.3)
    epsilon = PrivateCount().epsilon_for(0.05, 500, group_size=5, n_sims=20)
    assert epsilon == pytest.approx(PrivateCount().epsilon_for(0.05, 100), rel=0.4)


def test_a_group_by_says_how_it_is_planned():
    by = PrivateGroupBy(PrivateMean(), by=0, levels=[0, 1])
    with pytest.raises(ValueError, match="Plan the estimator of one of them"):
        by.expected_error(100, 2)

    def worst(fitted, X, y):
        return max(abs(m.location_[0] - 5) for m in fitted.estimators_.values())

    X = np.column_stack([np.arange(800) % 2, np.linspace(4, 6, 800)])
    assert 0 < by.expected_error(800, like=X, error=worst, n_sims=2).median < 1
