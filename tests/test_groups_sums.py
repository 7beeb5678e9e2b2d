"""Fits with groups that weigh rows: clusters, mixtures, matrices, tables and histograms."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from skdp import FriendlyCoreKMeans, MarginalReleaser, PrivateCovariance, config_context
from skdp.audit._transcript import Script
from skdp.cluster import LloydKMeans
from skdp.covariance import PrivatePCA
from skdp.denoising import PrivateHistogram
from skdp.gate._curator import replaced_curator
from skdp.kernel import _residuals
from skdp.marginals import Bins
from skdp.mixture import PrivateGMM
from skdp.readers._persons import GRAIN, NoisyUnitCount
from skdp.table import _groups as groups_module
from tests._curators import CannedCurator, FixedKeys, check_replay
from tests._persons import persons_table, recorded

SEEDED = "ignore::skdp.exceptions.SeededNoiseWarning"
RARE = pytest.mark.filterwarnings("ignore:Number of distinct clusters")
BOX = (-50.0, 50.0)
FINE = Bins([-np.inf, *np.linspace(-9.0, 9.0, 15), np.inf])
# one of every road, and its seeds
ROADS = {
    "k-means": (FriendlyCoreKMeans(3, epsilon=20.0, rows_per_group=3), 8),
    "k-means, auto": (FriendlyCoreKMeans(2, epsilon=100.0, rows_per_group="auto"), 4),
    "k-means, number": (FriendlyCoreKMeans("auto", epsilon=100.0, rows_per_group=2), 3),
    "k-means, bounds": (FriendlyCoreKMeans(3, epsilon=8.0, bounds=BOX, rows_per_group=1), 4),
    "k-means, few": (FriendlyCoreKMeans(4, epsilon=1.0, rows_per_group=3), 3),
    "k-means, friendly": (FriendlyCoreKMeans(2, epsilon=40.0, method="friendly"), 2),
    "lloyd": (LloydKMeans(3, epsilon=20.0, rows_per_group=3), 4),
    "lloyd, pure": (LloydKMeans(3, epsilon=20.0, delta=0.0, rows_per_group=3), 4),
    "mixture": (PrivateGMM(2, epsilon=40.0, rows_per_group=3, max_iter=2), 4),
    "mixture, tied": (PrivateGMM(2, epsilon=40.0, rows_per_group=2, covariance_type="tied"), 2),
    "covariance": (PrivateCovariance(epsilon=20.0, rows_per_group=3), 6),
    "covariance, bounds": (PrivateCovariance(bounds=BOX, rows_per_group=3), 4),
    "covariance, friendly": (PrivateCovariance(epsilon=40.0, method="friendly"), 2),
    "components": (PrivatePCA(epsilon=20.0, rows_per_group=1), 3),
    "histogram": (PrivateHistogram(4, range=(-5, 5), noise="gaussian", rows_per_group=2), 8),
    "histogram, pure": (PrivateHistogram(4, range=(-5, 5), delta=0.0, rows_per_group=2), 8),
    "histogram, range": (PrivateHistogram(4, epsilon=8.0, rows_per_group=3), 6),
    "tables": (MarginalReleaser(2, rows_per_group=3), 8),
    "one-way tables": (MarginalReleaser(1, rows_per_group=1, error="worst"), 4),
    "tables of many cells": (MarginalReleaser(2, domain={0: FINE, 1: FINE}, rows_per_group=3), 6),
}


def _person_of(rows, d, rng):
    """Return 40 persons of one row and one of so many, who holds the last rows."""
    X = np.concatenate([rng.normal(size=(40, d)), np.full((rows, d), rng.choice([0.0, 3.0, -2.0]))])
    return X, np.append(np.arange(40), np.full(rows, 40))


WEIGHED = {
    "k-means": FriendlyCoreKMeans(2, epsilon=8.0, bounds=(-4.0, 4.0)),
    "lloyd": LloydKMeans(2, epsilon=8.0, bounds=(-4.0, 4.0)),
    "lloyd, pure": LloydKMeans(2, epsilon=8.0, delta=0.0, bounds=(-4.0, 4.0)),
    "mixture": PrivateGMM(2, epsilon=8.0, bounds=(-4.0, 4.0), max_iter=1),
    "covariance": PrivateCovariance(epsilon=8.0, bounds=(-3.0, 3.0)),
    "histogram": PrivateHistogram(4, range=(-4, 4), noise="gaussian"),
    "histogram, pure": PrivateHistogram(4, range=(-4, 4), delta=0.0),
    "tables": MarginalReleaser(2),
}
NEARLY_FULL = {"covariance", "histogram", "histogram, pure", "tables"}


@pytest.mark.cases(5)
@pytest.mark.filterwarnings(SEEDED)
@pytest.mark.parametrize("cap", [1, 33])
@pytest.mark.parametrize("name", WEIGHED)
def test_persons_of_all_sizes_move_a_sum_by_their_unit(name, cap):
    """No row, one, as many as the cap, one more, a thousand, and more than count at all."""
    estimator, worst = clone(WEIGHED[name]).set_params(rows_per_group=cap), 0.0
    for rows in (0, 1, cap, cap + 1, 1000, GRAIN * cap + 1):
        X, ids = _person_of(rows, 2, np.random.default_rng(rows))
        keys = np.random.default_rng(1).integers(0, 2**63, size=len(X), dtype=np.uint64) * 2
        _, run = recorded(estimator, X, ids, keys, "noise")
        _, again = recorded(estimator, X[:40], ids[:40], keys[:40], Script(run.records))
        worst = max(worst, check_replay(run, again))
    assert worst <= 1
    if name in NEARLY_FULL:  # a person in one corner, or cell
        assert worst > 0.98


@pytest.mark.filterwarnings(SEEDED)
@pytest.mark.parametrize("away", [(16, 1), (31, 8), (3, 3, 2), (100, 40, 7)])
def test_norms_are_rounded_up(away):
    """Counts of a person in several cells, whose length is no number of rows."""
    X = np.concatenate([np.zeros((40, 1)), np.repeat(np.arange(len(away)), away)[:, None]])
    ids = np.append(np.arange(40), np.full(sum(away), 40))
    keys = np.random.default_rng(1).integers(0, 2**63, size=len(X), dtype=np.uint64) * 2
    estimator = PrivateHistogram(3, range=(0, 3), noise="gaussian", rows_per_group=1)
    _, run = recorded(estimator, X, ids, keys, "noise")
    _, again = recorded(estimator, X[:40], ids[:40], keys[:40], Script(run.records))
    assert 0.95 < check_replay(run, again) <= 1


class _OneKeyEach(FixedKeys):
    """A row has one key, whatever it is for, and in whatever part of a fit."""

    def keys(self, start, stop, use=""):
        return super().keys(start, stop)


def _run(estimator, X, keys, **groups):
    made = []

    def make(plan, entropy):
        made.append(CannedCurator(plan, "exact", coins=_OneKeyEach(keys)))
        return made[-1]

    with config_context(debug=True), replaced_curator(make):
        clone(estimator).fit(X, **groups)
    return made[0].records


SAME = {
    "k-means": FriendlyCoreKMeans(3, epsilon=8.0),
    "lloyd": LloydKMeans(3, epsilon=8.0),
    "mixture": PrivateGMM(2, epsilon=8.0),
    "covariance": PrivateCovariance(epsilon=8.0),
    "components": PrivatePCA(epsilon=8.0),
    "histogram": PrivateHistogram(4, range=(-4, 4), noise="gaussian"),
    "tables": MarginalReleaser(2),
}


@pytest.mark.filterwarnings(SEEDED)
@pytest.mark.parametrize("name", SAME)
def test_groups_of_one_row_give_the_integers_of_rows(name, monkeypatch):
    """Times the weight of a full row, or once where one row of each group is looked at."""
    tiny = replace(groups_module.GROUP_COUNT, at_most=Fraction(1, 2**80))
    monkeypatch.setattr(groups_module, "GROUP_COUNT", tiny)
    monkeypatch.setattr(
        NoisyUnitCount, "n", property(lambda heads: heads.told)
    )  # which then is all noise
    monkeypatch.setattr(_residuals, "FINEST", _residuals.COARSEST)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3)) + 6 * rng.integers(3, size=(900, 1))
    keys = rng.integers(0, 2**63, size=900, dtype=np.uint64) * 2
    estimator = clone(SAME[name])
    rows = _run(estimator, X, keys)
    ids = rng.permutation(900)
    persons = _run(estimator.set_params(rows_per_group=1), X, keys, groups=ids)
    assert persons[0].label == "group count" and persons[0].value.tolist() == [900]
    assert [r.label for r in rows] == [r.label.removeprefix("fit/") for r in persons[1:]]
    weighed = 0
    for row, person in zip(rows, persons[1:], strict=True):
        times = 1 if np.array_equal(row.value, person.value) else GRAIN
        assert np.array_equal(times * row.value, person.value), row.label
        weighed += times == GRAIN
    assert weighed


@pytest.mark.filterwarnings(SEEDED)
def test_tables_of_columns_with_names_find_a_cap():
    X, ids = persons_table(np.random.default_rng(0), 400, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    domain, numbers = {"a": FINE, "c": FINE}, {0: FINE, 2: FINE}
    options = {"epsilon": 50.0, "random_state": 0, "rows_per_group": "auto"}
    named = MarginalReleaser(2, domain=domain, **options).fit(frame, groups=ids)
    plain = MarginalReleaser(2, domain=numbers, **options).fit(X, groups=ids)
    assert named.rows_per_group_ == plain.rows_per_group_ > 1
    assert np.array_equal(named.residuals_, plain.residuals_)


ALL_ROADS = {name: estimator for name, (estimator, _) in ROADS.items()}


@RARE
@pytest.mark.filterwarnings(SEEDED, "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ALL_ROADS)
def test_one_person_may_own_all_rows(name):
    X = np.random.default_rng(0).normal(size=(200, 2))
    with config_context(debug=True):
        fit = clone(ALL_ROADS[name]).set_params(random_state=0).fit(X, groups=np.zeros(200, int))
    assert fit.rows_per_group_ >= 1 and fit.privacy_report_.privacy_unit == "group"
