"""A release of clusters spends its budget."""

import numpy as np

from skdp.accounting import Budget
from skdp.readers import ArrayRows
from tests._curators import CannedCurator, FixedKeys
from tests.cluster._road import density_kmeans, density_plan


def _run(X, transcript, k, budget, **options):
    coins = FixedKeys(np.zeros(0, dtype=np.uint64))
    curator = CannedCurator(density_plan(budget), transcript, coins=coins, seed=options.pop("seed"))
    with np.errstate(all="ignore"):
        release = density_kmeans(ArrayRows(X, **options), curator, k, n_init=2, seed=7)
    return release, curator


def test_a_run_spends_its_budget_and_no_more():
    X = np.random.default_rng(0).normal(size=(500, 5))
    _, run = _run(X, "noise", 3, Budget.gaussian(1.0, 1e-6), seed=0)
    assert run.remaining == 0
