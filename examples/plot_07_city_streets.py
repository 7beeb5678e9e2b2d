"""
A city by its streets: counts on a graph
========================================

Where do the taxis of a city pick up their passengers? The unit of privacy is a **driver**, with all
pick-ups of a day: the map reveals of none whether he worked at all. There are 3,784 street corners
and 7,070 pieces of street between them, made up here; the street map is public.

The noise at a corner is larger than most counts. But corners at two ends of a street are alike, and
the law of the noise is known exactly: trend filtering on the street map puts the city back
together, and no budget is spent on it.
"""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap, PowerNorm
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from skdp.denoising import PrivateHistogram, TrendFilterDenoiser
from skdp.exceptions import SeededNoiseWarning

EPSILONS, DELTA = (1.0, 0.5), 1e-6
HEIGHT, WIDTH, STREETS, BRIDGES = 43, 88, 7070, 6
rng = np.random.default_rng(7)

# %%
# The streets: a grid that a river cuts in two, but for a few bridges. Streets are left out at
# random until 7,070 pieces remain that still connect everything.
y, x = (a.ravel() for a in np.mgrid[:HEIGHT, :WIDTH].astype(float))
n = x.size
bank = y > 17 + 7 * np.sin(x / 14) + 0.12 * x
nodes = np.arange(n).reshape(HEIGHT, WIDTH)
ends = [(nodes[:, :-1], nodes[:, 1:]), (nodes[:-1], nodes[1:])]
i, j = np.concatenate([np.stack([a.ravel(), b.ravel()]) for a, b in ends], axis=1)
wet = np.flatnonzero(bank[i] != bank[j])
bridges = wet[np.argsort(x[i[wet]])][:: len(wet) // BRIDGES]
dry = np.union1d(np.flatnonzero(bank[i] == bank[j]), bridges)
i, j, age = i[dry], j[dry], 1.0 + rng.permutation(dry.size)
tree = minimum_spanning_tree(sparse.csr_array((age, (i, j)), shape=(n, n)))
age[np.isin(age, tree.data)] = 0
kept = np.argsort(age)[:STREETS]
i, j = i[kept], j[kept]
streets = sparse.csr_array((np.ones(STREETS), (i, j)), shape=(n, n))

# %%
# The pick-ups: two centres that end at the river, a station, an avenue, quiet streets elsewhere.
# 2,500 drivers with about 16 pick-ups each.
mean = np.full(n, 0.25)
mean += 5.0 * np.exp(-((x - 24) ** 2 / 160 + (y - 30) ** 2 / 60)) * bank
mean += 3.5 * np.exp(-((x - 62) ** 2 / 120 + (y - 13) ** 2 / 40)) * ~bank
mean += 5.0 * ((abs(x - 74) < 5) & (abs(y - 36) < 4))
mean += 2.0 * ((abs(y - 4) < 1.5) & (x > 8) & (x < 46))
corner = rng.choice(n, size=40_000, p=mean / mean.sum())
driver = rng.integers(2_500, size=40_000)
table = np.column_stack([driver, corner]).astype(float)

# %%
# Every driver counts with at most 25 pick-ups, at most one at a corner, which moves the counts by
# at most 5. Anything beyond is left out by the mechanism itself, so nothing has to be assumed.
parameters = {
    "user": 0,
    "rows_per_user": 25,
    "rows_per_cell": 1,
    "categories": {1: range(n)},
    "noise": "gaussian",
    "delta": DELTA,
}
smooth = TrendFilterDenoiser(streets)
print(PrivateHistogram(**parameters, epsilon=EPSILONS[0], denoiser=smooth).plan(), "\n")

# %%
# What the mechanism counts, without noise: only for comparison.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", SeededNoiseWarning)
    noiseless = PrivateHistogram(**parameters, epsilon=1e5, integer=True, random_state=0)
    exact = noiseless.fit(table).counts_

# %%
# One release per epsilon. ``noisy_counts_`` is what was released, ``counts_`` what the streets make
# of it, and ``risk_estimate_`` tells how good that is without a look at the exact counts.
panels = []
for epsilon in EPSILONS:
    release = PrivateHistogram(**parameters, epsilon=epsilon, denoiser=smooth).fit(table)
    told = np.sqrt(max(release.risk_estimate_, 0) / n)
    print(f"epsilon = {epsilon:g}: estimated error of a smoothed count {told:.1f}")
    panels.append((f"released, ε = {epsilon:g}", np.maximum(release.noisy_counts_, 0)))
    panels.append((f"smoothed along the streets, ε = {epsilon:g}", release.counts_))

# %%
# The streets, bent a little and with room for the river, each in the colour of its two corners.
east, north = x + 1.5 * np.sin(y / 9), y + 1.8 * np.sin(x / 17) + 1.5 * bank
lines = np.stack([np.stack([east[k], north[k]], axis=1) for k in (i, j)], axis=1)
fig, axes = plt.subplots(2, 3, figsize=(15, 5.7), layout="constrained")
look = {
    "cmap": ListedColormap(plt.get_cmap("inferno")(np.linspace(0.1, 1, 256))),
    "norm": PowerNorm(0.6, 0, np.quantile(exact, 0.998)),
    "lw": 1.9,
}
for row, pair in zip(axes, (panels[:2], panels[2:]), strict=True):
    for ax, (name, counts) in zip(row, [("without noise", exact), *pair], strict=True):
        shown = LineCollection(lines, **look)
        shown.set_array((counts[i] + counts[j]) / 2)
        ax.add_collection(shown)
        error = np.sqrt(np.mean((counts - exact) ** 2))
        ax.set_title(name if counts is exact else f"{name}: error {error:.1f}", fontsize=11)
        ax.set(facecolor="black", aspect=1, xticks=[], yticks=[])
        ax.set(xlim=(-4, WIDTH + 4), ylim=(-4, HEIGHT + 4))
fig.colorbar(shown, ax=axes, label="pick-ups at a corner", pad=0.01)
fig.suptitle(
    f"Pick-ups at {n:,} street corners, private for every driver "
    "(error: root mean square over all corners)"
)
target = Path(__file__).with_name("city_streets.png") if "__file__" in globals() else None
if target is not None:
    fig.savefig(target, dpi=80)
    print(f"\nplot written to {target.parent.name}/{target.name}")
