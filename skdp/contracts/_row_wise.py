"""What is known about scikit-learn: steps that map every row by itself, and steps that do not."""

from numbers import Real

__all__ = ["PARTS", "qualified", "row_wise_problem", "way_out"]

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
