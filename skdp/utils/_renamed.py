"""Old names of public attributes and parameters, which work and warn; and what wrong names mean."""

import warnings
from difflib import get_close_matches
from functools import cache, wraps
from importlib import import_module
from inspect import Parameter, signature
from math import inf

from skdp.utils._warnings import stack_level

REMOVED = "0.3"  # the version without the old names


ROOMS = "stats", "metrics", "model_selection", "accounting", "audit", "base"
CLASSES = {  # what is written elsewhere, in lower case and without Private: what is here
    "kmeans": "skdp.FriendlyCoreKMeans or skdp.LloydKMeans",
    "minibatchkmeans": "skdp.LloydKMeans",
    "gaussianmixture": "skdp.PrivateGMM",
    "gaussiannb": "skdp.PrivateAdditiveClassifier",
    "multinomialnb": "skdp.PrivateAdditiveClassifier",
    "sgdclassifier": "skdp.PrivateLogisticRegression",
    "linearsvc": "skdp.PrivateLogisticRegression",
    "sgdregressor": "skdp.PrivateLinearRegression",
    "lasso": "skdp.PrivateRidge",
    "elasticnet": "skdp.PrivateRidge",
    "explainableboostingclassifier": "skdp.PrivateBoostingClassifier",
    "explainableboostingregressor": "skdp.PrivateBoostingRegressor",
    "gridsearchcv": "skdp.PrivateSearchCV",
    "randomizedsearchcv": "skdp.PrivateSearchCV",
    "classificationreport": "skdp.metrics.PrivateClassifierReport",
    "describe": "skdp.PrivateSummary",
    "valuecounts": "skdp.PrivateHistogram",
    "std": "skdp.PrivateVariance",
    "var": "skdp.PrivateVariance",
    "percentile": "skdp.PrivateQuantile",
    "anova": "skdp.stats.private_f_oneway",
    "ttest": "skdp.stats.private_ttest_ind",
    "crosstab": "skdp.stats.PrivateContingencyTable",
    "kaplanmeierfitter": "skdp.stats.PrivateSurvival",
    "coxphfitter": "skdp.stats.PrivateCoxRegression",
    "randomforest": "skdp.PrivateBoostingClassifier",
    "synthesizer": "skdp.MarginalReleaser and its sample()",
    "syntheticdata": "skdp.MarginalReleaser and its sample()",
    "budgetaccountant": "skdp.PrivacyLedger",
    "accountant": "skdp.PrivacyLedger",
    "budget": "skdp.PrivacyLedger",
    "connect": "skdp.remote.connect",
    "pipeline": "skdp.make_private_pipeline",
} | {
    f"{trees}{kind}": f"skdp.PrivateBoosting{kind.title()}"
    for trees in ("randomforest", "decisiontree", "gradientboosting", "xgb", "lgbm")
    for kind in ("classifier", "regressor")
}
PARAMETERS = {  # of other libraries: of these, the one that a class has
    "eps": ["epsilon"],
    "budget": ["epsilon"],
    "privacy_budget": ["epsilon"],
    "range": ["bounds"],
    "data_range": ["bounds"],
    "clip": ["bounds"],
    "data_norm": ["bounds"],
    "lower": ["bounds"],
    "upper": ["bounds"],
    "seed": ["random_state"],
    "rng": ["random_state"],
    "accountant": ["ledger"],
    "k": ["n_clusters", "n_components", "k"],
    "quantiles": ["q"],
    "quantile": ["q"],
    "percentile": ["q"],
    "penalty": ["C", "alpha"],
    "noise_multiplier": ["epsilon"],
    "groups": ["by"],
    "groupby": ["by"],
    "columns": ["by"],
}
ATTRIBUTES = {
    "mean": ["location_"],
    "means": ["location_", "cluster_centers_"],
    "center": ["location_"],
    "centers": ["cluster_centers_"],
    "centroids": ["cluster_centers_"],
    "count": ["n_rows_", "count_"],
    "cov": ["covariance_"],
    "std": ["scale_"],
    "var": ["var_"],
    "coefficients": ["coef_"],
    "weights": ["coef_"],
    "report": ["privacy_report_"],
    "to_df": ["to_frame"],
    "to_pandas": ["to_frame"],
    "to_dataframe": ["to_frame"],
}
SAME = 0.75  # of two names in difflib's ratio: a letter or two are wrong


def warn_renamed(old, new):
    """Warn that a name is an old one."""
    warnings.warn(
        f"{old} is called {new} now, and goes in skdp {REMOVED}. Write {new}.",
        FutureWarning,
        stacklevel=stack_level(),
    )


class Renamed(property):
    """Attribute under its old name: ``sure_ = Renamed("risk_estimate_")``.

    ``read`` makes the old value of the new one, where they differ.
    """

    def __init__(self, new, read=lambda value: value):
        super().__init__(self._get, self._set, doc=f"Deprecated: read ``{new}``.")
        self.new, self.read = new, read

    def __set_name__(self, owner, name):
        """Learn the old name."""
        self.old = name

    def _get(self, instance):
        value = getattr(instance, self.new)  # none before a fit, and then no warning
        warn_renamed(self.old, self.new)
        return self.read(value)

    def _set(self, instance, value):
        warn_renamed(self.old, self.new)
        setattr(instance, self.new, value)


def old_names(cls):
    """Return a dict from the old names of attributes and parameters of a class to the new ones."""
    return {
        name: member.new
        for base in reversed(cls.__mro__)
        for name, member in vars(base).items()
        if isinstance(member, Renamed)
    }


