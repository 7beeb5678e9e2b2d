"""What one row may not do to the others by its type, or by being the only one."""

import numpy as np
import pytest

from skdp import (
    PrivateAdditiveClassifier,
    PrivateAdditiveRegressor,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateRidge,
    config_context,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.UselessReleaseWarning"),
]
MODELS = [
    PrivateAdditiveClassifier(classes=[0, 1], random_state=0),
    PrivateAdditiveRegressor(target_range=(0, 1), random_state=0),
    PrivateAdditiveRegressor(linear=True, random_state=0),
    PrivateLinearRegression(random_state=0),
    PrivateRidge(random_state=0),
    PrivateLogisticRegression(classes=[0, 1], random_state=0),
]


@pytest.mark.parametrize("label", [1.0, "a", True, 2**70])
@pytest.mark.parametrize("Model", [PrivateAdditiveClassifier, PrivateLogisticRegression])
def test_a_label_in_a_list_does_not_choose_the_type_of_the_others(Model, label):
    y = [0, 1] * 1000
    for labels in (y, [*y, label]):
        model = Model(epsilon=8.0, random_state=0).fit(np.zeros((len(labels), 1)), labels)
        assert model.classes_.dtype == np.int64 and model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("labels", [[2**53, 2**53 + 1], [0, -(2**53)]])
def test_labels_that_floats_do_not_tell_apart_are_refused(labels):
    X, y = np.zeros((10, 1)), [0] * 10
    with pytest.raises(ValueError, match="2\\^53"):
        PrivateAdditiveClassifier(classes=labels).fit(X, y)
    with pytest.raises(ValueError, match="2\\^53"):
        PrivateAdditiveClassifier(classes=[0, 1], categories=[labels]).fit(X, y)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("n", [0, 1])
def test_a_table_of_no_rows_is_fitted_as_one_of_a_row(model, n):
    X, y = np.zeros((n, 2)), np.zeros(n, dtype=int)
    with config_context(invalid_rows="ignore"):
        for given in ((X, y), ([X], [y])):
            assert np.isfinite(model.fit(*given).n_rows_)


@pytest.mark.parametrize("n_cycles", [10, 100])
def test_many_cycles_leave_each_a_share(n_cycles):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    model = PrivateAdditiveRegressor(
        n_cycles=n_cycles, epsilon=50.0, target_range=(-3, 3), random_state=0
    )
    assert model.fit(X, X[:, 0]).n_cycles_ == n_cycles


def test_a_number_beyond_floats_is_silent_where_nothing_may_be_told(recwarn):
    y = np.arange(400, dtype=np.longdouble)
    y[0] = np.longdouble("1e4000")
    with config_context(invalid_rows="ignore"):
        PrivateLinearRegression(random_state=0).fit(np.ones((400, 1)), y)
    assert not [told for told in recwarn if issubclass(told.category, RuntimeWarning)]
