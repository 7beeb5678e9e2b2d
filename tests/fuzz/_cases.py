"""Chains of every kind of fault that there is to know, whatever a seed may draw."""

from tests.fuzz._chains import AROUND, Chain, Step

INNER, AFTER_MAP, THEN_MEAN = AROUND[1:4]
BY_DISTANCE = 'PrivateSearchCV({}, {{"split": ["auto"]}}, mean_trials=2, scoring="distance")'
BY_ROW = AROUND[6]
BOUNDED = 'SensitivityPreprocessor("mean", sensitivity=0.5)'


def chain(*steps, how="far", place=0, **options):
    """Return a chain of steps, some of them given as code."""
    steps = tuple(step if isinstance(step, Step) else Step(step) for step in steps)
    return Chain(steps, rows=((how, place),), **options)


def pipe(*codes):
    """Return a Pipeline of scikit-learn of two steps, as a step."""
    return Step('Pipeline([("t", {}), ("u", {})])', tuple(map(Step, codes)))


CASES = {
    "three standard deviations": chain(
        "RowMap(without_far)", "PrivateMean()", n=60, flavour="ties"
    ),
    "the first row decides on a type": chain("RowMap(first_decides)", "PrivateMean()", d=1),
    "quartiles of integers": chain(
        "RowMap(within_quartiles)", "PrivateMean()", kind="int64", flavour="spread"
    ),
    "a threshold on integers": chain("RowMap(by_largest)", "PrivateMean()", kind="int64"),
    "a threshold on floats": chain("RowMap(by_millions)", "PrivateMean()", d=1),
    "a threshold behind public rows": chain(
        "PublicFit(FunctionTransformer(by_largest), PUBLIC)", BOUNDED, "LaplaceMechanism()"
    ),
    "a promise": chain("RowMap(without_far, vectorized=True)", "PrivateMean()"),
    "a matrix product": chain("RowMap(product)", "PrivateMean()", d=4),
    "codes of categories": chain("RowMap(codes)", "PrivateMean()", kind="pandas words"),
    "z-scores of polars": chain("RowMap(zscore)", "PrivateMean()", kind="polars"),
    "the core in a pipeline": chain(
        pipe("FriendlyCoreFilter()", "RowMap(same)"), "PrivateMean()", invalid_rows="ignore"
    ),
    "a search that prints": chain(
        "LloydKMeans(2, max_iter=2)",
        around='PrivateSearchCV({}, {{"verbose": [True]}}, mean_trials=2, scoring="distance")',
    ),
    "a held-out row that fails": chain(
        "RowMap(fail_value)",
        "PrivateStandardScaler()",
        around=BY_ROW,
        invalid_rows="ignore",
        seed=2,
        place=3,
    ),
    "a distance of no model": chain("PrivateVariance()", around=AROUND[4]),
    "more components than columns": chain("PrivatePCA(1)", around=AROUND[7]),
    "a word among objects": chain(
        "Normalizer()", "PrivateMean()", kind="object", how="word", invalid_rows="ignore"
    ),
    "NA among objects": chain(
        'SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True)',
        "PrivateMean()",
        kind="pandas object",
        how="missing",
        invalid_rows="ignore",
    ),
    **{
        f"a row with {what}": chain(
            f"RowMap({function})", "PrivateMean()", invalid_rows="ignore", how="huge"
        )
        for function, what in {
            "wider": "more columns",
            "nothing": "no result",
            "imaginary": "complex numbers",
            "dates": "dates",
            "objects": "objects",
            "words": "words",
            "fewer": "no row",
            "fail_key": "an error of its own",
            "frame_if_special": "a frame",
        }.items()
    },
    "a row in a message": chain("RowMap(fail_value)", "PrivateMean()"),
    "a row in a warning": chain("RowMap(warn)", "PrivateMean()", how="canary"),
    "one dimension": chain("RowMap(same)", "PrivateMean()", kind="one dimension"),
    "complex numbers": chain("RowMap(same)", "PrivateMean()", kind="complex"),
    "words in a frame": chain("Binarizer()", "PrivateMean()", kind="pandas mixed", d=2),
    "a function that centres": chain("RowMap(centre)", "PrivateMean()", invalid_rows="ignore"),
    "a scaler in a pipeline": chain(pipe("RowMap(same)", "StandardScaler()"), "PrivateMean()"),
    "an inner pipeline that learns": chain("StandardScaler()", "PrivateMean()", around=INNER),
    "an inner pipeline of a stranger": chain("PCA(1)", around=INNER),
    "an inner pipeline without release": chain("RowMap(absolute)", around=THEN_MEAN),
    "an inner pipeline without delta": chain("PrivateCovariance()", around=AFTER_MAP, delta=0.0),
    "Binarizer in place": chain("Binarizer(copy=False)", "PrivateMean()"),
    "Normalizer in place": chain("PublicFit(Normalizer(copy=False), PUBLIC)", "PrivateMean()"),
    "zeros in place": chain("RowMap(zero_in_place)", "PrivateMean()"),
    "nullable floats": chain(
        "RowMap(same)", "PrivateMean()", kind="pandas Float64", invalid_rows="ignore"
    ),
    "arrow": chain("RowMap(same)", "PrivateMean()", kind="pandas arrow", invalid_rows="ignore"),
}
