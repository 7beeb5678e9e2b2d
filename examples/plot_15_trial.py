"""
A trial with two arms
=====================

ACTG 175: 2,139 adults with HIV, of whom 532 took zidovudine alone and the others one of three newer
treatments (Hammer et al., New England Journal of Medicine 335, 1996). The table comes with
``lifelines``. Is there an effect, how large is it, and what does privacy cost?
:doc:`/comparing_groups`.
"""

import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning
from skdp.stats import (
    PrivateComparison,
    n_rows_for,
    private_mannwhitneyu,
    private_proportions_test,
    private_ttest_ind,
)

warnings.simplefilter("ignore", SeededNoiseWarning)  # seeds: for a page that does not change
warnings.simplefilter("ignore", LowAccuracyWarning)  # of the smallest epsilons, in the figure
folder = Path(find_spec("lifelines").submodule_search_locations[0]) / "datasets"
trial = pd.read_csv(folder / "ACTG175.csv")
trial["arm"] = np.where(trial.treat == 1, "newer", "zidovudine")
trial["change"] = trial.cd420 - trial.cd40  # CD4 cells per mm3 after 20 weeks, less those before
newer, old = (trial[trial.arm == arm] for arm in ("newer", "zidovudine"))

# %%
# **Before any data.** How many patients show an effect of a quarter of a deviation, as a rule?
print(n_rows_for("mannwhitneyu", effect=0.25, power=0.8, epsilon=1.0), "rows would do")

# %%
# **Did CD4 counts change otherwise?** A rank test needs no bounds. Each call is one release.
print(private_mannwhitneyu(newer.change, old.change, epsilon=1.0, random_state=0))

# %%
# **By how much?** Welch's test, with the noise in its variance; scipy's interval beside it.
result = private_ttest_ind(newer.change, old.change, epsilon=1.0, random_state=1)
print(result)
exact = scipy_stats.ttest_ind(newer.change, old.change, equal_var=False)
print("without privacy:", exact.confidence_interval())

# %%
# **Did fewer patients fall ill or die?** Risk difference and risk ratio, of one release.
rates = private_proportions_test(newer.cens == 1, old.cens == 1, epsilon=1.0, random_state=2)
print(rates)
print("risk ratio", rates.risk_ratio())

# %%
# **Table one**: are the arms alike at the start? One release for all columns; adjusting p-values
# costs nothing.
columns = ["arm", "age", "wtkg", "karnof", "cd40", "gender", "race"]
baseline = trial[columns].replace({"gender": {0: "f", 1: "m"}, "race": {0: "white", 1: "other"}})
table = PrivateComparison(
    by="arm",
    measures={"age": "means", "wtkg": "means", "karnof": "ranks", "cd40": "means"}
    | dict.fromkeys(["gender", "race"], "counts"),
    classes=["newer", "zidovudine"],
    categories={"gender": ["f", "m"], "race": ["white", "other"]},
    epsilon=2.0,
    random_state=3,
).fit(baseline)
print(table.results().round(2).to_string(index=False))
print(table.pvalues())

# %%
# **What privacy costs.** Intervals for the difference of mean changes, by epsilon; the band is the
# interval without privacy.
epsilons = [0.3, 0.5, 1.0, 2.0, 5.0]
fig, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
low, high = exact.confidence_interval()
ax.axhspan(low, high, color="tab:orange", alpha=0.25, label="without privacy")
for i, epsilon in enumerate(epsilons):
    told = private_ttest_ind(newer.change, old.change, epsilon=epsilon, random_state=10 + i)
    low, high = told.confidence_interval()
    ax.plot([i, i], [low, high], color="tab:blue", lw=2, label="private" if not i else None)
ax.axhline(0, color="gray", lw=0.8)
ax.set_ylim(-150, 250)
ax.set_xticks(range(len(epsilons)), [f"{epsilon:g}" for epsilon in epsilons])
ax.set(xlabel="epsilon", ylabel="difference of mean changes", title="CD4 cells, 95 % intervals")
ax.legend()
plt.show()
