"""Audits of estimators that read a target: neighbours that differ in y, in x, and in both.

Neighbours differ by one row (x, y). Where only its target is to be another, the row is removed with
one target and added with the other: both pairs are audited against the claim for one row.
"""

import numpy as np
import pytest
from sklearn.base import clone

from skdp import (
    PrivateAdditiveClassifier,
    PrivateAdditiveRegressor,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateRidge,
    config_context,
)
from skdp.audit import (
    audit,
    check_private_estimator,
    conditional_sensitivity,
    non_interference,
    private_estimator_checks,
)
from skdp.audit._pairs import Pair
from skdp.audit._sensitivity import examine_pair
from skdp.audit._tables import example, example_table, tables_like
from skdp.exceptions import AuditFailure
from tests._supervised import BoundedCentroids, BoundedLine

ALARM = 1e-3 / 60  # of a correct estimator, over seeds; all seeds are fixed
SURE = {"confidence": 1 - ALARM, "random_state": 0}
MODELS = {
    "class": BoundedCentroids(bound=1.0, delta=0.01),
    "number": BoundedLine(bound=1.0, target_range=(-1.0, 1.0), delta=0.01),
}
LABELS, NUMBERS = np.arange(40) % 2, np.tile([-0.5, 0.5], 20)
# kind, x and y of the row that only one table has
WORST = {
    "a label": ("class", [1.0, 1.0], 1),
    "the label flipped": ("class", [1.0, 1.0], 0),
    "a label outside of the classes": ("class", [1.0, 1.0], 7),
    "a far row of a class": ("class", [1e300, -1e300], 1),
    "a target on the border": ("number", [1.0, 1.0], 1.0),
    "a target out of range": ("number", [1.0, 1.0], -1e9),
    "a missing target": ("number", [1.0, 1.0], np.nan),
    "a row with leverage": ("number", [1e300, 1e300], 0.5),
}
MOVES = [name for name in WORST if "outside" not in name and "missing" not in name]


def audited(model, x, y, n_runs):
    X, targets = np.zeros((40, 2)), LABELS if np.isin(y, (0, 1, 7)) else NUMBERS
    with config_context(invalid_rows="ignore"):
        return audit(
            clone(model).set_params(epsilon=2.0),
            X,
            np.vstack([X, [x]]),
            n_runs,
            y=targets,
            y_neighbour=np.append(targets, np.asarray(y, dtype=targets.dtype)),
            **SURE,
        )


OFTEN = ("the label flipped", "a target out of range", "a row with leverage")


@pytest.mark.slow
@pytest.mark.parametrize("pair", WORST)
def test_worst_pairs(pair):
    kind, x, y = WORST[pair]
    report = audited(MODELS[kind], x, y, 1000)
    assert report.passed, report
    if pair not in MOVES:
        assert report.mu_lower == 0  # a row that is none


REAL = {
    "class": [
        PrivateAdditiveClassifier(classes=[0, 1], delta=0.01),
        PrivateAdditiveClassifier(delta=0.01),
        PrivateLogisticRegression(classes=[0, 1], delta=0.01),
    ],
    "number": [
        PrivateAdditiveRegressor(delta=0.01),
        PrivateAdditiveRegressor(target_range=(-1, 1), feature_range=(-1, 1), delta=0.01),
        PrivateLinearRegression(delta=0.01),
        PrivateRidge(target_range=(-1, 1), feature_range=(-1, 1), delta=0.01),
    ],
}
DEAR = [(pair, model) for pair in WORST for model in REAL[WORST[pair][0]]]
# of each kind where everything else is public, and an audit sees most
SOME = [("the label flipped", REAL["class"][0]), ("a target out of range", REAL["number"][1])]


@pytest.mark.slow
@pytest.mark.parametrize("model", REAL["class"][:1], ids=repr)
def test_a_label_of_a_model_of_this_package(model):
    report = audited(model, [1.0, 1.0], 0, 500)
    assert report.passed, report


@pytest.mark.parametrize(
    ("pair", "model", "n_runs"),
    [pytest.param(*case, 2000, marks=pytest.mark.audit) for case in SOME]
    + [
        pytest.param(*case, 10_000 if case[0] in OFTEN else 1000, marks=pytest.mark.nightly)
        for case in DEAR
    ],
    ids=str,
)
def test_worst_pairs_of_the_models_of_this_package(pair, model, n_runs):
    report = audited(model, *WORST[pair][1:], n_runs)
    assert report.passed, report


MANY = [(pair, 10_000) for pair in MOVES]
FEWER = [(pair, 2000) for pair in MOVES if WORST[pair][0] == "class"]  # a line takes more
FEWER += [("a target out of range", 10_000)]


