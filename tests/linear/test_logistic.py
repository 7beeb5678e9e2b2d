"""Logistic regression: rows by themselves, bounded in integers, and what is learned of them."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from skdp import PrivateLogisticRegression
from skdp.covariance._run import identity_frame, turned
from skdp.exceptions import LowAccuracyWarning
from skdp.gate._curator import make_curator
from skdp.kernel._coordinates import Design
from skdp.kernel._gradients import LogitCalibration, LogitStep, probabilities
from skdp.kernel._table import opened
from skdp.linear._newton import UNSETTLED, _calibrated, ended
from skdp.mechanisms import make_entropy
from tests._curators import CannedCurator

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


def table(n=20000, d=3, n_classes=2, seed=0):
    """Return rows in several units, their classes, and the coefficients behind them."""
    rng = np.random.default_rng(seed)
    units = 10.0 ** np.arange(d)
    B = rng.normal(size=(d, n_classes))
    X = rng.normal(size=(n, d)) * units + 5 * units
    y = np.argmax((X / units - 5) @ B + rng.gumbel(size=(n, n_classes)), axis=1)
    return X, y, B / units[:, None]


def step(n_classes, *, d=4, radius=2.0, clip=1.0, bits=15, seed=0):
    rng = np.random.default_rng(seed)
    frame = turned(identity_frame(np.zeros(d), np.ones(d)), rng.normal(size=(d, d)), np.ones(d))
    design = Design(frame, np.full((2, d), [[-50.0], [50.0]]))
    B = rng.normal(size=(d + 1, 1 if n_classes == 2 else n_classes)) * 10
    return LogitStep(design, radius, B, clip, 300.0, bits)


def hostile(n_classes, d=4):
    rng = np.random.default_rng(1)
    X = rng.standard_cauchy(size=(300, d)) * np.exp(rng.normal(scale=10, size=(300, 1)))
    X[:6] = [[0.0] * d, [1e300] * d, [-1e300] * d, [1e-310] * d, [np.nan] * d, [np.inf] * d]
    codes = rng.integers(0, n_classes, size=300).astype(float)
    codes[6] = np.nan
    return np.column_stack([X, codes])


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_a_row_adds_its_own_integers(n_classes):
    rows, one = hostile(n_classes), step(n_classes, clip=0.4)
    alone = [one.total(row[None]) for row in rows]
    for size in (7, 64, 300):
        blocks = np.split(rows, np.arange(size, 300, size))
        assert np.array_equal(sum(map(one.total, blocks)), sum(alone))
    assert not np.any(alone[4:7])


def test_a_calibration_is_the_gradient_of_intercept_and_factor():
    rng = np.random.default_rng(0)
    X, one = rng.normal(size=(2000, 4)) / 4, step(2, radius=8.0)
    one = LogitCalibration(one.design, 8.0, one.B / 6, 15, np.array([0.3]), 2.0)
    rows = np.column_stack([X, rng.integers(0, 2, 2000)])
    score = (one.design(rows) @ one.B)[:, 0]
    p, t = 1 / (1 + np.exp(-score)), np.clip((score - 0.3) / 2, -1, 1)
    curvature = one.gain * np.sqrt(2 / 3) * p * (1 - p)
    exact = [rows[:, -1] - p, (rows[:, -1] - p) * t, curvature, curvature * t, curvature * t * t]
    assert np.abs(t).max() == 1
    assert np.allclose(one.total(rows)[:, 0] * one.step, np.sum(exact, axis=1), atol=2)


@pytest.mark.parametrize("times", [0.7, 1.0, 1.15, 3.0, 20.0])
def test_slopes_that_are_too_steep_are_brought_back_or_doubted(times):
    rng = np.random.default_rng(0)
    X, truth = rng.normal(size=(20000, 2)), np.array([[1.0], [0.5], [-0.5]])
    y = (rng.logistic(size=20000) < X @ truth[:2, 0] - 0.5).astype(int)
    model = PrivateLogisticRegression(classes=[0, 1], epsilon=1.0)
    rows, curator = model._read(X, y), CannedCurator(model.plan(), "noise", seed=0)
    design = Design(identity_frame(np.zeros(2), np.ones(2)), np.array([[-9.0] * 2, [9.0] * 2]))
    B = truth * [[times], [times], [1.0]]
    told = {"mean": B[-1], "spread": 1.25 * times**2, "n": 20000.0, "share": 0.05}
    found, cost, held = _calibrated(opened(rows, curator), design, 3.0, B, **told)
    if times > 2:
        assert held or cost > 0.05 * 0.66
    else:
        assert not held and cost < 0 and np.abs(found - truth).max() < 0.1


@pytest.mark.parametrize("off, doubted", [(-1.0, True), (0.3, False), (1.0, True)])
def test_a_last_step_of_the_intercept_that_doubles_odds_is_doubted(off, doubted):
    rng = np.random.default_rng(0)
    X, B = rng.normal(size=(20000, 2)), np.array([[1.0], [0.5], [-0.5]])
    y = (rng.logistic(size=20000) < X @ B[:2, 0] - 0.5).astype(int)
    model = PrivateLogisticRegression(classes=[0, 1], epsilon=1.0)
    rows, curator = model._read(X, y), make_curator(model.plan(), make_entropy(0))
    design = Design(identity_frame(np.zeros(2), np.ones(2)), np.array([[-9.0] * 2, [9.0] * 2]))
    start = B + np.array([[0.0], [0.0], [off]])
    told = {"mean": start[-1], "spread": 1.25, "n": 20000.0, "bits": 15, "share": 0.05}
    found = ended(opened(rows, curator), design, 3.0, start, np.array([-0.4]), **told)
    assert abs(found[-1, 0] + 0.5) < 0.3
    assert any(UNSETTLED in text for text in curator.close("").decisions) is doubted


def test_released_curvature_is_that_of_the_rows():
    """Where nothing is clipped, but for what rounding takes and the table of probabilities."""
    rng = np.random.default_rng(0)
    X, one = rng.normal(size=(2000, 4)) / 4, step(2, radius=8.0)
    rows = np.column_stack([X, rng.integers(0, 2, 2000)])
    total, v = one.total(rows)[0], one.design(rows)
    p = 1 / (1 + np.exp(-v @ one.B[:, 0]))
    exact = (v * (p * (1 - p))[:, None]).T @ v
    released = total[:, 1:] * (8.0**2 / 4**15 / one.gain)
    assert np.abs(released - exact).max() < 0.01 * np.abs(exact).max()


@pytest.mark.slow
def test_rare_classes_with_strong_levels_do_not_get_worse_with_more_budget():
    rng = np.random.default_rng(0)
    number, level = (
        rng.normal(size=20000),
        rng.choice(5, size=20000, p=[0.03, 0.49, 0.31, 0.11, 0.06]),
    )
    score = -6.0 + np.array([-1, 0, 1.8, 3.3, 4.8])[level] + 0.9 * number
    y = (rng.logistic(size=20000) < score).astype(int)
    X = np.column_stack([number, np.eye(5)[level], rng.random((20000, 8)) < 0.4])
    best = roc_auc_score(y, score)
    for epsilon in (1.0, 3.0, 20.0):
        model = PrivateLogisticRegression(classes=[0, 1], epsilon=epsilon, random_state=1).fit(X, y)
        p = model.predict_proba(X)[:, 1]
        assert roc_auc_score(y, p) > best - 0.02
        assert 0.9 < p.mean() / y.mean() < 1.1


def test_probabilities_come_from_a_table():
    scores = np.random.default_rng(0).normal(size=(1000, 4)) * 10
    scores[:3] = [[1e300, -1e300, 0, 0], [0, 0, 0, 0], [-1e5, -1e5, -1e5, -1e5]]
    P = probabilities(scores)
    assert np.abs(P - softmax(scores, axis=1)).max() < 2**-10
    assert np.array_equal(P, np.concatenate([probabilities(row[None]) for row in scores]))
    two = np.column_stack([np.zeros(1000), scores[:, 0]])
    assert np.array_equal(probabilities(scores[:, :1])[:, 0], probabilities(two)[:, 1])


def test_some_hundred_rows_of_many_columns_without_a_word_about_them():
    X, y = load_breast_cancer(return_X_y=True)
    found = [
        roc_auc_score(
            y, PrivateLogisticRegression(random_state=seed).fit(X, y).decision_function(X)
        )
        for seed in range(5)
    ]
    assert np.median(found) > 0.95


def test_columns_of_zeros_and_far_places():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.zeros(400), rng.normal(-3e8, 1e8, size=400), rng.poisson(0.3, 400)])
    y = (rng.logistic(size=400) < (X[:, 1] + 3e8) / 2e7).astype(int)
    model = PrivateLogisticRegression(classes=[0, 1], epsilon=0.9, random_state=0).fit(X, y)
    assert "octaves" in {charge.label for charge in model.privacy_report_.charges}
    assert model.score(X, y) > 0.8
    assert model.coef_[0, 0] == 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_finds_what_the_rows_tell(n_classes):
    X, y, _ = table(n_classes=n_classes)
    scale = X.std(axis=0)
    exact = LogisticRegression(max_iter=1000).fit(X / scale, y)
    model = PrivateLogisticRegression(epsilon=1.0, random_state=0).fit(X, y)
    assert model.classes_.tolist() == list(range(n_classes))
    assert np.abs(model.coef_ * scale - exact.coef_).max() < 0.15
    assert model.score(X, y) > exact.score(X / scale, y) - 0.005
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.n_iter_ == 8


def test_strong_scores_are_followed_to_the_end():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10000, 3))
    y = (rng.logistic(size=10000) < X @ [1.2, 2.5, 0.4]).astype(int)
    model = PrivateLogisticRegression(epsilon=100.0, random_state=0).fit(X, y)
    assert np.abs(model.coef_ - LogisticRegression().fit(X, y).coef_).max() < 0.02


@pytest.mark.parametrize("seed", range(3))
def test_a_column_of_which_one_number_is_seen_has_no_slope(seed):
    rng = np.random.default_rng(seed)
    X, y = (rng.random((3000, 1)) < 0.05) * 1.0, rng.random(3000) < 0.5
    with pytest.warns(LowAccuracyWarning, match="beyond the noise"):
        model = PrivateLogisticRegression(random_state=seed).fit(X, y)
    assert model.coef_[0, 0] == model.noisy_coef_[0, 0] == 0
    for sampling in (False, True):
        assert np.ravel(model.interval(sampling=sampling)).tolist() == [-np.inf, np.inf]


def test_labels_may_be_text_and_order_does_not_matter():
    X, y, _ = table(5000)
    names = np.array(["yes", "no"])
    model = PrivateLogisticRegression(epsilon=4.0, classes=names, random_state=0).fit(X, names[y])
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(X, names[y]) > 0.65
    right = model.decision_function(X) > 0
    assert np.array_equal(model.predict(X), np.where(right, "yes", "no"))


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
def test_few_rows_give_the_classes_alone(classes):
    X, y, _ = table(40, d=70)
    with pytest.warns(LowAccuracyWarning, match="class frequencies"):
        model = PrivateLogisticRegression(classes=classes, epsilon=0.5, random_state=0).fit(X, y)
    assert model.n_iter_ == 0
    assert not model.coef_.any()
    assert np.ptp(model.predict_proba(X), axis=0).max() == 0
    assert np.isinf(model.interval()[1]).all()


def test_no_class_and_one():
    X, y, _ = table(30)
    with pytest.warns(LowAccuracyWarning, match="no class"):
        model = PrivateLogisticRegression(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="classes="):
        model.predict(X)
    X, y, _ = table(3000)
    with pytest.warns(LowAccuracyWarning, match="one class"):
        model = PrivateLogisticRegression(random_state=0).fit(X, np.full(len(X), "only"))
    assert set(model.predict(X)) == {"only"}
    assert np.array_equal(model.predict_proba(X), np.ones((len(X), 1)))


def test_without_intercept():
    X, y, _ = table()
    X = X - 5 * 10.0 ** np.arange(3)
    model = PrivateLogisticRegression(fit_intercept=False, random_state=0).fit(X, y)
    assert model.intercept_.tolist() == [0.0]
    assert model.score(X, y) > 0.65


def test_the_penalty_is_that_of_scikit_learn():
    X, y, _ = table(d=2)
    X = X - X.mean(axis=0)
    model = PrivateLogisticRegression(C=1e-3, epsilon=20.0, random_state=0).fit(X, y)
    exact, free = (LogisticRegression(C=C).fit(X, y).coef_ for C in (1e-3, 1e3))
    assert np.abs(model.coef_ - exact)[0, 0] < 0.2 * np.abs(free - exact)[0, 0]


def test_parameters_that_change_the_law_of_rows_are_refused():
    with pytest.raises(TypeError, match="class_weight"):
        PrivateLogisticRegression(class_weight="balanced")
    X, y, _ = table(50)
    with pytest.raises(ValueError, match="feature_range"):
        PrivateLogisticRegression(feature_range=(1.0, 0.0)).fit(X, y)
    with pytest.raises(ValueError, match="confidence"):
        PrivateLogisticRegression(epsilon=9, random_state=0).fit(X, y).interval(2.0)


def levels(seed, n=12000):
    """Return a table of levels whose log-odds reach from -9 to 8, and columns that tell nothing."""
    rng = np.random.default_rng(seed)
    level = rng.choice(6, size=n, p=[0.6, 0.2, 0.1, 0.05, 0.03, 0.02])
    X = np.column_stack([np.eye(6)[level], rng.random((n, 6)) < 0.05])
    score = np.array([-9, -7, -4, 0, 4, 8])[level]
    return X, (rng.logistic(size=n) < score).astype(int)


def test_steps_that_have_not_come_to_rest_say_so():
    """Scores of no use, and those of a table in which the steps end where they should."""
    X, y = levels(1)
    model = PrivateLogisticRegression(classes=[0, 1], random_state=12).fit(X, y)
    assert roc_auc_score(y, model.decision_function(X)) < 0.6
    assert not model.reliable_ and "has not converged" in str(model.accuracy_warnings_)
    few, others = X[:, 3:6], (np.random.default_rng(2).random((len(X), 6)) < 0.5)
    score = few @ [1.0, 2.0, 3.0] + others @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.0] - 1
    y = (np.random.default_rng(3).logistic(size=len(X)) < score).astype(int)
    X = np.column_stack([few, others])
    model = PrivateLogisticRegression(classes=[0, 1], random_state=1).fit(X, y)
    assert model.reliable_ and not model.accuracy_warnings_


def test_few_rows_whose_scores_are_clear_of_the_noise_are_not_doubted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 6))
    good = (rng.logistic(size=1500) < 2 * X[:, 0] - 2 * X[:, 1]).astype(int)
    model = PrivateLogisticRegression(classes=[0, 1], random_state=0).fit(X, good)
    assert model.reliable_
    assert roc_auc_score(good, model.decision_function(X)) > 0.85
    rng = np.random.default_rng(3)
    X, noise = rng.normal(size=(1500, 6)), (rng.logistic(size=1500) < 0).astype(int)
    model = PrivateLogisticRegression(classes=[0, 1], random_state=3).fit(X, noise)
    assert not model.reliable_ and "directions were not told apart" in str(model.accuracy_warnings_)


@pytest.mark.slow
def test_intervals_cover():
    inside, truth = [], np.array([1.2, 2.5, 0.4])
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(10000, 3))
        y = (rng.logistic(size=10000) < X @ truth).astype(int)
        model = PrivateLogisticRegression(classes=[0, 1], random_state=seed).fit(X, y)
        low, high = model.interval(0.95, sampling=True)
        inside.append((low <= truth) & (truth <= high))
    assert np.mean(inside) > 0.9  # of 180: sd .016, so below .9 once in a thousand


def test_rates_that_are_lost_in_noise_are_doubted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20000, 3))
    y = (rng.logistic(size=20000) < 2 * X[:, 0] - 1.5).astype(int)
    few = PrivateLogisticRegression(classes=[0, 1], epsilon=0.1, random_state=0)
    with pytest.warns(LowAccuracyWarning, match="class frequencies are lost"):
        few.fit(X[:1000], y[:1000])
    many = PrivateLogisticRegression(classes=[0, 1], epsilon=1.0, random_state=0).fit(X, y)
    assert many.reliable_ and abs(many.predict_proba(X)[:, 1].mean() - y.mean()) < 0.01
