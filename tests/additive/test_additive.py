"""What additive models find, say and refuse."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, r2_score, roc_auc_score

import skdp
from skdp import PrivateAdditiveClassifier, PrivateAdditiveRegressor, PrivateBoostingRegressor
from skdp.additive._fit import Lengths, next_radius
from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

TOWNS = ["east", "north", "south"]


def _frame(n=20_000, seed=0):
    """Return a mixed table, the score of its rows, and two targets of it."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "wage": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(3, 2, size=n)),
            "age": rng.integers(18, 90, size=n),
            "town": rng.choice([*TOWNS, None], size=n),
        }
    )
    score = np.where(frame["wage"].isna(), 1.5, -np.sign(frame["wage"] - 20))
    score = score + np.cos(frame["age"] / 12).to_numpy() + 1.5 * (frame["town"] == "north")
    label = np.where(score + rng.logistic(size=n) > 0, "yes", "no")
    return frame, score, label, 1e6 + 1e3 * (score + 0.3 * rng.normal(size=n))


FRAME, SCORE, LABEL, NUMBER = _frame()
with warnings.catch_warnings():
    warnings.simplefilter("ignore", SeededNoiseWarning)
    CLASSIFIER = PrivateAdditiveClassifier(random_state=0).fit(FRAME, LABEL)
    REGRESSOR = PrivateAdditiveRegressor(random_state=0).fit(FRAME, NUMBER)


def test_mixed_tables_are_learned_without_being_told_anything():
    frame, score, label, number = _frame(4000, seed=1)
    best = roc_auc_score(label == "yes", score)
    assert roc_auc_score(label == "yes", CLASSIFIER.decision_function(frame)) > best - 0.02
    assert REGRESSOR.score(frame, number) > 0.9
    for model in (CLASSIFIER, REGRESSOR):
        assert model.informative_ and model.categories_ == [None, None, tuple(TOWNS)]
        assert [len(edges) > 5 for edges in model.bin_edges_] == [True, True, False]
        sizes = [len(model.bin_edges_[0]) + 2, len(model.bin_edges_[1]) + 2, 5]
        assert [len(term) for term in model.terms_] == sizes
        assert abs(model.n_rows_ - 20_000) < 200
        missing, middle = model.terms_[0][-1], np.median(model.terms_[0][:-1])
        assert missing > middle  # it has a cell of its own


def test_methods_of_rows_agree():
    p = CLASSIFIER.predict_proba(FRAME)
    f = CLASSIFIER.decision_function(FRAME)
    assert np.allclose(p.sum(axis=1), 1) and np.allclose(np.log(p[:, 1] / p[:, 0]), f)
    assert np.array_equal(CLASSIFIER.predict(FRAME), CLASSIFIER.classes_[(f > 0).astype(int)])
    assert np.allclose(CLASSIFIER.predict_log_proba(FRAME), np.log(p))
    for model in (CLASSIFIER, REGRESSOR):
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict(FRAME[:50]), model.predict(FRAME[:50]))
        each = [model.predict(FRAME.iloc[[i]])[0] for i in range(20)]
        assert np.array_equal(each, model.predict(FRAME[:20]))


def test_sources_in_pieces_give_what_one_table_gives():
    batches = [FRAME[i : i + 3000] for i in range(0, len(FRAME), 3000)]
    labels = [LABEL[i : i + 3000] for i in range(0, len(FRAME), 3000)]
    twin = PrivateAdditiveClassifier(random_state=0).fit(batches, labels)
    for one, two in zip(twin.terms_, CLASSIFIER.terms_, strict=True):
        assert np.array_equal(one, two)
    pieces = list(twin.predict_proba(batches))
    assert np.array_equal(np.concatenate(pieces), CLASSIFIER.predict_proba(FRAME))
    assert twin.score(batches, labels) == CLASSIFIER.score(FRAME, LABEL)


def test_levels_and_entries_that_were_not_seen_have_cells():
    strange = pd.DataFrame({"wage": [1e300, -5.0], "age": [np.nan, 0], "town": ["moon", None]})
    for model in (CLASSIFIER, REGRESSOR):
        assert len(model.predict(strange)) == 2
    assert np.isfinite(REGRESSOR.predict(strange)).all()


