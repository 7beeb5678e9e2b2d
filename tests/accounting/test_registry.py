"""Entries for the registry of deployments: what its schema asks for, and what the report says."""

import json
from fractions import Fraction

import numpy as np
import pytest

from skdp import PrivacyReport, PrivateMean, PrivateMedian
from skdp.base import Budget

DETAILS = {
    "name": "Days in hospital, 2025",
    "data_curators": "Office of Health",
    "description": "Mean days by ward.",
    "intended_use": "Planning of beds.",
    "data_product_region": "Nowhere",
    "publication_date": "2026-01-31",
    "registry_authors": ["A. Writer"],
}
ASKED = {"name", "data_curators", "description", "intended_use", "data_product_type"}
ASKED |= {"data_product_region", "publication_date"}
PARTS = {"basic", "dp_variant", "privacy_loss", "deployment_model", "accounting"}
PARTS |= {"implementation", "administrative"}


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(4000, 2))


@pytest.fixture(scope="module")
def report(rows):
    return PrivateMean(epsilon=1.0, delta=1e-6).fit(rows).privacy_report_


def test_an_entry_has_what_the_schema_requires(report):
    entry = report.to_registry(**DETAILS, data_product_sector="Healthcare")
    assert set(entry) == {"url_slug", "status", "tier", "deployment"}
    assert entry["url_slug"] == "days-in-hospital-2025" and entry["status"] == "Draft"
    found = entry["deployment"]
    assert set(found) == PARTS and set(found["basic"]) >= ASKED
    assert found["basic"]["data_curators"] == ["Office of Health"]
    assert found["administrative"] == {"registry_authors": ["A. Writer"]}
    assert json.loads(json.dumps(entry)) == entry
    texts = [v for part in found.values() for v in part.values() if isinstance(v, str)]
    assert all(text.strip() for text in texts)


def test_an_entry_says_what_the_report_says(rows, report):
    found = report.to_registry(**DETAILS)["deployment"]
    assert found["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert found["privacy_loss"]["privacy_unit"] == "row"
    assert f"mu = {report.to_dict()['mu']:.6g}" in found["accounting"]["composition"]
    assert found["dp_variant"]["variant_name"] == "Approximate DP"
    persons = PrivateMedian(delta=0.0).fit(rows, groups=np.arange(4000) // 2).privacy_report_
    found = persons.to_registry(**DETAILS)["deployment"]
    assert found["privacy_loss"]["privacy_unit"] == "person (all of its rows)"
    assert found["dp_variant"]["variant_name"] == "Pure DP" and persons.to_dict()["mu"] is None
    zcdp = PrivacyReport("Own", Budget.zcdp(1.0, 1e-6)).to_registry(**DETAILS)["deployment"]
    assert zcdp["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    assert 0 < zcdp["privacy_loss"]["privacy_parameters"]["rho"] < 1


def test_a_failure_probability_is_no_pure_guarantee():
    claim = Budget("pure", Fraction(1), Fraction(0), Fraction(1), Fraction(1, 10**6))
    entry = PrivacyReport("Own", claim).to_registry(**DETAILS)
    assert entry["deployment"]["dp_variant"]["variant_name"] == "Approximate DP"


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": " "},
        {"data_curators": []},
        {"registry_authors": [3]},
        {"publication_date": "20260131"},
        {"publication_date": "31.1.2026"},
        {"data_product_type": "Picture"},
        {"data_product_sector": "Sports"},
    ],
)
def test_wrong_entries_are_refused(report, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        report.to_registry(**DETAILS | wrong)


def test_a_seeded_fit_has_no_entry():
    report = PrivacyReport("Own", Budget.zcdp(1.0, 1e-6), seeded=True)
    with pytest.raises(ValueError, match="random_state=None"):
        report.to_registry(**DETAILS)
