"""What a mean is told to be worth: silent on what is good, and never silent on what is lost."""

import numpy as np
import pytest

from skdp import PrivateMean
from skdp.location._mean import WIDE, doubt_mean
from skdp.location._release import MeanRelease

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.mark.parametrize("seed", [2, 7, 9, 30])
def test_a_column_that_reaches_far_does_not_drown_the_other(seed):
    rng = np.random.default_rng(0)
    far, near = 2019 - np.exp(rng.uniform(0, 13.5, 3000)), rng.normal(265, 32, 3000)
    mean = PrivateMean(random_state=seed).fit(np.column_stack([far, near]))
    assert abs(mean.location_[1] - near.mean()) < 0.1 * 32


def test_columns_of_one_kind_stay_together():
    X = np.random.default_rng(0).normal(size=(3000, 6)) * 10.0 ** np.arange(6)
    decisions = PrivateMean(random_state=0).fit(X).privacy_report_.decisions
    assert not any("interval of its own" in text for text in decisions)


@pytest.mark.parametrize("seed", [13, 15, 18, 20])
def test_a_rate_of_which_next_to_nothing_is_seen_is_doubted(seed):
    x = (np.arange(5822) < 120).astype(float)[:, np.newaxis]
    mean = PrivateMean(epsilon=0.3, random_state=seed).fit(x)
    assert not mean.reliable_ and (
        "unseen" in str(mean.accuracy_warnings_) or "zeros" in str(mean.accuracy_warnings_)
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_short_interval_of_few_rows_that_end_is_reliable(seed):
    x = (np.random.default_rng(1).random((900, 1)) < 0.4).astype(float)
    mean = PrivateMean(epsilon=0.5, random_state=seed).fit(x)
    low, high = mean.interval()
    assert mean.reliable_ and low[0] < x.mean() < high[0] and high[0] - low[0] < 0.3


def test_a_mostly_zero_column_that_leans_has_room_above():
    rng = np.random.default_rng(3)
    x = np.where(rng.random(6000) < 0.2, rng.geometric(0.4, 6000), 0.0)[:, np.newaxis]
    fits = [PrivateMean(epsilon=0.3, random_state=seed).fit(x) for seed in range(8)]
    assert np.median([fit.clipping_bias_bound_[1, 0] for fit in fits]) > 0.41


def test_a_mean_of_years_is_not_short_beside_their_number():
    years = np.rint(np.random.default_rng(0).normal(1998, 10, (3000, 1)))
    for seed in range(6):
        fit = PrivateMean(random_state=seed).fit(years)
        low, high = fit.interval()
        assert not fit.reliable_ or high[0] - low[0] < 30


@pytest.mark.parametrize("deviation, doubted", [(90.0, True), (0.0, False), (np.inf, False)])
def test_size_excuses_a_long_interval_only_where_no_spread_is_known(deviation, doubted):
    class Doubts(list):
        def doubt(self, text, columns=None):
            self.extend([text] * bool(np.any(True if columns is None else columns)))

    told = {"n_rows": 300.0, "deviation": np.array([deviation]), "typical": np.array([0.0])}
    doubts = Doubts()
    doubt_mean(MeanRelease(np.array([2000.0]), np.array([30.0]), np.zeros((2, 1)), **told), doubts)
    assert (WIDE in doubts) is doubted
