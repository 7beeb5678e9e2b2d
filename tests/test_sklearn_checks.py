"""scikit-learn's own checks, at an epsilon so large that the noise is gone and at the default."""

import inspect
from unittest import SkipTest

import numpy as np
import pytest
from sklearn.utils import estimator_checks as checks
from sklearn.utils.validation import has_fit_parameter

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    LloydKMeans,
    MarginalReleaser,
    PrivateAdditiveClassifier,
    PrivateAdditiveRegressor,
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
    PrivatePCA,
    PrivatePipeline,
    PrivateQuantile,
    PrivateRidge,
    PrivateRobustScaler,
    PrivateSearchCV,
    PrivateSimpleImputer,
    PrivateStandardScaler,
    PrivateSum,
    PrivateTrimmedMean,
    PrivateVariance,
    SensitivityPreprocessor,
    make_private_pipeline,
)
from tests._sklearn import all_pass, run_checks

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

ESTIMATORS = [
    PrivateLinearRegression(epsilon=1e4),
    PrivateLinearRegression(),
    PrivateRidge(epsilon=1e4, extrapolate=True),
    PrivateMean(epsilon=1e4, delta=1e-6),
    PrivateAdditiveClassifier(epsilon=1e4),
    PrivateAdditiveRegressor(),
    PrivateMean(),
    PrivateMean(method="friendly"),
    FriendlyCoreFilter(),
    FriendlyCoreKMeans(epsilon=1e4, n_init=3, store_labels=True),
    FriendlyCoreKMeans(n_init=3),
    LloydKMeans(epsilon=1e4, store_labels=True),
    LloydKMeans(),
    PrivateGMM(epsilon=1e4, max_iter=3, n_init=3),
    PrivateGMM(max_iter=3, n_init=3),
    PrivateCovariance(),
    PrivatePCA(epsilon=1e4),
    PrivatePCA(),
    PrivateLogisticRegression(epsilon=1e4),
    PrivateHistogram(bins=3),
    PrivateMedian(),
    PrivateMedian(delta=0.0, method="exponential"),
    PrivateQuantile(),
    PrivateTrimmedMean(),
    PrivateVariance(),
    PrivateMinMax(),
    PrivateStandardScaler(),
    PrivateMean(bounds=(-10.0, 10.0)),
    PrivateMean(delta=0.0, bounds=(-10.0, 10.0)),
    PrivateVariance(bounds=(-10.0, 10.0)),
    PrivateStandardScaler(bounds=(-10.0, 10.0)),
    PrivateSum((-10.0, 10.0)),
    PrivateCount(),
    PrivateRobustScaler(),
    PrivateMinMaxScaler(),
    SensitivityPreprocessor(sensitivity=1.0),
    MarginalReleaser(),
    PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, mean_trials=2),
    make_private_pipeline(PrivateStandardScaler(), PrivatePCA()),
    PrivateGroupBy(PrivateLinearRegression(), 0, [0, 1]),
    PrivateKBinsDiscretizer(3),
    PrivateSimpleImputer(),
]
QUIET = [
    PrivateAdditiveRegressor(epsilon=1e4),
    FriendlyCoreFilter(epsilon=1e4),
    PrivateCovariance(epsilon=1e4),
    PrivateHistogram(bins=3, epsilon=1e4),
    PrivateMedian(epsilon=1e4),
    PrivateStandardScaler(epsilon=1e4),
    MarginalReleaser(epsilon=1e4),
    PrivateSearchCV(PrivateAdditiveRegressor(), {"n_bins": [2, 4]}, mean_trials=2, epsilon=200.0),
    make_private_pipeline(PrivateStandardScaler(), PrivateRidge(), epsilon=1e4),
    make_private_pipeline(PrivateAdditiveRegressor(), epsilon=1e4),
    make_private_pipeline(PrivateStandardScaler(), LloydKMeans(max_iter=1), epsilon=1e4),
]


def is_loud(estimator):
    return getattr(estimator, "epsilon", None) == 1e4


LOCAL = "the core is private: pickles leave it behind, and transform asks for it"
EXPECTED = {
    "FriendlyCoreFilter": {
        "check_estimators_pickle": LOCAL,
    },
    "PrivateGroupBy": {
        "check_dtype_object": "an array of objects does not tell what its keys are",
        "check_estimators_nan_inf": "spoils the key, and a row without one is in no group",
    },
    "PrivateLogisticRegression": {
        "check_classifier_data_not_an_array": "three rows are too few to publish their label",
    },
}


def expected_failures(estimator):
    """Return what a check may fail on, with the reason."""
    expected = dict(EXPECTED.get(type(estimator).__name__, {}))
    if has_fit_parameter(estimator, "sample_weight"):
        checks = ("weights_list", "weights_not_overwritten", "weight_equivalence_on_dense_data")
        expected |= {f"check_sample_{check}": "weights above 1 are refused" for check in checks}
    if isinstance(estimator, PrivatePipeline) and not has_fit_parameter(
        estimator.steps[-1][1], "sample_weight"
    ):
        checks = [f"check_sample_weights_{of}" for of in ("pandas_series", "not_an_array", "shape")]
        checks.append("check_all_zero_sample_weights_error")
        expected |= dict.fromkeys(checks, "weights are refused where no release takes any")
    if getattr(estimator, "store_labels", None) is False:
        expected["check_clustering"] = "asks for labels_, which are private"
    return expected


@pytest.mark.cases(8)
@pytest.mark.parametrize(
    "estimator",
    [pytest.param(e, marks=[pytest.mark.slow] if is_loud(e) else []) for e in ESTIMATORS],
    ids=repr,
)
def test_sklearn_checks(estimator):
    run_checks(estimator, expected_failures(estimator))


@pytest.mark.slow  # other budgets of classes above
@pytest.mark.parametrize("estimator", QUIET, ids=repr)
def test_sklearn_checks_without_noise(estimator):
    run_checks(estimator, expected_failures(estimator))


# Checks that scikit-learn runs on itself and does not hand to others: of classes, whose budgets
# and roads make no difference to them.
OF_CLASSES = {type(estimator).__name__: estimator for estimator in ESTIMATORS}
QUICK = "PrivateMean", "PrivateStandardScaler", "PrivateKBinsDiscretizer"
OWN = ["check_param_validation", "check_dataframe_column_names_consistency"]
OWN_OF_TRANSFORMERS = [
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_get_feature_names_out_error",
    "check_inplace_ensure_writeable",
]


@pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names")
@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(e, id=name, marks=[] if name in QUICK else [pytest.mark.slow])
        for name, e in OF_CLASSES.items()
    ],
)
def test_sklearn_own_checks(estimator):
    names = OWN + OWN_OF_TRANSFORMERS * hasattr(estimator, "get_feature_names_out")
    all_pass((name, _error_of(name, estimator)) for name in names)


def _error_of(name, estimator):
    check = getattr(checks, name, None) or getattr(checks, name.replace("global_set", "global"))
    assert len(inspect.signature(check).parameters) == 2
    try:
        check(type(estimator).__name__, estimator)
    except SkipTest:
        return None
    except Exception as error:
        return error


def test_private_parameters_are_validated_when_sklearn_is_told_not_to():
    import sklearn

    X = np.zeros((10, 2))
    with sklearn.config_context(skip_parameter_validation=True):
        for wrong in ({"epsilon": -1.0}, {"epsilon": float("nan")}, {"delta": 2.0}, {"delta": 0.0}):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                PrivateMean(**wrong).fit(X)
