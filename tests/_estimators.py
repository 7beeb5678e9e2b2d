"""Every public estimator, to be examined by being listed here."""

from skdp import FriendlyCoreFilter, PrivateMean

ESTIMATORS = [
    PrivateMean(),
    PrivateMean(epsilon=2.0, trim=True),
    PrivateMean(epsilon=4.0, method="friendly"),
    FriendlyCoreFilter(epsilon=4.0),
]
