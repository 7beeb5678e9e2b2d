"""Private estimates of location."""

from skdp.location._private_mean import PrivateMean

__all__ = ["PrivateMean"]
