"""Functions of scikit-learn's names: floats that know their intervals."""

import pickle

import numpy as np
import pytest
from sklearn import metrics as exact

from skdp import metrics
from skdp.accounting import PrivacyLedger
from tests.metrics.test_classifier_report import drawn

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
Y, S = drawn(8000)
CALLED = (S >= 0.5).astype(int)


@pytest.mark.parametrize(
    ("name", "predicted"),
    [
        ("roc_auc_score", S),
        ("log_loss", S),
        ("brier_score_loss", S),
        ("accuracy_score", CALLED),
        ("mean_absolute_error", S),
        ("mean_squared_error", S),
        ("r2_score", S),
    ],
)
def test_a_score_is_a_float_with_an_interval(name, predicted):
    score = getattr(metrics, f"private_{name}")(Y, predicted, epsilon=2.0, random_state=0)
    assert isinstance(score, float)
    low, high = score.interval(0.9999)
    assert low <= getattr(exact, name)(Y, predicted) <= high
    assert low <= score <= high and isinstance(score.reliable, bool)
    again = pickle.loads(pickle.dumps(score))
    assert again == score and again.interval(0.9999) == (low, high)


def test_a_confusion_matrix_is_that_of_the_labels():
    report = metrics.private_confusion_matrix(Y, CALLED, random_state=0)
    matrix = exact.confusion_matrix(Y, CALLED)
    assert np.abs(np.asarray(report) - matrix).max() < 5 * report.confusion_noise_scale_
    low, high = report.interval("recall", confidence=0.9999)
    assert low <= exact.recall_score(Y, CALLED) <= high


def test_labels_may_be_texts_and_many():
    names = np.array(["a", "b", "c"])
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=6000)
    p = np.where(rng.random(6000) < 0.8, y, 0)
    score = metrics.private_accuracy_score(names[y], names[p], classes=names, random_state=0)
    low, high = score.interval(0.9999)
    assert low <= np.mean(y == p) <= high
    with pytest.raises(ValueError, match="y_pred has labels that are not in `classes`"):
        metrics.private_accuracy_score(names[y], names[p], classes=["a", "b"])


def test_each_score_pays():
    ledger = PrivacyLedger(epsilon=2.0, delta=1e-5)
    before = ledger.remaining().epsilon
    metrics.private_roc_auc_score(Y, S, ledger=ledger, random_state=0)
    assert ledger.remaining().epsilon < before - 0.2
