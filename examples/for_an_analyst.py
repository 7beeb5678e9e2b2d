"""
A day of an analyst: churn
==========================

A table of customers, a first look, a model that may be published, and its quality on rows that it
has not seen. One ledger has the total.
"""

# %%
# Made-up customers, in place of your table.
import numpy as np
import pandas as pd

from skdp import PrivacyLedger, PrivateAdditiveClassifier, PrivateSummary
from skdp.metrics import PrivateClassifierReport

rng = np.random.default_rng(0)
n = 20_000
customers = pd.DataFrame(
    {
        "months": rng.gamma(2.0, 14.0, size=n).round(),
        "bill": rng.lognormal(4.0, 0.4, size=n).round(2),
        "contract": rng.choice(["month", "year"], size=n, p=[0.6, 0.4]),
    }
)
odds = 0.8 - customers["months"] / 20 + 1.2 * (customers["contract"] == "month")
left = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "left", "stayed")

# %%
# One total for all that will be published, and a first look.
ledger = PrivacyLedger(epsilon=2.0, delta=1e-6)
print(PrivateSummary(epsilon=0.5, delta=1e-7, ledger=ledger).fit(customers).summary())

# %%
# A model of 15,000 customers, and its quality on the other 5,000.
model = PrivateAdditiveClassifier(
    epsilon=1.0, delta=1e-7, classes=["left", "stayed"], ledger=ledger
)
model.fit(customers[:15_000], left[:15_000])
report = PrivateClassifierReport.from_estimator(
    model, customers[15_000:], left[15_000:], epsilon=1.0, delta=1e-7, ledger=ledger
)
print(report.results().round(3).to_string(index=False))

# %%
# What is spent, and what is left.
print(ledger.summary())
