"""What the FriendlyCore paper has beside the roads that estimators take by default.

BasicFilter and its (epsilon, delta) paradigm, and its predicates of ordered tuples, of covariance
matrices, and of any function of two rows.
"""

from skdp.friendly.published._basic_filter import (
    basic_filter,
    basic_filter_gamma,
    paradigm,
    paradigm_inverse,
)
from skdp.friendly.published._covariances import (
    CovarianceDistance,
    PairwisePredicate,
    TupleDistance,
)

__all__ = [
    "CovarianceDistance",
    "PairwisePredicate",
    "TupleDistance",
    "basic_filter",
    "basic_filter_gamma",
    "paradigm",
    "paradigm_inverse",
]
