"""Pipelines whose last step reads a target: y goes with its rows, and nowhere else."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from skdp import (
    FriendlyCoreFilter,
    JamesSteinDenoiser,
    PrivacyLedger,
    PrivateAdditiveRegressor,
    PrivateMean,
    PrivatePipeline,
    PrivateSearchCV,
    PrivateStandardScaler,
    RowMap,
    config_context,
    make_private_pipeline,
)
from skdp.audit import conditional_sensitivity, non_interference
from skdp.exceptions import PlanError
from skdp.preprocessing import PrivateMinMaxScaler
from tests._supervised import BoundedCentroids, BoundedLine

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
LOUD = {"epsilon": 1e4, "random_state": 0}


@pytest.fixture
def table(rng):
    X = rng.normal(size=(900, 2)) * 3
    return X, X @ [1.0, -0.5] + 1 + 0.1 * rng.normal(size=900)


def shifted(x):
    return np.asarray(x) + 1


def line(**given):
    return make_private_pipeline(RowMap(shifted), BoundedLine(bound=20.0), **(LOUD | given))


def test_the_last_step_gets_the_target(table):
    X, y = table
    pipe = line().fit(X, y)
    assert pipe.score(X, y) > 0.99
    alone = BoundedLine(bound=20.0).set_params(**LOUD).fit(X + 1, y)
    np.testing.assert_allclose(pipe.predict(X), alone.predict(X + 1), atol=0.1)
    assert is_regressor(pipe) and get_tags(pipe).target_tags.required


def test_a_pipeline_is_the_classifier_that_its_last_step_is(table):
    X, y = table
    labels = np.where(y > y.mean(), "high", "low")
    centroids = BoundedCentroids(classes=["low", "high"])
    pipe = make_private_pipeline(RowMap(shifted), centroids, **LOUD)
    assert is_classifier(pipe) and not hasattr(pipe, "classes_")
    assert not hasattr(line(), "predict_proba") and not hasattr(line(), "decision_function")
    pipe.fit(X, labels)
    assert pipe.classes_.tolist() == ["high", "low"] and pipe.score(X, labels) > 0.9
    np.testing.assert_allclose(np.exp(pipe.predict_log_proba(X)), pipe.predict_proba(X))
    assert pipe.decision_function(X).shape == (900,)


def test_the_target_of_a_nested_pipeline_reaches_its_last_step(table):
    X, y = table
    nested = PrivatePipeline([("one", RowMap(shifted)), ("two", line())], **LOUD)
    assert nested.fit(X, y).score(X, y) > 0.99


@pytest.mark.parametrize("kind", ["a missing target", "a row that a map leaves out"])
def test_rows_and_targets_are_absent_together(table, kind):
    X, y = (part.copy() for part in table)
    if kind == "a missing target":
        y[::3] = np.nan
    else:
        X[::3] = np.nan
        y[::3] = 1e300
    kept = np.arange(len(y)) % 3 > 0
    with config_context(invalid_rows="ignore"):
        pipe = line().fit(X, y)
    want = line().fit(X[kept], y[kept])
    np.testing.assert_array_equal(pipe[-1].slopes_, want[-1].slopes_)


def test_rows_outside_of_a_core_take_their_targets_along(table):
    X, y = (part.copy() for part in table)
    X[:20] += 1e6
    y[:20] = -10.0
    filtered = make_private_pipeline(
        FriendlyCoreFilter(radius=40.0), RowMap(shifted), BoundedLine(bound=20.0), **LOUD
    ).fit(X, y)
    assert filtered.score(X[20:], y[20:]) > 0.99 > line().fit(X, y).score(X[20:], y[20:])


def test_missing_and_wrong_targets_are_refused_before_the_charge(table):
    X, y = table
    ledger = PrivacyLedger(2e4, 1e-5)
    pipe = line(ledger=ledger)
    for wrong, message in (
        (None, "requires y to be passed, but the target y is None"),
        (y[1:], "y"),
        (np.where(y == y[0], np.nan, y), "NaN"),
        (np.full(len(y), "86243"), "number"),
    ):
        with pytest.raises(ValueError, match=message) as refusal:
            pipe.fit(X, wrong)
        assert "86243" not in str(refusal.value)
    assert len([entry for entry in ledger.entries() if entry.kind == "charge"]) == 0
    pipe.fit(X, y)
    assert len([entry for entry in ledger.entries() if entry.kind == "charge"]) == 1


def test_a_label_outside_of_the_classes_is_refused_or_absent(table):
    X, y = table
    labels = (y > 0).astype(int)
    labels[:5] = 7
    pipe = make_private_pipeline(RowMap(shifted), BoundedCentroids(), **LOUD)
    with pytest.raises(ValueError, match="class"):
        pipe.fit(X, labels)
    with config_context(invalid_rows="ignore"):
        got = clone(pipe).fit(X, labels)
    np.testing.assert_array_equal(got[-1].means_, clone(pipe).fit(X[5:], labels[5:])[-1].means_)


def test_a_target_in_the_middle_is_a_problem():
    pipe = make_private_pipeline(BoundedLine(), JamesSteinDenoiser())
    assert any("needs y" in problem for problem in pipe.plan().problems)
    with pytest.raises(PlanError, match="last step"):
        pipe.fit(np.zeros((10, 2)), np.zeros(10))
    assert line().plan().problems == ()


def test_the_plan_and_the_report_are_those_of_all_steps(table):
    X, y = table
    pipe = make_private_pipeline(PrivateStandardScaler(), BoundedLine(), epsilon=4.0)
    assert [split.path for split in pipe.plan().splits] == ["privatestandardscaler", "boundedline"]
    labels = [charge.label for charge in pipe.fit(X, y).privacy_report_.charges]
    assert "boundedline/moments" in labels


def test_frames_keep_their_columns(table):
    X, y = table
    frame = pd.DataFrame(X, columns=["a", "b"])
    pipe = line().fit(frame, pd.Series(y, index=frame.index[::-1]))
    np.testing.assert_array_equal(pipe[-1].slopes_, line().fit(X, y)[-1].slopes_)


def test_tables_in_pieces_and_targets_give_the_same_bits(table):
    X, y = table
    want = line().fit(X, y)[-1].slopes_
    batches = [X[:250], X[250:700], X[700:]]
    np.testing.assert_array_equal(line().fit(batches, y)[-1].slopes_, want)


@pytest.mark.slow
@pytest.mark.parametrize("maps", [True, False])
def test_a_column_can_be_the_target(table, maps, tmp_path):
    pytest.importorskip("pyarrow")
    X, y = table
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(target=y)
    path = str(tmp_path / "rows.parquet")
    frame.to_parquet(path)
    scaler = RowMap(shifted) if maps else PrivateMinMaxScaler()
    pipe = make_private_pipeline(scaler, BoundedLine(bound=20.0), **LOUD)
    want = clone(pipe).fit(frame[["a", "b"]], y)[-1].slopes_
    for source in (frame, path):
        np.testing.assert_array_equal(clone(pipe).fit(source, "target")[-1].slopes_, want)
    with pytest.raises(ValueError, match="column"):
        clone(pipe).fit(path, "no such column")


@pytest.mark.slow
def test_audits_of_a_pipeline_with_a_target(table):
    X, y = (part[:200] for part in table)
    pipe = make_private_pipeline(RowMap(shifted), BoundedLine(), epsilon=2.0)
    assert non_interference(pipe, X, y, n_transcripts=1).ok
    assert conditional_sensitivity(pipe, X, y, n_pairs=15).ratio > 0.5


def test_pipelines_without_a_target_ignore_it(table):
    X, y = table
    pipe = make_private_pipeline(RowMap(shifted), PrivateMean(), **LOUD)
    np.testing.assert_array_equal(pipe.fit(X, y)[-1].location_, clone(pipe).fit(X)[-1].location_)


def test_models_of_scikit_learn_have_a_way_out():
    for model, way in (
        (LinearRegression(), "PrivateLinearRegression"),
        (RandomForestClassifier(), "PrivateBoostingClassifier"),
        (GradientBoostingRegressor(), "PrivateBoostingRegressor"),
    ):
        (problem, *_) = make_private_pipeline(RowMap(shifted), model).plan().problems
        assert way in problem


def test_a_fit_with_a_target_is_silent(table):
    X, y = table
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        line(random_state=None, epsilon=8.0).fit(X, y)


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("theirs", "ours", "kept"),
    [
        (LinearRegression(fit_intercept=False), "PrivateLinearRegression", "fit_intercept"),
        (Ridge(alpha=3.0), "PrivateRidge", "alpha"),
        (LogisticRegression(C=0.5), "PrivateLogisticRegression", "C"),
        (HistGradientBoostingClassifier(max_iter=5), "PrivateBoostingClassifier", None),
        (HistGradientBoostingRegressor(), "PrivateBoostingRegressor", None),
        (
            HistGradientBoostingClassifier(class_weight="balanced"),
            "PrivateBoostingClassifier",
            "class_weight",
        ),
        (
            HistGradientBoostingRegressor(monotonic_cst=[1, 0]),
            "PrivateBoostingRegressor",
            "monotonic_cst",
        ),
    ],
    ids=str,
)
def test_models_of_scikit_learn_have_counterparts(theirs, ours, kept, table):
    X, y = table
    pipe = PrivatePipeline.from_sklearn(make_pipeline(StandardScaler(), theirs), epsilon=100.0)
    assert type(pipe[-1]).__name__ == ours and pipe.plan().problems == ()
    if kept is not None:
        assert getattr(pipe[-1], kept) == getattr(theirs, kept)
    y = (y > 0).astype(int) if is_classifier(pipe) else y
    assert pipe.fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LinearRegression(positive=True), "positive=False"),
        (Ridge(positive=True), "any sign"),
        (Ridge(alpha=[1.0, 2.0]), "one alpha"),
        (LogisticRegression(class_weight="balanced"), "weighted"),
        (HistGradientBoostingClassifier(categorical_features=[0]), "categories="),
        (HistGradientBoostingRegressor(loss="absolute_error"), "squared_error"),
    ],
    ids=str,
)
def test_models_without_a_counterpart_are_refused_with_a_way_out(model, message):
    with pytest.raises(ValueError, match=message):
        PrivatePipeline.from_sklearn(make_pipeline(model))


def test_mixed_columns_and_gaps_in_a_pipeline(table):
    X, y = (part.copy() for part in table)
    X[::5, 0] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(town=np.where(y > 0, "north", "south"))
    pipe = make_private_pipeline(PrivateAdditiveRegressor(), epsilon=100.0)
    assert pipe.fit(frame, y).score(frame, y) > 0.5
    assert pipe.fit(X, y).score(X, y) > 0.5
    search = PrivateSearchCV(
        PrivateAdditiveRegressor(), {"n_bins": [4]}, epsilon=100.0, mean_trials=2
    )
    assert search.fit(frame, y).score(frame, y) > 0.5


def test_rows_outside_of_a_core_are_none_to_a_step_that_reads_gaps(table):
    X, y = (part.copy() for part in table)
    far = np.arange(len(y)) % 5 == 0
    X[far], y[far] = 1e6 + np.arange(far.sum())[:, None] * 1e4, 100.0
    pipe = make_private_pipeline(
        FriendlyCoreFilter(radius=60.0), PrivateAdditiveRegressor(), epsilon=400.0, random_state=0
    ).fit(X, y)
    assert abs(pipe[-1].n_rows_ - 720) < 30 and pipe.score(X[~far], y[~far]) > 0.5


def test_the_report_names_what_is_protected(table):
    X, y = table
    report = line(random_state=None).fit(X, y).privacy_report_
    for text in (str(report), report._repr_html_()):
        assert "one row (x, y)" in text and "features and target of every row" in text
    assert report.to_dict()["neighbours"] == "add or remove one row (x, y)"
    centroids = BoundedCentroids().fit(X, y > 0).privacy_report_
    assert "which classes occur" in str(centroids) and (centroids + report).target == "class"
    assert "(x, y)" not in str(PrivateMean().fit(X).privacy_report_)
