"""Where numbers to be predicted lie, and a line through a row, both released before the terms."""

from dataclasses import dataclass, replace

import numpy as np

from skdp.accounting import Step
from skdp.covariance._engine import covariance_plan
from skdp.covariance._run import CENTRE, LOOKS, CovarianceRun
from skdp.kernel._cells import Held, Steps
from skdp.kernel._coordinates import SomeColumns
from skdp.kernel._lattice import Targets
from skdp.kernel._sums import Count
from skdp.linear._front import coefficients
from skdp.linear._line import Line, line_plan, private_line
from skdp.location._column_strategies import QuietTable
from skdp.location._mean import private_mean
from skdp.location._release import ROW_COUNT, release_count
from skdp.mechanisms._norms import fold
from skdp.utils._numbers import range_vectors

FOUND_BY = {step.label for step in (ROW_COUNT, *LOOKS, CENTRE)}
LARGEST = 2.0**20  # of a target, in units
NOTHING = (
    "nothing found: too few rows for this epsilon to locate the targets; predictions are a "
    "placeholder. Use a larger epsilon or more rows"
)

LINE = 0.5  # share of the budget
WHOLE = Step("whole rows", at_most=0.01, of=(Count,))
FEW = 0.02  # noise of a Gram matrix of its whole budget, beyond which terms do better alone
FAINT = 5000.0  # strength of a line below which what is seen of the targets may be their middle
NAME = "line"


@dataclass(frozen=True)
class TargetScale:
    """Targets lie around ``centre``, about a ``unit`` from it; both public or released.

    They are clipped to ``reach`` units from there.
    """

    centre: float
    unit: float
    reach: float = LARGEST

    def least(self, of_unit):
        """Return the least radius of residuals, in such integers: rows lie a released unit away."""
        return of_unit if self.reach == LARGEST else 1

    def steps(self, of_unit):
        """Return the map of targets to integers, so many to the unit."""
        return Steps(self.centre, self.unit, self.reach, of_unit)


def place_steps(budget):
    """Return the steps that find the place, with those of the search for a centre."""
    steps = covariance_plan(budget).steps
    steps = [step for step in steps if step.label.partition("/")[0] in FOUND_BY]
    return tuple(replace(step, at_most=1) if step.label == CENTRE.label else step for step in steps)


def place_events(budget):
    """Return the failure events of the search for a centre."""
    return covariance_plan(budget).failure_events


def count_targets(table):
    """Release the number of rows that are there; return the run that goes on from there.

    Notes
    -----
    **Privacy** (add or remove one row): this and what follows are releases of the private
    covariance, of the last column alone (:class:`skdp.covariance._run.CovarianceRun`).
    """
    targets = table.map(Targets()).map(Held())
    run = CovarianceRun(targets)
    run.count()
    return run


def release_target_scale(run):
    """Return the TargetScale that a run finds, its unit 0 if it finds nothing."""
    run.find_columns()
    centre, unit = run.frame.center[0], run.frame.unit[0]
    return TargetScale(float(centre), float(unit) if run.found else 0.0)


def mean_alone(run):
    """Release the mean of the targets with all that is left; return a TargetScale of unit 0."""
    child = run.table.child(CENTRE.label, run.table.remaining)
    mean = private_mean(QuietTable(child))
    if not np.isfinite(mean.noise_scale[0]):
        run.table.doubt(NOTHING)
    return TargetScale(float(mean.location[0]), 0.0)


def target_place(target_range):
    """Return the TargetScale that public bounds of the target tell, None for None."""
    ends = range_vectors("target_range", target_range, 1)
    if ends is None:
        return None
    (low,), (high,) = ends
    return TargetScale(float(low / 2 + high / 2), float(high / 2 - low / 2), 1.0)


# --- a line through the numbers of a row, to which the terms are added: released before them


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
