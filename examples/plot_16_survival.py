"""
Time until an event, in a trial
===============================

ACTG 175: 2,139 adults with HIV, of whom 532 took zidovudine alone and the others one of three newer
treatments, were observed for up to 1,231 days until the disease had advanced or they had died
(Hammer et al., New England Journal of Medicine 335, 1996). The table comes with ``lifelines``,
which fits the same models without privacy. :doc:`/comparing_groups`.
"""

import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning
from skdp.stats import (
    PrivateCoxRegression,
    PrivateSurvival,
    n_rows_for,
    private_logrank_test,
)

warnings.simplefilter("ignore", SeededNoiseWarning)  # seeds: for a page that does not change
warnings.simplefilter("ignore", LowAccuracyWarning)
folder = Path(find_spec("lifelines").submodule_search_locations[0]) / "datasets"
trial = pd.read_csv(folder / "ACTG175.csv")
arms = ["newer", "zidovudine"]
trial["arm"] = np.where(trial.treat == 1, *arms)

# %%
# **Before any data.** How many patients show a hazard ratio of .6, if a quarter has an event?
print(n_rows_for("logrank", effect=0.6, p=0.25, epsilon=1.0), "rows in two equal arms would do")

# %%
# **How long do patients stay without an event?** One release for both arms. Three years are a
# horizon that the protocol could have named.
curves = PrivateSurvival(horizon=1095.0, levels=arms, epsilon=1.0, random_state=0)
curves.fit(trial.days, trial.cens, trial.arm)
for arm in arms:
    value, (low, high) = curves.quantile(0.2, group=arm)
    print(f"{arm}: a fifth had an event after {value:.0f} days ({low:.0f} to {high:.0f})")

# %%
# **Is there a difference?** The hazard ratio of the newer treatments, with its interval.
print(
    private_logrank_test(
        trial.days, trial.cens, trial.arm, levels=arms, horizon=1095.0, random_state=1
    )
)

# %%
# **Adjusted for what patients brought along.** With 521 events four coefficients need a larger
# epsilon; at 1 the fit says that it knows nothing.
columns = ["treat", "age", "cd40", "symptom"]
for epsilon in (1.0, 4.0):
    model = PrivateCoxRegression(horizon=1095.0, epsilon=epsilon, random_state=2)
    model.fit(trial[columns] * 1.0, trial.cens, trial.days)
    print(f"epsilon = {epsilon:g}")
    print(model.results().round(3).to_string(index=False))

# %%
# **The curves**, with bands that cover each as a whole, beside those without privacy.
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
curves.plot(ax)
for arm in arms:
    rows = trial[trial.arm == arm].sort_values("days")
    left = np.arange(len(rows), 0, -1)
    ax.step(rows.days, np.cumprod(1 - rows.cens / left), where="post", color="black", lw=0.7)
ax.set(xlabel="Days", ylim=(0.4, 1.02))
plt.show()
