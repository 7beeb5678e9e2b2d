"""The answers of MarginalReleaser by private boosting, in place of noise on residuals."""

import numpy as np

from skdp.accounting import Step
from skdp.marginals._boosting import boosted_answers
from skdp.marginals._boosting_plan import ANSWERS, CHOICES, COUNT
from skdp.marginals._layout import Measurement
from skdp.marginals._parities import from_parities
from skdp.marginals._promises import sure_boosting_plan

__all__ = ["boosting_steps", "release_boosted", "require_boosting"]

MOST_QUERIES = 1000
STEPS = 100
DEARER = (
    'error="worst" promises a smaller largest error than private boosting, at the same price: '
    "compare their plans"
)


def require_boosting(tables, postprocess, nonnegative):
    """Raise ValueError if the tables cannot be released by boosting."""
    layout = tables.layout
    n_queries = len(layout.lengths) - 1
    if not layout.binary or n_queries > MOST_QUERIES:
        raise ValueError(
            "error='boosting' needs columns of two levels, and at most "
            f"{MOST_QUERIES} sets of columns in all tables. Got {n_queries} sets: ask for fewer "
            "tables, or pass error='worst', which promises more."
        )
    if postprocess not in ("auto", "none") or nonnegative:
        raise ValueError(
            "what error='boosting' promises holds for its own answers: leave postprocess='auto' "
            f"and nonnegative=False. Got {postprocess!r} and {nonnegative!r}."
        )


def boosting_steps(tables=None, budget=None):
    """Return the steps of a plan; without tables, room for all that boosting may be asked for."""
    if tables is not None:
        return sure_boosting_plan(len(tables.layout.lengths) - 1, budget).steps
    most = sure_boosting_plan(MOST_QUERIES, budget)
    return (
        Step("count", at_most=COUNT),
        Step("answers", at_most=ANSWERS / 2, times=most.rounds),
        Step("query", "select", CHOICES, (most.rounds - 1) * most.sampled),
    )


def release_boosted(rows, tables, curator):
    """Release parities by boosting; return fitted attributes.

    The noise of the answers has no known law, so what is promised stands in for its scale.

    Parameters
    ----------
    rows : ArrayRows of codes 0 and 1
    tables : Tables
    curator : Curator
        Of a plan with :func:`boosting_steps`.

    Notes
    -----
    **Privacy**: that of :func:`boosted_answers`; the rest is public.
    """
    layout = tables.layout
    sets = [tuple(row) for rows_of in layout.subsets[1:] for row in rows_of.tolist()]
    plan = sure_boosting_plan(len(sets), curator.budget)
    parities, n_rows = boosted_answers(rows, sets, curator, plan, steps=STEPS)
    residuals = from_parities(layout, np.concatenate([[n_rows], parities]))
    curator.decide(DEARER)
    return {
        "n_rows_": float(n_rows),
        "noise_scale_": plan.bound,
        "error_bound_": plan.bound,
        "risk_": plan.bound / n_rows,
        "advice_": DEARER,
        "postprocess_": "none",
        "measurement_": Measurement(layout, residuals, None, tables.loss),
        "residuals_": residuals,
        "joint_": np.empty(0),
    }
