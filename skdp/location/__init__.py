"""Private estimates of location."""

from skdp.location._private_mean import PrivateMean
from skdp.location._private_sum import PrivateCount, PrivateSum
from skdp.location._private_variance import PrivateTrimmedMean, PrivateVariance
from skdp.location._statistics import PrivateMedian, PrivateMinMax, PrivateQuantile

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
