"""Private covariance matrices and principal components."""

from skdp.covariance._private_covariance import PrivateCovariance
from skdp.covariance._private_pca import PrivatePCA

__all__ = ["PrivateCovariance", "PrivatePCA"]
