"""No table and no budget makes a release of matrices fail."""

import numpy as np

from skdp.accounting import Budget
from skdp.covariance._engine import covariance_plan, private_covariance
from skdp.kernel._table import Table
from skdp.readers import ArrayRows
from tests._curators import CannedCurator


def test_no_table_makes_a_run_fail(recwarn):
    """Rows at both ends of float64, any budget."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, d = int(rng.choice([0, 1, 2, 3, 100, 3000])), int(rng.choice([1, 2, 8, 30]))
        power = float(rng.choice([-323, -310, -300, 0, 290, 300, 305, 307, 308]))
        with np.errstate(all="ignore"):
            X = np.clip(rng.normal(size=(n, d)) * 10.0**power, -1.7e308, 1.7e308)
        if rng.random() < 0.3:
            X = np.where(rng.random((n, d)) < 0.5, 1.7e308, -1.7e308)
        if rng.random() < 0.2:
            X[::2] = 0
        if rng.random() < 0.3:
            X[:, : d // 2] = rng.choice([0.0, 1e-12, 1e12])
        budget = Budget.gaussian(float(rng.choice([1e-9, 0.01, 1, 10, 1000])), 1e-6)
        with np.errstate(all="ignore"):
            run = CannedCurator(covariance_plan(budget), "noise", seed=seed)
            release = private_covariance(Table(ArrayRows(X), run))
        assert np.isfinite(release.location).all()
        covariance = release.covariance
        assert np.isfinite(covariance).all() and np.array_equal(covariance, covariance.T)
        assert not np.isnan(release.noise_scale).any()
