"""Private Gaussian mixtures."""

from skdp.mixture._private_gmm import PrivateGMM

__all__ = ["PrivateGMM"]
