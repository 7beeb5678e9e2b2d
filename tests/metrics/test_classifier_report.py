"""Reports of classifiers: metrics that agree, intervals that cover, honest answers at the edges."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    auc,
    brier_score_loss,
    log_loss,
    precision_score,
    recall_score,
    roc_auc_score,
)

from skdp import PrivacyLedger
from skdp.kernel.applied._scores import PrefixCells, prefix_matrix
from skdp.metrics import (
    PrivateClassifierDisplay,
    PrivateClassifierReport,
    PrivateConfusionMatrix,
)
from skdp.metrics._curves import finer_edges, logit_edges

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
EXACT = {"epsilon": 1e4, "random_state": 0}  # noise of a small part of a row


def drawn(n, seed=0, shift=0.0):
    """Return calibrated scores and their labels."""
    rng = np.random.default_rng(seed)
    logit = 1.8 * rng.normal(size=n) - shift
    return (rng.logistic(size=n) < logit).astype(int), expit(logit)


@pytest.fixture(scope="module")
def exact():
    y, s = drawn(5000)
    return y, s, PrivateClassifierReport(**EXACT).fit(y, s)


def test_without_noise_metrics_are_those_of_scikit_learn(exact):
    y, s, report = exact
    assert report.roc_auc_ == pytest.approx(roc_auc_score(y, s), abs=2e-4)
    assert report.brier_score_ == pytest.approx(brier_score_loss(y, s), abs=1e-4)
    assert report.log_loss_ == pytest.approx(log_loss(y, s), abs=1e-3)
    called = s >= 0.5
    assert report.accuracy() == pytest.approx(accuracy_score(y, called), abs=1e-3)
    assert report.rate("recall") == pytest.approx(recall_score(y, called), abs=1e-3)
    assert report.rate("precision") == pytest.approx(precision_score(y, called), abs=1e-3)
    assert report.n_rows_ == pytest.approx(5000, abs=1)


def test_metrics_agree_with_one_another():
    report = PrivateClassifierReport(epsilon=0.5, random_state=1).fit(*drawn(3000))
    fpr, tpr, thresholds = report.roc_curve()
    low, high = report.interval("roc_auc", confidence=0.999)
    assert low < auc(fpr, tpr) < high
    assert (
        (np.diff(fpr) >= 0).all() and (np.diff(tpr) >= 0).all() and (np.diff(thresholds) < 0).all()
    )
    matrix = report.confusion_matrix()
    assert np.trace(matrix) / matrix.sum() == pytest.approx(report.accuracy())
    assert matrix[1, 1] / matrix[1].sum() == pytest.approx(report.rate("recall"))
    assert matrix[1, 1] / matrix[:, 1].sum() == pytest.approx(report.rate("precision"))
    precision, recall, at = report.precision_recall_curve()
    half = np.flatnonzero(np.isclose(at, 0.5))[0]
    for name, value in {"precision": precision[half], "recall": recall[half]}.items():
        low, high = report.interval(name, confidence=0.999)
        assert low < value < high


def test_a_threshold_inside_of_a_bin_is_covered(exact):
    y, s, report = exact
    for t in (0.123, 0.505, 0.9):
        low, high = report.interval("recall", threshold=t)
        assert low - 1e-3 <= recall_score(y, s >= t) <= high + 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_intervals_cover_rows_and_population(seed):
    """At 99.99 % no seed of these fails but with a probability of 1 in 1000."""
    y, s = drawn(4000, seed)
    report = PrivateClassifierReport(random_state=seed).fit(y, s)
    everyone, scores = drawn(200000, 99)
    called, all_called = s >= 0.5, scores >= 0.5
    for name, here, there in [
        ("roc_auc", roc_auc_score(y, s), roc_auc_score(everyone, scores)),
        ("brier_score", brier_score_loss(y, s), brier_score_loss(everyone, scores)),
        ("log_loss", log_loss(y, s), log_loss(everyone, scores)),
        ("accuracy", accuracy_score(y, called), accuracy_score(everyone, all_called)),
        ("recall", recall_score(y, called), recall_score(everyone, all_called)),
    ]:
        low, high = report.interval(name, confidence=0.9999)
        assert low <= here <= high
        low, high = report.interval(name, confidence=0.9999, sampling=True)
        assert low <= there <= high


def test_calibration_is_that_of_the_rows(exact):
    _, _, report = exact
    true, predicted = report.calibration_curve(5)
    assert np.abs(true - predicted).max() < 0.05
    low, high = report.calibration_interval(5, sampling=True)
    assert (low < true).all() and (true < high).all()


@pytest.mark.parametrize(
    ("labels", "scores", "area"),
    [
        (lambda y, s: y, lambda y, s: y * 1.0, 1.0),
        (lambda y, s: y, lambda y, s: np.full(len(y), 0.3), 0.5),
        (lambda y, s: y, lambda y, s: 1.0 - y, 0.0),
        (lambda y, s: y, lambda y, s: np.round(s, 1), None),
        (lambda y, s: y, lambda y, s: 0.5 + (s > 0.7) / 1000, None),
        (lambda y, s: y, lambda y, s: 0.01 + s / 1000, None),
    ],
    ids=["perfect", "constant", "wrong", "ties", "two scores", "narrow"],
)
def test_ties_and_perfect_scores(labels, scores, area):
    y, s = drawn(4000)
    y, s = labels(y, s), scores(y, s)
    report = PrivateClassifierReport(random_state=0).fit(y, s)
    low, high = report.interval("roc_auc", confidence=0.999)
    assert low <= (roc_auc_score(y, s) if area is None else area) <= high
    assert high - low < 0.05
    low, high = report.interval("brier_score", confidence=0.999)
    assert low <= np.mean((s - y) ** 2) <= high


@pytest.mark.parametrize("rows", [slice(0, 50), slice(0, 1), "one class"])
def test_too_few_rows_are_said(rows):
    y, s = drawn(3000)
    y, s = (np.zeros_like(y), s) if rows == "one class" else (y[rows], s[rows])
    report = PrivateClassifierReport(random_state=0).fit(y, s)
    assert np.isnan(report.roc_auc_) and not report.reliable_
    assert report.interval("roc_auc") == (-np.inf, np.inf)
    assert "too few rows of one class" in "".join(report.accuracy_warnings_)
    assert not report.results()["reliable"].any()


def test_several_classes_are_each_against_the_rest():
    X, y = load_digits(return_X_y=True)
    keep = y < 4
    X, y = np.tile(X[keep], (4, 1)), np.tile(y[keep], 4)
    rng = np.random.default_rng(0)
    model = LogisticRegression(C=1e-4).fit(X, y)
    X = X + rng.normal(size=X.shape) * 6
    report = PrivateClassifierReport.from_estimator(model, X, y, **EXACT)
    scores = model.predict_proba(X)
    kind = {"multi_class": "ovr"}
    assert report.roc_auc_ == pytest.approx(roc_auc_score(y, scores, **kind), abs=1e-3)
    weighted = report.rate("roc_auc_weighted")
    assert weighted == pytest.approx(roc_auc_score(y, scores, average="weighted", **kind), abs=1e-3)
    assert report.log_loss_ == pytest.approx(log_loss(y, scores), abs=2e-3)
    assert report.accuracy() == pytest.approx(accuracy_score(y, scores.argmax(axis=1)), abs=1e-3)
    squares = np.square(scores - np.eye(4)[y]).sum(axis=1).mean()
    assert report.brier_score_ == pytest.approx(squares, abs=1e-3)
    assert report.confusion_matrix().shape == (4, 4)
    assert report.roc_curve(2)[0].shape == report.roc_curve(3)[0].shape
    with pytest.raises(ValueError, match="label must be one of classes_"):
        report.roc_curve()


def test_scores_come_in_all_shapes():
    y, s = drawn(2000)
    one = PrivateClassifierReport(random_state=0).fit(y, s)
    both = PrivateClassifierReport(random_state=0).fit(y, np.column_stack([1 - s, s]))
    frame = pd.DataFrame({"label": y, "score": s})
    named = PrivateClassifierReport(random_state=0).fit("label", frame)
    series = PrivateClassifierReport(random_state=0).fit(frame["label"], frame["score"])
    lists = PrivateClassifierReport(random_state=0).fit(y.tolist(), s.tolist())
    turned = PrivateClassifierReport(random_state=0).fit(s[:, None], y)
    for other in (named, series, lists, turned):
        assert other.roc_auc_ == one.roc_auc_
    assert both.roc_auc_ == pytest.approx(one.roc_auc_, abs=0.05)
    texts = PrivateClassifierReport(classes=["no", "yes"], random_state=0)
    assert texts.fit(np.where(y, "yes", "no"), s).roc_auc_ == one.roc_auc_


def test_the_second_class_that_is_named_is_positive():
    y, s = drawn(2000)
    one = PrivateClassifierReport(random_state=0).fit(y, s)
    turned = PrivateClassifierReport(classes=["yes", "no"], random_state=0)
    turned = turned.fit(np.where(y, "no", "yes"), s)  # "no" is positive, though "yes" sorts last
    assert turned.classes_.tolist() == ["yes", "no"] and turned.roc_auc_ == one.roc_auc_ > 0.6
    label = PrivateClassifierDisplay.from_report(turned).ax_.get_legend().get_texts()[0]
    assert label.get_text().startswith("no: area")
    model = LogisticRegression().fit(s[:, None], np.where(y, "a", "b"))
    first, second = (
        PrivateClassifierReport.from_estimator(
            model, s[:, None], np.where(y, "a", "b"), epsilon=50, random_state=0, **given
        )
        for given in ({}, {"classes": ["b", "a"]})
    )
    rates = [report.rate("prevalence") for report in (first, second)]
    assert rates == pytest.approx([1 - y.mean(), y.mean()], abs=0.01)
    assert second.roc_auc_ == pytest.approx(first.roc_auc_, abs=0.02)
    matrix = PrivateConfusionMatrix(classes=["b", "a"], epsilon=50, random_state=0)
    matrix.fit(np.where(y, "a", "b"), np.where(y, "a", "b"))
    assert np.asarray(matrix)[1, 1] == pytest.approx(y.sum(), abs=2)


def test_wrong_scores_are_told_before_the_charge():
    y, s = drawn(100)
    report = PrivateClassifierReport(random_state=0)
    with pytest.raises(ValueError, match="one column for each of the 2 classes"):
        report.fit(y, np.column_stack([s, s, s]))
    with pytest.raises(ValueError, match="predict_proba"):
        report.fit(y, np.where(y, "no", "yes"))
    with pytest.raises(ValueError, match="labels that are not in `classes`"):
        report.fit(y + 1, s)
    with pytest.raises(ValueError, match="NaN"):
        report.fit(y, np.where(s < 0.5, np.nan, s))
    with pytest.raises(ValueError, match="metric must be one of"):
        PrivateClassifierReport(random_state=0).fit(y, s).interval("auc")


def test_scores_that_are_no_probabilities_are_said():
    y, s = drawn(3000)
    report = PrivateClassifierReport(random_state=0).fit(y, np.log(s / (1 - s)))
    assert np.isnan(report.roc_auc_) and "no probabilities" in "".join(report.accuracy_warnings_)


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
@pytest.mark.parametrize("wrong", [0, 400])
def test_a_cut_of_the_logarithmic_loss_is_said(classes, wrong):
    y = np.random.default_rng(0).integers(len(classes), size=8000)
    certain = np.eye(len(classes))[y]
    certain[:wrong] = np.roll(certain[:wrong], 1, axis=1)
    report = PrivateClassifierReport(classes=classes, random_state=0).fit(y, certain)
    told = report.results()
    told = dict(zip(told["variable"], told["reliable"], strict=True))
    assert told["log_loss"] == (wrong == 0) and told["brier_score"]
    assert any("beyond a logit of 10" in line for line in report.privacy_report_.decisions) == (
        wrong > 0
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ends", [(0.0, 1.0), (0.2, 0.8)])
def test_intervals_cover_the_area_of_labels_as_scores(ends, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(5000) < 0.3
    s = np.where(y ^ (rng.random(5000) < 0.1), *ends[::-1])
    report = PrivateClassifierReport(random_state=seed).fit(y.astype(int), s)
    low, high = report.interval("roc_auc", confidence=0.999)
    assert low <= roc_auc_score(y, s) <= high
    assert np.diff(report.interval("roc_auc")) < 0.03
    told = report.results()
    assert told["reliable"][list(told["variable"]).index("roc_auc")]


@pytest.mark.parametrize("apart", [0.0, 1e-6])
def test_scores_closer_than_bins_are_doubted(apart):
    y, s = drawn(5000)
    report = PrivateClassifierReport(random_state=0).fit(y, 0.3 + apart * s)
    assert any("count as ties" in line for line in report.privacy_report_.decisions)
    told = report.results()
    told = dict(zip(told["variable"], told["reliable"], strict=True))
    assert told["brier_score"] and not told["roc_auc"]


def test_persons_are_protected():
    y, s = drawn(3000)
    ids = np.arange(3000) // 2
    report = PrivateClassifierReport(random_state=0).fit(y, s, groups=ids)
    assert report.privacy_report_.privacy_unit == "group"
    assert report.n_rows_ == pytest.approx(1500, abs=150)


def test_scores_beyond_all_logits_are_told_apart():
    """As those of a naive Bayes, most of which are nearer to 0 and 1 than bins can tell."""
    y, s = drawn(6000)
    logit = 20 * np.log(s / (1 - s)) - 30
    for scores in (expit(logit), expit(np.abs(logit) / 5)):
        report = PrivateClassifierReport(random_state=0).fit(y, scores)
        low, high = report.interval("roc_auc", confidence=0.999)
        assert low <= roc_auc_score(y, scores) <= high


@pytest.mark.parametrize("bins", [1, 2, 7, 1024, 1025, 3000])
def test_prefix_sums_are_asked_without_their_matrix(bins):
    edges, matrix = np.linspace(0, 1, bins + 1), prefix_matrix(bins)
    rows = np.c_[np.random.default_rng(bins).uniform(size=(500, 2)), np.arange(500) % 2]
    asked = PrefixCells((0, 1), np.array([edges, edges]), (1, 0))
    cells = [(0, 0), (0, 1), (1, 1), (1, 0)]  # column, class: the other one first
    n = [np.histogram(rows[rows[:, 2] == y, j], edges)[0] for j, y in cells]
    assert np.array_equal(asked.total(rows), np.ravel(n @ matrix.T))
    assert asked.squared_l2 == 2 * int(np.square(matrix).sum(axis=0).max())


def test_the_most_bins_need_little_memory():
    bins = 2**13 + 4
    asked = PrefixCells((0,), np.linspace(0, 1, bins + 1)[None], (1,))
    tracemalloc.start()
    asked.total(np.c_[np.linspace(0, 1, 100), np.arange(100) % 2])
    assert tracemalloc.get_traced_memory()[1] < 2**26 < 8 * bins**2
    tracemalloc.stop()


@pytest.mark.parametrize("n_bins", [4, 16, 4096])
def test_edges_rise_however_bins_are_cut(n_bins):
    edges = logit_edges(n_bins)
    for at in (0, 1, n_bins // 2, n_bins, n_bins + 1, None):
        masses = np.ones(n_bins + 2) if at is None else np.arange(n_bins + 2) == at
        finer, of = finer_edges(edges, masses.astype(float))
        assert (np.diff(finer) > 0).all() and len(of) == 2 * (n_bins + 2)
        assert np.isin(edges, finer).all()


@pytest.mark.parametrize("as_table", [np.asarray, pd.Series, lambda x: pd.DataFrame({"label": x})])
def test_labels_in_the_place_of_scores_are_refused_by_their_type(as_table):
    labels, ledger = np.array(["one", "many"] * 50), PrivacyLedger(1.0, 1e-6)
    report = PrivateClassifierReport(classes=["one", "many"], ledger=ledger)
    with pytest.raises(ValueError, match="scores are probabilities"):
        report.fit(labels, as_table(labels).astype("U" if as_table is np.asarray else "string"))
    assert not ledger.spent().epsilon


def test_nullable_scores_are_scores():
    y = np.array([0, 1] * 200)
    table = pd.DataFrame({"score": np.where(y, 0.8, 0.3)})
    fits = [
        PrivateClassifierReport(classes=[0, 1], random_state=0).fit(y, one)
        for one in (table, table.astype("Float64"))
    ]
    assert fits[0].results().equals(fits[1].results())


def test_the_types_of_a_query_are_not_asked_for():
    """Polars warns that this may cost as much as the query."""
    polars = pytest.importorskip("polars")
    y = np.array([0, 1] * 200)
    query = polars.DataFrame({"y": y, "score": np.where(y, 0.8, 0.3)}).lazy()
    fit = PrivateClassifierReport(classes=[0, 1], random_state=0).fit("y", query)
    assert fit.n_rows_ > 100
