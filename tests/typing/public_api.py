"""A user's program, for the type checker: ``mypy`` accepts it, and finds what is planted."""

from typing import assert_type

import numpy as np

from skdp import (
    FriendlyCoreKMeans,
    PrivacyLedger,
    PrivateMean,
    PrivatePipeline,
    PrivateSearchCV,
    PrivateStandardScaler,
    RowMap,
    gaussian_sigma,
)
from skdp.accounting import Budget
from skdp.audit import check_private_estimator
from skdp.exceptions import BudgetExceeded

X = np.zeros((100, 2))

mean = assert_type(PrivateMean(epsilon=1.0, delta=1e-6), PrivateMean)
mean.fit(X).interval(0.95)
assert_type(FriendlyCoreKMeans(8, epsilon=1.0), FriendlyCoreKMeans)
assert_type(PrivateSearchCV(mean, {"epsilon": [1.0]}), PrivateSearchCV)
assert_type(RowMap(np.arcsinh), RowMap)
print(Budget.gaussian(1.0, 1e-6))

steps = [("scale", PrivateStandardScaler()), ("mean", mean)]
pipe = assert_type(PrivatePipeline(steps, epsilon=1.0), PrivatePipeline)
print(pipe.plan(), gaussian_sigma(1.0, 1e-6))

with PrivacyLedger("study.db", epsilon=3.0, delta=1e-6) as ledger:
    try:
        PrivateMean(ledger=ledger).fit(X)
    except BudgetExceeded as problem:
        print(problem)
check_private_estimator(mean)

PrivateMean(epsilom=1.0)  # type: ignore[call-arg]
from skdp import PrivateMeen  # type: ignore[attr-defined]  # noqa: E402, F401
