import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.base import Curator
from skdp.friendly import noisy_filter, replace_one_filter
from skdp.friendly._filters import _chernoff, tail_margin
from skdp.friendly.published import basic_filter, basic_filter_gamma, paradigm, paradigm_inverse
from skdp.friendly.published._basic_filter import basic_filter_probabilities
from skdp.mechanisms import RowKeys, make_entropy

ALPHAS = [Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(2, 5)]


def graphs(n):
    """All reflexive symmetric relations on n points."""
    pairs = list(itertools.combinations(range(n), 2))
    for bits in range(2 ** len(pairs)):
        F = np.eye(n, dtype=int)
        for b, (i, j) in enumerate(pairs):
            F[i, j] = F[j, i] = bits >> b & 1
        yield F


def curator(failure, *, mu2=1, seed=0, times=10**6):
    f = Fraction(failure)
    budget = Budget("gdp", Fraction(mu2), f, Fraction(1), Fraction(1))
    return Curator(Plan(budget, (Step("x"),), (("bad", f),)), make_entropy(seed))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_basic_filter_is_stable_friendly_and_complete_on_all_small_graphs(alpha):
    gamma, worst = basic_filter_gamma(alpha), 0
    for n in range(1, 6):
        for F in graphs(n):
            p = basic_filter_probabilities(F.sum(1), n, alpha)
            rest = F[:-1, :-1]  # by symmetry of the enumeration any row may be the one removed
            q = [*basic_filter_probabilities(rest.sum(1), n - 1, alpha), Fraction(0)]
            moved = sum(abs(a - b) for a, b in zip(p, q, strict=True))
            worst = max(worst, moved)
            assert moved <= gamma
            kept = [i for i in range(n) if p[i] > 0 or q[i] > 0]
            for i, k in itertools.combinations(kept, 2):
                assert np.any(F[i] & F[k])
            for c, prob in zip(F.sum(1), p, strict=True):
                assert prob == 1 or c < (1 - alpha) * n
                assert prob == 0 or c > Fraction(n, 2)
    assert worst > gamma / 2


def test_gamma_is_nearly_attained():
    # x_j has (1 - alpha) n friends, who have little more than n / 2; all others have as many as x_j
    n, alpha = 1000, Fraction(1, 10)
    c = np.r_[np.full(899, 502), np.full(101, 899)]
    c[-1] = 900
    after = c - np.r_[np.ones(899, int), np.zeros(100, int), 0]
    p = basic_filter_probabilities(c, n, alpha)
    q = basic_filter_probabilities(after[:-1], n - 1, alpha)
    moved = sum(abs(a - b) for a, b in zip(p[:-1], q, strict=True)) + p[-1]
    assert basic_filter_gamma(alpha) * Fraction(97, 100) < moved <= basic_filter_gamma(alpha)


