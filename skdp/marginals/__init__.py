"""Marginal tables of many attributes, all at once."""

from skdp.kernel._layout import Layout
from skdp.marginals._answers import CountEstimate
from skdp.marginals._display import MarginalDisplay
from skdp.marginals._inference import InferredStatistic
from skdp.marginals._levels import Bins
from skdp.marginals._marginal_releaser import MarginalReleaser
from skdp.marginals._residuals import Measurement
from skdp.marginals._synthetic_report import SyntheticReport

__all__ = [
    "Bins",
    "CountEstimate",
    "InferredStatistic",
    "Layout",
    "MarginalDisplay",
    "MarginalReleaser",
    "Measurement",
    "SyntheticReport",
]
