"""Entries for the registry of deployments that OpenDP keeps (schema of July 2026)."""

import re
from importlib import import_module

__all__ = ["PRODUCTS", "registry_entry"]

PRODUCTS = (
    *("Summary statistics", "Machine learning model", "Dataset"),
    *("Synthetic data", "Interactive API", "SQL queries"),
)
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
VARIANTS = {"pure": "Pure DP", "zcdp": "Zero-concentrated DP"}
UNPROTECTED = (
    "None among the released attributes. Not protected: names and types of columns, parameters of "
    "the fit, run time, predictions and transforms of private rows, and parameters that were "
    "chosen by looking at the data."
)
POST_PROCESSING = "Attributes are functions of the noisy releases and of public parameters alone."
DATE = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
NOISE = (
    "Noise is drawn from the operating system and added to exact integers, which answers attacks "
    "on floating point. Run time is not protected."
)
TUNING = (
    "Not known to the library: describe what was done before the fit, and whether it is counted."
)


def registry_entry(report, details, facts):
    """Return an entry of a report; ``facts`` are pairs of a name and a text of the report."""
    budget, basic = report.budget, _basic(details)
    authors = _texts("registry_authors", details["registry_authors"])
    variant = VARIANTS.get(budget.measure, "Approximate DP")
    if variant == "Pure DP" and budget.delta:
        variant = "Approximate DP"
    parameters = {"epsilon": float(budget.epsilon), "delta": float(budget.delta)}
    if budget.measure == "zcdp":
        parameters["rho"] = float(budget.amount)
    version = import_module("skdp").__version__
    kinds = dict.fromkeys(charge.mechanism for charge in report.charges)
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", basic["name"].lower()).strip("-") or "skdp",
        "status": "Draft",
        "tier": 2,
        "deployment": {
            "basic": basic,
            "dp_variant": {
                "variant_name": variant,
                "data_domain": "Tables with the same columns, and any number of rows.",
                "unprotected_quantities": UNPROTECTED,
            },
            "privacy_loss": {
                "privacy_unit": "row"
                if report.privacy_unit == "row"
                else "person (all of its rows)",
                "privacy_unit_details": facts["claim"].partition("neighbours: ")[2],
                "privacy_parameters": parameters,
                "privacy_parameters_details": "; ".join(
                    f"{name}: {text}" for name, text in facts.items()
                ),
            },
            "deployment_model": {
                "model_name": "Central",
                "release_type": "One release",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "accounting": {
                "post_processing": POST_PROCESSING,
                "composition": f"{len(report.charges)} releases of {report.estimator}, composed "
                f"adaptively: {facts.get('composition', 'basic composition')}.",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "; ".join([TUNING, *report.assumptions]),
                "mechanisms": f"{', '.join(kinds)}; skdp {version}. {NOISE}",
            },
            "administrative": {"registry_authors": authors},
        },
    }


def _basic(details):
    """Return the basic part, checked: only the user knows it."""
    basic = {name: details[name] for name in ("name", "description", "intended_use")}
    basic |= {
        "data_product_region": details["data_product_region"],
        "data_product_type": details["data_product_type"],
        "publication_date": details["publication_date"],
    }
    for name, text in basic.items():
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{name} must be a text that is not empty. Got {text!r}.")
    _choice("data_product_type", basic["data_product_type"], PRODUCTS)
    date = basic["publication_date"]
    if not re.fullmatch(DATE, date):
        raise ValueError(f"publication_date must be a date, YYYY-MM-DD. Got {date!r}.")
    basic["data_curators"] = _texts("data_curators", details["data_curators"])
    if details["data_product_sector"] is not None:
        _choice("data_product_sector", details["data_product_sector"], SECTORS)
        basic["data_product_sector"] = details["data_product_sector"]
    return basic


def _choice(name, value, allowed):
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}. Got {value!r}.")


def _texts(name, texts):
    """Return one text or several as a list."""
    texts = [texts] if isinstance(texts, str) else list(texts)
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise ValueError(f"{name} must be a name, or a list of names. Got {texts!r}.")
    return texts