def test_basic_filter_keeps_by_its_probabilities():
    n = 40_000
    counts = np.repeat([n, n * 3 // 4, n // 2, n * 5 // 8], n // 4)
    kept = basic_filter(counts, n, 0, RowKeys(make_entropy(3))).reshape(4, -1).mean(axis=1)
    assert kept[0] == 1 and kept[2] == 0
    assert abs(kept[1] - 0.5) < 0.03 and abs(kept[3] - 0.25) < 0.03  # six standard deviations
    assert basic_filter([], 0, 0, RowKeys(make_entropy(3))).shape == (0,)


@pytest.mark.parametrize("alpha", [0, 0.25])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_paradigm_and_its_inverse(alpha, epsilon):
    inner = paradigm_inverse(epsilon, 1e-6, alpha)
    outer = paradigm(*inner, alpha)
    assert outer[0] <= epsilon and outer[1] <= 1e-6
    assert outer == pytest.approx((epsilon, 1e-6), rel=1e-9)


def test_paradigm_of_a_known_case():
    assert paradigm_inverse(1, 1, 0) == pytest.approx((0.405465, 0.290988), rel=1e-5)


@pytest.mark.parametrize("k", [1, 10, 1000])
def test_tail_margin(k):
    log_p = math.log(1e-5)
    margin = tail_margin(log_p, float(k))
    tail = math.erfc((margin + 0.5) / k / math.sqrt(2)) / 2  # round(kZ) > margin
    assert tail <= 1e-5


@pytest.mark.parametrize(("level", "q"), [("1/2", 1), ("3/10", 1), ("1/2", 0.3), ("3/10", 0.3)])
def test_bad_rows_are_kept_as_rarely_as_planned(level, q):
    # 400 runs at failure .1: more than 70 runs with a bad row have a probability below 1e-5
    level, n, fails, f = Fraction(level), 100, 0, Fraction(1, 10)
    c = math.floor((1 - level) * n)  # on D; D' lacks a non-friend
    rng = np.random.default_rng(0)
    for seed in range(400):
        shape = (n - 1, n - 1) if q < 1 else (1, n - 1)
        taken = rng.random(shape) < q  # a sample for every row
        keep = noisy_filter(
            np.broadcast_to(np.count_nonzero(taken[:, :c], axis=1), n - 1),
            np.count_nonzero(taken, axis=1),
            n_up=n,
            curator=curator(f, seed=seed),
            share=1,
            label="x",
            event="bad",
            level=level,
            q=q,
        )
        fails += keep.any()
    assert fails <= 70


def test_the_unsampled_threshold_is_not_wasteful():
    # all rows on the border: kept with a frequency of about the plan's
    fails = sum(
        noisy_filter(
            np.full(400, 201),
            401,
            n_up=402,
            curator=curator("1/10", seed=s),
            share=1,
            label="x",
            event="bad",
        ).any()
        for s in range(300)
    )
    assert 8 <= fails <= 55  # expected 28


def test_chernoff_bound_holds_exactly_without_noise():
    # a bad row's sampled value is Bin(50, q) - Bin(50, q): exact tail against the threshold
    q, n, log_p = 0.2, 100, math.log(1e-3)
    pmf = np.array([math.comb(50, k) * q**k * (1 - q) ** (50 - k) for k in range(51)])
    law = np.convolve(pmf, pmf[::-1])
    top = _chernoff(log_p, n * q, 0.5, 0.0)
    assert law[50 + top - 1 :].sum() <= 1e-3
    assert law[50 + top // 2 :].sum() > 1e-3


def test_filters_keep_a_complete_set_and_drop_outliers():
    counts = np.r_[np.full(990, 990), np.full(10, 10)]
    f = Fraction(1, 10**9)
    keep = noisy_filter(
        counts, 1000, n_up=1010, curator=curator(f), share=1, label="x", event="bad"
    )
    assert keep[:990].all() and not keep[990:].any()
    keep = replace_one_filter(
        counts, size=1000, curator=curator(f), share=1, label="x", event="bad"
    )
    assert keep[:990].all() and not keep[990:].any()
    empty = noisy_filter(counts, 1000, n_up=0, curator=curator(f), share=1, label="x", event="bad")
    assert not empty.any()


@pytest.mark.slow
@pytest.mark.parametrize("least", [Fraction(1, 2), Fraction(2, 3)])
def test_replace_one_filter_moves_as_declared_and_certifies_in_the_union(least):
    n, bad = 4, 0
    for F in graphs(n + 1):  # D = all but the last, D' = all but the one before
        D, E = [0, 1, 2, 3], [0, 1, 2, 4]
        seen = []
        for S in (D, E):
            c = curator("1/10")
            c._noisy = lambda v, *_: seen.append(v) or v  # noqa: B023
            replace_one_filter(
                F[np.ix_(S, S)].sum(1),
                size=n,
                curator=c,
                share=1,
                label="x",
                event="bad",
                least=least,
            )
            declared = Fraction(c.close("x").charges[0].sensitivity) ** 2
        moved = sum(int(a - b) ** 2 for a, b in zip(seen[0][:3], seen[1][:3], strict=True))
        assert moved <= declared
        for S, values in ((D, seen[0]), (E, seen[1])):
            for i, v in zip(S, values, strict=True):
                if F[i].sum() <= least * (n + 1):
                    bad += 1
                    assert v <= 0
    assert bad > 100


def test_replace_one_filter_keeps_bad_elements_as_rarely_as_planned():
    fails = sum(
        replace_one_filter(
            np.full(101, 51),
            size=101,
            curator=curator("1/10", seed=s),
            share=1,
            label="x",
            event="bad",
        ).any()
        for s in range(400)
    )
    assert 10 <= fails <= 70  # Bin(400, <= .1)


@pytest.mark.parametrize("level", [0, 0.6])
def test_levels_outside_are_refused(level):
    with pytest.raises(ValueError, match="level"):
        noisy_filter(
            [1], 1, n_up=2, curator=curator("1/10"), share=1, label="x", event="bad", level=level
        )
