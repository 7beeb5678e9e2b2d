"""What a step reads and yields: kinds of data, contracts, and steps of scikit-learn by rows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real


@dataclass(frozen=True)
class Kind:
    """What is known about the data between two steps.

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.
    """


@dataclass(frozen=True)
class Rows(Kind):
    """Private rows; neighbouring tables differ in one of them.

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.
    """


@dataclass(frozen=True)
class Core(Rows):
    """Private rows of which every two share a friend under ``predicate``.

    The predicate, or its class where the fit finds it, is what a plan can tell of the core; a fit
    hands on the core together with the very predicate that certified it.

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.
    """

    predicate: object = None  # Predicate, class or None


@dataclass(frozen=True)
class Joined(Rows):
    """Private rows of which each person has one, made of all rows that it had before.

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.
    """


@dataclass(frozen=True)
class BoundedStatistic(Kind):
    """A private statistic, ``name``, that moves by at most ``sensitivity`` between neighbours.

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.
    """

    name: str = ""
    sensitivity: float = 0.0


@dataclass(frozen=True)
class Released(Kind):
    """A value that has passed the Curator; everything computed from it is free.

    ``law`` names its noise: "gaussian", "laplace" or "mixed". ``vector`` tells whether it is a
    vector with independent noise of known size, which is what a denoiser takes.

    Notes
    -----
    **Privacy**: tells what kind of data comes, not the data: it costs nothing.
    """

    law: str = "gaussian"  # {"gaussian", "laplace", "mixed"}
    vector: bool = False


PARTS = {  # of which parameter holds the named steps of a container
    "sklearn.compose._column_transformer.ColumnTransformer": "transformers",
    "sklearn.pipeline.FeatureUnion": "transformer_list",
    "sklearn.pipeline.Pipeline": "steps",
}


def _anything(step):
    return None


def _public_categories(step):
    if isinstance(step.categories, str):
        return "takes its categories from the rows. Pass categories, one public list per column"
    if any(isinstance(c, Real) and abs(c) >= 2**53 for column in step.categories for c in column):
        return (
            "has categories of 2^53 and more, which a missing value in another row would round. "
            "Pass them as text"
        )
    if step.handle_unknown == "error":
        return (
            "raises an error for a row with an unknown category, which tells that it is there. "
            'Set handle_unknown="ignore" (OneHotEncoder) or "use_encoded_value" (OrdinalEncoder)'
        )
    if step.min_frequency is not None or step.max_categories is not None:
        return "counts categories in the rows. Set min_frequency=None and max_categories=None"
    return None


def _constant_fill(step):
    problems = []
    if step.strategy != "constant":
        problems.append(
            'computes what it fills in from the rows. Set strategy="constant" and fill_value'
        )
    if step.add_indicator or not step.keep_empty_features:
        problems.append(
            "lets the rows decide on its columns. Set add_indicator=False and "
            "keep_empty_features=True"
        )
    return "; and ".join(problems) or None


# Class -> what is wrong with an instance as a row-wise map, or None. None of them multiplies
# matrices, which gives a row other bits in other tables, and none fails on a row of numbers.
ROW_WISE = {
    "sklearn.preprocessing._data.Binarizer": _anything,
    "sklearn.preprocessing._data.Normalizer": _anything,
    "sklearn.preprocessing._polynomial.PolynomialFeatures": _anything,
    "sklearn.preprocessing._encoders.OneHotEncoder": _public_categories,
    "sklearn.preprocessing._encoders.OrdinalEncoder": _public_categories,
    "sklearn.impute._base.SimpleImputer": _constant_fill,
}

PUBLIC_FIT = "fit it on public data, PublicFit({name}(...), X_public)"

WAYS_OUT = {
    "StandardScaler": "Use PrivateStandardScaler, or " + PUBLIC_FIT,
    "MinMaxScaler": "Use PrivateMinMaxScaler, or " + PUBLIC_FIT,
    "RobustScaler": "Use PrivateRobustScaler, or " + PUBLIC_FIT,
    "PCA": "Use PrivatePCA, or " + PUBLIC_FIT,
    "KMeans": "Use FriendlyCoreKMeans",
    "MiniBatchKMeans": "Use FriendlyCoreKMeans",
    "GaussianMixture": "Use PrivateGMM",
    "BayesianGaussianMixture": "Use PrivateGMM",
    "EmpiricalCovariance": "Use PrivateCovariance",
    "LedoitWolf": "Use PrivateCovariance",
    "OAS": "Use PrivateCovariance",
    "ShrunkCovariance": "Use PrivateCovariance",
    "FunctionTransformer": "Use RowMap(func), for a function of each row by itself",
    "KBinsDiscretizer": "Use PrivateHistogram, or " + PUBLIC_FIT,
    "LinearRegression": "Use PrivateLinearRegression",
    "Ridge": "Use PrivateRidge",
    "LogisticRegression": "Use PrivateLogisticRegression",
}
OF_A_TYPE = {
    "classifier": "Use PrivateBoostingClassifier, or PrivateLogisticRegression on few numbers",
    "regressor": "Use PrivateBoostingRegressor, or PrivateRidge on few numbers",
}


def qualified(step):
    """Return the full name of the class of a step, of scikit-learn's if it stands for one."""
    cls = getattr(step, "row_wise_of", None) or type(step)
    return f"{cls.__module__}.{cls.__qualname__}"


