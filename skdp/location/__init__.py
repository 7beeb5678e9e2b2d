"""Private estimates of location."""

from skdp.location._private_count import PrivateCount
from skdp.location._private_mean import PrivateMean
from skdp.location._private_min_max import PrivateMinMax
from skdp.location._private_sum import PrivateSum
from skdp.location._private_trimmed_mean import PrivateTrimmedMean
from skdp.location._private_variance import PrivateVariance
from skdp.location._statistics import PrivateMedian, PrivateQuantile

__all__ = [
    "PrivateCount",
    "PrivateMean",
    "PrivateMedian",
    "PrivateMinMax",
    "PrivateQuantile",
    "PrivateSum",
    "PrivateTrimmedMean",
    "PrivateVariance",
]
