from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from skdp import PrivatePipeline, PrivateSearchCV
from skdp.accounting import Plan, Step
from skdp.audit import CannedCurator, conditional_sensitivity
from skdp.audit._pairs import Pair
from skdp.audit._sensitivity import examine_pair
from skdp.audit._transcript import Script, exactly, squared_distance
from skdp.base import count_rows
from skdp.exceptions import AuditFailure
from tests._curators import GAUSSIAN, canned, check_replay
from tests._estimators import ESTIMATORS, EXPENSIVE
from tests.audit._broken import BoxForBall, ExactCentre, NoClip, SoundMean, StopsEarly


@pytest.fixture
def X(rng):
    return rng.normal(size=(200, 3)) * [1, 10, 100] + 5


def test_a_sound_estimator_attains_its_sensitivity(X):
    report = conditional_sensitivity(SoundMean(radius=10.0), X, n_pairs=100)
    assert report.ok and set(report.worst) == {"count", "sum"}
    assert report.worst["count"].ratio == 1 and report.worst["sum"].ratio > 0.99
    assert report.ratio == 1


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [NoClip(), ExactCentre(), BoxForBall()], ids=repr)
def test_values_that_move_too_far(X, estimator):
    report = conditional_sensitivity(estimator, X, n_pairs=100, raise_on_failure=False)
    assert not report.ok and not report.problems
    worst = report.worst["sum"]
    assert worst.exceeds and worst.ratio > 1.2
    assert "EXCEEDED" in str(report) and str(worst.pair) in str(report)
    moved, allowed = examine_pair(estimator, worst.pair)[
        "sum"
    ]  # the pair is a reproducible witness
    assert moved > allowed == Fraction(2**40)


def test_a_path_that_depends_on_rows(X):
    report = conditional_sensitivity(StopsEarly(), X, n_pairs=60, raise_on_failure=False)
    assert report.problems
    with pytest.raises(AuditFailure, match="makes more releases"):
        conditional_sensitivity(StopsEarly(), X, n_pairs=60)


class TooMuchNoise(SoundMean):
    """A count that declares twice what a row moves it by, and a sum that is at times not asked."""

    def plan(self):
        return replace(super().plan(), steps=(Step("count"), Step("sum"), Step("median")))

    def _release(self, rows, curator):
        n = count_rows(rows)
        curator.gaussian([n], sensitivity=2, share=Fraction(1, 4), label="count")
        curator.gaussian([7], sensitivity=1, share=Fraction(1, 4), label="sum")
        return {}


def test_noise_that_is_larger_than_needed_is_told(X):
    report = conditional_sensitivity(TooMuchNoise(), X, n_pairs=4)
    assert report.ok and report.ratios == {"count": 0.5, "sum": 0.0}
    assert report.loose == {"count": 0.5} and report.unmoved == ("sum", "median")
    assert "'count' moves by at most 0.5 of its declared sensitivity" in str(report) == repr(report)
    assert str(report).endswith("No pair moves: 'sum', 'median'.")
    sound = conditional_sensitivity(SoundMean(radius=10.0), X, n_pairs=30)
    assert sound.loose == {} and sound.unmoved == () and "No pair" not in str(sound)


@pytest.mark.slow
def test_rows_of_the_auditor_are_tried(X):
    class OneBadRow(SoundMean):
        def total(self, X, rows):
            return super().total(X, rows) * (1 + np.any(X == 42.5))

    assert conditional_sensitivity(OneBadRow(), X, n_pairs=100).ok
    assert not conditional_sensitivity(
        OneBadRow(), X, rows=[[42.5, 1, 1]], n_pairs=100, raise_on_failure=False
    ).ok


DEAR = EXPENSIVE[1:]  # the default road of the mean is searched like the cheap ones
numbers = st.sampled_from([0.0, 1.0, -1.0, 3.0, 1e300, -1e300, 1e-300, np.nan, np.inf, 1e8])
numbers |= st.floats(-10, 10)


def targets_for(estimator):
    """Return targets to draw from: classes, known and unknown, or numbers; None if it needs none"""
    if not get_tags(estimator).target_tags.required:
        return st.none()
    return st.sampled_from([0, 1, 7]) if is_classifier(estimator) else numbers


