"""
A day of a data scientist: segments
===================================

A chain of steps under one budget: logarithms, a private scaler, k-means. The plan is read before
any row is, and the centers are told in the units of the table.
"""

# %%
# Made-up orders of three kinds of customers.
import numpy as np
import pandas as pd

from skdp import FriendlyCoreKMeans, PrivateStandardScaler, RowMap, make_private_pipeline

rng = np.random.default_rng(0)
kind = rng.integers(3, size=15_000)
orders = pd.DataFrame(
    {
        "orders": np.exp(rng.normal([0.5, 2.0, 3.5], 0.3, size=(15_000, 3))[range(15_000), kind]),
        "basket": np.exp(rng.normal([4.5, 3.0, 4.0], 0.3, size=(15_000, 3))[range(15_000), kind]),
    }
)

# %%
# The plan names the share of each step.
pipe = make_private_pipeline(
    RowMap(np.log), PrivateStandardScaler(), FriendlyCoreKMeans(3), epsilon=1.0, delta=1e-6
)
print([(line.path, float(line.share)) for line in pipe.plan().splits])

# %%
# The fit, and the centers in orders and dollars.
pipe.fit(orders)
logs = pipe[1].inverse_transform(pipe[2].cluster_centers_)
print(pd.DataFrame(np.exp(logs), columns=orders.columns).round(1))
print(pipe[2].cluster_sizes_)
