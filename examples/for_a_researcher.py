"""
A day of a researcher: a trial
==============================

How many patients does a private trial need, does the drug work, and by how much? Patients have
several visits, and each is protected with all of them.
"""

# %%
# Before any data: patients for a power of 80 %.
import numpy as np
import pandas as pd

from skdp import GroupMap, PrivateMean, make_private_pipeline
from skdp.stats import n_rows_for, private_mannwhitneyu

print(n_rows_for("mannwhitneyu", effect=0.3, power=0.8, epsilon=1.0))

# %%
# Made-up visits of 2,000 patients in two arms.
rng = np.random.default_rng(0)
patient = rng.integers(2000, size=8000)
treated = np.arange(2000) % 2 == 1
pressure = rng.normal(140, 12, size=2000) - 6 * treated
visits = pd.DataFrame({"patient": patient, "pressure": pressure[patient] + rng.normal(0, 4, 8000)})

# %%
# One row for each patient, and a test whose p-value knows the noise.
each = visits.groupby("patient")["pressure"].mean()
arm = treated[each.index]
result = private_mannwhitneyu(each[arm].to_numpy(), each[~arm].to_numpy(), epsilon=1.0, delta=1e-6)
print(result)

# %%
# The mean of the treated, from the visits themselves.
mean = make_private_pipeline(
    GroupMap(lambda rows: {"pressure": rows["pressure"].mean()}),
    PrivateMean(bounds=(60, 250)),
    epsilon=1.0,
    delta=1e-6,
)
mine = visits[treated[patient]]
print(mean.fit(mine, groups="patient")[-1].results())
print(mean.privacy_report_.summary())
