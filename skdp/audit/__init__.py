"""Public tools that try to break a privacy claim.

:func:`check_private_estimator` goes through everything below that is exact and fast; :func:`audit`
fits thousands of times and bounds the privacy loss from below.
"""

from skdp.audit._bounds import (
    clopper_pearson,
    epsilon_lower_bound,
    mu_lower_bound,
    precision_attack,
)
from skdp.audit._checks import LEAK_CHECKLIST, check_private_estimator, private_estimator_checks
from skdp.audit._empirical import audit
from skdp.audit._interference import non_interference
from skdp.audit._one_run import one_run_audit, one_run_p_value
from skdp.audit._process import Record
from skdp.audit._sensitivity import SensitivityReport, conditional_sensitivity
from skdp.audit._statistics import check_statistic
from skdp.audit._transcript import CannedCurator

__all__ = [
    "LEAK_CHECKLIST",
    "CannedCurator",
    "Record",
    "SensitivityReport",
    "audit",
    "check_private_estimator",
    "check_statistic",
    "clopper_pearson",
    "conditional_sensitivity",
    "epsilon_lower_bound",
    "mu_lower_bound",
    "non_interference",
    "one_run_audit",
    "one_run_p_value",
    "precision_attack",
    "private_estimator_checks",
]
