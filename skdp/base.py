"""What an estimator of your own is built from.

Write a subclass of :class:`PrivateEstimator` with a ``plan`` and a ``_release``, made of the
building blocks below, and let :func:`skdp.audit.check_private_estimator` try to break it.
"""

from skdp._curator import Curator, Release
from skdp._estimator import PrivateEstimator
from skdp._local import Local
from skdp.accounting import Budget, Plan, Step
from skdp.chunks import ArrayRows, map_merge, weighed_sum
from skdp.mechanisms import ball_rows, ball_sum, box_rows, finite_rows, gram_sum, row_norms
from skdp.scales import clipped_sum, count_rows

__all__ = [
    "ArrayRows",
    "Budget",
    "Curator",
    "Local",
    "Plan",
    "PrivateEstimator",
    "Release",
    "Step",
    "ball_rows",
    "ball_sum",
    "box_rows",
    "clipped_sum",
    "count_rows",
    "finite_rows",
    "gram_sum",
    "map_merge",
    "row_norms",
    "weighed_sum",
]
