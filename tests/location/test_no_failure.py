"""No table and no parameter makes a release of a mean fail."""

import numpy as np

from skdp.accounting import Budget
from skdp.kernel._table import Table
from skdp.location._mean import mean_plan, private_mean
from skdp.readers import ArrayRows
from tests._curators import CannedCurator


def test_no_table_and_no_parameter_makes_a_run_fail(recwarn):
    """Rows, radii, centres and scales at both ends of float64."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, d = int(rng.choice([0, 1, 3, 100, 1000])), int(rng.choice([1, 2, 8, 30]))
        power = float(rng.choice([-323, -310, -300, 0, 290, 300, 305, 307, 308]))
        with np.errstate(all="ignore"):
            X = np.clip(rng.normal(size=(n, d)) * 10.0**power, -1.7e308, 1.7e308)
        if rng.random() < 0.3:
            X = np.where(rng.random((n, d)) < 0.5, 1.7e308, -1.7e308)
        if rng.random() < 0.2:
            X[::2] = 0
        params = {}
        if rng.random() < 0.3:
            params["radius"] = float(10.0 ** rng.choice([-300, 0, 300, 307]))
        if rng.random() < 0.2:
            params["center"] = np.full(d, float(rng.choice([0, 1e308])))
        if rng.random() < 0.3:
            params["scale"] = np.full(d, float(rng.choice([1e-300, 1e300, 1.0])))
        plan = mean_plan(Budget.gaussian(float(rng.choice([1e-9, 0.01, 1, 10, 1000])), 1e-6))
        with np.errstate(all="ignore"):
            mean = private_mean(
                Table(ArrayRows(X), CannedCurator(plan, "noise", seed=seed)), **params
            )
        assert np.isfinite(mean.location).all()
        assert not np.isnan(mean.noise_scale).any()
