"""Public tools that try to break a privacy claim.

:func:`check_private_estimator` goes through everything below that is exact and fast; :func:`audit`
fits thousands of times and bounds the privacy loss from below.
"""

from skdp.audit._attacks import precision_attack
from skdp.audit._audit_report import AuditReport
from skdp.audit._bounds import clopper_pearson, epsilon_lower_bound, mu_lower_bound
from skdp.audit._checks import LEAK_CHECKLIST, check_private_estimator, private_estimator_checks
from skdp.audit._empirical import audit
from skdp.audit._interference import Interference, InterferenceReport, non_interference
from skdp.audit._one_run import OneRunReport, one_run_audit, one_run_p_value
from skdp.audit._pairs import Pair
from skdp.audit._sensitivity import SensitivityReport, Worst, conditional_sensitivity, examine_pair
from skdp.audit._statistics import check_statistic
from skdp.audit._transcript import CannedCurator, FixedKeys, Record, Script, check_replay

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
    "check_statistic",
    "clopper_pearson",
    "conditional_sensitivity",
    "epsilon_lower_bound",
    "examine_pair",
    "mu_lower_bound",
    "non_interference",
    "one_run_audit",
    "one_run_p_value",
    "precision_attack",
    "private_estimator_checks",
]