def test_three_classes_have_a_term_each():
    label = np.where(SCORE > 2, "high", LABEL)
    model = PrivateAdditiveClassifier(random_state=0, classes=["no", "yes", "high"])
    model.fit(FRAME, label)
    assert list(model.classes_) == ["high", "no", "yes"] and model.intercept_.shape == (3,)
    assert {term.shape[1] for term in model.terms_} == {3}
    assert model.score(FRAME, label) > 0.65 > max(np.mean(label == c) for c in model.classes_)
    assert np.allclose(model.predict_proba(FRAME).sum(axis=1), 1)


def test_intervals_cover_what_there_would_be_without_noise():
    rng = np.random.default_rng(0)
    X = rng.integers(4, size=(5000, 1)).astype(float)
    y = np.array([0.0, 1.0, -1.0, 2.0])[X[:, 0].astype(int)] + rng.uniform(-2, 2, size=5000)
    truth = np.array([y[X[:, 0] == k].mean() for k in range(4)])
    model = PrivateAdditiveRegressor(target_range=(-4, 4), categories={0: 4}, epsilon=0.5)
    covered = []
    for seed in range(40):
        model.set_params(random_state=seed).fit(X, y)
        low, high = (ends[0][:4] for ends in model.interval(0.95))
        moved = truth + np.mean((low + high) / 2 - truth)  # terms have a mean of zero
        covered += list((low <= moved) & (moved <= high))
    assert np.mean(covered) > 0.9


@pytest.mark.parametrize("n", [1, 5, 60])
def test_few_rows_give_the_prior_or_the_mean_and_a_warning(n):
    X = np.random.default_rng(0).normal(size=(n, 3))
    with pytest.warns(LowAccuracyWarning):
        model = PrivateAdditiveClassifier(classes=[0, 1], random_state=0).fit(X, X[:, 0] > 0)
    assert not model.informative_ and len(set(model.decision_function(X))) == 1
    for params in ({}, {"target_range": (-5, 5)}):
        with pytest.warns(LowAccuracyWarning):
            model = PrivateAdditiveRegressor(random_state=0, **params).fit(X, X[:, 0])
        assert not model.informative_ and len(set(model.predict(X))) == 1
        said = "\n".join(model.privacy_report_.decisions)
        assert "bounds=" not in said and ("placeholder" in said) == (not params)


@pytest.mark.slow
def test_noise_is_not_taken_for_a_signal():
    """A false alarm has a chance of at most .05: more than five of 30 one of .003."""
    X = np.random.default_rng(0).normal(size=(3000, 6))
    found = 0
    for seed in range(30):
        y = np.random.default_rng(seed).integers(2, size=3000)
        model = PrivateAdditiveClassifier(classes=[0, 1], random_state=seed)
        with skdp.config_context(invalid_rows="error"):
            found += model.fit(X, y).informative_
    assert found <= 5


def test_no_class_is_found_and_said():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.warns(LowAccuracyWarning, match="class"):
        model = PrivateAdditiveClassifier(random_state=0).fit(X, [f"name {i}" for i in range(20)])
    with pytest.raises(ValueError, match="found no class"):
        model.predict(X)


def test_public_ranges_are_where_bins_of_classes_are_looked_for():
    given = PrivateAdditiveClassifier(feature_range=(0.0, 1e3), random_state=0).fit(FRAME, LABEL)
    assert all(edges.max() <= 1e3 for edges in given.bin_edges_[:2])
    assert given.score(FRAME, LABEL) > CLASSIFIER.score(FRAME, LABEL) - 0.03
    with pytest.raises(ValueError, match="feature_range"):
        PrivateAdditiveClassifier(feature_range=(1, 0)).fit(FRAME, LABEL)


def test_public_ranges_save_the_search():
    model = PrivateAdditiveRegressor(
        target_range=(990e3, 1010e3), feature_range=(0.0, 1e3), random_state=0
    ).fit(FRAME, NUMBER)
    labels = {charge.label.partition("/")[0] for charge in model.privacy_report_.charges}
    assert not labels & {"column scales", "centre"}
    assert model.target_range_ == (990e3, 1010e3) and model.score(FRAME, NUMBER) > 0.9
    for wrong in ((1, 0), (0, np.inf), "text", (0, 1, 2)):
        with pytest.raises(ValueError, match="target_range"):
            PrivateAdditiveRegressor(target_range=wrong).fit(FRAME, NUMBER)
        with pytest.raises(ValueError, match="feature_range"):
            PrivateAdditiveRegressor(feature_range=wrong).fit(FRAME, NUMBER)


