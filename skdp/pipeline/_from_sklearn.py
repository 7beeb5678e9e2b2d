"""Private pipelines made of steps, or of a pipeline of scikit-learn."""

from functools import partial

from sklearn.base import clone

import skdp
from skdp.contracts import parts_of, qualified
from skdp.pipeline._private_pipeline import PrivatePipeline


def make_private_pipeline(*steps, **parameters):
    """Return a PrivatePipeline whose steps are named by their classes.

    Parameters
    ----------
    *steps : estimators
    **parameters
        Of :class:`PrivatePipeline`: ``epsilon``, ``delta``, ``split``, ``random_state``,
        ``ledger``, ``verbose``.

    Returns
    -------
    pipeline : PrivatePipeline

    See Also
    --------
    PrivatePipeline, check_pipeline

    Notes
    -----
    **Privacy**: that of :class:`PrivatePipeline`: one (epsilon, delta) for all steps together.

    Examples
    --------
    >>> from skdp import FriendlyCoreFilter, JamesSteinDenoiser, PrivateMean, make_private_pipeline
    >>> pipe = make_private_pipeline(FriendlyCoreFilter(), PrivateMean(), JamesSteinDenoiser())
    >>> [name for name, _ in pipe.steps]
    ['friendlycorefilter', 'privatemean', 'jamessteindenoiser']
    """
    names = [step if isinstance(step, str) else type(step).__name__.lower() for step in steps]
    numbered = [
        f"{name}-{names[: i + 1].count(name)}" if names.count(name) > 1 else name
        for i, name in enumerate(names)
    ]
    return PrivatePipeline(list(zip(numbered, steps, strict=True)), **parameters)


BOOSTING = "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoosting"

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
    "sklearn.linear_model._base.LinearRegression": ("PrivateLinearRegression", ("fit_intercept",)),
    "sklearn.linear_model._ridge.Ridge": ("PrivateRidge", ("alpha", "fit_intercept")),
    "sklearn.linear_model._logistic.LogisticRegression": (
        "PrivateLogisticRegression",
        ("C", "fit_intercept"),
    ),
    # what trees are allowed to grow says nothing about terms
    f"{BOOSTING}Classifier": ("PrivateBoostingClassifier", ("class_weight", "monotonic_cst")),
    f"{BOOSTING}Regressor": ("PrivateBoostingRegressor", ("monotonic_cst",)),
}

# Class of scikit-learn -> parameters that make another model of it, what they may be, the way out.
SIGNS = ("positive", (False,), "Coefficients of any sign come with positive=False.")
WEIGHTS = (
    "class_weight",
    (None,),
    "Rows cannot be weighted, which would scale what one of them can change; predict_proba can be "
    "compared with any threshold instead.",
)
COLUMNS = (
    "categorical_features",
    (None, "from_dtype"),
    "Texts and categories of a frame are categorical by their types; public levels are told by "
    "categories= of the private estimator.",
)
RESTRICTED = {
    "sklearn.linear_model._base.LinearRegression": (SIGNS,),
    "sklearn.linear_model._ridge.Ridge": (SIGNS,),
    "sklearn.linear_model._logistic.LogisticRegression": (
        WEIGHTS,
        ("penalty", ("l2", "deprecated"), "The squared penalty comes with penalty='l2'."),
        ("l1_ratio", (None, 0, 0.0), "The squared penalty comes with l1_ratio=0."),
    ),
    f"{BOOSTING}Classifier": (COLUMNS,),
    f"{BOOSTING}Regressor": (
        COLUMNS,
        ("loss", ("squared_error",), "Means are predicted with loss='squared_error'."),
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
        given = step.get_params(deep=False)
        _require_the_same_model(step, name, given)
        made = getattr(skdp, name)()
        names = made.get_params(deep=False)
        kept = {key: given[key] for key in shared if key in given and key in names}
        return made.set_params(**{k: v for k, v in kept.items() if v is not None})
    step = clone(step)
    if parts_of(step)[0] is None:
        return step
    attribute = next(n for n in ("transformers", "transformer_list", "steps") if hasattr(step, n))
    parts = [(part[0], counterpart(part[1]), *part[2:]) for part in getattr(step, attribute)]
    return step.set_params(**{attribute: parts})


def _require_the_same_model(step, name, given):
    """Raise ValueError for parameters that ask for a model of which there is no private one."""
    for key, allowed, way_out in RESTRICTED.get(qualified(step), ()):
        value = given.get(key, allowed[0])
        if not any(value is one or (type(value) is type(one) and value == one) for one in allowed):
            raise ValueError(
                f"{type(step).__name__} with {key}={value!r} has no private counterpart: "
                f"{name} does without. {way_out}"
            )
    alpha = given.get("alpha")
    if isinstance(alpha, list | tuple) or getattr(alpha, "ndim", 0):
        raise ValueError(
            f"{name} predicts one target, with one alpha. Pass a number to {type(step).__name__}."
        )
