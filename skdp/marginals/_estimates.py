"""Counts and their intervals, from a release whose noise is known or that is only bounded."""

import math
from dataclasses import dataclass

from skdp.denoising._intervals import coordinate_interval
from skdp.marginals._noise_scale import noise_scale
from skdp.marginals._promises import CONFIDENCE

__all__ = ["CountEstimate", "count_interval"]


@dataclass(frozen=True)
class CountEstimate:
    """The answer to a counting query.

    Parameters
    ----------
    count : float
        Estimated number of rows.
    noise_scale : float
        Standard deviation of the count before post-processing; NaN with ``error="boosting"``.
    interval : (float, float)
        Interval around that count. What post-processing has moved may be outside of it.
    """

    count: float
    noise_scale: float
    interval: tuple


def count_interval(fit, raw, places, chosen, confidence, simultaneous=False):
    """Return the standard deviation of released counts, and the ends of intervals around them.

    Parameters
    ----------
    fit : MarginalReleaser
    raw : float or ndarray
        Counts as released.
    places, chosen
        As for :func:`noise_scale`.
    confidence : float
    simultaneous : bool, default=False

    Notes
    -----
    Of boosted answers only a bound is known: it holds for all counts at once.
    """
    if fit.measurement_.sd is not None:
        sd = noise_scale(fit.measurement_, places, chosen)
        return sd, *coordinate_interval(raw, sd, confidence, simultaneous=simultaneous)
    if not 0 < confidence <= CONFIDENCE:
        raise ValueError(
            "intervals with error='boosting' are its promise, error_bound_, which holds with "
            f"probability {CONFIDENCE}. Got confidence={confidence!r}: ask for no more."
        )
    return math.nan, raw - fit.error_bound_, raw + fit.error_bound_
