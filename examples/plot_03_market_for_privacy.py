"""
A market for privacy
====================

A buyer wants to know the median income of a town and pays people for their privacy: who is promised
a weak guarantee gets more. Some are strict and ask ten times the price of the others. Should all be
promised the same epsilon, or each group its own? Every row has an epsilon of its own here
(personalised differential privacy), and the report states what each group is guaranteed.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from skdp.base import Curator, Plan, Step
from skdp.mechanisms import make_entropy
from skdp.sensitivity import PersonalBudgets, PersonalReport, personal_statistic

SIZES = {"easy-going": 4000, "strict": 1000}  # public: how many people were invited
PRICES = np.array([1.0, 10.0])  # for one unit of epsilon, in dollars: the public menu
CENTER, RADIUS = 30_000.0, 70_000.0  # a guess of the median, and how far off it may be, in dollars
REPEATS = 300

# %%
# The incomes, of which the buyer never sees one. Strict people earn a little more.
rng = np.random.default_rng(0)
groups = [rng.lognormal(10.6, 0.8, size=4000), 1.03 * rng.lognormal(10.6, 0.8, size=1000)]
exact = np.median(np.concatenate(groups))
sizes = np.array(list(SIZES.values()))


def menu(money, ratio):
    """Return the epsilons that the money buys: of the easy-going ``ratio`` times the strict's."""
    strict = round(money / float(sizes * PRICES @ [ratio, 1.0]), 9)
    return round(ratio * strict, 9), strict


def ask(epsilons):
    """Buy one noisy median."""
    budgets = PersonalBudgets(epsilons)
    curator = Curator(Plan(budgets.budget(), (Step("income", "laplace"),)), make_entropy())
    return budgets, personal_statistic(
        groups,
        "median",
        budgets,
        curator,
        sizes=list(SIZES.values()),
        radius=RADIUS,
        center=CENTER,
        label="income",
    )


# %%
# For 300 dollars: everybody gets the same, or the easy-going ten times the epsilon of the strict.
for ratio in (1, 10):
    budgets, answer = ask(menu(300, ratio))
    report = PersonalReport(budgets, (answer.release,))
    print(f"ratio {ratio}: {answer.estimate:,.0f} dollars (exact {exact:,.0f})\n{report}\n")


def errors(money, ratio):
    """Return the errors of many purchases."""
    return [abs(ask(menu(money, ratio))[1].estimate - exact) for _ in range(REPEATS)]


# %%
# The error against the buyer's money, and against the ratio at which the epsilons are promised.
# Too high a ratio pays for the cheap opinions only, and these are not those of all.
money = np.array([10, 30, 100, 300, 1000, 3000])
ratios = np.array([1, 2, 5, 10, 20, 50, 100, 1000])
curves = {ratio: np.array([errors(m, ratio) for m in money]) for ratio in (1, 10, 1000)}
sweep = {m: np.array([errors(m, ratio) for ratio in ratios]) for m in (30, 300, 3000)}

fig, (left, right) = plt.subplots(1, 2, figsize=(11.5, 4.6), layout="constrained")
names = {1: "one ε for all", 10: "ε ten times as large for the easy-going", 1000: "strict ignored"}
colours = {1: "tab:red", 10: "tab:green", 1000: "tab:grey"}
for ratio, found in curves.items():
    left.loglog(money, np.mean(found, axis=1), "o-", c=colours[ratio], label=names[ratio])
    if ratio < 1000:
        low, high = np.quantile(found, [0.25, 0.75], axis=1)
        left.fill_between(money, low, high, color=colours[ratio], alpha=0.15, lw=0)
same, ten = (curves[ratio].mean(axis=1) for ratio in (1, 10))
at = np.exp(np.interp(np.log(same[2]), np.log(ten[::-1]), np.log(money[::-1])))
left.annotate("", (at, same[2]), (money[2], same[2]), arrowprops={"arrowstyle": "<->", "lw": 1.5})
left.text(
    0.03,
    0.04,
    f"an error of {same[2]:,.0f} dollars costs {money[2]} dollars with one ε,\n"
    f"and {at:.0f} dollars with an ε for each group (arrow)",
    transform=left.transAxes,
    fontsize=9,
)
left.set_xlabel("what the buyer pays (dollars)")
left.set_ylabel("mean error of the median income (dollars)")
left.set_title(f"{sizes.sum():,} people; bands hold half of the errors")
left.legend(fontsize=9)
for (m, found), shade in zip(sweep.items(), (0.25, 0.55, 0.85), strict=True):
    mean = found.mean(axis=1)
    (line,) = right.loglog(ratios, mean, "o-", c=plt.cm.viridis(shade), label=f"for {m:,} dollars")
    best = int(np.argmin(mean))
    right.plot(ratios[best], mean[best], "*", ms=15, c=line.get_color(), mec="black")
right.set_xlabel("ε of the easy-going / ε of the strict")
right.set_ylabel("mean error (dollars)")
right.set_title("How unequal should promises be? (stars: best)")
right.legend(fontsize=9)
fig.suptitle("Pure personalised privacy: Laplace noise on bounded medians, strict people ask × 10")
target = Path(__file__).with_name("market_for_privacy.png") if "__file__" in globals() else None
if target is not None:
    fig.savefig(target, dpi=130)
    print(f"plot written to {target.parent.name}/{target.name}")
