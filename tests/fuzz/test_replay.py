"""Replays of neighbours: nothing moves or shows, and whoever lies is found."""

import numpy as np
import pytest

from skdp import MarginalReleaser, PrivateCount, PrivateMean
from skdp.audit._draw import Sample
from skdp.audit._fingerprint import fingerprint
from skdp.base import Budget, Plan, PrivateEstimator, Step, count_rows
from tests.fuzz import _replay
from tests.fuzz.__main__ import replays
from tests.fuzz._neighbours import Case, numbers
from tests.fuzz._replay import replay
from tests.privacy._mutants import MUTANTS


class Liar(PrivateEstimator):
    """Two counts of rows, and a lie about them."""

    def __init__(self, how, *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        self.how, self.epsilon, self.delta = how, epsilon, delta
        self.random_state, self.ledger = random_state, ledger

    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("a"), Step("b")))

    def _release(self, rows, curator):
        n = count_rows(rows)
        if self.how == "fail" and n % 2:
            raise ValueError
        sensitivity = 0.5 if self.how == "half" else 1
        for label in "ba" if self.how == "order" and n % 2 else "ab":
            curator.gaussian([n], sensitivity=sensitivity, share=0.5, label=label)
        if self.how == "decide" and n % 2:
            curator.decide("odd")
        return {"odd_": n % 2} if self.how == "attribute" else {}


LIES = {
    "honest": [],
    "half": ["'a' moves by more than it declares: 4", "'b' moves by more"],
    "order": ["differs: bill"],
    "decide": ["differs: bill"],
    "attribute": ["differs: attribute odd_"],
    "fail": ["path: ", "differs: exception"],
}


def neighbours(estimator, seed=0):
    """Return a case of a table of 41 rows and one row less."""
    X = numbers(np.random.default_rng(seed), 41, 2, "normal")
    return Case(
        name=type(estimator).__name__,
        estimator=estimator,
        sample=Sample(X),
        stay=np.arange(len(X)) != 7,
        kinds=("array", "batches"),
        answers="noise",
        by_name=False,
        block=None,
        ledger=True,
        remove=bool(seed % 2),
        seed=seed,
    )


@pytest.mark.parametrize("how", LIES)
def test_a_lie_is_found(how, tmp_path):
    wrong, _, _ = replay(neighbours(Liar(how)), tmp_path)
    assert bool(wrong) == bool(LIES[how])
    for found, expected in zip(wrong, LIES[how], strict=False):
        assert found.startswith(expected)


FAULTS = {
    "sigma rounded to half": (PrivateCount(), "all releases exceed the whole budget"),
    "marginals with half of their sensitivity": (
        MarginalReleaser(1, n_bins=3, domain="auto"),
        "moves by more",
    ),
    "exact count published": (PrivateMean(), "differs: attribute"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault, tmp_path):
    estimator, expected = FAULTS[fault]
    with next(mutant for mutant in MUTANTS if mutant.name == fault).planted():
        found = [replay(neighbours(estimator, seed), tmp_path)[0] for seed in range(4)]
    assert any(expected in text for texts in found for text in texts)
    assert replay(neighbours(estimator), tmp_path)[0] == []


def test_a_fault_ends_the_survey_with_a_program(monkeypatch, capsys):
    monkeypatch.setattr(_replay, "draw", lambda *_: neighbours(Liar("attribute")))
    assert not replays(["2", "--seed", "5"])
    told = capsys.readouterr().out
    assert told.count("python -m tests.fuzz replay 1 --first 0 --seed 5\n") == 1
    assert told.count("differs: attribute odd_") == 1


@pytest.mark.slow
def test_some_replays(capsys):
    assert replays(["40", "--seed", "235"]), capsys.readouterr().out


@pytest.mark.nightly
def test_many_replays(capsys):
    assert replays(["250", "--seed", "1"]), capsys.readouterr().out


def test_numbers_of_a_million_digits_have_fingerprints():
    assert fingerprint(2**40_000) != fingerprint(2**40_000 + 1)