def test_the_budget_is_spent_and_no_more():
    for model in (CLASSIFIER, REGRESSOR):
        spent = sum(charge.share for charge in model.privacy_report_.charges)
        assert 0.99 < spent <= 1


def test_terms_are_drawn_with_their_noise():
    pytest.importorskip("matplotlib").use("Agg")
    for model in (CLASSIFIER, REGRESSOR):
        display = model.plot()
        assert [ax.get_title() for ax in display.axes_] == ["wage", "age", "town"]
    display = CLASSIFIER.plot(features=["town", 0])
    texts = [text.get_text() for text in display.axes_[0].get_xticklabels()]
    assert texts == [*TOWNS, "other", "missing"]
    with pytest.raises(ValueError, match="features"):
        CLASSIFIER.plot(features=["moon"])


def _tailed(n=20_000, seed=0):
    """Return numbers with a slope in their tails, gaps and texts, and targets."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "delay": rng.standard_t(2, size=n) * 20,
            "hour": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(0, 24, size=n)),
            "town": rng.choice(TOWNS, size=n),
        }
    )
    bend = np.where(frame["hour"].isna(), 30, 20 * np.sin(frame["hour"] / 4))
    score = frame["delay"] + bend + 15 * (frame["town"] == "north")
    return frame, score.to_numpy() + 5 * rng.normal(size=n)


@pytest.mark.slow
def test_a_line_goes_on_where_terms_are_flat():
    frame, y = _tailed()
    line = PrivateAdditiveRegressor(linear=True, extrapolate=True, random_state=0).fit(frame, y)
    later, truth = _tailed(4000, seed=1)
    terms = PrivateAdditiveRegressor(random_state=0).fit(frame, y)
    assert line.score(later, truth) > 0.98 > terms.score(later, truth) + 0.05
    assert abs(line.coef_[0] - 1) < 0.05 and line.coef_[2] == line.coef_noise_scale_[2] == 0
    assert not terms.coef_.any() and line.informative_
    each = [line.predict(later.iloc[[i]])[0] for i in range(20)]
    assert np.array_equal(each, line.predict(later[:20]))
    far = later[:2].assign(delay=[1e4, 1e4 + 1])
    assert np.isclose(np.diff(line.predict(far.assign(town="east", hour=3.0))), line.coef_[0])
    bounded = PrivateAdditiveRegressor(linear=True, random_state=0).fit(frame, y)
    assert np.all(bounded.predict(far) <= bounded.target_range_[1])
    assert bounded.feature_range_[1, 0] < 1e4
    pytest.importorskip("matplotlib").use("Agg")
    display = line.plot()
    assert len(display.lines[0]) == len(line.bin_edges_[0]) and not len(display.lines[2])
    assert len(display.axes_[0].get_lines()) > len(display.axes_[2].get_lines())


def test_rows_without_gaps_that_are_few_have_no_line():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 2))
    X[100:, 1] = np.nan
    model = PrivateAdditiveRegressor(linear=True, random_state=0)
    model.fit(X, X[:, 0])
    assert not model.coef_.any() and model.score(X, X[:, 0]) > 0.7
    assert model.reliable_ and "slopes" in str(model.privacy_report_.decisions)


@pytest.mark.parametrize("rate", [0.16, 0.45])
def test_probabilities_are_calibrated(rate):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20000, 4))
    score = 1.2 * X[:, 0] + np.sin(2 * X[:, 1]) + 0.8 * (X[:, 2] > 0) - 0.6 * X[:, 3]
    luck = rng.logistic(size=20000)
    y = (luck < score - np.quantile(score - luck, 1 - rate)).astype(int)
    for epsilon in (1.0, 100.0):
        model = PrivateAdditiveClassifier(classes=[0, 1], epsilon=epsilon, random_state=0)
        model.fit(X, y)
        assert abs(model.predict_proba(X)[:, 1].mean() / rate - 1) < 0.03
        plain = LogisticRegression(C=1e6).fit(model.decision_function(X)[:, None], y)
        assert abs(plain.coef_[0, 0] - 1) < 0.1


def test_probabilities_of_a_rare_class_that_one_column_tells_are_calibrated():
    """One Newton step ends 7 to 27 % too high here: terms are far from straight."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10000, 2))
    y = (rng.logistic(size=10000) < 3 * X[:, 0] - 7).astype(int)
    for epsilon in (3.0, 100.0):
        model = PrivateAdditiveClassifier(classes=[0, 1], epsilon=epsilon, random_state=1)
        assert abs(model.fit(X, y).predict_proba(X)[:, 1].mean() / y.mean() - 1) < 0.05


