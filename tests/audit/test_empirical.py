"""Audits of the estimators of this package, and of broken ones.

A correct estimator fails an audit with probability ALARM. Below and in test_one_run.py stand at
most 30 audits that a correct estimator has to pass: a false alarm in any of them has a probability
of at most 1e-3 over seeds. All seeds are fixed.
"""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer

import skdp
from skdp import (
    PrivacyLedger,
    PrivateMean,
    PrivatePipeline,
    PrivateSearchCV,
    PrivateStandardScaler,
    RowMap,
    make_private_pipeline,
)
from skdp.accounting import Budget, Plan, Step
from skdp.audit._empirical import audit, released_numbers
from skdp.audit._events import find_evidence
from skdp.estimator._estimator import PrivateEstimator
from skdp.exceptions import SeededNoiseWarning
from skdp.gate._curator import Curator, replaced_curator

ALARM = 1e-3 / 30
SURE = {"confidence": 1 - ALARM, "random_state": 0}


def column(*values):
    return np.array(values, dtype=float)[:, None]


def normal(n, d):
    return np.random.default_rng(7).normal(size=(n, d))


def with_row(X, *row):
    return np.vstack([X, [row]])


BALL = {"center": 0.0, "radius": 1.0}
WORST_PAIRS = {  # the last row is the one that makes the difference
    "row on the boundary": (BALL, with_row(np.zeros((30, 1)), 1.0)),
    "far row": (BALL, with_row(np.zeros((40, 2)), 1e300, -1e300)),
    "one row or two": (BALL, column(1.0, 1.0)),
    "duplicates": (BALL, np.ones((10, 1))),
}
MORE_PAIRS = {
    "row without a place": ({}, with_row(normal(60, 2), np.nan, 0.0)),
    "far row, nothing public": ({}, with_row(normal(60, 2), 1e9, 1e9)),
    "far row, trimmed": ({"trim": True, "radius": 3.0}, with_row(normal(300, 2), 1e9, 0.0)),
    "outlier of duplicates": ({}, with_row(np.full((300, 1), 5.0), 1e6)),
}


def audit_pair(params, X, **options):
    # a center and radius are public: the pair is then as far apart as the claim allows
    with skdp.config_context(invalid_rows="error" if np.isfinite(X).all() else "ignore"):
        return audit(PrivateMean(delta=0.05, **params), X[:-1], X, **options)


@pytest.mark.slow  # by default the mean is audited beside the planted faults
@pytest.mark.parametrize("pair", WORST_PAIRS | MORE_PAIRS)
def test_private_mean_on_its_worst_pairs(pair):
    params, X = (WORST_PAIRS | MORE_PAIRS)[pair]
    n_runs = 1000 if pair in WORST_PAIRS else 500
    report = audit_pair({"epsilon": 1.0, **params}, X, n_runs=n_runs, **SURE)
    assert report.passed, report
    if pair in WORST_PAIRS:
        assert report.mu_lower > 0.4 * report.claimed_mu  # not vacuous


@pytest.mark.nightly
@pytest.mark.parametrize("pair", WORST_PAIRS | MORE_PAIRS)
def test_private_mean_with_many_runs(pair):
    params, X = (WORST_PAIRS | MORE_PAIRS)[pair]
    n_runs = 10_000 if pair in WORST_PAIRS else 5000
    report = audit_pair({"epsilon": 2.0, **params}, X, n_runs=n_runs, n_jobs=2, **SURE)
    assert report.passed, report
    if pair in WORST_PAIRS:
        assert report.mu_lower > 0.8 * report.claimed_mu


# --- broken estimators, written against the public API -------------------------------------------


