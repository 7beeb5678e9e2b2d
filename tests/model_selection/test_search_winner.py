"""A search as scikit-learn sees it: its methods are those of the winner."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier, is_clusterer
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks as checks
from sklearn.utils import get_tags

from skdp import (
    FriendlyCoreKMeans,
    LloydKMeans,
    PrivateGMM,
    PrivateMean,
    PrivatePCA,
    PrivateStandardScaler,
    RowMap,
    make_private_pipeline,
)
from skdp.model_selection import PrivateSearchCV, RowScorer
from tests._sklearn import run_checks
from tests.model_selection.test_private_search import NearestMean

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
X = np.random.default_rng(0).normal(size=(200, 2)) * [1.0, 20.0]


def _even(model, x, y):
    return 0.5


class Even:
    """A function without an address in its name, which would name the tests."""

    __call__ = staticmethod(_even)

    def __repr__(self):
        return "even"


EVEN = RowScorer(Even(), 0.0, 1.0)


def scaler_search(**params):
    settings = {"scoring": EVEN, "mean_trials": 2, "random_state": 0, **params}
    return PrivateSearchCV(PrivateStandardScaler(), {"with_mean": [True]}, **settings)


def test_methods_are_those_of_the_winner():
    search = scaler_search().fit(X)
    winner = search.best_estimator_
    Z = search.transform(X)
    assert (winner.transform(X) == Z).all()
    assert search.inverse_transform(Z) == pytest.approx(X)
    assert search.get_feature_names_out().tolist() == ["x0", "x1"]
    assert not hasattr(search, "predict") and not hasattr(search, "classes_")
    with pytest.raises(AttributeError, match="decision_function"):
        search.decision_function(X)
    with pytest.raises(NotFittedError):
        scaler_search().transform(X)


def test_output_can_be_a_frame():
    table = pd.DataFrame(X, columns=["a", "b"])
    search = scaler_search().set_output(transform="pandas").fit(table)
    assert search.transform(table).columns.tolist() == ["a", "b"]
    assert isinstance(search.set_output(transform="default").transform(table), np.ndarray)
    assert search.get_feature_names_out().tolist() == ["a", "b"]


def test_methods_of_a_classifier():
    class Classes(NearestMean):
        def fit(self, X, y):
            self.classes_ = np.array([0, 1])
            return super().fit(X, y)

        def decision_function(self, X):
            return self.predict(X) - 0.5

        def predict_log_proba(self, X):
            return np.log(np.eye(2)[self.predict(X)])

    y = (X[:, 1] > 0).astype(int)
    search = PrivateSearchCV(Classes(), {"radius": [None]}, mean_trials=2, random_state=0)
    assert is_classifier(search) and not hasattr(search, "classes_")
    search.fit(X, y)
    assert search.classes_.tolist() == [0, 1]
    assert (search.decision_function(X) == search.predict(X) - 0.5).all()
    with np.errstate(divide="ignore"):
        assert search.predict_log_proba(X).shape == (200, 2)


def test_tags_are_those_of_the_estimator():
    assert is_clusterer(PrivateSearchCV(FriendlyCoreKMeans(2), {"n_init": [1]}))
    mapped = make_private_pipeline(RowMap(np.nan_to_num), PrivateMean())
    assert get_tags(PrivateSearchCV(mapped, {"privatemean__trim": [True]})).input_tags.allow_nan
    assert get_tags(scaler_search()).input_tags.allow_nan  # a gap is one of its column
    clusters = PrivateSearchCV(FriendlyCoreKMeans(2), {"n_init": [1]})
    assert not get_tags(clusters).input_tags.allow_nan


@pytest.mark.parametrize("name", ["predict", "transform", "inverse_transform", "score_samples"])
def test_methods_have_names_and_docstrings(name):
    method = inspect.getattr_static(PrivateSearchCV, name).fn
    assert method.__name__ == name and method.__qualname__.endswith(name)
    assert "by the winner" in method.__doc__ and "Local: as private as X" in method.__doc__


SUBJECTS = [
    PrivateSearchCV(PrivateGMM(n_init=1, max_iter=1), {"n_components": [1, 2]}, mean_trials=2),
    PrivateSearchCV(PrivatePCA(), {"whiten": [False, True]}, scoring=EVEN, mean_trials=2),
    PrivateSearchCV(
        make_private_pipeline(PrivateStandardScaler(), LloydKMeans(max_iter=1)),
        {"lloydkmeans__n_clusters": [1, 2]},
        mean_trials=2,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("i", [0, 1, 2])
def test_sklearn_checks(i):
    run_checks(SUBJECTS[i])


OF_FRAMES = [
    "check_param_validation",
    "check_dataframe_column_names_consistency",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_global_output_transform_pandas",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names")
@pytest.mark.parametrize("name", OF_FRAMES)
def test_sklearn_checks_of_frames(name):
    getattr(checks, name)("PrivateSearchCV", SUBJECTS[1])