def old_keywords(function, names):
    """Return the function, which takes old keywords too."""

    @wraps(function)
    def call(*args, **keywords):
        return function(*args, **_with_new_names(keywords, names))

    return call


def _with_new_names(keywords, names):
    for old in keywords.keys() & names.keys():
        warn_renamed(f"{old}=", f"{names[old]}=")
    return new_state(keywords, names)


def new_state(state, names):
    """Return a dict, as it is in an older pickle, under the new names."""
    return {names.get(name, name): value for name, value in state.items()}


def keeps_old_names(cls):
    """Return a dataclass, with :class:`Renamed` fields: old pickles, old code."""
    names = old_names(cls)
    cls.__init__ = old_keywords(cls.__init__, names)
    cls.__setstate__ = lambda self, state: self.__init__(**new_state(state, names))
    return cls


class ExplainsNames:
    """Mixin whose errors about unknown attributes name what there is.

    **Privacy**: names of attributes are public, and nothing else is told.
    """

    def __getattr__(self, name):
        """Raise AttributeError; nothing else is looked up here."""
        if name.startswith("_") or hasattr(type(self), name):
            return object.__getattribute__(self, name)  # raises what it has raised before
        have = tuple(one for one in vars(self) if not one.startswith("_"))
        text = _Missing(type(self), name, have)
        raise AttributeError(text, name=name, obj=self)


class _Missing:
    """Text of an error, made when it is read: scikit-learn asks for many attributes in vain."""

    def __init__(self, *asked):
        self._asked = asked

    def __str__(self):
        cls, name, have = self._asked
        return f"{cls.__name__!r} object has no attribute {name!r}{_instead(cls, name, have)}"

    def __repr__(self):
        return repr(str(self))

    def __reduce__(self):
        return str, (str(self),)


class KeepsOldNames(ExplainsNames):
    """Mixin of classes with :class:`Renamed` attributes and parameters: old pickles, old code."""

    def __init_subclass__(cls, **keywords):
        """Let ``__init__`` take old keywords, and explain unknown ones."""
        super().__init_subclass__(**keywords)
        cls._old_names = old_names(cls)
        names = {old: new for old, new in cls._old_names.items() if not old.endswith("_")}
        if "__init__" in vars(cls):
            cls.__init__ = explains_keywords(cls.__init__)
            if names:
                cls.__init__ = old_keywords(cls.__init__, names)

    def set_params(self, **params):
        """Set the parameters of this estimator.

        Parameters
        ----------
        **params : dict
            Parameters by name; by ``<step>__<name>`` those of nested estimators.

        Returns
        -------
        self : object
        """
        return super().set_params(**_with_new_names(params, self._old_names))

    def __setstate__(self, state):
        """Read a pickle, also one with old names."""
        super().__setstate__(new_state(state, self._old_names))


def meant(name, names, prefix="skdp."):
    """Return the end of an error about an attribute of the package: what to use, or nothing."""
    key = _key(name)
    same = [f"{prefix}{one}" for one in names if _key(one) == key]
    if not same and key in CLASSES:
        return f". Use {CLASSES[key]}"
    for room in () if same else ROOMS:
        public = import_module(f"skdp.{room}").__all__
        same += [f"skdp.{room}.{one}" for one in public if _key(one) == key]
    same = same or [f"{prefix}{one}" for one in get_close_matches(name, names, 1, SAME)]
    return f". Use {same[0]}" if same else ""


def _key(name):
    return name.lower().replace("_", "").removeprefix("private").removeprefix("dp")


def explains_keywords(function):
    """Return an ``__init__`` whose error about an unknown parameter names the one to use."""

    @wraps(function)
    def __init__(self, *args, **named):
        if named and (unknown := next((n for n in named if n not in _known(function)), None)):
            raise TypeError(f"{type(self).__name__} has no parameter {_or(unknown, function)}")
        if len(args) > (most := _by_place(function)):
            raise TypeError(
                f"{type(self).__name__} takes {most or 'no'} parameters without a name. Got "
                f"{len(args)}: write the name of each, as in epsilon=1.0."
            )
        function(self, *args, **named)

    return __init__


@cache
def _known(function):
    """Return the names that a function takes; all, if it takes any."""
    told = signature(function).parameters
    takes_all = any(one.kind is Parameter.VAR_KEYWORD for one in told.values())
    return _Any() if takes_all else frozenset(told) - {"self"}


@cache
def _by_place(function):
    """Return how many parameters may be passed without their names."""
    kinds = [one.kind for one in signature(function).parameters.values()]
    if Parameter.VAR_POSITIONAL in kinds:
        return inf
    return kinds.count(Parameter.POSITIONAL_OR_KEYWORD) - 1


class _Any:
    def __contains__(self, name):
        return True


def _or(name, function):
    known = sorted(_known(function))
    near = [one for one in PARAMETERS.get(name, ()) if one in known]
    near = near or get_close_matches(name, known, 1, SAME)
    if near:
        return f"{name!r}. Use {near[0]}="
    return f"{name!r}. There are {', '.join(known)}."


def _instead(cls, name, have):
    """Return what to use in place of an attribute that an instance does not have."""
    known = [one for one in {*have, *dir(cls)} if not one.startswith("_")]
    near = [f"{name}_", *ATTRIBUTES.get(name.strip("_"), ())]
    near = [one for one in near if one in known] or get_close_matches(name, known, 1, SAME)
    if near:
        return f". Use {near[0]}"
    if name.endswith("_") and not any(one.endswith("_") for one in have):
        return ": it is not fitted yet. Call fit first"
    return ""
