"""Statistics and predicates of one's own: tried on made-up integers, and told as promises."""

import numpy as np
import pytest

from skdp import (
    FriendlyCoreFilter,
    PrivacyLedger,
    PrivateMean,
    PrivateSearchCV,
    SensitivityPreprocessor,
    make_private_pipeline,
)
from skdp.friendly.published import PairwisePredicate
from skdp.preprocessing import LaplaceMechanism
from skdp.sensitivity import Quantile, TrimmedMean, WinsorisedMean, bounded_statistic
from skdp.sensitivity._windows import Mean

X = np.zeros((50, 2))


class Range:
    """The range, which falls when the smallest entry is exchanged for a larger one."""

    increasing = False

    def total(self, data, i, j):
        return data.s[j - 1] - data.s[i]

    def weight(self, m):
        return 1 + 0 * m


class Negated(Mean):
    def total(self, data, i, j):
        return data.P[i] - data.P[j]


class Placed(Mean):
    def total(self, data, i, j):
        return data.P[j] - data.P[i] + i


class Remembers(Mean):
    calls = 0

    def total(self, data, i, j):
        self.calls += 1
        return data.P[j] - data.P[i] + (self.calls > 60)


class Halves(Mean):
    def total(self, data, i, j):
        return (data.P[j] - data.P[i]) / 2


class Huge(Mean):
    def total(self, data, i, j):
        return 2**40 * (data.P[j] - data.P[i])


class Weightless(Mean):
    def weight(self, m):
        return m - 1


class Lowered(Mean):  # ordered, but an entry above all others may lower it
    def weight(self, m):
        return m * m


class Third:
    """A statistic of one's own that keeps all promises."""

    increasing = True

    def total(self, data, i, j):
        return 2 * data.s[np.minimum(i + 2, j - 1)] + data.s[j - 1]

    def weight(self, m):
        return 3 + 0 * m


class Trimmed(TrimmedMean):
    """As its base; nobody knows."""


BROKEN = {
    Range: "must not fall",
    Negated: "must not fall",
    Placed: "entries data.s",
    Remembers: "made-up integers",
    Halves: "total an integer",
    Huge: "total an integer of at most twice",
    Weightless: "positive integer",
    Lowered: "increasing=True",
}


@pytest.mark.parametrize("own", BROKEN, ids=lambda own: own.__name__)
def test_a_statistic_that_breaks_a_promise_is_refused_before_a_charge(own):
    ledger = PrivacyLedger(1.0)
    with pytest.raises(ValueError, match=BROKEN[own]) as told:
        bounded_statistic([8.0, 3, 6, 4, 3, 3], own(), sensitivity=1.0)
    assert own.__name__ in str(told.value) and "Correct it" in str(told.value)
    with pytest.raises(ValueError, match=BROKEN[own]):
        SensitivityPreprocessor(own(), sensitivity=1.0).fit(X)
    pipe = make_private_pipeline(
        SensitivityPreprocessor(own(), sensitivity=1.0),
        LaplaceMechanism(),
        delta=0.0,
        ledger=ledger,
    )
    assert any(BROKEN[own] in text for text in pipe.plan().problems)
    with pytest.raises(ValueError, match=BROKEN[own]):
        pipe.fit(X)
    assert [entry.kind for entry in ledger.entries()] == ["opened"]


@pytest.mark.parametrize("own", [Third(), Trimmed(0.05)], ids=["third", "trimmed"])
def test_a_statistic_of_ones_own_is_a_promise_in_plan_and_report(own):
    words = f"statistic {type(own).__name__}: bounded on your promise"
    step = SensitivityPreprocessor(own, sensitivity=1.0)
    pipe = make_private_pipeline(step, LaplaceMechanism(), delta=0.0)
    alone = LaplaceMechanism().fit(step.fit(X).bounded_values())
    fitted = pipe.fit(X)
    for told in (pipe.plan(), fitted.privacy_report_, alone.privacy_report_):
        assert [words in text for text in told.assumptions].count(True) == 1
        assert words in str(told)


