"""What boosting finds, says and refuses."""

import pickle
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import skdp
from skdp import (
    PrivacyLedger,
    PrivateAdditiveClassifier,
    PrivateAdditiveRegressor,
    PrivateBoostingClassifier,
    PrivateBoostingRegressor,
)
from skdp.exceptions import SeededNoiseWarning

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

TOWNS = ["east", "north", "south"]


def _frame(n=20_000, seed=0):
    """Return a mixed table, the score of its rows, and two targets: wage matters by town."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "wage": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(3, 2, size=n)),
            "age": rng.integers(18, 90, size=n),
            "town": rng.choice([*TOWNS, None], size=n),
        }
    )
    way = np.where(frame["town"] == "north", 1.5, -1.5)
    score = way * np.where(frame["wage"].isna(), 1.0, np.sign(frame["wage"] - 20))
    score = (score + np.cos(frame["age"] / 12)).to_numpy()
    label = np.where(score + rng.logistic(size=n) > 0, "yes", "no")
    return frame, score, label, 1e6 + 1e3 * (score + 0.3 * rng.normal(size=n))


FRAME, SCORE, LABEL, NUMBER = _frame()
with warnings.catch_warnings():
    warnings.simplefilter("ignore", SeededNoiseWarning)
    CLASSIFIER = PrivateBoostingClassifier(random_state=0).fit(FRAME, LABEL)
    REGRESSOR = PrivateBoostingRegressor(random_state=0).fit(FRAME, NUMBER)
    ADDITIVE = (
        PrivateAdditiveClassifier(random_state=0).fit(FRAME, LABEL),
        PrivateAdditiveRegressor(random_state=0).fit(FRAME, NUMBER),
    )


def _parts(model, frame):
    """Return the sum of all terms, looked up cell by cell."""
    codes = model._codes(frame)
    total = np.zeros(len(frame))
    for features, term in zip(model.term_features_, model.terms_, strict=True):
        at = []
        for j in features:
            x, levels = codes[:, j], model.categories_[j]
            if levels is None:
                last = len(model.bin_edges_[j]) + 1
                at.append(np.where(np.isfinite(x), np.searchsorted(model.bin_edges_[j], x), last))
            else:
                at.append(x.astype(int))
        total += term[tuple(at)]
    return total


def test_pairs_of_mixed_tables_are_found_without_being_told_anything():
    frame, score, label, number = _frame(4000, seed=1)
    best = roc_auc_score(label == "yes", score)
    reached = roc_auc_score(label == "yes", CLASSIFIER.decision_function(frame))
    assert reached > best - 0.02
    assert reached > roc_auc_score(label == "yes", ADDITIVE[0].decision_function(frame)) + 0.05
    assert REGRESSOR.score(frame, number) > max(0.9, ADDITIVE[1].score(frame, number) + 0.2)
    for model in (CLASSIFIER, REGRESSOR):
        assert model.informative_ and model.reliable_
        assert model.term_features_[:4] == [(0,), (1,), (2,), (0, 2)]
        assert model.importance_[3] > 5 * model.importance_[4:].max(initial=0)
        sizes = len(model.bin_edges_[0]) + 2, 5
        assert model.terms_[3].shape == model.term_noise_scale_[3].shape == sizes
        assert np.all(model.term_noise_scale_[3] > 0)


def test_a_prediction_is_the_sum_of_its_terms():
    total = _parts(REGRESSOR, FRAME) + REGRESSOR.intercept_
    assert np.allclose(total, REGRESSOR.predict(FRAME))
    total = _parts(CLASSIFIER, FRAME) + CLASSIFIER.intercept_
    assert np.allclose(total, CLASSIFIER.decision_function(FRAME))
    p = CLASSIFIER.predict_proba(FRAME)
    assert np.allclose(np.log(p[:, 1] / p[:, 0]), total)
    for model in (CLASSIFIER, REGRESSOR):
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict(FRAME[:50]), model.predict(FRAME[:50]))
        each = [model.predict(FRAME.iloc[[i]])[0] for i in range(20)]
        assert np.array_equal(each, model.predict(FRAME[:20]))


@pytest.mark.parametrize("at", [0, 1])
def test_without_interactions_it_is_the_additive_model(at):
    Model = (PrivateBoostingClassifier, PrivateBoostingRegressor)[at]
    y = (LABEL, NUMBER)[at]
    model = Model(random_state=0, interactions=0).fit(FRAME, y)
    for one, other in zip(model.terms_, ADDITIVE[at].terms_, strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(model.intercept_, ADDITIVE[at].intercept_)
    assert model.privacy_report_.charges == ADDITIVE[at].privacy_report_.charges


def test_few_rows_give_the_additive_model_and_the_report_says_so():
    X = np.random.default_rng(0).normal(size=(1200, 3))
    label, number = (X[:, 0] > 0).astype(int), X[:, 0] + X[:, 1]
    pairs = [
        (
            PrivateBoostingClassifier(classes=[0, 1]),
            PrivateAdditiveClassifier(classes=[0, 1]),
            label,
        ),
        (PrivateBoostingRegressor(), PrivateAdditiveRegressor(), number),
    ]
    for boosting, additive, y in pairs:
        boosting.set_params(random_state=0).fit(X, y)
        additive.set_params(random_state=0).fit(X, y)
        assert "too few rows for pairs" in str(boosting.privacy_report_)
        assert len(boosting.terms_) == 3
        for one, other in zip(boosting.terms_, additive.terms_, strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("n", [1, 5, 60])
def test_hardly_any_rows_are_no_error(n):
    X = np.random.default_rng(0).normal(size=(n, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PrivateBoostingClassifier(classes=[0, 1], random_state=0).fit(X, X[:, 0] > 0)
        assert not model.informative_ and len(set(model.decision_function(X))) == 1
        model = PrivateBoostingRegressor(random_state=0).fit(X, X[:, 0])
        assert not model.informative_ and len(set(model.predict(X))) == 1


def test_columns_that_say_nothing_are_no_error():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(9000), np.full(9000, np.nan), rng.random(9000) < 0.05])
    model = PrivateBoostingClassifier(classes=[0, 1], random_state=0).fit(X, X[:, 2] > 0)
    assert model.score(X, X[:, 2] > 0) > 0.99
    model = PrivateBoostingRegressor(random_state=0, epsilon=4.0).fit(X, X[:, 2] + rng.random(9000))
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.slow
def test_sources_in_pieces_give_what_one_table_gives():
    batches = [FRAME[i : i + 3000] for i in range(0, len(FRAME), 3000)]
    for model, y in ((CLASSIFIER, LABEL), (REGRESSOR, NUMBER)):
        targets = [y[i : i + 3000] for i in range(0, len(FRAME), 3000)]
        twin = type(model)(random_state=0).fit(batches, targets)
        for one, two in zip(twin.terms_, model.terms_, strict=True):
            assert np.array_equal(one, two)
        pieces = list(twin.predict(batches))
        assert np.array_equal(np.concatenate(pieces), model.predict(FRAME))


def test_three_classes_have_pairs_too():
    label = np.where(SCORE > 1.5, "high", LABEL)
    given = {"random_state": 0, "classes": ["no", "yes", "high"]}
    model = PrivateBoostingClassifier(**given).fit(FRAME, label)
    additive = PrivateAdditiveClassifier(**given).fit(FRAME, label)
    assert model.term_features_[3] == (0, 2) and model.terms_[3].shape[1:] == (5, 3)
    assert model.score(FRAME, label) > additive.score(FRAME, label) + 0.1
    assert np.allclose(model.predict_proba(FRAME).sum(axis=1), 1)


def test_persons_are_protected():
    ids = np.arange(len(FRAME)) // 2
    model = PrivateBoostingClassifier(random_state=0, rows_per_group=2, classes=["no", "yes"])
    model.fit(FRAME, LABEL, groups=ids)
    assert model.rows_per_group_ == 2 and model.term_features_[3] == (0, 2)


@pytest.mark.parametrize(
    "asked", [[(0, 2)], [("town", "wage")], [("wage", 2), (0, 2)], [[0, 2]], 1]
)
def test_pairs_that_are_asked_for(asked):
    model = PrivateBoostingRegressor(random_state=0, interactions=asked).fit(FRAME, NUMBER)
    assert model.term_features_[3] == (0, 2) and model.score(FRAME, NUMBER) > 0.9
    assert asked == 1 or len(model.terms_) == 4


@pytest.mark.slow
def test_predictions_rise_and_fall_as_they_are_told():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(20000, 3))
    y = X[:, 0] * (X[:, 1] > 0) - X[:, 1] ** 2 + 0.5 * rng.normal(size=20000)
    signs = [1, -1, 0]
    grid = np.array(np.meshgrid(*[np.linspace(-1, 1, 41)] * 3, indexing="ij"))
    cells = grid.reshape(3, -1).T
    models = [
        PrivateBoostingRegressor(random_state=0, monotonic_cst=signs).fit(X, y),
        PrivateBoostingRegressor(random_state=0, interactions=0, monotonic_cst=signs).fit(X, y),
        PrivateBoostingClassifier(random_state=0, classes=[0, 1], monotonic_cst=signs).fit(
            X, y > 0
        ),
    ]
    models[2].fit(X, y > 0)
    free = PrivateBoostingRegressor(random_state=0).fit(X, y)
    for model in (*models, free):
        score = getattr(model, "decision_function", model.predict)(cells).reshape(41, 41, 41)
        rises = np.diff(score, axis=0).min() > -1e-9
        falls = np.diff(score, axis=1).max() < 1e-9
        assert (rises and falls) == (model is not free)
    assert np.array_equal(
        PrivateBoostingRegressor(random_state=0, monotonic_cst={"a": 1, "b": -1})
        .fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
        .terms_[0],
        models[0].terms_[0],
    )


def test_weights_of_classes_move_the_intercept_alone():
    rare = np.where(SCORE > 2, LABEL, "no")
    plain = PrivateBoostingClassifier(random_state=0, classes=["no", "yes"]).fit(FRAME, rare)
    for weight in ("balanced", {"yes": 3.0}):
        model = PrivateBoostingClassifier(
            random_state=0, classes=["no", "yes"], class_weight=weight
        ).fit(FRAME, rare)
        moved = model.decision_function(FRAME) - plain.decision_function(FRAME)
        ratio = (rare == "no").sum() / (rare == "yes").sum() if weight == "balanced" else 3.0
        assert np.allclose(moved, np.log(ratio), atol=0.02)


@pytest.mark.parametrize("rate", [0.16, 0.45])
def test_probabilities_are_calibrated(rate):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20000, 4))
    score = 1.5 * X[:, 0] * X[:, 1] + np.sin(2 * X[:, 1]) - 0.6 * X[:, 3]
    luck = rng.logistic(size=20000)
    y = (luck < score - np.quantile(score - luck, 1 - rate)).astype(int)
    for epsilon in (1.0, 100.0):
        model = PrivateBoostingClassifier(classes=[0, 1], epsilon=epsilon, random_state=0).fit(X, y)
        assert abs(model.predict_proba(X)[:, 1].mean() / rate - 1) < 0.03
        plain = LogisticRegression(C=1e6).fit(model.decision_function(X)[:, None], y)
        # the noise of the slope has an sd of .06 at an epsilon of one
        assert abs(plain.coef_[0, 0] - 1) < (0.2 if epsilon == 1.0 else 0.05)


@pytest.mark.slow
def test_noise_is_not_taken_for_a_signal():
    """A false alarm has a chance of at most .05: more than four of 20 one of .003."""
    X = np.random.default_rng(0).normal(size=(8000, 4))
    found = 0
    for seed in range(20):
        y = np.random.default_rng(seed).integers(2, size=8000)
        model = PrivateBoostingClassifier(classes=[0, 1], random_state=seed, epsilon=1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found += model.fit(X, y).informative_
        assert np.abs(model.decision_function(X)).max() < 0.6
    assert found <= 4


@pytest.mark.slow
def test_dear_cells_of_a_heavy_target_do_not_ruin_pairs():
    """Rows of a cell that are clipped, all of them, count nothing beside their residuals."""
    rng = np.random.default_rng(0)
    size = rng.lognormal(size=12000)
    X = np.column_stack([size * rng.lognormal(sigma=0.05, size=12000) for _ in range(4)])
    y = size**2.5
    for seed in range(4):
        given = {"random_state": seed, "epsilon": 0.4}
        pairs = PrivateBoostingRegressor(**given).fit(X, y).score(X, y)
        assert pairs > PrivateAdditiveRegressor(**given).fit(X, y).score(X, y) - 0.03


@pytest.mark.slow
def test_columns_that_stand_for_each_other_do_not_make_pairs_diverge():
    """Many pairs that tell the same, from the same scores, step as many times too far."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=12000)
    X = size[:, None] + 0.3 * rng.normal(size=(12000, 12))
    y = np.round(3 * size) ** 2
    given = {"random_state": 0, "epsilon": 3.0}
    additive = PrivateAdditiveRegressor(**given).fit(X, y).score(X, y)
    assert PrivateBoostingRegressor(**given).fit(X, y).score(X, y) > additive + 0.01