class Toy(PrivateEstimator):
    """Releases a clipped sum, with noise for a sensitivity that is too small by ``fault``."""

    def __init__(
        self, law="gaussian", fault=1.0, *, epsilon=1.0, delta=0.0, random_state=None, ledger=None
    ):
        self.law = law
        self.fault = fault
        self.epsilon = epsilon
        self.delta = delta
        self.random_state = random_state
        self.ledger = ledger

    def plan(self):
        if self.law == "gaussian":
            budget = Budget.gaussian(self.epsilon, self.delta)
        elif self.delta:
            budget = Budget.zcdp(self.epsilon, self.delta)
        else:
            budget = Budget.pure(self.epsilon)
        return Plan(budget, (Step("sum", self.law),))

    def _release(self, rows, curator):
        total = sum(np.clip(block, -1, 1).sum(axis=0) for _, block in rows.blocks())
        draw = getattr(curator, self.law)
        release = draw(
            np.rint(total * 1000).astype(int),
            sensitivity=1000 / self.fault,
            share=1,
            label="sum",
        )
        return {"sum_": release.value / 1000, "scale_": release.scale}


PAIR = np.zeros((5, 1)), with_row(np.zeros((5, 1)), 1.0)
LAWS = {
    "gaussian": {"epsilon": 2.0, "delta": 0.05},  # mu 1.16
    "laplace": {"epsilon": 1.0, "delta": 0.0},
    "mixed": {"law": "laplace", "epsilon": 3.0, "delta": 0.05},  # zCDP
}


def laws(*some):
    """Return a mark for all laws, of which some are tried by default."""
    marks = {law: () if law in some else pytest.mark.slow for law in LAWS}
    return pytest.mark.parametrize("law", [pytest.param(law, marks=marks[law]) for law in LAWS])


@pytest.mark.slow
@laws("mixed")
def test_toys_that_keep_their_claim_pass(law):
    report = audit(Toy(**{"law": law} | LAWS[law]), *PAIR, n_runs=1000, **SURE)
    assert report.passed, report
    assert report.rho_lower > 0.15 * report.claimed_rho


@pytest.mark.slow
# Over seeds, caught with probability above 0.99 each (measured: see the slow test below).
@laws("laplace")  # a planted fault is the same for Gaussian noise
def test_half_the_noise_is_caught(law):
    report = audit(Toy(**{"law": law, "fault": 2.0} | LAWS[law]), *PAIR, random_state=0)
    assert not report.passed, report


@pytest.mark.slow  # a planted fault is the same by default
def test_half_the_noise_behind_an_honest_looking_claim_is_caught():
    class Half(Curator):
        def _noisy(self, value, law, scale, rows=None, parts=None):
            return super()._noisy(value, law, scale / 2)

    params, X = WORST_PAIRS["duplicates"]
    with replaced_curator(Half):
        report = audit_pair({"epsilon": 2.0, **params}, X, random_state=0)
    assert not report.passed, report


@pytest.mark.audit
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_noise_too_small_by_the_root_of_two_is_caught(law):
    # over seeds: caught with probability .96 and more
    toy = Toy(**{"law": law, "fault": 2**0.5} | LAWS[law])
    assert not audit(toy, *PAIR, n_runs=4000, random_state=0, n_jobs=2).passed


def test_what_the_claim_excludes_is_found_in_the_fit_that_fails():
    class Stumbles(Toy):
        def _release(self, rows, curator):
            if sum(len(block) for _, block in rows.blocks()) > 5:
                raise KeyError
            return super()._release(rows, curator)

    assert not audit(Stumbles(delta=0.05), *PAIR, n_runs=100, random_state=0).passed


def test_a_release_whose_length_depends_on_a_row_is_caught():
    class Long(Toy):
        def _release(self, rows, curator):
            n = sum(len(block) for _, block in rows.blocks())
            return super()._release(rows, curator) | {"zeros_": np.zeros(n)}

    assert not audit(Long(delta=0.05), *PAIR, n_runs=100, random_state=0).passed


@pytest.mark.parametrize("leak", [np.nan, np.inf, 1e308, -1e-300])
def test_a_strange_number_that_depends_on_a_row_is_caught(leak):
    class Leaks(Toy):
        def _release(self, rows, curator):
            n = sum(len(block) for _, block in rows.blocks())
            return super()._release(rows, curator) | {"leak_": [0.0, leak][n > 5]}

    assert not audit(Leaks(delta=0.05), *PAIR, n_runs=100, random_state=0).passed


