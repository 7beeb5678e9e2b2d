"""A privacy report in one paragraph, and as an entry of the registry of deployments of OpenDP."""

import math
import re
from collections import Counter
from importlib import import_module

from skdp.utils._warnings import accuracy_warnings, caps_of

FIXED = " for fits whose number and budgets were fixed before the first result was seen"
IN_ANY_CASE = ", whatever the number and the budgets of its pure fits depended on"
CERTAIN = 0.99
FEW = 5  # rows of one person
WHO = {
    "row": {"whom": "is one row", "it": "that row was"},
    "group": {"whom": "owns rows", "it": "all these rows were"},
}
NOBODY = (
    "Nobody is protected: the noise of {name} was drawn from a seed, and whoever knows it can take "
    "it away. This is for tests and documentation; fit with random_state=None before anything is "
    "shown to others."
)
PROTECTED = (
    "Protected is everybody who {whom} of the table. Whoever sees all that {name} has "
    "released, and even knows all other rows, cannot be sure whether {it} there: the best "
    "guess is right at most {guess} of the time, where a coin is right 50 % of the time"
)
SEVERAL = "; about somebody who has {few} rows, at most {guess}"
CLAIM = ". This is the guarantee {guarantee}, and it lasts, whatever else becomes known."
USELESS = (
    "Nobody is protected well: with a guarantee as weak as {guarantee}, whoever sees all that "
    "{name} has released, and knows all other rows, may be nearly certain whether {it} there."
)
ALIKE = " The features of a row and its target are protected alike."
RELEASED = " Released was what {name} has found, made of {answers}: {labels}."
NOTHING = " Nothing about the table was released."
WITHHELD = (
    " Not released were the rows, which of them were there, how many exactly, and any other exact "
    "count or value. Not hidden is what holds for people in general, whether they were in the "
    "table or not, such as a mean."
)
COUNTED = " Of those who own rows each counts as {n} at most, however many they own."
DOUBT = " The accuracy is low here: {doubts}."


def report_summary(report):
    """Return one paragraph: who is protected, how well, what was released and what not."""
    name, budget = report.estimator, report.budget
    if report.seeded:
        return NOBODY.format(name=name)
    guarantee = f"(epsilon={float(budget.epsilon):.4g}, delta={float(budget.delta):.3g})"
    guarantee += condition(report)
    guess, several, who = best_guess(report), best_guess(report, FEW), WHO[report.privacy_unit]
    if guess >= CERTAIN:
        text = USELESS.format(name=name, guarantee=guarantee, it=who["it"])
    else:
        text = PROTECTED.format(name=name, guess=percent(guess), **who)
        if several < CERTAIN and report.privacy_unit == "row":
            text += SEVERAL.format(few=FEW, guess=percent(several))
        text += CLAIM.format(guarantee=guarantee)
    alike = "" if report.target is None else ALIKE
    return text + alike + _counted(report) + _released(report) + WITHHELD + _low_accuracy(report)


def condition(report):
    """Return what the claim of a sum of reports holds for, nothing for one fit."""
    if not report.fits:
        return ""
    pure = report.budget.measure == "pure" and report.budget.delta == 0
    return IN_ANY_CASE if pure else FIXED


def best_guess(report, group_size=1):
    """Return how often the best guess is right whether some rows were in a table, at most."""
    told = advantage(report.epsilon(group_size=group_size), float(report.budget.delta))
    return (1 + min(told, report.delta(0.0, group_size=group_size))) / 2


def advantage(epsilon, delta):
    """Return how much a best guess gains on a coin, at most, as a part of certainty."""
    odds = math.exp(-epsilon)
    return min(1.0, (1 - odds + 2 * delta * odds) / (1 + odds))


def percent(probability):
    """Return a probability in per cent, rounded up to one digit."""
    return f"{min(math.ceil(1000 * probability) / 10, 100):g} %"


def _released(report):
    if not report.charges:
        return NOTHING
    times = Counter(charge.label for charge in report.charges)
    labels = ", ".join(label if n == 1 else f"{label} ({n} times)" for label, n in times.items())
    n = len(report.charges)
    answers = "one answer with noise" if n == 1 else f"{n} answers with noise"
    return RELEASED.format(name=report.estimator, answers=answers, labels=labels)


def _counted(report):
    """Return how much somebody with many rows counts, where persons are protected."""
    caps = [int(text.rpartition(" ")[2]) for text in caps_of(report)]
    rows = " or ".join("one row" if cap == 1 else f"{cap} rows" for cap in caps)
    return COUNTED.format(n=rows) if caps else ""


def _low_accuracy(report):
    doubts = "; ".join(text.rstrip(".") for text in accuracy_warnings(report))
    return DOUBT.format(doubts=doubts) if doubts else ""


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
