"""Synthetic rows of large domains."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skdp import MarginalReleaser
from skdp.exceptions import SeededNoiseWarning
from skdp.marginals._column_logits import (
    Debts,
    Keys,
    PublicUniforms,
    fit_conditional,
    groups_of,
    sample_codes,
    table_agreements,
)
from skdp.marginals._noisy_tables import EnergyPrior, NoisyTables

LEVELS = (3, 5, 2, 7, 4, 6, 2, 8)
DOMAIN = dict(enumerate(LEVELS))


def tree_rows(n_rows, seed):
    """Return rows of a made-up tree: each column mostly a function of one before it."""
    rng = np.random.default_rng(seed)
    X = np.empty((n_rows, len(LEVELS)), dtype=np.int64)
    for j, levels in enumerate(LEVELS):
        X[:, j] = rng.choice(levels, p=rng.dirichlet(np.full(levels, 2.0)), size=n_rows)
        if j:
            follows = rng.random(n_rows) < 0.6
            X[follows, j] = (X[follows, rng.integers(j)] * 3 + 1) % levels
    return X


def table(X, columns):
    shape = [LEVELS[c] for c in columns]
    keys = np.ravel_multi_index(tuple(X[:, c] for c in columns), shape)
    return np.bincount(keys, minlength=np.prod(shape)) / len(X)


def distance(A, B, k):
    """Return the mean total variation distance of tables of neighbouring columns."""
    sets = [range(j, j + k) for j in range(len(LEVELS) - k + 1)]
    return np.mean([np.abs(table(A, c) - table(B, c)).sum() / 2 for c in sets])


def released(X, epsilon=5.0, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        return MarginalReleaser(epsilon=epsilon, random_state=0, **parameters).fit(X)


@pytest.fixture(scope="module")
def rows():
    return tree_rows(20000, 0)


@pytest.fixture(scope="module")
def fit(rows):
    return released(rows, domain=DOMAIN, postprocess="none")


def test_rows_have_the_tables_of_the_release(fit, rows):
    made = fit.sample()
    assert made.shape == (round(fit.n_rows_), len(LEVELS))
    assert distance(made, rows, 2) < 0.02
    shuffled = np.random.default_rng(1).permuted(rows, axis=0)
    assert distance(shuffled, rows, 2) > 0.15  # what single columns know
    assert distance(made, rows, 3) < 0.06
    drawn_again = rows[np.random.default_rng(2).integers(len(rows), size=len(rows))]
    assert distance(made, rows, 2) < 1.2 * distance(drawn_again, rows, 2)  # balanced draws


@pytest.mark.parametrize("n_rows", [0, 300, 33000])
def test_any_number_of_rows(fit, rows, n_rows):
    made = fit.sample(n_rows)
    assert made.shape == (n_rows, len(LEVELS))
    assert np.all((made >= 0) & (made < LEVELS))
    if n_rows:
        assert distance(made, rows, 2) < 0.02 + 1 / np.sqrt(n_rows)
    if n_rows == 300:
        assert np.array_equal(made, fit.sample(n_rows))


def test_tables_of_three_columns_are_met(rows):
    """The last column is a parity of two: no pair knows of it."""
    X = np.column_stack([rows[:, :5], (rows[:, 0] + rows[:, 1]) % 2])
    domain = dict(enumerate((*LEVELS[:5], 2)))
    fit = released(X, domain=domain, workload=[[0, 1, 5], [1, 2], [2, 3], [3, 4]])
    made = fit.sample(20000)
    assert np.mean((made[:, 0] + made[:, 1]) % 2 == made[:, 5]) > 0.97


def test_noise_is_not_taken_for_dependence():
    X = np.random.default_rng(0).integers(LEVELS, size=(2000, len(LEVELS)))
    fit = released(X, 0.1, domain=DOMAIN, postprocess="none")
    raw = np.mean(fit.synthetic_report(X).noise)
    assert raw > 0.15 and distance(fit.sample(20000), X, 2) < 0.6 * raw


def test_report_is_noise_for_the_exact_rows(fit, rows):
    report = fit.synthetic_report(rows)
    assert report.distance.shape == (28,) and report.n_rows == len(rows)
    assert 0.9 < np.mean(report.distance / report.noise) < 1.1
    assert report.within_noise.all() and np.all(report.bound > report.noise)
    made = fit.synthetic_report(rows * 0)
    assert np.min(made.distance / made.bound) > 3 and not made.within_noise.any()
    assert str(made).count("beyond noise: ") == 5
    assert "only what these tables hold" in str(report)
    shuffled = fit.synthetic_report(np.random.default_rng(1).permuted(rows, axis=0))
    assert shuffled.within_noise.mean() < 0.2
    synthetic = fit.synthetic_report(fit.sample())
    assert synthetic.within_noise.mean() > 0.8 and synthetic.distance.max() < 0.01


@pytest.mark.parametrize("sd_rows", [3.0, 300.0])
def test_exact_rows_are_beyond_the_bound_in_no_more_than_one_release_of_twenty(rows, sd_rows):
    """Canned noise on exact residuals: the mean is exact, and the bound holds."""
    exact = released(rows[:500], 1e6, domain={0: 3, 1: 5, 2: 2}, k=3, postprocess="none")
    rng, layout = np.random.default_rng(0), exact.measurement_.layout
    sd = rng.uniform(2.0, 9.0, size=len(layout.lengths))
    sd[0] = sd_rows
    told = []
    for _ in range(400):
        values = exact.measurement_.values + layout.spread(sd) * rng.normal(size=30)
        noisy = replace(exact.measurement_, values=values, sd=sd)
        if values[0] > 100:  # a common divisor near the true one
            told.append((values[0], *table_agreements(noisy, [(0, 1, 2)], rows[:500])))
    moved = np.array([n * a.distance for n, a in told])
    bound, mean = (np.array([n * getattr(a, x) for n, a in told]) for x in ("bound", "noise"))
    assert np.ptp(bound) < 1e-6 * bound[0] and len(told) > 350
    tail = np.mean(moved > bound)
    assert tail <= 0.05 and abs(np.mean(moved) / mean[0] - 1) < (0.1 if sd_rows > 100 else 0.03)


def test_report_reads_frames_and_refuses_other_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"wage": rng.normal(size=3000), "town": rng.choice(["a", "b"], 3000)})
    frame["kids"] = rng.poisson(1.0, size=3000)
    fit = released(frame, domain={"town": ["a", ...], "wage": "auto", "kids": "auto"}, k=2)
    synthetic = fit.sample()
    found = fit.synthetic_report(synthetic[["kids", "town", "wage"]]).to_frame()
    columns = ["column_1", "column_2", "distance", "noise", "bound", "within_noise"]
    assert list(found.columns) == columns and len(found) == 3 and found["within_noise"].all()
    assert found.equals(fit.synthetic_report(synthetic.to_numpy()).to_frame())
    for wrong in (synthetic[["kids", "town"]], synthetic[:0], synthetic.to_numpy()[:, :2]):
        with pytest.raises(ValueError, match="the 3 columns of the domain"):
            fit.synthetic_report(wrong)
    fit = released(frame, domain={"town": ["a", "b"], "kids": 20}, k=2)
    with pytest.raises(ValueError, match=r"outside the levels of the columns \['town'\]"):
        fit.synthetic_report(fit.sample(10).assign(town="c"))


def test_no_step_of_a_fit_loses(fit, rows):
    tables = NoisyTables(fit.measurement_)
    groups = groups_of(tables, 5, {0, 1, 2, 3, 4})
    keys = Keys(groups, rows)
    shares = np.concatenate([group.shares for group in groups])
    ridge = np.concatenate([group.ridge for group in groups])
    gains = []
    for sweeps in range(6):
        law, _, chances = fit_conditional(5, groups, rows, sweeps)
        w = law.weights.astype(float)
        logs = keys.matrix @ w
        assert np.allclose(law.chances(keys), chances, atol=1e-4)
        free = np.mean(np.log(np.exp(logs).sum(axis=1)))
        gains.append(np.sum(w * shares) - free - np.sum(ridge * w * w) / 2)
    assert np.all(np.diff(gains) > -1e-6) and gains[5] > gains[0] + 0.1


def test_debts_keep_tables_near_their_expectation(fit, rows):
    tables = NoisyTables(fit.measurement_)
    groups = groups_of(tables, 3, {0, 1, 2})
    _, keys, chances = fit_conditional(3, groups, rows, 4)
    off = []
    for block in (len(rows), 256):
        level = Debts(block).draw(keys, chances, PublicUniforms("test").random(len(rows)))
        owed = chances.copy()
        owed[np.arange(len(rows)), level] -= 1
        off.append(np.abs(keys.matrix.T @ owed).sum())
    assert off[1] < 0.5 * off[0]


def test_order_of_columns_is_free(fit, rows):
    tables = NoisyTables(fit.measurement_)
    rng = np.random.default_rng(0)
    made = sample_codes(tables, 20000, rng, order=range(len(LEVELS))[::-1])
    assert distance(made, rows, 2) < 0.025


def test_energies_of_noise_are_shrunk_and_those_that_stand_out_are_not():
    rng = np.random.default_rng(0)
    free = np.full(2000, 6.0)
    signal = np.where(np.arange(2000) < 40, 60.0, 0.0)
    seen = rng.noncentral_chisquare(free, signal)
    prior = EnergyPrior(seen, free)
    found = np.array([prior.energy(*pair) for pair in zip(seen, free, strict=True)])
    naive = np.maximum(seen - free, 0.0)
    assert found[40:].mean() < 0.2 * naive[40:].mean()
    assert abs(found[:40].mean() - 60) < 10
    assert prior.energy(5000.0, 6.0) == 4994.0
