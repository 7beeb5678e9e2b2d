"""Short ways to the Curators that audits use."""

from skdp.accounting import Budget, Plan, Step
from skdp.audit._transcript import (
    CannedCurator,
    FixedKeys,
    Record,
    check_replay,
    squared_distance,
)

__all__ = [
    "GAUSSIAN",
    "CannedCurator",
    "FixedKeys",
    "Record",
    "canned",
    "check_replay",
    "squared_distance",
]

GAUSSIAN = Budget.gaussian(1.0, 1e-6)


def canned(label="x", transcript="exact", *, times=1000, mechanism="gaussian", budget=GAUSSIAN):
    """Return a CannedCurator that may make ``times`` releases of one label."""
    return CannedCurator(Plan(budget, (Step(label, mechanism, times=times),)), transcript)
