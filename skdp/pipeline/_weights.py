"""Which pipelines take weights of rows."""

from sklearn.utils.validation import has_fit_parameter

from skdp.contracts._chain import leaves_of
from skdp.contracts._contract import contract_of
from skdp.contracts._kinds import BoundedStatistic, Core, Joined
from skdp.estimator._estimator import PrivateEstimator

__all__ = ["refuse_weights_of"]

NO_WEIGHTS = (
    "sample_weight: this pipeline {}, which takes no weights of rows. Fit without, or leave the "
    'step out: user guide "Weights of rows" names the estimators that take them.'
)
TOGETHER = BoundedStatistic | Core | Joined


def refuse_weights_of(pipeline):
    """Raise ValueError for steps whose rows cannot have weights.

    What reads many rows together would draw them by their weights, and the step that follows again.
    """
    pipeline._check_steps()
    leaves = leaves_of(pipeline)
    spend = [leaf for leaf in leaves if isinstance(leaf, PrivateEstimator)]
    for leaf in leaves:
        contract = contract_of(leaf)
        own = leaf in spend and type(leaf)._of_persons is not PrivateEstimator._of_persons
        if own or (contract is not None and isinstance(contract.yields(None), TOGETHER)):
            raise ValueError(NO_WEIGHTS.format(f"has the step {type(leaf).__name__}"))
    if spend and not has_fit_parameter(spend[-1], "sample_weight"):
        raise ValueError(NO_WEIGHTS.format(f"ends with {type(spend[-1]).__name__}"))
