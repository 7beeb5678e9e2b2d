"""What is made of parts, and tables of other kinds than arrays of numbers."""

import numpy as np
import pytest

from skdp import PrivateSearchCV
from skdp.audit import conditional_sensitivity, non_interference, private_estimator_checks
from skdp.audit._checks import CHECKS
from skdp.audit._draw import AuditRandom, Sample
from skdp.audit._pairs import Pair, draw_pair
from skdp.exceptions import AuditFailure
from tests._estimators import COMPOSED, _frame, _polars, _rows
from tests.audit._broken_too import ClassesFromData, SoundClassifier, TargetsUnclipped

LONG = (
    "check_non_interference",
    "check_conditional_sensitivity",
    "check_long_tables",
    "check_wide_tables",
    "check_numpy_parameters",
    "check_fresh_noise",
)
OF_PARTS = ("check_other_budgets", "check_persons", "check_spare_targets")  # their own tests do
TABLES = {"rows": _rows, "pandas": _frame, "polars": _polars}


def case(name):
    estimator, make = COMPOSED[name]
    return estimator, make()


QUICK = "map first", "bounded", "marginals of a frame"


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPOSED)
def test_the_layers_on_few_tables(name):
    estimator, X = case(name)
    non_interference(estimator, X, n_transcripts=1)
    conditional_sensitivity(estimator, X, n_pairs=8)


@pytest.mark.cases(23)
@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize(
    "check", [c.__name__ for c in CHECKS if c.__name__ not in (*LONG, *OF_PARTS)]
)
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in COMPOSED],
)
def test_short_checks(name, check):
    for twin, found in private_estimator_checks(*case(name)):
        if found.func.__name__ == check:
            found(twin)


@pytest.mark.nightly
@pytest.mark.parametrize("name", COMPOSED)
def test_long_checks(name):
    """Of pairs fewer, as the parts have theirs."""
    estimator, X = case(name)
    conditional_sensitivity(estimator, X, n_pairs=100)
    for twin, check in private_estimator_checks(estimator, X):
        found = check.func.__name__
        if found in LONG and found != "check_conditional_sensitivity":
            check(twin)


def targets(n=300):
    return np.random.default_rng(1).integers(0, 2, size=n)


def search():
    return PrivateSearchCV(
        SoundClassifier(), {"radius": [1.0, 10.0]}, mean_trials=2, scoring="accuracy"
    )


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [SoundClassifier(), search()], ids=["alone", "in a search"])
def test_targets_go_with_their_rows(estimator):
    report = non_interference(estimator, _rows(), targets(), n_transcripts=2)
    assert {"targets all alike", "targets in another order"} <= set(report.tables)
    assert conditional_sensitivity(estimator, _rows(), targets(), n_pairs=40).ratio > 0.9


def test_a_sound_classifier_of_a_user():
    for twin, check in private_estimator_checks(SoundClassifier()):
        if check.func.__name__ not in (*LONG, *OF_PARTS):
            check(twin)


def test_leaks_of_targets_are_found():
    with pytest.raises(AuditFailure, match="classes_"):
        non_interference(ClassesFromData(), _rows(), targets(), n_transcripts=1)
    with pytest.raises(AuditFailure, match="EXCEEDED"):
        conditional_sensitivity(TargetsUnclipped(), _rows(), targets(), n_pairs=20)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("seed", range(5))
def test_common_rows_keep_their_keys(name, seed):
    data = Sample.of(TABLES[name](), targets())
    pair = draw_pair(data, AuditRandom(seed), other_epsilon=False)
    (first, first_keys), (second, second_keys) = pair.sides()
    larger, smaller = (first, second) if pair.remove else (second, first)
    large_keys, small_keys = sorted([first_keys, second_keys], key=len, reverse=True)
    assert len(larger) == len(large_keys) == len(smaller) + 1 == len(small_keys) + 1
    rest = np.delete(np.arange(len(larger)), pair.position)
    np.testing.assert_array_equal(large_keys[rest], small_keys)
    for j in range(data.n_features):
        assert repr(larger.take(rest).column(j)) == repr(smaller.column(j))
    np.testing.assert_array_equal(larger.y[rest], smaller.y)
    assert larger.y[pair.position] == pair.target
    assert type(larger.X) is type(smaller.X) is type(data.X)
    assert [larger.kind(j) for j in range(data.n_features)] == [
        data.kind(j) for j in range(data.n_features)
    ]
    assert f"of {len(smaller)} rows" in str(pair)


def test_a_pair_of_arrays_is_what_it_was():
    pair = Pair(np.zeros((2, 1)), np.ones(1), 1)
    (smaller, _), (larger, _) = pair.sides()
    np.testing.assert_array_equal(larger.X[:, 0], [0, 1, 0])
    assert len(smaller) == 2 and larger.y is None