def test_a_rare_class_that_noise_hides_costs_little():
    """A whole Newton step of the intercept by noise costs an eighth of the entropy here."""
    X = np.random.default_rng(0).normal(size=(1500, 2))
    y = (np.arange(1500) < 40).astype(int)
    entropy, losses = log_loss(y, np.full(1500, y.mean())), []
    for seed in range(10):
        model = PrivateAdditiveClassifier(classes=[0, 1], epsilon=0.3, random_state=seed)
        losses.append(log_loss(y, model.fit(X, y).predict_proba(X)))
    assert np.mean(losses) < 1.08 * entropy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "epsilon", "tail"),
    [(PrivateAdditiveRegressor, 1.0, 3.0), (PrivateBoostingRegressor, 0.3, 3.0)]
    + [(made, 1.0, 1.0) for made in (PrivateAdditiveRegressor, PrivateBoostingRegressor)],
)
def test_targets_with_tails_that_hide_what_features_tell_are_doubted(made, epsilon, tail):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2))
    y = np.exp(tail * rng.normal(size=20_000)) + np.exp(X[:, 0])
    model = made(epsilon=epsilon, random_state=0).fit(X, y)
    poor = r2_score(y, model.predict(X)) < 0
    assert poor == (tail == 3)
    doubts = "tail" if made is PrivateBoostingRegressor else "tail|no feature exceeds the noise"
    assert bool(re.search(doubts, " ".join(model.accuracy_warnings_))) == poor


def test_a_radius_that_noise_tells_is_at_most_twice_the_last():
    """A cell far out that noise fills tells a radius of hundreds of units."""
    edges = np.append(2 ** np.arange(8, 18), 2 ** np.arange(18, 28))
    counts = np.zeros(20, dtype=np.int64)
    counts[:9], counts[17] = 2000, 300  # the last is noise: five sd
    told = Lengths(counts, edges, 60.0, 2**16, 1).radius(0.05)
    seen = Lengths(counts * (edges < 2**20), edges, 60.0, 2**16, 1)
    assert told > 100 * 2**16 and seen.radius(0.05) <= 2**17
    assert next_radius(told, 2**16) == 2**17 and next_radius(told, None) == told
    assert next_radius(77, 2**16) == 77


def test_lengths_that_noise_hides_are_believed_to_be_those_before():
    """Nothing seen tells no short lengths: neither a short radius, nor a mean that is known."""
    edges = 2 ** np.arange(11, 32)
    noise = np.rint(np.random.default_rng(0).normal(scale=60.0, size=21)).astype(np.int64)
    hidden = Lengths(noise, edges, 60.0, 2**16, 1)
    assert edges[hidden.top] == 2**16 and hidden.most_cut(2**16) >= 60 * 2**16
    assert Lengths(noise, edges, 60.0, 2**16, 2**16).radius(1e9) == 2**16


@pytest.mark.parametrize("made", [PrivateAdditiveRegressor, PrivateBoostingRegressor])
def test_the_mean_of_targets_that_are_mostly_zero_is_that_of_all_rows(made):
    """Steps of terms clip what is not zero; were the mean clipped as they are, it would be low."""
    X = np.random.default_rng(0).normal(size=(4000, 2))
    for seed in range(1, 5):
        rng = np.random.default_rng(seed)
        zero = rng.random(4000) < 0.6 - 0.1 * np.tanh(X[:, 0])
        y = np.where(zero, 0.0, rng.gamma(0.7, 3.0, size=4000))
        model = made(random_state=seed).fit(X, y)
        assert r2_score(y, model.predict(X)) > -0.05


def test_text_in_a_column_of_numbers_is_no_gap():
    X = pd.DataFrame({"age": np.arange(2000.0) % 90, "town": np.resize(["a", "b"], 2000)})
    model = PrivateAdditiveClassifier(classes=[False, True], epsilon=20, random_state=0)
    model.fit(X, X["age"] > 40)
    with pytest.raises(ValueError, match="has text"):
        model.predict(X.assign(age=X["age"].astype(str)))
    one = X.iloc[50].to_frame().T  # numbers, in a column of objects
    assert model.predict(one) == model.predict(X.iloc[[50]])
    assert model.predict(one.assign(age=None)).shape == (1,)
