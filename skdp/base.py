"""What an estimator of your own is built from.

Write a subclass of :class:`PrivateEstimator` with a ``plan`` and a ``_release``, made of the
building blocks below, and let :func:`skdp.audit.check_private_estimator` try to break it.
"""

from skdp._private_part import Local
from skdp.accounting import Budget, Plan, Step
from skdp.estimator._estimator import PrivateEstimator
from skdp.gate._curator import Curator, Release
from skdp.kernel._plain import public
from skdp.kernel._statistic import OneCell, Statistic, certified
from skdp.kernel._sums import Count
from skdp.kernel._table import Noisy, Table
from skdp.mechanisms import ball_rows, ball_sum, box_rows, finite_rows, gram_sum, row_norms
from skdp.readers import ArrayRows, map_merge, weighed_sum
from skdp.scales import clipped_sum, count_rows

__all__ = [
    "ArrayRows",
    "Budget",
    "Count",
    "Curator",
    "Local",
    "Noisy",
    "OneCell",
    "Plan",
    "PrivateEstimator",
    "Release",
    "Statistic",
    "Step",
    "Table",
    "ball_rows",
    "ball_sum",
    "box_rows",
    "certified",
    "clipped_sum",
    "count_rows",
    "finite_rows",
    "gram_sum",
    "map_merge",
    "public",
    "row_norms",
    "weighed_sum",
]
