"""Who may spend what: the shares of a plan as bars."""

from dataclasses import dataclass

import numpy as np

from skdp.show._display import Display

__all__ = ["BudgetDisplay"]

UNITS = {"gdp": r"$\mu^2$", "zcdp": r"$\rho$", "mixed": r"$\rho$"}


@dataclass(frozen=True, repr=False)
class BudgetDisplay(Display):
    """Plot of the shares that the releases of a plan may take.

    They are upper bounds: which releases a fit makes may depend on earlier ones. The shares of a
    fit sum to at most one. Make one with :meth:`from_plan`.

    Parameters
    ----------
    labels : list of str
        Of the releases, those with the same text before the first ``/`` together: a step of a
        pipeline, or a part of an algorithm.
    once : ndarray of shape (n_labels,)
        Largest share of one such release.
    in_all : ndarray of shape (n_labels,)
        Largest share of all of them together.
    name : str
        Title.
    unit : str, default="epsilon"
        What the shares are parts of.
    figure_ : matplotlib Figure or None, default=None
        Set by :meth:`plot`.
    ax_ : matplotlib Axes or None, default=None
        Set by :meth:`plot`.

    See Also
    --------
    skdp.PrivacyReport, LedgerDisplay

    Notes
    -----
    **Privacy**: it shows plans and bills, which hold no value of a table, so looking costs nothing.

    Examples
    --------
    >>> from skdp import PrivateMean
    >>> from skdp.inspection import BudgetDisplay
    >>> display = BudgetDisplay.from_plan(PrivateMean().plan())
    >>> display.name
    'Plan: epsilon=1, delta=1e-06'
    """

    labels: list
    once: np.ndarray
    in_all: np.ndarray
    name: str
    unit: str = "epsilon"

    @classmethod
    def from_plan(cls, plan_or_estimator, *, ax=None):
        """Plot a plan, or the plan of an estimator, which need not be fitted.

        Parameters
        ----------
        plan_or_estimator : Plan, or estimator or pipeline with a method ``plan``
        ax : matplotlib Axes, default=None
            A new figure by default.

        Returns
        -------
        display : BudgetDisplay
        """
        plan, name = plan_or_estimator, "Plan"
        if hasattr(plan, "plan"):
            plan, name = plan.plan(), type(plan).__name__
        parts = {step.label: step.at_most for step in plan.steps if step.mechanism == "child"}
        order = list(dict.fromkeys(_head(step.label) for step in plan.steps))
        steps = sorted(plan.steps, key=lambda step: order.index(_head(step.label)))
        above = [_above(step.label, parts) for step in steps]
        once = [float(a * step.at_most) for a, step in zip(above, steps, strict=True)]
        in_all = [
            float(a * min(step.at_most * step.times, 1))
            for a, step in zip(above, steps, strict=True)
        ]
        budget = plan.budget
        return cls(
            labels=[step.label for step in steps],
            once=np.array(once),
            in_all=np.array(in_all),
            name=f"{name}: epsilon={float(budget.epsilon):g}, delta={float(budget.delta):g}",
            unit=UNITS.get(budget.measure, "epsilon"),
        ).plot(ax)

    def _size(self):
        return 6.4, 1.2 + 0.26 * len(self.labels)

    def _draw(self, ax):
        n = len(self.labels)
        heads = list(dict.fromkeys(_head(x) for x in self.labels if "/" in x))
        colors = [
            f"C{1 + heads.index(h) % 9 if h in heads else 0}" for h in map(_head, self.labels)
        ]
        inner = [label not in heads for label in self.labels]
        ax.barh(range(n), 100 * self.in_all, color=colors, alpha=0.3, label="all of that name")
        ax.barh(range(n), 100 * self.once * inner, color=colors, label="one release")
        ax.set_yticks(range(n), [label.partition("/")[2] or label for label in self.labels])
        for text, label in zip(ax.get_yticklabels(), self.labels, strict=True):
            text.set_fontweight("bold" if label in heads else "normal")
        ax.invert_yaxis()
        ax.set(xlim=(0, 100), title=self.name, xlabel=f"share of {self.unit}, at most (%)")
        ax.legend(fontsize="small")


def _head(label):
    return label.split("/")[0]


def _above(label, parts):
    """Return the share of the children that a release is within: its own is a part of theirs."""
    share, names = 1, label.split("/")
    for i in range(1, len(names)):
        share = share * parts.get("/".join(names[:i]), 1)
    return share
