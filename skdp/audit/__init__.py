"""Public tools that try to break a privacy claim.

:func:`check_private_estimator` goes through everything below that is exact and fast; :func:`audit`
fits thousands of times and bounds the privacy loss from below.
"""

from skdp.audit._attacks import precision_attack
from skdp.audit._audit_report import AuditReport
from skdp.audit._checks import LEAK_CHECKLIST, check_private_estimator, private_estimator_checks
from skdp.audit._empirical import audit
from skdp.audit._interference import Interference, InterferenceReport, non_interference
from skdp.audit._one_run import OneRunReport, one_run_audit
from skdp.audit._pairs import Pair
from skdp.audit._sensitivity import (
    SensitivityReport,
    Worst,
    conditional_sensitivity,
    examine_pair,
)
from skdp.audit._transcript import (
    CannedCurator,
    FixedKeys,
    Record,
    Script,
    check_replay,
    squared_distance,
)

__all__ = [
    "LEAK_CHECKLIST",
    "AuditReport",
    "CannedCurator",
    "FixedKeys",
    "Interference",
    "InterferenceReport",
    "OneRunReport",
    "Pair",
    "Record",
    "Script",
    "SensitivityReport",
    "Worst",
    "audit",
    "check_private_estimator",
    "check_replay",
    "conditional_sensitivity",
    "examine_pair",
    "non_interference",
    "one_run_audit",
    "precision_attack",
    "private_estimator_checks",
    "squared_distance",
]