# --- power and false alarms of the judgement alone -----------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("n_runs", "fault", "least"), [(1000, 2, 0.99), (4000, 2**0.5, 0.9)])
def test_power(n_runs, fault, least):
    rng = np.random.default_rng(0)
    caught = {"gaussian": 0, "laplace": 0}
    for _ in range(100):
        shift = np.full(5, fault / 5**0.5)
        noise = rng.normal(size=(2, n_runs, 5))
        caught["gaussian"] += find_evidence(noise[0], noise[1] + shift, deltas=()).mu > 1
        noise = rng.laplace(size=(2, n_runs, 1))
        found = find_evidence(noise[0], noise[1] + fault, deltas=(0.0,))
        caught["laplace"] += found.epsilons[0] > 1
    assert min(caught.values()) >= 100 * least, caught


@pytest.mark.slow
def test_false_alarms():
    # 300 audits at confidence .95: at most 15 alarms expected, more than 33 with probability 1e-5
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(300):
        first, second = rng.normal(size=(2, 400, 2))
        second[:, 0] += 1
        found = find_evidence(first, second, deltas=(0.0,), confidence=0.95)
        alarms += found.mu > 1
    assert alarms <= 33


# --- the call ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_wide_release_needs_no_more_runs_than_columns():
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2, 200, 500))
    assert find_evidence(first, second, deltas=(0.01,)).mu < 0.5
    second[:, 123] += 5
    assert find_evidence(first, second, deltas=(0.01,)).mu > 2


def test_default_statistic_takes_numbers_and_the_shape_of_the_report():
    fitted = PrivateMean(random_state=None, **BALL).fit(np.zeros((5, 2)))
    numbers = released_numbers(fitted)
    assert numbers.shape == (6 * 2 + 1 + 1 + 2,)  # six of each column, the rows
    assert numbers[-2] == 2  # releases


MEAN = PrivateMean(center=0.0, radius=1.0)
NESTED = {
    "pipeline": make_private_pipeline(MEAN, epsilon=1.0, delta=0.05),
    "map first": make_private_pipeline(RowMap(np.abs), MEAN, epsilon=1.0, delta=0.05),
    "nested": make_private_pipeline(PrivatePipeline([("mean", MEAN)]), epsilon=1.0, delta=0.05),
    "container": make_private_pipeline(
        ColumnTransformer([("scale", PrivateStandardScaler(), [0])]), MEAN, epsilon=1.0, delta=0.05
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name for name in NESTED if name != "container"],  # its scaler hides the row
)
def test_the_default_statistic_looks_into_steps(name):
    fitted = clone(NESTED[name]).fit(np.ones((9, 2)))
    assert len(released_numbers(fitted)) >= 2 + 2

    class Tenth(Curator):
        def _noisy(self, value, law, scale, rows=None, parts=None):
            return super()._noisy(value, law, scale / 10)

    with replaced_curator(Tenth):
        report = audit(NESTED[name], *PAIR, n_runs=100, random_state=0)
    assert not report.passed, report


def test_the_default_statistic_looks_into_the_steps_of_a_container():
    fitted = clone(NESTED["container"]).fit(np.ones((9, 2)))
    scaler = fitted.steps_[0][1].transformers_[0][1]
    assert set(scaler.mean_) <= set(released_numbers(fitted))


def test_the_default_statistic_looks_at_the_winner_of_a_search():
    search = PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, mean_trials=2, random_state=0)
    with pytest.warns(SeededNoiseWarning):
        fitted = search.fit(np.random.default_rng(0).normal(size=(50, 2)))
    numbers = released_numbers(fitted)
    assert set(fitted.best_estimator_.location_) <= set(numbers)


def test_a_fit_that_shows_no_number_needs_a_statistic():
    class Silent(Toy):
        def _release(self, rows, curator):
            return {"text_": str(super()._release(rows, curator)["sum_"])}

    with pytest.raises(ValueError, match="no fitted attribute that is a number"):
        audit(Silent(delta=0.05), *PAIR, n_runs=20)
    assert audit(
        Silent(delta=0.05), *PAIR, n_runs=20, statistic=lambda fitted: [len(fitted.text_)]
    ).passed


