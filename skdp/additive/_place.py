"""Where the numbers to be predicted lie: their count, a centre and a unit."""

from dataclasses import dataclass, replace

import numpy as np

from skdp.covariance._engine import covariance_plan
from skdp.covariance._run import CENTRE, LOOKS, CovarianceRun
from skdp.kernel._cells import Held, Steps
from skdp.kernel._views import Targets
from skdp.location._counted import ROW_COUNT
from skdp.location._gaps import QuietTable
from skdp.location._mean import private_mean
from skdp.location._public import range_vectors

FOUND_BY = {step.label for step in (ROW_COUNT, *LOOKS, CENTRE)}
LARGEST = 2.0**20  # of a target, in units
NOTHING = (
    "nothing found: too few rows for this epsilon to locate the targets; predictions are a "
    "placeholder. Use a larger epsilon or more rows"
)


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