@pytest.mark.parametrize("named", ["mean", Mean(), Quantile(0.3), WinsorisedMean(0.1)], ids=str)
def test_named_statistics_are_no_promise(named):
    pipe = make_private_pipeline(
        SensitivityPreprocessor(named, sensitivity=1.0), LaplaceMechanism(), delta=0.0
    )
    assert pipe.plan().assumptions == ()


class Near:
    """Friends are at most 2 apart in every column."""

    def friends(self, A, B=None):
        return (np.abs(A[:, None] - A[None]).max(axis=2) <= 2).sum(axis=1)

    def implies(self, d):
        return 2.0


class Parity(Near):
    def friends(self, A, B=None):
        return np.full(len(A), len(A)) if len(A) % 2 else np.zeros(len(A), int)


class Above(Near):
    def friends(self, A, B=None):
        return (A[:, None, 0] <= A[None, :, 0]).sum(axis=1)


class OfTheFirst(Near):
    def friends(self, A, B=None):
        return (np.abs(A - A[:1]).max(axis=1) <= 2).astype(int)


class Raises(Near):
    def friends(self, A, B=None):
        raise KeyError("seen")


class Fractions(Near):
    def friends(self, A, B=None):
        return super().friends(A) / 2


class Forgets(Near):
    calls = 0

    def friends(self, A, B=None):
        self.calls += 1
        return super().friends(A) * (self.calls != 2)


REFUSED = {
    Parity: "by 0 or 1",
    Above: "if x is a friend of y",
    OfTheFirst: "by 0 or 1",
    Raises: "it raised KeyError",
    Fractions: "of integers from 0 to n",
    Forgets: "the same in every call",
}


@pytest.mark.parametrize("own", REFUSED, ids=lambda own: own.__name__)
@pytest.mark.parametrize("d", [1, 3])
def test_a_predicate_that_breaks_a_promise_is_refused_before_a_charge(own, d):
    ledger, rows = PrivacyLedger(1.0, 1e-6), np.zeros((50, d))
    for make in (
        lambda: FriendlyCoreFilter(predicate=own(), ledger=ledger),
        lambda: make_private_pipeline(
            FriendlyCoreFilter(predicate=own()), PrivateMean(), ledger=ledger
        ),
    ):
        with pytest.raises(ValueError, match=REFUSED[own]) as told:
            make().fit(rows)
        assert own.__name__ in str(told.value)
    assert [entry.kind for entry in ledger.entries()] == ["opened"]


@pytest.mark.parametrize("own", [Near(), PairwisePredicate(lambda x, y: bool((x * y > 0).all()))])
def test_a_predicate_of_ones_own_is_a_promise_in_plan_and_report(own):
    words = f"predicate {type(own).__name__}: on your promise"
    core = FriendlyCoreFilter(predicate=own)
    for told in (core.plan(), core.fit(X).privacy_report_):
        assert words in told.assumptions[-1] and words in str(told)
    assert len(FriendlyCoreFilter(radius=2.0).plan().assumptions) == 1


def test_a_trial_reads_no_generator_and_no_row():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    seen = []

    class Looks(Third):
        def total(self, data, i, j):
            seen.append(np.max(np.abs(np.asarray(data.s))))
            return super().total(data, i, j)

    bounded_statistic([], Looks(), sensitivity=1.0)
    first, n = list(seen), len(seen)
    bounded_statistic([], Looks(), sensitivity=1.0)
    assert n and seen[n:] == first and max(first) <= 2**21
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_a_scorer_of_ones_own_is_a_promise():
    class Scorer:
        uses_target = needs_reference = False

        def prepare(self, reference, X, y, curator):
            return lambda model: np.ones(len(X))

        def value(self, mean):
            return mean

    search = PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, scoring=Scorer())
    assert "scoring Scorer: on your promise" in search.plan().assumptions[-1]
    assert not any("promise" in text for text in search.set_params(scoring=None).plan().assumptions)
