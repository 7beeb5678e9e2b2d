"""Linear models under differential privacy, without bounds on the data."""

from skdp.linear._private_logistic_regression import PrivateLogisticRegression
from skdp.linear._private_ridge import PrivateLinearRegression, PrivateRidge

__all__ = ["PrivateLinearRegression", "PrivateLogisticRegression", "PrivateRidge"]
