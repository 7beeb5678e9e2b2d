"""Where the numbers to be predicted lie: their count, a centre and a unit."""

from dataclasses import dataclass, replace

import numpy as np

from skdp.additive._cells import held_rows
from skdp.chunks._rows import MappedRows, take
from skdp.covariance._engine import covariance_plan
from skdp.covariance._run import CovarianceRun
from skdp.location._mean import private_mean

__all__ = ["Place", "count_targets", "find_place", "mean_alone", "place_events", "place_steps"]

STEPS = "row count", "column scales", "sparse rows", "sparse scales", "centre"
LARGEST = 2.0**20  # of a target, in units


@dataclass(frozen=True)
class Place:
    """Targets lie around ``centre``, about a ``unit`` from it; both public or released.

    They are clipped to ``reach`` units from there.
    """

    centre: float
    unit: float
    reach: float = LARGEST

    def steps(self, y, step):
        """Return targets as integers, in steps of a part ``step`` of the unit."""
        z = np.clip((y - self.centre) / self.unit, -self.reach, self.reach)
        return np.trunc(z / step).astype(np.int64)


class Targets(MappedRows):
    """The targets of rows, one column: NaN for a row that is absent.

    Parameters
    ----------
    rows : TargetRows
    """

    def __init__(self, rows):
        super().__init__(rows.joined)
        self.n_features, self._there = 1, rows.present

    def _mapped(self, block):
        target = np.where(self._there(block), block.target, np.nan)
        return target.astype(np.float64)[:, None]

    def take(self, indices):
        """Return the targets at ``indices`` as a float64 array."""
        return super().take(indices) if self.random_access else take(self, indices)


def place_steps(budget):
    """Return the steps that find the place, with those of the search for a centre."""
    steps = covariance_plan(budget).steps
    steps = [step for step in steps if step.label.partition("/")[0] in STEPS]
    return tuple(replace(step, at_most=1) if step.label == "centre" else step for step in steps)


def place_events(budget):
    """Return the failure events of the search for a centre."""
    return covariance_plan(budget).events


def count_targets(rows, curator):
    """Release the number of rows that are there; return the run that goes on from there.

    Notes
    -----
    **Privacy** (add or remove one row): this and what follows are releases of the private
    covariance, of the last column alone (:class:`skdp.covariance._run.CovarianceRun`).
    """
    targets = Targets(rows)
    run = CovarianceRun(held_rows(targets), curator)
    run.count()
    return run


def find_place(run):
    """Return the Place that a run finds, its unit 0 if it finds nothing."""
    run.find_columns()
    centre, unit = run.frame.center[0], run.frame.unit[0]
    return Place(float(centre), float(unit) if run.found else 0.0)


def mean_alone(run):
    """Release the mean of the targets with all that is left; return a Place of unit 0."""
    child = run.curator.child("centre", run.curator.remaining)
    return Place(float(private_mean(run.rows, child).location[0]), 0.0)
