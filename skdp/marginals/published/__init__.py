"""Marginals as Dwork, Nikolov and Talwar published them, with boosting for queries: functions."""

from skdp.marginals.published._boosting import boosted_answers, boosting_plan, sure_boosting_plan
from skdp.marginals.published._frank_wolfe import (
    average_error_bound,
    published_projection,
    relaxed_projection,
    steps_for,
    width_bound,
)
from skdp.marginals.published._relaxation import (
    from_parities,
    relaxed_body,
    to_parities,
    uniform_shares,
    walsh_hadamard,
)
from skdp.marginals.published._synopsis import jl_dimension, jl_synopsis

__all__ = [
    "average_error_bound",
    "boosted_answers",
    "boosting_plan",
    "from_parities",
    "jl_dimension",
    "jl_synopsis",
    "published_projection",
    "relaxed_body",
    "relaxed_projection",
    "steps_for",
    "sure_boosting_plan",
    "to_parities",
    "uniform_shares",
    "walsh_hadamard",
    "width_bound",
]
