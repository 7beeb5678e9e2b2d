"""Every public estimator, to be examined by being listed here."""

import numpy as np
import pandas as pd
import polars
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    JamesSteinDenoiser,
    LloydKMeans,
    MarginalReleaser,
    PrivateAdditiveClassifier,
    PrivateAdditiveRegressor,
    PrivateBoostingClassifier,
    PrivateBoostingRegressor,
    PrivateCount,
    PrivateCovariance,
    PrivateGMM,
    PrivateGroupBy,
    PrivateHistogram,
    PrivateKBinsDiscretizer,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateMedian,
    PrivateMinMax,
    PrivateMinMaxScaler,
    PrivateOneHotEncoder,
    PrivateOrdinalEncoder,
    PrivatePCA,
    PrivatePipeline,
    PrivateQuantile,
    PrivateRidge,
    PrivateRobustScaler,
    PrivateSearchCV,
    PrivateSimpleImputer,
    PrivateStandardScaler,
    PrivateSum,
    PrivateSummary,
    PrivateTargetEncoder,
    PrivateTrimmedMean,
    PrivateVariance,
    PublicFit,
    RowMap,
    SensitivityPreprocessor,
    make_private_pipeline,
)
from skdp.audit._tables import example
from skdp.marginals import Bins
from skdp.metrics import (
    PrivateClassifierReport,
    PrivateConfusionMatrix,
    PrivateRegressionReport,
)
from skdp.model_selection import RowScorer
from skdp.preprocessing import LaplaceMechanism
from skdp.stats import PrivateComparison

# The two long layers see these on fewer tables; the whole of them is a slow test.
EXPENSIVE = [
    PrivateMean(),
    PrivateMean(epsilon=2.0, trim=True, denoiser="auto"),
    PrivateMean(epsilon=4.0, method="friendly"),
    FriendlyCoreFilter(epsilon=4.0),
    FriendlyCoreKMeans(3, n_init=1),
    FriendlyCoreKMeans(2, method="friendly", n_parts=12, epsilon=40.0, n_init=1),
    LloydKMeans(3),
    LloydKMeans(3, delta=0.0, epsilon=2.0, max_iter=3),
    PrivateGMM(2, max_iter=2, n_init=1),
    PrivateLogisticRegression(epsilon=4.0, classes=[0, 1]),
    PrivateLogisticRegression(epsilon=20.0, classes=[0, 1, 2], feature_range=(-1e4, 1e4)),
    PrivateCovariance(epsilon=4.0),
    PrivateCovariance(method="friendly", epsilon=40.0),
    PrivatePCA(epsilon=4.0),
    PrivateLinearRegression(epsilon=4.0),
    PrivateRidge(epsilon=4.0, extrapolate=True),
    PrivateHistogram(bins=4, epsilon=2.0),
    PrivateMedian(),
    PrivateQuantile(0.9, epsilon=2.0, delta=0.0, method="exponential"),
    PrivateTrimmedMean(epsilon=2.0),
    PrivateVariance(epsilon=4.0),
    PrivateStandardScaler(epsilon=4.0),
    PrivateRobustScaler(epsilon=4.0),
    PrivateMinMaxScaler(epsilon=4.0),
    PrivateVariance(bounds=(-50.0, 50.0), denoiser="auto"),
    PrivateVariance(delta=0.0, bounds=(-50.0, 50.0)),
    PrivateStandardScaler(bounds=(-50.0, 50.0)),
    PrivateMinMax(epsilon=4.0, bounds=(-50.0, 50.0)),
    PrivateMean(delta=0.0, bounds=(-50.0, 50.0)),
    PrivateSum((-50.0, 50.0), delta=0.0),
    PrivateCount(epsilon=0.02, delta=0.0),
    MarginalReleaser(1, epsilon=4.0),
    MarginalReleaser(1, domain="auto", n_bins=3, epsilon=4.0),
    PrivateSummary([0.25, 0.5, 0.75], epsilon=4.0),
    PrivateSimpleImputer(epsilon=4.0),
    PrivateKBinsDiscretizer(3, epsilon=4.0),
    PrivateAdditiveClassifier(epsilon=4.0),
    PrivateAdditiveClassifier(epsilon=4.0, classes=[0, 1]),
    PrivateAdditiveRegressor(epsilon=4.0),
    PrivateAdditiveRegressor(linear=True, epsilon=8.0),
    PrivateComparison(epsilon=4.0),
    PrivateComparison(measures={0: "means"}, classes=[0, 1], epsilon=4.0),
    PrivateBoostingClassifier(epsilon=80.0, classes=[0, 1], interactions=[(0, 1)]),
    PrivateBoostingRegressor(epsilon=80.0),
    PrivateClassifierReport(classes=[0, 1, 2], n_bins=16, epsilon=4.0),
    PrivateConfusionMatrix(classes=[0, 1, 2], epsilon=4.0),
    PrivateRegressionReport(with_interval=True, quantile_losses=[0.9], epsilon=8.0),
    PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, mean_trials=2, epsilon=4.0),
    make_private_pipeline(PrivateStandardScaler(), PrivateMean(), epsilon=4.0),
    make_private_pipeline(
        FriendlyCoreFilter(), PrivateMean(method="friendly"), JamesSteinDenoiser(), epsilon=6.0
    ),
]
ESTIMATORS = [
    PrivateMean(bounds=(-50.0, 50.0)),
    PrivateSum((-50.0, 50.0)),
    PrivateCount(epsilon=0.02),
    *EXPENSIVE,
]


def fitted(estimator, X):
    """Fit an estimator on rows, and on targets of them if it needs some; return it."""
    return example(estimator, X).fit(estimator)


