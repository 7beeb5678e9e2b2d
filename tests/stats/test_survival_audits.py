"""Survival and Cox stand every audit, fitted as tables of durations with events as y."""

import numpy as np
import pandas as pd
import pytest

from skdp.audit import check_private_estimator
from skdp.estimator._estimator import PrivateEstimator
from skdp.stats import PrivateCoxRegression, PrivateSurvival

rng = np.random.default_rng(0)
X, T = rng.normal(size=(400, 2)), rng.exponential(size=400)
EVENT = (rng.random(400) < 0.6).astype(int)


class SurvivalOfTables(PrivateSurvival):
    def fit(self, X, y=None, *, groups=None):
        return PrivateEstimator.fit(self, X, y, groups=groups)


class CoxOfTables(PrivateCoxRegression):
    def fit(self, X, y=None, *, groups=None):
        return PrivateEstimator.fit(self, X, y, groups=groups)


ARMS = pd.DataFrame({"time": T, "arm": np.where(X[:, 0] > 0, "a", "b")})
AUDITED = {
    "one curve": (SurvivalOfTables(horizon=1.5), T[:, None]),
    "two arms": (SurvivalOfTables(levels=["a", "b"]), ARMS),
    "cox": (CoxOfTables(horizon=1.5), np.column_stack([X, T])),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", AUDITED)
def test_survival_stands_every_audit(name):
    check_private_estimator(*AUDITED[name], EVENT)
