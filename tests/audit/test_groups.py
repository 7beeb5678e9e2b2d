"""Audits of fits with groups: sound estimators pass, and those that forget a person's rows fail."""

import numpy as np
import pytest

from skdp import PrivateMean
from skdp.accounting import Budget, Plan, Step
from skdp.audit import (
    audit,
    check_private_estimator,
    conditional_sensitivity,
    non_interference,
)
from skdp.base import PrivateEstimator
from skdp.exceptions import AuditFailure
from skdp.mechanisms._exact import of_persons
from skdp.readers._rows import map_merge, weighed_sum

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
RNG = np.random.default_rng(0)
IDS = RNG.permutation(np.repeat(np.arange(90), RNG.integers(1, 9, 90)))
X = RNG.normal(size=(len(IDS), 2))


class Count(PrivateEstimator):
    """Counts rows with weights."""

    _weighs_groups = True

    def __init__(
        self, *, epsilon=1.0, delta=1e-6, rows_per_group=2, random_state=None, ledger=None
    ):
        self.epsilon, self.delta, self.rows_per_group = epsilon, delta, rows_per_group
        self.random_state, self.ledger = random_state, ledger

    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("count"),))

    def _release(self, rows, curator):
        told = curator.gaussian(
            self._counted(rows), sensitivity=1, share=curator.remaining, label="count"
        )
        return {"count_": float(told.value[0])}

    def _counted(self, rows):
        return weighed_sum(rows, lambda start, block: np.array([np.isfinite(block[:, 0]).sum()]))


class Unweighed(Count):
    """Takes the rows of persons for rows of one person each."""

    def _counted(self, rows):
        there = lambda start, block: np.array([np.isfinite(block[:, 0]).sum()])  # noqa: E731
        return of_persons(map_merge(rows._rows, there, np.add))


class Telling(Count):
    """Keeps a code of the owners."""

    def _release(self, rows, curator):
        return super()._release(rows, curator) | {"first_": int(rows.persons.n)}


@pytest.mark.slow
def test_a_sound_estimator_passes_all_checks():
    check_private_estimator(Count(), X, groups=IDS)


def test_forgotten_weights_are_found():
    with pytest.raises(AuditFailure, match="EXCEEDED"):
        conditional_sensitivity(Unweighed(), X, groups=IDS, n_pairs=40)
    report = conditional_sensitivity(Unweighed(), X, groups=IDS, n_pairs=40, raise_on_failure=False)
    assert not report.ok and "group of" in str(report)
    assert conditional_sensitivity(Count(), X, groups=IDS, n_pairs=40).ratio > 0.9


@pytest.mark.slow
def test_what_is_kept_of_owners_is_found():
    with pytest.raises(AuditFailure, match="attribute first_"):
        non_interference(Telling(), X, groups=IDS, n_transcripts=1)
    assert non_interference(Count(), X, groups=IDS, n_transcripts=1).ok


@pytest.mark.slow
def test_a_person_of_many_outliers_is_as_private_as_claimed():
    """50 rows of one person, far away: what is correct fails with probability 1e-3; seeded."""
    owners = np.r_[IDS, np.full(50, -1)]
    outliers = np.vstack([X, np.full((50, 2), 40.0)])
    mean = PrivateMean(center=0.0, radius=1.0, delta=0.01, epsilon=1.0)
    given = {"groups": IDS, "groups_neighbour": owners, "random_state": 0}
    assert audit(mean, X, outliers, n_runs=150, **given).passed


def test_audits_of_rows_stay_as_they_are():
    assert conditional_sensitivity(Count(), X, n_pairs=20).ratio > 0.9
