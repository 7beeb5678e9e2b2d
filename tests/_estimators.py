"""Every public estimator, to be examined by being listed here."""

from skdp import PrivateMean

ESTIMATORS = [PrivateMean(), PrivateMean(epsilon=2.0, trim=True)]
