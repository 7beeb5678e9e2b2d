"""Short ways to the Curators that audits use."""

from skdp.accounting import Budget, Plan, Step
from skdp.audit._process import Record
from skdp.audit._transcript import CannedCurator, FixedKeys, moves, squared_distance
from skdp.exceptions import AuditFailure

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


def check_replay(run, replay):
    """Return the largest exact ratio of a squared change to its squared sensitivity, as a float.

    ``run`` and ``replay`` are CannedCurators after the same algorithm on two neighbouring tables,
    the second with the transcript of the first. Raises AuditFailure for a ratio above one.
    """
    worst = 0.0
    for label, moved, allowed in moves(run.records, replay.records):
        if moved > allowed:
            raise AuditFailure(f"{label!r} moved by more than it declared.")
        if allowed:
            worst = max(worst, float(moved / allowed))
    return worst
