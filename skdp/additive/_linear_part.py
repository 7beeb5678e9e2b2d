"""A line through the numbers of a row, to which the terms are added: released before them."""

from dataclasses import dataclass, replace

import numpy as np

from skdp.accounting import Step
from skdp.kernel._coordinates import SomeColumns
from skdp.kernel._sums import Count
from skdp.linear._coefficients import coefficients
from skdp.linear._line import Line, line_plan, private_line
from skdp.location._counted import release_count
from skdp.mechanisms._norms import fold

LINE = 0.5  # share of the budget
WHOLE = Step("whole rows", at_most=0.01, of=(Count,))
FEW = 0.02  # noise of a Gram matrix of its whole budget, beyond which terms do better alone
FAINT = 5000.0  # strength of a line below which what is seen of the targets may be their middle
NAME = "line"


@dataclass(frozen=True)
class LinearPart:
    """A released line through some columns of rows (x, y)."""

    line: Line  # its design is not None
    columns: np.ndarray  # ndarray of int: public

    @property
    def centre(self):
        """What stands for a missing number, shape (n_columns,): there the line has no slope."""
        return self.line.design.frame.center

    @property
    def beside(self):
        """The view of rows (x, y) with residuals in the place of y."""
        return self.line.beside(self.columns)

    def ends(self, mu):
        """Return the range of the targets, with room where noise hides much of it."""
        low, high = self.line.low, self.line.high
        hidden = (FAINT / (self.line.n_rows * mu * LINE**0.5)) ** 2
        with np.errstate(all="ignore"):
            room = (high - low) * hidden if hidden > 1 else 0.0
            return np.nan_to_num([low - room, high + room])


def straight_plan(budget):
    """Return the steps and failure events of a line that has its share of the budget."""
    plan = line_plan(budget)
    steps = [replace(step, label=f"{NAME}/{step.label}") for step in plan.steps]
    events = tuple((f"{NAME}/{name}", p) for name, p in plan.failure_events)
    return (WHOLE, Step(NAME, "child", at_most=LINE), *steps), events


def has_enough_rows_for_line(table, n_cells):
    """Release whether rows without missing numbers are enough for a line."""
    columns = np.flatnonzero(np.array(n_cells) == 0)
    if not columns.size:
        return False
    whole = _with_target(table, columns)
    count = release_count(whole, WHOLE)
    return (len(columns) + 1) ** 1.5 / (count.n * table.budget.mu * LINE**0.5) < FEW


def find_straight(table, columns, *, known, extrapolate):
    """Return a LinearPart, that of rows without missing numbers, None if it is flat.

    Shapes: known (2, n_columns + 1).
    """
    child = _with_target(table, columns).child(NAME, LINE)
    line = private_line(child, known=known, extrapolate=extrapolate)
    return None if line.design is None else LinearPart(line, columns)


def _with_target(table, columns):
    return table.map(SomeColumns(np.append(columns, table.n_features - 1)))


def fitted_line(straight, n_features):
    """Return the attributes that tell of a line, and what it is at its centre; 0 for None."""
    told = {name: np.zeros(n_features) for name in ("coef_", "coef_noise_scale_", "line_center_")}
    ends, start = np.tile([[-np.inf], [np.inf]], n_features), 0.0
    if straight is not None:
        at, line = straight.columns, straight.line
        slopes, noise, _ = coefficients(line, len(at))
        told["coef_"][at], told["coef_noise_scale_"][at] = slopes[:-1], noise[:-1]
        told["line_center_"][at] = straight.centre
        ends[:, at] = line.feature_range(len(at))
        start = line.center + line.unit * float(line.b[-1])
    told["feature_range_"] = ends
    return {name: np.nan_to_num(of) for name, of in told.items()}, start


def linear_contribution(codes, slopes, centre, ends):
    """Return what a line adds to rows of numbers and codes, each by itself; 0 at its centre."""
    with np.errstate(all="ignore"):
        x = np.where(np.isfinite(codes), codes, centre).clip(*ends)
        return np.nan_to_num(fold((x - centre) * slopes))