def row_wise_problem(step):
    """Return what is wrong with a scikit-learn step as a map of single rows."""
    judge = ROW_WISE.get(qualified(step))
    return False if judge is None else judge(step)


def way_out(step):
    """Return what is wrong with a step of an unknown class, and what to use in its place."""
    name = type(step).__name__
    if name == "FrozenEstimator":
        return (
            "learns nothing here, but could have learnt from private rows. If what it knows is "
            "public, say so: PublicFit(FrozenEstimator(...)), without X_public."
        )
    text = "Use a step of skdp in its place"
    if hasattr(step, "transform"):
        text += ", or " + PUBLIC_FIT
    tags = step.__sklearn_tags__() if hasattr(step, "__sklearn_tags__") else None
    text = OF_A_TYPE.get(getattr(tags, "estimator_type", None), text)
    text = WAYS_OUT.get(name, text).format(name=name)
    return f"would learn from private rows, and could hand anything on. {text}."


@dataclass(frozen=True)
class Contract:
    """What a step accepts, what it yields, and whether it spends budget.

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.
    """

    # kinds that the step can be given; a subclass of a kind is also that kind
    consumes: tuple[type[Kind], ...]
    # maps the kind that came in to the kind that goes out
    yields: Callable[[Kind], Kind] = field(default=lambda kind: kind)
    spends: bool = False  # whether fitting releases something and so needs a share of the budget
    # share of the budget, relative to other steps, where nobody says how to split it
    weight: float = 1.0
    # maps an accepted kind to what is wrong with it, a text with the way out, or None
    problem: Callable[[Kind], str | None] = field(default=lambda kind: None)
    # {"number", "class"} or None: of what kind the target is that the step needs beside the rows
    target: str | None = None

    def accepts(self, kind):
        """Return whether the step can be given data of this kind."""
        return isinstance(kind, self.consumes)


def contract_of(step):
    """Return the contract of a step, or None for a step that nothing is known about.

    Looks for a method ``__skdp_contract__``, then for the entry in the table of scikit-learn's
    row-wise transformers. None means that the step must be refused: a transformer that learns from
    raw rows hands private values on.

    Notes
    -----
    **Privacy**: looks at the step and at no row, so it costs nothing.
    """
    declared = getattr(step, "__skdp_contract__", None)
    if callable(declared) and not isinstance(step, type):
        return declared()
    if not isinstance(step, type) and row_wise_problem(step) is None:
        return Contract(consumes=(Rows,), yields=lambda kind: Rows())
    return None


def target_of(step):
    """Return what y is to a step: "number", "class", or None if it needs none.

    Notes
    -----
    **Privacy**: looks at the step and at no row, so it costs nothing.
    """
    contract = contract_of(step)
    return None if contract is None else contract.target
