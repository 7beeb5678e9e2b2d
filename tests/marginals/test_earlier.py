"""Releases of one source over the years: levels and tables of the first serve the second."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import skdp
from skdp import MarginalReleaser
from skdp.marginals._residuals import Measurement, workload_layout
from skdp.marginals._synthetic_rows import joined

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
LEVELS = (4, 3, 5, 2, 6, 3)


def noisy(truth, sets, sd, rng):
    layout, weights = workload_layout(LEVELS, sets)
    values = np.empty(layout.starts[-1])
    for name, number in layout.position.items():
        values[layout.starts[number] : layout.starts[number + 1]] = truth[name]
    noise = np.full(len(layout.lengths), sd)
    values += sd * rng.normal(size=len(values))
    return Measurement(layout, values, noise, weights)


def truths(rng, drift):
    """Return the residuals of two years of 10,000 rows, by set."""
    layout, _ = workload_layout(LEVELS, 2)
    one, two = {(): np.array([10_000.0])}, {(): np.array([10_000.0])}
    for name, number in list(layout.position.items())[1:]:
        one[name] = 300 * rng.normal(size=layout.lengths[number])
        two[name] = one[name] + drift * rng.normal(size=layout.lengths[number])
    return one, two


def errors(m, truth):
    found = []
    for name, number in m.layout.position.items():
        here = m.values[m.layout.starts[number] : m.layout.starts[number + 1]]
        if name:
            found.append(np.square(here - truth[name]))
    return np.concatenate(found)


@pytest.mark.parametrize(("drift", "most"), [(0.0, 0.6), (40.0, 0.9), (2000.0, 1.02)])
def test_a_second_year_gains_as_far_as_the_years_agree(drift, most):
    rng, ratio, stated = np.random.default_rng(0), [], []
    pairs = list(combinations(range(6), 2))
    for _ in range(20):
        one, two = truths(rng, drift)
        earlier, now = (noisy(t, pairs, 50.0, rng) for t in (one, two))
        earlier = replace(earlier, values=earlier.values)
        both = joined(now, earlier)
        ratio.append(errors(both, two).mean() / errors(now, two).mean())
        variance = both.layout.spread(np.square(both.sd))[1:].mean()
        stated.append(errors(both, two).mean() / variance)
    assert np.mean(ratio) < most and abs(np.mean(stated) - 1) < 0.15


def test_what_has_changed_is_not_smoothed_away():
    rng, pairs = np.random.default_rng(1), list(combinations(range(6), 2))
    one, two = truths(rng, 0.0)
    two[0, 2] = two[0, 2] + 1000.0
    earlier, now = (noisy(t, pairs, 50.0, rng) for t in (one, two))
    both = joined(now, earlier)
    number = both.layout.position[0, 2]
    here = slice(*both.layout.starts[number : number + 2])
    at = now.layout.starts[now.layout.position[0, 2]]
    assert np.array_equal(both.values[here], now.values[at : at + 12])
    assert both.sd[number] == 50.0 and np.median(both.sd[7:]) < 50


def test_pairs_of_the_first_year_alone_serve_if_others_tell_how_far_they_drift():
    rng = np.random.default_rng(2)
    one, two = truths(rng, 0.0)
    earlier = noisy(one, [(0, 1), (2, 3), (1, 4)], 50.0, rng)
    now = noisy(two, [(0, 1), (4, 5)], 50.0, rng)
    both = joined(now, replace(earlier, values=earlier.values * 0.5))  # half as many rows
    assert {(2, 3), (1, 4), (4, 5), (0, 1)} <= set(both.layout.position)
    number = both.layout.position[2, 3]
    here = both.values[both.layout.starts[number] : both.layout.starts[number + 1]]
    assert np.abs(here - one[2, 3]).max() < 5 * both.sd[number]
    alone = joined(noisy(two, [(4, 5)], 50.0, rng), earlier)
    assert (2, 3) not in alone.layout.position  # no pair tells the drift


def town(n, seed):
    rng = np.random.default_rng(10**6 + seed)
    frame = pd.DataFrame({"wage": rng.lognormal(3, 1, n), "kids": rng.poisson(1.5, n)})
    frame["town"] = rng.choice(["north", "south", "east"], n)
    frame["old"] = frame.wage + rng.normal(size=n) > 20
    return frame


def test_released_levels_are_a_domain_and_one_ledger_pays_for_both_years():
    ledger = skdp.PrivacyLedger(3.0, 1e-5)
    some = {"k": 2, "delta": 1e-6, "ledger": ledger}
    first = MarginalReleaser(
        domain="auto", n_bins=6, epsilon=1.0, workload="rows", random_state=0, **some
    ).fit(town(6000, 0))
    again = MarginalReleaser(
        domain=first.domain_, epsilon=1.0, workload="rows", random_state=1, **some
    )
    second = again.fit(town(5000, 1)[["old", "wage", "town", "kids"]])
    assert second.domain_.labels == first.domain_.labels
    charged = {charge.label for charge in second.privacy_report_.charges}
    assert charged <= {"singles", "scores", "residuals"} and len(ledger.entries()) == 3
    rows = second.sample(300, earlier=first)
    assert list(rows) == ["old", "wage", "town", "kids"] and len(rows) == 300
    assert not rows.equals(second.sample(300))
    with pytest.raises(ValueError, match="'kids'"):
        again.fit(town(50, 2).drop(columns="kids"))
    other = MarginalReleaser(domain="auto", random_state=0).fit(town(2000, 3))
    with pytest.raises(ValueError, match=r"domain=earlier\.domain_"):
        second.sample(5, earlier=other)


def test_rows_of_a_small_domain_join_the_years_too():
    X = np.random.default_rng(0).integers(0, 4, size=(400, 3))
    domain = dict.fromkeys(range(3), 4)
    first = MarginalReleaser(domain=domain, epsilon=50.0, random_state=0).fit(np.tile(X, (10, 1)))
    exact, far = np.bincount(X[:, 0] * 4 + X[:, 1], minlength=16) / 400, []
    for seed in range(1, 6):
        second = MarginalReleaser(domain=first.domain_, epsilon=0.1, random_state=seed).fit(X)
        for rows in (second.sample(4000, earlier=first), second.sample(4000)):
            table = np.bincount(rows[:, 0] * 4 + rows[:, 1], minlength=16) / 4000
            far.append(np.abs(table - exact).sum())
    assert np.sum(far[::2]) < 0.8 * np.sum(far[1::2])
