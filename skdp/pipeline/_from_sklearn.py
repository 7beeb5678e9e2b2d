"""The private counterparts of scikit-learn's steps."""

from functools import partial

from sklearn.base import clone

import skdp
from skdp.contracts._chain import parts_of
from skdp.contracts._row_wise import qualified

__all__ = ["private_steps"]

# Class of scikit-learn -> ours, and the parameters that mean the same in both.
COUNTERPARTS = {
    "sklearn.preprocessing._data.StandardScaler": (
        "PrivateStandardScaler",
        ("with_mean", "with_std"),
    ),
    "sklearn.preprocessing._data.MinMaxScaler": ("PrivateMinMaxScaler", ("feature_range", "clip")),
    "sklearn.preprocessing._data.RobustScaler": (
        "PrivateRobustScaler",
        ("with_centering", "with_scaling", "quantile_range"),
    ),
    "sklearn.decomposition._pca.PCA": ("PrivatePCA", ("n_components", "whiten")),
    # an array for init may come from the rows
    **dict.fromkeys(
        ("sklearn.cluster._kmeans.KMeans", "sklearn.cluster._kmeans.MiniBatchKMeans"),
        ("FriendlyCoreKMeans", ("n_clusters", "n_init", "max_iter", "tol")),
    ),
    "sklearn.mixture._gaussian_mixture.GaussianMixture": (
        "PrivateGMM",
        ("n_components", "covariance_type"),
    ),
    **dict.fromkeys(
        (
            "sklearn.covariance._empirical_covariance.EmpiricalCovariance",
            "sklearn.covariance._shrunk_covariance.LedoitWolf",
            "sklearn.covariance._shrunk_covariance.OAS",
            "sklearn.covariance._shrunk_covariance.ShrunkCovariance",
        ),
        ("PrivateCovariance", ("assume_centered", "store_precision")),
    ),
}


def private_steps(pipeline):
    """Return the pairs (name, step) of a Pipeline, with private counterparts where we have any."""
    parts, in_turn = parts_of(pipeline)
    if not in_turn:
        raise TypeError(
            f"from_sklearn takes a Pipeline of scikit-learn. Got {type(pipeline).__name__}: put it "
            "into one, or pass a list of steps to PrivatePipeline."
        )
    return [(name, counterpart(step)) for name, step in parts]


def counterpart(step):
    """Return our version of a step, or a clone of the step."""
    if isinstance(step, str | None):
        return step
    if qualified(step) == "sklearn.preprocessing._function_transformer.FunctionTransformer":
        func = partial(step.func, **step.kw_args) if step.kw_args else step.func
        return skdp.RowMap(func, feature_names_out=step.feature_names_out)
    if qualified(step) in COUNTERPARTS:
        name, shared = COUNTERPARTS[qualified(step)]
        made, given = getattr(skdp, name)(), step.get_params(deep=False)
        names = made.get_params(deep=False)
        kept = {key: given[key] for key in shared if key in given and key in names}
        return made.set_params(**{k: v for k, v in kept.items() if v is not None})
    step = clone(step)
    if parts_of(step)[0] is None:
        return step
    attribute = next(n for n in ("transformers", "transformer_list", "steps") if hasattr(step, n))
    parts = [(part[0], counterpart(part[1]), *part[2:]) for part in getattr(step, attribute)]
    return step.set_params(**{attribute: parts})
