"""Checks of fits with groups."""

import pickle
import warnings
from dataclasses import replace

import numpy as np

from skdp.accounting import PrivacyLedger
from skdp.audit._checks_common import fitted, ignore_expected_warnings, require, secure, small
from skdp.exceptions import BudgetExceeded

CANARY = "86243-owner"


def check_ledger_of_groups(name, estimator, data):
    """Check that a ledger of groups pays for fits with groups, and refuses those of rows."""
    if "ledger" not in estimator.get_params():
        return
    data = small(data)
    ledger = PrivacyLedger(epsilon=1e6, composition="basic", delta=0.9, unit="group")
    with ignore_expected_warnings():
        fit = data.fit(secure(estimator, ledger=ledger.noted("of groups")))
        require(len(ledger.entries()) == 2, f"{name}: a fit with groups is not one charge.")
        require(ledger.entries()[-1].note == "of groups", f"{name}: a charge has lost its note.")
        try:
            replace(data, groups=None).fit(secure(estimator, ledger=ledger))
        except BudgetExceeded:
            pass
        else:
            require(False, f"{name}: a ledger of groups pays for a fit that protects rows.")
    require(ledger.report().latched, f"{name}: a fit that protects rows leaves no refusal.")
    require(fit.privacy_report_.privacy_unit == "group", f"{name}: the report names another unit.")


def check_no_owner_is_stored(name, estimator, data):
    """Check that no entry of groups is in pickle, repr, HTML or report, nor how many there are."""
    data = small(data)
    owners = np.array([f"{CANARY}-{owner}" for owner in data.groups])
    for groups in (owners, owners.astype(object)):
        fit = fitted(estimator, replace(data, groups=groups))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = repr(fit) + fit._repr_html_() + str(fit.privacy_report_)
        found = CANARY.encode() in pickle.dumps(fit) or CANARY in text
        require(not found, f"{name}: an entry of groups survives the fit.")


def check_one_owner_answers(name, estimator, data):
    """Check that a fit answers where all rows are those of one, and where each has another."""
    for groups in (np.zeros(len(data)), np.arange(len(data))):
        fit = fitted(estimator, replace(data, groups=groups))
        require(hasattr(fit, "privacy_report_"), f"{name}: there is no report.")
