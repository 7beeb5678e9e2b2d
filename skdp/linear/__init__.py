"""Linear models under differential privacy, without bounds on the data."""

from skdp.linear._private_linear_regression import PrivateLinearRegression
from skdp.linear._private_logistic_regression import PrivateLogisticRegression
from skdp.linear._private_ridge import PrivateRidge

__all__ = ["PrivateLinearRegression", "PrivateLogisticRegression", "PrivateRidge"]
