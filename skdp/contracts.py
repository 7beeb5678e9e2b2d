"""What a step reads and yields, and the rules of a chain: all is released before it ends."""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real


@dataclass(frozen=True)
class Kind:
    """What is known about the data between two steps.

    Notes
    -----
    **Privacy**: a kind tells what data comes, not the data: it costs nothing.
    """


@dataclass(frozen=True)
class Rows(Kind):
    """Private rows; neighbouring tables differ in one of them."""


@dataclass(frozen=True)
class Core(Rows):
    """Private rows of which every two share a friend under ``predicate``.

    The predicate, or its class where the fit finds it, is what a plan can tell of the core; a fit
    hands on the core together with the very predicate that certified it.
    """

    predicate: object = None  # Predicate, class or None


@dataclass(frozen=True)
class Joined(Rows):
    """Private rows of which each person has one, made of all rows that it had before."""


@dataclass(frozen=True)
class BoundedStatistic(Kind):
    """A private statistic, ``name``, that moves by at most ``sensitivity`` between neighbours."""

    name: str = ""
    sensitivity: float = 0.0


@dataclass(frozen=True)
class Released(Kind):
    """A value that has passed the Curator; everything computed from it is free.

    ``law`` names its noise: "gaussian", "laplace" or "mixed". ``vector`` tells whether it is a
    vector with independent noise of known size, which is what a denoiser takes.
    """

    law: str = "gaussian"  # {"gaussian", "laplace", "mixed"}
    vector: bool = False