@st.composite
def pairs(draw, targets):
    d = draw(st.sampled_from([1, 2, 5]))
    rows = st.lists(numbers, min_size=d, max_size=d)
    kinds = draw(st.lists(rows, min_size=1, max_size=6))
    table = draw(st.lists(st.sampled_from(kinds), max_size=60))  # ties and duplicates
    row, target = draw(rows | st.sampled_from(kinds)), draw(targets)
    y = None if target is None else np.array([draw(targets) for _ in table], np.result_type(target))
    return Pair(
        np.array(table, dtype=float).reshape(-1, d),
        np.array(row),
        draw(st.integers(0, len(table))),
        seed=draw(st.integers(0, 1000)),
        remove=draw(st.booleans()),
        epsilon=draw(st.sampled_from([None, 10.0, 100.0])),
        y=y,
        target=target,
    )


@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(one, marks=pytest.mark.nightly if one in DEAR else pytest.mark.slow)
        for one in ESTIMATORS
    ],
    ids=repr,
)
def test_searched_pairs(estimator):
    # a failure event has probability < 1e-6 in all examples together
    some = 40 if isinstance(estimator, PrivatePipeline | PrivateSearchCV) else 150

    @settings(max_examples=some, deadline=None, derandomize=True, database=None)
    @given(pairs(targets_for(estimator)))
    def search(pair):
        for label, (moved, allowed) in examine_pair(estimator, pair).items():
            assert moved <= allowed, label

    search()


@pytest.mark.nightly
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_many_pairs(estimator, X):
    """Of another table than that of the checks, with other seeds."""
    if isinstance(estimator, PrivatePipeline | PrivateSearchCV):  # their steps are here themselves
        n_pairs = 100
    else:
        n_pairs = 150 if estimator in DEAR else 1000
    assert conditional_sensitivity(estimator, X, n_pairs=n_pairs, random_state=1).ok


def test_distances_are_exact():
    big = np.array([2**62, -(2**62), 1])
    small = np.array([-(2**62), 2**62, 1])
    assert squared_distance(big, small) == 2**127
    assert squared_distance(big, small, "laplace") == 2**128
    assert squared_distance(big, small, "select") == 2**126
    assert squared_distance(big, big, "select") == 0


@pytest.mark.parametrize("nested", [False, True])
def test_declared_sensitivities_are_compared_exactly(nested):
    """A fraction that no float holds: what is stated is rounded down, what is compared is not."""
    declared, label = Fraction(2**60 + 1), "inner/x" if nested else "x"
    steps = (Step("inner", "child"), Step(label)) if nested else (Step("x"),)
    runs = [CannedCurator(Plan(GAUSSIAN, steps), how) for how in ("exact", Script())]
    for run, value in zip(runs, (0, 2**60 + 1), strict=True):
        curator = run.child("inner", 1) if nested else run
        curator.gaussian([value], sensitivity=declared, share=1, label="x")
        assert run.records[0].sensitivity == declared > run.close("").charges[0].sensitivity
    assert check_replay(*runs) == 1.0


@pytest.mark.parametrize(
    "number", [np.int64(3), np.uint8(3), np.float32(3), 3, 3.0, Fraction(3)], ids=type
)
def test_numbers_of_numpy_are_taken_exactly(number):
    exact = exactly(number)
    assert exact == 3 and {type(exact.numerator), type(exact.denominator)} == {int}


def test_a_replay_of_another_run_is_refused():
    runs = [canned() for _ in range(3)]
    for run, value in zip(runs, ([0], [1], [0]), strict=True):
        run.gaussian(value, sensitivity=1, share=0.5, label="x")
    assert check_replay(*runs[:2]) == 1.0
    runs[2].gaussian([0], sensitivity=1, share=0.1, label="x")
    with pytest.raises(AuditFailure, match="more releases"):
        check_replay(runs[0], runs[2])
    short = CannedCurator(runs[0]._plan, [])
    with pytest.raises(AuditFailure, match="no answer left"):
        short.gaussian([0], sensitivity=1, share=0.5, label="x")