TOWNS = ["north", "south", "east"]
LEVELS = ["low", "middle", "high"]


def _frame():
    """Return rows with numbers, whole numbers, texts and categories."""
    rng = np.random.default_rng(0)
    n = 300
    return pd.DataFrame(
        {
            "wage": rng.lognormal(3, 1, size=n).round(2),
            "age": rng.integers(18, 90, size=n),
            "town": rng.choice(TOWNS, size=n),
            "level": pd.Categorical(rng.choice(["low", "high"], size=n), categories=LEVELS),
        }
    )


def _polars():
    frame = _frame().astype({"level": "object"})
    return polars.DataFrame({name: frame[name].tolist() for name in frame})


def _rows():
    return np.random.default_rng(0).normal(size=(300, 3)) * [1, 10, 100] + 5


def _closeness(model, x, y):
    return -np.abs(np.arctan(x) - model.named_steps["privatemean"].location_).sum()


ENCODER = OneHotEncoder(categories=[TOWNS], handle_unknown="ignore", sparse_output=False)
MEAN = PrivateMean(center=0.0, radius=100.0)
LINES = Bins([-np.inf, *range(-100, 101, 10), np.inf])
BOUNDED = SensitivityPreprocessor("mean", sensitivity=1.0)

# Name -> (estimator, its table): what is made of parts, and tables of other kinds.
COMPOSED = {
    "encoders": (
        make_private_pipeline(
            ColumnTransformer(
                [
                    ("town", PrivateOneHotEncoder(), ["town"]),
                    ("wage", PrivateKBinsDiscretizer(3), ["wage"]),
                ]
            ),
            PrivateMean(bounds=(0.0, 1.0)),
            epsilon=8.0,
        ),
        _frame,
    ),
    "levels": (PrivateOrdinalEncoder(epsilon=4.0), lambda: _frame()[["town", "level"]]),
    "means of levels": (PrivateTargetEncoder(epsilon=8.0), lambda: _frame()[["town", "level"]]),
    "means of levels first": (
        make_private_pipeline(
            ColumnTransformer(
                [("town", PrivateTargetEncoder(target_type="multiclass"), ["town"])],
                remainder="passthrough",
            ),
            PrivateLogisticRegression(classes=[0, 1]),
            epsilon=20.0,
        ),
        lambda: _frame()[["town", "wage"]],
    ),
    "imputer": (
        make_private_pipeline(PrivateSimpleImputer(), PrivateMean(bounds=(-9, 9)), epsilon=8.0),
        _rows,
    ),
    "map first": (make_private_pipeline(RowMap(np.arctan), MEAN), _rows),
    "map of scikit-learn first": (make_private_pipeline(Normalizer(), PrivateMean()), _rows),
    "columns": (
        make_private_pipeline(
            ColumnTransformer(
                [("scale", PrivateStandardScaler(), [0, 1]), ("mean", RowMap(np.arctan), [2])]
            ),
            PrivateMean(),
            epsilon=4.0,
        ),
        _rows,
    ),
    "nested": (
        make_private_pipeline(
            PrivateStandardScaler(), PrivatePipeline([("mean", PrivateMean())]), epsilon=4.0
        ),
        _rows,
    ),
    "search over a pipeline": (
        PrivateSearchCV(
            make_private_pipeline(RowMap(np.arctan), PrivateMean()),
            {"privatemean__trim": [False, True]},
            scoring=RowScorer(_closeness, -10.0, 0.0),
            mean_trials=2,
        ),
        _rows,
    ),
    "bounded": (make_private_pipeline(BOUNDED, LaplaceMechanism()), _rows),
    "public first": (
        make_private_pipeline(PublicFit(StandardScaler(), _rows()[:20]), PrivateMean()),
        _rows,
    ),
    "numbers of numpy": (
        PrivateHistogram(
            bins=np.int8(4),
            range=[(-5, np.int8(15)), (np.int16(-50), 60), (0, np.float32(1))],
            noise="gaussian",
            epsilon=np.float32(1.0),
        ),
        _rows,
    ),
    "marginals of a frame": (
        MarginalReleaser(1, domain={"town": TOWNS, "level": LEVELS}),
        lambda: _frame()[["town", "level"]],
    ),
    "marginals of polars": (
        MarginalReleaser(1, domain={"town": TOWNS, "level": LEVELS}),
        lambda: _polars()[["town", "level"]],
    ),
    "synthetic rows": (
        MarginalReleaser(workload="rows", domain=dict.fromkeys(range(3), LINES), target=2),
        _rows,
    ),
    "by group": (
        PrivateGroupBy(PrivateMean(), by=0, levels=[4, 5, 9], epsilon=8.0),
        lambda: np.column_stack([np.rint(_rows()[:, 0]), _rows()[:, 1:]]),
    ),
    "groups that are found": (
        PrivateGroupBy(make_private_pipeline(RowMap(np.arctan), MEAN), "level", epsilon=8.0),
        lambda: _frame()[["wage", "age", "level"]],
    ),
    "summary of a frame": (PrivateSummary([0.1, 0.5], epsilon=2.0), _frame),
    "marginals of bought levels": (
        MarginalReleaser(1, domain={"level": LEVELS, ...: "auto"}, n_bins=3),
        _frame,
    ),
    "texts first": (
        make_private_pipeline(
            ColumnTransformer(
                [
                    ("town", PublicFit(ENCODER, _frame()[["town"]][:20]), ["town"]),
                    ("wage", "passthrough", ["wage"]),
                ]
            ),
            PrivateMean(),
            epsilon=4.0,
        ),
        _frame,
    ),
}