PARTS = {  # of which parameter holds the named steps of a container
    "sklearn.compose._column_transformer.ColumnTransformer": "transformers",
    "sklearn.pipeline.FeatureUnion": "transformer_list",
    "sklearn.pipeline.Pipeline": "steps",
}


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
    "sklearn.preprocessing._data.Binarizer": lambda step: None,
    "sklearn.preprocessing._data.Normalizer": lambda step: None,
    "sklearn.preprocessing._polynomial.PolynomialFeatures": lambda step: None,
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
    """What a step accepts, what it yields, and whether it spends budget."""

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

    **Privacy**: looks at the step and at no row, so it costs nothing.
    """
    declared = getattr(step, "__skdp_contract__", None)
    if callable(declared) and not isinstance(step, type):
        return declared()
    if not isinstance(step, type) and row_wise_problem(step) is None:
        return Contract(consumes=(Rows,), yields=lambda kind: Rows())
    return None


def target_of(step):
    """Return what y is to a step: "number", "class", or None if it needs none."""
    return getattr(contract_of(step), "target", None)


IDLE = ("passthrough", "drop", None)
SELECTOR = "sklearn.compose._column_transformer.make_column_selector"  # reads names and types


def chain_problems(steps):
    """Return every problem of a chain of steps, each with the way out."""
    problems = []
    kind, released = _follow(steps, Rows(), problems, "")
    if not steps:
        problems.append("a chain without steps releases nothing. Add a private estimator.")
    elif isinstance(kind, Core | BoundedStatistic) or not (released or isinstance(kind, Released)):
        problems.append(
            f"{steps[-1][0]!r} yields private {type(kind).__name__}: nothing is released of it. "
            "End with an estimator that releases its result, for instance PrivateMean."
        )
    targets = {target_of(leaf): leaf for _, step in steps for leaf in leaves_of(step)}
    if {"number", "class"} <= set(targets):
        number, classes = (type(targets[kind]).__name__ for kind in ("number", "class"))
        problems.append(
            f"{number} needs numbers in y, and {classes} classes. A PrivateTargetEncoder takes "
            'classes with target_type="multiclass".'
        )
    return problems


def parts_of(step):
    """Return the named steps of a container of scikit-learn and whether they follow one another."""
    name = PARTS.get(qualified(step))
    if name is None:
        return None, False
    parts = [(part[0], part[1]) for part in getattr(step, name)]
    remainder = getattr(step, "remainder", None)
    if not isinstance(remainder, str | None):
        parts.append(("remainder", remainder))
    return parts, name == "steps"


def leaves_of(step):
    """Return the steps inside a step, of a chain or container those inside its parts."""
    parts = parts_of(step)[0]
    parts = getattr(step, "steps", None) if parts is None else parts
    if isinstance(step, type | str | None) or not isinstance(parts, list):
        return [] if isinstance(step, str | None) else [step]
    return [leaf for part in parts if len(part) == 2 for leaf in leaves_of(part[1])]


def columns_by_rows(step):
    """Return the names of the branches whose columns a function of the rows chooses."""
    branches = getattr(step, "transformers", ())
    return [
        branch[0]
        for branch in branches
        if len(branch) == 3 and callable(branch[2]) and qualified(branch[2]) != SELECTOR
    ]


def _follow(steps, kind, problems, path):
    """Return the kind that a chain yields, and whether its last step releases what it learns."""
    spends = False
    last = [name for name, step in steps if step not in IDLE][-1:]
    for name, step in steps:
        if isinstance(step, str | None):
            if step not in IDLE:
                problems.append(f"{path + name!r} is {step!r}. Pass an estimator or 'passthrough'.")
            continue
        parts, in_turn = parts_of(step)
        if parts is not None:
            problems += [
                f"{path + name + '__' + branch!r} chooses its columns by a function, which could "
                "look at the rows. Name the columns, or use make_column_selector."
                for branch in columns_by_rows(step)
            ]
            kind, spends = _inside(f"{path}{name}", parts, in_turn, kind, problems)
            continue
        contract = contract_of(step)
        what = f"{path + name!r} ({type(step).__name__})"
        if isinstance(step, type) or not hasattr(step, "get_params"):
            out = "an instance of it" if isinstance(step, type) else "RowMap(func) for a function"
            problems.append(f"{what} is no estimator. Pass {out}.")
            kind, spends = Rows(), True
            continue
        if contract is None:
            reason = row_wise_problem(step)
            problems.append(f"{what} {reason}." if reason else f"{what} {way_out(step)}")
            kind, spends = Rows(), True
            continue
        if not contract.accepts(kind):
            problems.append(_mismatch(what, contract, kind))
        elif contract.problem(kind):
            problems.append(f"{what} {contract.problem(kind)}")
        maps = isinstance(contract.yields(kind), Rows)
        if contract.target is not None and not maps and (path or [name] != last):
            problems.append(
                f"{what} needs y, which a pipeline hands to its last step, and to steps that map "
                "rows. Make it the last step of the pipeline itself."
            )
        kind, spends = contract.yields(kind), contract.spends
        if path and isinstance(kind, Core):
            problems.append(
                f"{what} filters rows inside a container, which hands on what equals a row of the "
                "core, without its certificate. Make the filter a step of the pipeline itself."
            )
            kind = Rows()
        if path and isinstance(kind, Joined):
            problems.append(
                f"{what} makes one row of several inside a container, whose other branches keep "
                "all rows. Make it a step of the pipeline itself."
            )
            kind = Rows()
    return kind, spends


def _inside(path, parts, in_turn, kind, problems):
    """Follow the branches of a container: each must yield rows, with one entry per row."""
    if not isinstance(kind, Rows):
        problems.append(
            f"{path!r} reads Rows, but the step before it yields {type(kind).__name__}. Change the "
            "order of the steps."
        )
    spends = False
    for chain in [parts] if in_turn else [[part] for part in parts]:
        out, spent = _follow(chain, Rows(), problems, path + "__")
        spends |= spent
        if not isinstance(out, Rows):
            problems.append(
                f"{path + '__' + chain[-1][0]!r} yields {type(out).__name__}, but a branch must "
                "map rows to rows. Move it out of the branch, to the end of the chain."
            )
    return Rows(), spends


def _mismatch(what, contract, kind):
    wanted = " or ".join(k.__name__ for k in contract.consumes)
    hint = "Change the order of the steps."
    if isinstance(kind, Released):
        hint = (
            "After a release only post-processing follows: denoisers. Put what reads rows before "
            "it, or fit it on its own with a share of a PrivacyLedger."
        )
    elif isinstance(kind, BoundedStatistic):
        hint = "Release it first, with LaplaceMechanism or GaussianMechanism."
    elif BoundedStatistic in contract.consumes:
        hint = "Put a SensitivityPreprocessor before it, which bounds a statistic of the rows."
    elif Released in contract.consumes:
        hint = "Put an estimator that releases a vector before it, for instance PrivateMean."
    return f"{what} reads {wanted}, but the step before it yields {type(kind).__name__}. {hint}"


ONCE = {  # fit it one time
    "FeatureUnion",
    "FixedThresholdClassifier",
    "SelectFromModel",
    "TransformedTargetRegressor",
}
NOTHING = {  # learn nothing themselves; others learn classes at least
    "BaggingRegressor",
    "FeatureUnion",
    "FixedThresholdClassifier",
    "MultiOutputClassifier",
    "MultiOutputRegressor",
    "RFE",
    "RegressorChain",
    "SelectFromModel",
    "TransformedTargetRegressor",
    "VotingRegressor",
}


def doubts_around(outer, ledger):
    """Return why a fit inside an estimator promises less; of types and parameters alone."""
    if hasattr(outer, "steps"):
        return _doubts_in_chain(outer.steps)
    name, doubts = type(outer).__name__, []
    if ledger is None and name not in ONCE:
        doubts.append(
            f"{name} of scikit-learn fits it several times, and each fit costs its epsilon again. "
            "Pass a ledger."
        )
    own = getattr(outer, "transformer", None) is not None or getattr(outer, "oob_score", False)
    if own or name not in NOTHING:
        doubts.append(
            f"{name} of scikit-learn learns from the rows itself, and nothing protects that. "
            f"Publish nothing of {name}, or use an estimator of skdp alone."
        )
    return doubts


def _doubts_in_chain(steps):
    future, now = "would learn from private rows", "learns from private rows"
    problems = [text for text in chain_problems(steps) if future in text]
    told = "in a pipeline of scikit-learn, {} Use make_private_pipeline."
    return [told.format(text.replace(future, now)) for text in problems]