@pytest.mark.slow
def test_a_statistic_of_the_user():
    toy = Toy(fault=4.0, epsilon=2.0, delta=0.05)
    blind = audit(toy, *PAIR, 200, lambda fitted: fitted.scale_, random_state=0)
    assert blind.passed and blind.mu_lower == 0
    assert not audit(toy, *PAIR, 200, lambda fitted: [fitted.sum_], random_state=0).passed


@pytest.mark.slow
def test_seeds_repeat_an_audit_and_processes_change_nothing():
    params, X = WORST_PAIRS["one row or two"]
    runs = [
        audit_pair(params, X, n_runs=40, random_state=seed, n_jobs=n_jobs)
        for seed, n_jobs in ((3, None), (3, 2), (4, None))
    ]
    assert runs[0].to_json() == runs[1].to_json()
    np.testing.assert_array_equal(runs[0].evidence.first, runs[1].evidence.first)
    assert not np.array_equal(runs[0].evidence.first, runs[2].evidence.first)


def test_noise_is_fresh_whatever_the_seed_of_the_estimator():
    report = audit(Toy(delta=0.05, random_state=0), *PAIR, n_runs=30)
    assert len(np.unique(report.evidence.first)) > 10


def test_a_ledger_is_refused_and_not_charged():
    ledger = PrivacyLedger(10.0, 1e-3)
    toy = Toy(delta=1e-6, ledger=ledger)
    with pytest.raises(ValueError, match=r"has a ledger.*ledger=None"):
        audit(toy, *PAIR)
    assert not any(entry.kind == "charge" for entry in ledger.entries())


def test_what_cannot_be_audited_is_refused():
    from sklearn.preprocessing import StandardScaler

    with pytest.raises(ValueError, match="no privacy_report_"):
        audit(StandardScaler(), *PAIR)
    with pytest.raises(ValueError, match="n_runs must be at least 20"):
        audit(Toy(delta=0.05), *PAIR, n_runs=5)
    with pytest.raises(ValueError, match="confidence must be in"):
        audit(Toy(delta=0.05), *PAIR, confidence=1.0)

    class Fails(Toy):
        def _release(self, rows, curator):
            raise KeyError

    with pytest.raises(ValueError, match="every fit failed"):
        audit(Fails(delta=0.05), *PAIR, n_runs=20)


@pytest.mark.parametrize("law", LAWS)
def test_report_reads_well(law):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    report = audit(Toy(**{"law": law} | LAWS[law]), *PAIR, n_runs=60, **SURE)
    text, data = str(report), json.loads(report.to_json())
    assert text.startswith("Audit of Toy passed (60 fits per table")
    assert "Not private" in text and "proves nothing" in text
    assert data["passed"] is True and data["n_runs"] == 60
    assert data["bounds"][2]["parameter"] == f"epsilon at delta = {LAWS[law]['delta']:g}"
    assert data["bounds"][2]["claimed"] == report.claimed_epsilon == LAWS[law]["epsilon"]
    assert (data["bounds"][0]["claimed"] is None) == (law == "mixed")
    assert "<table>" in report._repr_html_()
    figure, axes = pyplot.subplots(1, 2)
    drawn = report.plot(axes)
    assert drawn[1].get_xlabel() == "false positive rate"
    figure.draw_without_rendering()
    pyplot.close(figure)
    pyplot.close(report.plot()[0].figure)


@pytest.mark.parametrize("law", LAWS)
def test_claimed_trade_off_is_a_trade_off(law):
    report = audit(Toy(**{"law": law} | LAWS[law]), *PAIR, n_runs=20, **SURE)
    errors = np.linspace(0, 1, 201)
    beta = report._trade_off(errors)
    assert np.all(np.diff(beta) <= 1e-12) and np.all(beta <= 1 - errors + 1e-12)
    assert np.all(np.diff(beta, 2) >= -1e-9)  # convex
    for epsilon in (0.5, 1.0, 3.0):  # and never above what (epsilon, delta) allows it to be
        delta = report.claim.delta(epsilon)
        assert np.all(beta >= 1 - delta - np.exp(epsilon) * errors - 1e-6)
