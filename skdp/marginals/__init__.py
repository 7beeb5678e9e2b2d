"""Marginal tables of many attributes, all at once."""

from skdp.marginals._allocation import expected_loss, noise_sd, optimal_shares, uniform_shares
from skdp.marginals._boosting import boosted_answers
from skdp.marginals._boosting_plan import BoostingPlan, boosting_plan
from skdp.marginals._display import MarginalDisplay
from skdp.marginals._estimates import CountEstimate
from skdp.marginals._frank_wolfe import (
    Projection,
    average_error_bound,
    relaxed_projection,
    steps_for,
    width_bound,
)
from skdp.marginals._layout import Layout, Measurement
from skdp.marginals._levels import Bins
from skdp.marginals._marginal_releaser import MarginalReleaser
from skdp.marginals._measure import measure
from skdp.marginals._parities import (
    from_parities,
    helmert,
    table_of,
    tables_of,
    to_parities,
    values_of,
    walsh_hadamard,
)
from skdp.marginals._postprocess import Processed, postprocess
from skdp.marginals._replace_one import replace_one_factor
from skdp.marginals._synopsis import jl_dimension, jl_synopsis
from skdp.marginals._workload import all_subsets, workload_layout

__all__ = [
    "Bins",
    "BoostingPlan",
    "CountEstimate",
    "Layout",
    "MarginalDisplay",
    "MarginalReleaser",
    "Measurement",
    "Processed",
    "Projection",
    "all_subsets",
    "average_error_bound",
    "boosted_answers",
    "boosting_plan",
    "expected_loss",
    "from_parities",
    "helmert",
    "jl_dimension",
    "jl_synopsis",
    "measure",
    "noise_sd",
    "optimal_shares",
    "postprocess",
    "relaxed_projection",
    "replace_one_factor",
    "steps_for",
    "table_of",
    "tables_of",
    "to_parities",
    "uniform_shares",
    "values_of",
    "walsh_hadamard",
    "width_bound",
    "workload_layout",
]