@pytest.mark.parametrize(
    ("pair", "n_runs"),
    [pytest.param(*case, marks=pytest.mark.audit) for case in FEWER]
    + [pytest.param(*case, marks=pytest.mark.nightly) for case in MANY if case not in FEWER],
)
def test_worst_pairs_with_many_runs(pair, n_runs):
    kind, x, y = WORST[pair]
    report = audited(MODELS[kind], x, y, n_runs)
    assert report.passed, report
    # the line moves with the target of the row: half as far by one of half the range
    assert report.mu_lower > 0.2 * report.claimed_mu * (0.5 if pair == "a row with leverage" else 1)


class ClassesThatOccur(BoundedCentroids):
    """The classes are those that occur."""

    def _release(self, rows, curator):
        released = super()._release(rows, curator)
        labels = np.unique(rows.take(np.arange(len(rows)))[:, -1])
        return released | {"classes_": labels[np.isfinite(labels)]}


class RowsForTargets(BoundedLine):
    """Counts every row whose features are there, whatever its target is."""

    def _release(self, rows, curator):
        Z = rows.take(np.arange(len(rows)))
        n = np.array([np.isfinite(Z[:, :-1]).all(axis=1).sum()])
        count = curator.gaussian(n, sensitivity=1, share=1, label="moments")
        return {"slopes_": np.zeros(3) + count.value[0]}


class LeaksInX(BoundedCentroids):
    """The largest entry of X as an attribute: as private as y."""

    def _release(self, rows, curator):
        Z = rows.take(np.arange(len(rows)))
        return super()._release(rows, curator) | {"reach_": float(np.nanmax(Z[:, :-1], initial=0))}


def found(check, estimator):
    """Run a check by its name."""
    for twin, one in private_estimator_checks(estimator):
        if one.func.__name__ == check:
            one(twin)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_sound_estimators_pass_every_check(model):
    check_private_estimator(model)


@pytest.mark.slow
def test_leaks_are_found():
    with pytest.raises(AuditFailure, match="classes_"):
        found("check_non_interference", ClassesThatOccur())
    with pytest.raises(AuditFailure, match="reach_"):
        found("check_non_interference", LeaksInX())
    with pytest.raises(AuditFailure, match="target is invalid counts"):
        found("check_invalid_targets_are_absent", RowsForTargets())


def test_neighbours_in_the_target_alone_in_the_rows_alone_and_in_both():
    X = np.zeros((20, 2))
    model, y = MODELS["number"], np.zeros(20)
    moved = {}
    for name, row, target in (
        ("target", np.zeros(2), 1.0),
        ("row", np.ones(2), 0.0),
        ("both", np.ones(2), 1.0),
        ("neither", np.zeros(2), np.nan),
    ):
        pair = Pair(X, row, 5, y=y, target=target)
        squared, allowed = examine_pair(model, pair)["moments"]
        assert squared <= allowed
        moved[name] = squared / allowed
    assert moved["neither"] == 0 < moved["target"] < moved["both"] == 1
    assert 0 < moved["row"] < 1


@pytest.mark.slow
def test_pairs_try_hostile_targets():
    report = conditional_sensitivity(MODELS["number"], example_table(), n_pairs=200)
    assert report.ok and report.ratio > 0.9
    labels = np.where(np.arange(600) % 2, "yes", "no")
    model = BoundedCentroids(classes=["no", "yes"])
    assert conditional_sensitivity(model, example_table(), labels, n_pairs=100).ok
    assert non_interference(model, example_table(), labels, n_transcripts=1).ok


def test_targets_are_made_up_of_the_public_classes():
    model = BoundedCentroids(classes=["a", "b", "c"])
    data = example(model)
    assert sorted(set(data.y)) == ["a", "b", "c"]
    names = {table.name for table in tables_like(data)}
    assert {"targets all alike", "targets in another order", "an unknown class"} <= names
    names = {table.name for table in tables_like(example(BoundedLine()))}
    assert {"a far target", "a missing target"} <= names


def test_unclipped_targets_are_found_by_an_audit():
    class Unclipped(BoundedLine):
        def _release(self, rows, curator):
            Z = rows.take(np.arange(len(rows)))
            total = np.rint(np.nansum(Z[:, -1:]) * 1000)[None].astype(np.int64)
            release = curator.gaussian(total, sensitivity=1, share=1, label="moments")
            return {"slopes_": release.value.astype(float)}

    assert not audited(Unclipped(delta=0.01), [0.0, 0.0], 1.0, 200).passed
    with pytest.raises(AuditFailure, match="EXCEEDED"):
        conditional_sensitivity(Unclipped(), example_table(), n_pairs=20)