@pytest.mark.slow
def test_a_million_rows_take_less_than_four_times_the_processor_time_of_plain_boosting():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 10))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.logistic(size=len(X)) > 0).astype(int)
    seconds = []
    for model in (
        PrivateBoostingClassifier(classes=[0, 1], random_state=0),
        HistGradientBoostingClassifier(random_state=0),
    ):
        start = time.process_time()
        model.fit(X, y)
        seconds.append(time.process_time() - start)
    assert seconds[0] < 4 * seconds[1], seconds


def test_terms_are_drawn_as_curves_and_heat_maps():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    display = CLASSIFIER.plot()
    display.figure_.canvas.draw()
    assert [ax.get_title() for ax in display.axes_[:4]] == ["wage", "age", "town", "wage × town"]
    assert np.array_equal(display.tables[0], CLASSIFIER.terms_[3])
    display = REGRESSOR.plot(features=["age", ("town", "wage")], confidence=0.5)
    assert [ax.get_title() for ax in display.axes_] == ["age", "wage × town"]
    display = REGRESSOR.plot(features=[(0, 2)], axes=[plt.subplots()[1]])
    assert display.curves is None and len(display.axes_) == 1
    with pytest.raises(ValueError, match="without a term"):
        PrivateBoostingRegressor(random_state=0, interactions=0).fit(FRAME, NUMBER).plot(
            features=[(0, 1)]
        )
    with pytest.raises(ValueError, match="one for each of 2"):
        REGRESSOR.plot(features=[0, (0, 2)], axes=[plt.subplots()[1]])
    label = np.where(SCORE > 1.5, "high", LABEL)
    model = PrivateBoostingClassifier(random_state=0, classes=["no", "yes", "high"])
    titles = [ax.get_title() for ax in model.fit(FRAME, label).plot(features=[(0, 2)]).axes_]
    assert titles == [f"wage × town: {name}" for name in ("high", "no", "yes")]
    plt.close("all")


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"interactions": -1}, "interactions"),
        ({"interactions": "all"}, "interactions"),
        ({"interactions": [(0, 0)]}, "pairs of two features"),
        ({"interactions": [(0, 9)]}, "pairs of two features"),
        ({"interactions": ["ab"]}, "pairs of two features"),
        ({"interactions": [("wage", "pay")]}, "pairs of two features"),
        ({"monotonic_cst": [1, 0]}, "each of 3 features"),
        ({"monotonic_cst": [2, 0, 0]}, "each of 3 features"),
        ({"monotonic_cst": {"pay": 1}}, "each of 3 features"),
        ({"monotonic_cst": [0, 0, 1], "classes": ["no", "yes"]}, "text or categories"),
        ({"monotonic_cst": [1, 0, 0]}, "two public classes"),
        ({"class_weight": {"yes": 0.0}}, "class_weight"),
        ({"class_weight": "heavy"}, "class_weight"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_before_the_charge(given, match):
    ledger = PrivacyLedger(epsilon=10.0, delta=1e-3)
    with pytest.raises(ValueError, match=match):
        PrivateBoostingClassifier(ledger=ledger, random_state=0, **given).fit(FRAME, LABEL)
    assert ledger.spent().epsilon == 0


def test_a_plan_is_kept_whatever_is_found():
    with skdp.config_context(debug=True):
        for eps in (0.3, 30.0):
            PrivateBoostingRegressor(epsilon=eps, random_state=1).fit(FRAME, NUMBER)


@pytest.mark.parametrize("at", [0, 1])
def test_parameters_mean_what_those_of_the_additive_model_mean(at):
    mine = (PrivateBoostingClassifier, PrivateBoostingRegressor)[at]().get_params()
    theirs = (PrivateAdditiveClassifier, PrivateAdditiveRegressor)[at]().get_params()
    assert {k: v for k, v in mine.items() if k in theirs}.items() <= theirs.items()
    assert set(theirs) - set(mine) == {"n_cycles", *(("linear", "extrapolate") if at else ())}
