"""Every cost: calibration, composition, budgets, plans, reports and the ledger. A guarded room."""

from skdp.accounting._budget import Budget
from skdp.accounting._composition import (
    advanced_composition,
    basic_composition,
    gdp_composition,
    gdp_group,
    group_delta,
    group_epsilon,
    group_privacy,
)
from skdp.accounting._conversions import (
    gaussian_to_zcdp,
    pure_gaussian_delta,
    pure_gaussian_epsilon,
    pure_to_gdp,
    pure_to_zcdp,
    zcdp_composition,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from skdp.accounting._gaussian import gaussian_delta, gaussian_epsilon, gaussian_mu, gaussian_sigma
from skdp.accounting._ledger import PrivacyLedger
from skdp.accounting._plan import Plan, Step, mixed_budget, part_of
from skdp.accounting._report import Charge, PrivacyReport

__all__ = [
    "Budget",
    "Charge",
    "Plan",
    "PrivacyLedger",
    "PrivacyReport",
    "Step",
    "advanced_composition",
    "basic_composition",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_mu",
    "gaussian_sigma",
    "gaussian_to_zcdp",
    "gdp_composition",
    "gdp_group",
    "group_delta",
    "group_epsilon",
    "group_privacy",
    "mixed_budget",
    "part_of",
    "pure_gaussian_delta",
    "pure_gaussian_epsilon",
    "pure_to_gdp",
    "pure_to_zcdp",
    "zcdp_composition",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]
