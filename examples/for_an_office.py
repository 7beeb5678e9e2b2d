"""
A day of a statistics office: a table to publish
================================================

A survey becomes a table of counts with intervals, synthetic rows, and a record for the registry of
deployments.
"""

# %%
# A made-up survey.
import json

import numpy as np
import pandas as pd

from skdp import MarginalReleaser

rng = np.random.default_rng(0)
n = 30_000
region = rng.choice(["north", "south", "west"], size=n, p=[0.5, 0.3, 0.2])
survey = pd.DataFrame(
    {
        "region": region,
        "age": rng.normal(45, 16, size=n).clip(18, 95).round(),
        "works": np.where(rng.random(n) < np.where(region == "north", 0.7, 0.55), "yes", "no"),
    }
)

# %%
# Regions and answers are public, ages are put into bins that are found privately.
public = {"region": ["north", "south", "west"], "works": ["yes", "no"], ...: "auto"}
tables = MarginalReleaser(k=2, domain=public, epsilon=1.0, delta=1e-6).fit(survey)
print(tables.marginal(["region", "works"]))

# %%
# A count with its interval, and rows that look like those of the survey.
print(tables.query({"region": ["north"], "works": ["yes"]}))
print(tables.sample(5, random_state=0))

# %%
# The record of the publication.
entry = tables.privacy_report_.to_registry(
    name="Work by region, 2025",
    data_curators="Office of Statistics",
    description="Counts by region, age and work.",
    intended_use="Public tables",
    data_product_region="Nowhere",
    data_product_type="Synthetic data",
    data_product_sector="Government",
    publication_date="2026-02-01",
    registry_authors="A. Writer",
)
print(json.dumps(entry["deployment"]["privacy_loss"]["privacy_parameters"]))
