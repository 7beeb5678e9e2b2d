"""Fits of rows that count with weights: what they estimate, what one row moves, what is refused."""

import warnings

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression, LogisticRegression

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    GroupMap,
    LloydKMeans,
    MarginalReleaser,
    PrivacyLedger,
    PrivateAdditiveClassifier,
    PrivateAdditiveRegressor,
    PrivateBoostingClassifier,
    PrivateBoostingRegressor,
    PrivateGroupBy,
    PrivateKBinsDiscretizer,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateMedian,
    PrivateMinMaxScaler,
    PrivateRidge,
    PrivateRobustScaler,
    PrivateStandardScaler,
    PrivateSum,
    PrivateVariance,
    RowMap,
    config_context,
    make_private_pipeline,
)
from skdp.audit._transcript import Script, moves
from skdp.gate._curator import replaced_curator
from skdp.marginals import Bins
from skdp.preprocessing import GaussianMechanism, SensitivityPreprocessor
from skdp.readers._persons import GRAIN, Persons
from tests._curators import CannedCurator, FixedKeys, check_replay

pytestmark = pytest.mark.filterwarnings(
    "ignore::skdp.exceptions.SeededNoiseWarning", "ignore::skdp.exceptions.LowAccuracyWarning"
)
BOX = (-5.0, 5.0)
DOMAIN = {0: Bins([0.0, 2.0, 4.0]), 1: Bins([-3.0, 0.0, 3.0])}
# one of every road, and its target
ROADS = {
    "mean": PrivateMean(epsilon=20.0),
    "mean, bounds": PrivateMean(bounds=BOX),
    "mean, pure": PrivateMean(bounds=BOX, delta=0.0),
    "mean, friendly": PrivateMean(epsilon=40.0, method="friendly"),
    "sum": PrivateSum(BOX),
    "variance": PrivateVariance(epsilon=20.0),
    "scaler": PrivateStandardScaler(epsilon=20.0),
    "bins": PrivateKBinsDiscretizer(3, epsilon=20.0),
    "k-means": FriendlyCoreKMeans(2, epsilon=20.0),
    "k-means, bounds": FriendlyCoreKMeans(2, epsilon=8.0, bounds=BOX),
    "lloyd": LloydKMeans(2, epsilon=8.0, bounds=BOX),
    "linear": PrivateLinearRegression(epsilon=20.0),
    "ridge": PrivateRidge(epsilon=20.0),
    "logistic": PrivateLogisticRegression(epsilon=20.0, classes=[0, 1]),
    "additive": PrivateAdditiveRegressor(epsilon=20.0, n_cycles=2),
    "additive, classes": PrivateAdditiveClassifier(epsilon=20.0, n_cycles=2),
    "boosting": PrivateBoostingRegressor(epsilon=20.0),
    "boosting, classes": PrivateBoostingClassifier(epsilon=20.0, classes=[0, 1]),
    "chain": make_private_pipeline(
        PrivateStandardScaler(), PrivateLinearRegression(), epsilon=20.0
    ),
    "marginals": MarginalReleaser(2, domain=DOMAIN),
    "marginals, found": MarginalReleaser(2, domain="auto", n_bins=3, epsilon=8.0),
    "chain in a chain": make_private_pipeline(
        RowMap(np.tanh),
        ColumnTransformer([("a", PrivateMinMaxScaler(), [0]), ("b", PrivateRobustScaler(), [1])]),
        make_private_pipeline(PrivateStandardScaler(), FriendlyCoreKMeans(2, method="friendly")),
        epsilon=60.0,
    ),
}


def _rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1.0, 3.0] + [2.0, -1.0]
    return X, np.where(X[:, 0] > 2.0, 0.9, 0.15) * rng.uniform(0.5, 1.0, size=n)


def _target(estimator, X):
    if estimator._target is None:
        return ()
    y = X @ [1.0, 0.5] + np.sin(5 * X[:, 0])
    return ((y > 1.5).astype(int) if estimator._target == "class" else y,)


def _recorded(estimator, X, w, keys, transcript, **more):
    made = []

    def make(plan, entropy):
        made.append(CannedCurator(plan, transcript, seed=0, coins=FixedKeys(keys)))
        return made[-1]

    with config_context(invalid_rows="ignore", debug=True), replaced_curator(make):
        clone(estimator).fit(X, *_target(estimator, X), sample_weight=w, **more)
    return made[0]


SLOW = "boosting, classes", "chain", "chain in a chain", "additive, classes"


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in ROADS]
)
def test_a_row_moves_no_release_by_more_than_is_declared(name):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, w = _rows(80, seed)
        leaving = rng.integers(80)
        w[leaving] = [1.0, 0.4, 1.0][seed]
        X[leaving] = [(50.0, -50.0), (1e300, np.inf), (-1e3, 0.0)][seed]
        keys = rng.integers(0, 2**63, size=80, dtype=np.uint64) * 2
        stay = np.arange(80) != leaving
        run = _recorded(ROADS[name], X, w, keys, "noise")
        again = _recorded(ROADS[name], X[stay], w[stay], keys[stay], Script(run.records))
        assert check_replay(run, again) <= 1
        assert run.close("x") == again.close("x")


@pytest.mark.parametrize("weight", [1.0, 0.5, 0.125])
def test_what_a_row_moves_is_its_weight(weight):
    X, w = np.full((30, 1), 5.0), np.full(30, weight)
    keys = np.random.default_rng(0).integers(0, 2**63, size=30, dtype=np.uint64) * 2
    run = _recorded(PrivateSum((0.0, 5.0)), X, w, keys, "noise")
    again = _recorded(PrivateSum((0.0, 5.0)), X[1:], w[1:], keys[1:], Script(run.records))
    check_replay(run, again)
    *_, (label, moved, allowed) = moves(run.records, again.records)
    assert "sum" in label
    assert (moved / allowed) ** 0.5 == pytest.approx(weight, abs=0.01)


def test_weights_of_a_group_stay_within_its_unit():
    X = np.full((1040, 1), 5.0)
    ids = np.append(np.arange(40), np.full(1000, 40))
    for w in (np.ones(1040), np.random.default_rng(0).uniform(size=1040)):
        keys = np.random.default_rng(1).integers(0, 2**63, size=1040, dtype=np.uint64) * 2
        summed = PrivateSum((0.0, 5.0), rows_per_group=1)
        run = _recorded(summed, X, w, keys, "noise", groups=ids)
        script = Script(run.records)
        again = _recorded(summed, X[:40], w[:40], keys[:40], script, groups=ids[:40])
        assert check_replay(run, again) <= 1


@pytest.mark.parametrize("name", ["variance", "scaler", "mean", "mean, friendly", "marginals"])
def test_a_group_with_weights_moves_no_release_by_more_than_is_declared(name):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, w = _rows(100, seed)
        ids = np.append(np.arange(70) // 2, np.full(30, 35))
        w[70:] = [rng.uniform(size=30), np.ones(30), np.tile([1.0, 0.0], 15)][seed]
        X[70:] = [(50.0, -50.0), (1e300, 2.0), (1.0, -2.0)][seed]
        keys = rng.integers(0, 2**63, size=100, dtype=np.uint64) * 2
        run = _recorded(ROADS[name], X, w, keys, "noise", groups=ids)
        script = Script(run.records)
        again = _recorded(ROADS[name], X[:70], w[:70], keys[:70], script, groups=ids[:70])
        assert check_replay(run, again) <= 1
        assert run.close("x") == again.close("x")


def test_integer_weights_are_bounded_and_right_on_average():
    rng = np.random.default_rng(0)
    sizes = rng.choice([1, 2, 7, 900], size=200)
    codes, n = np.repeat(np.arange(200), sizes), sizes.sum()
    shares = rng.choice([0.0, 1e-9, 0.3, 1.0 - 2**-53, 1.0], size=n)
    coins = FixedKeys(rng.integers(0, 2**64, size=n, dtype=np.uint64, endpoint=False))
    whole, unit = Persons(codes, 200).weights(2, coins)
    weights, same = Persons(codes, 200, shares).weights(2, coins)
    assert same == unit == 2 * GRAIN
    assert (weights >= 0).all() and (weights <= whole).all()
    assert np.bincount(codes, weights).max() <= unit
    assert (weights[shares == 0] == 0).all() and (weights[shares == 1] == whole[shares == 1]).all()
    some = shares == 0.3
    assert weights[some].sum() == pytest.approx(0.3 * whole[some].sum(), rel=0.01)
    coins = FixedKeys(np.full(3, 2**64 - 1, dtype=np.uint64))  # rounds to one
    assert Persons(np.arange(3), 3, np.ones(3)).weights(1, coins)[0].tolist() == [GRAIN] * 3


def test_sums_are_those_of_rows_times_weights():
    X, w = _rows(5000)
    keys = np.random.default_rng(0).integers(0, 2**63, size=5000, dtype=np.uint64) * 2
    made = []

    def make(plan, entropy):
        made.append(CannedCurator(plan, "exact", coins=FixedKeys(keys)))
        return made[-1]

    with replaced_curator(make):
        fitted = PrivateSum(BOX).fit(X, sample_weight=pd.Series(w))
        ones = PrivateSum(BOX).fit(X, sample_weight=np.ones(5000, dtype=int))
        plain = PrivateSum(BOX).fit(X)
        pieces = PrivateSum(BOX).fit([X[:1234], X[1234:]], sample_weight=w)
    clipped = np.clip(X, *BOX)
    assert np.allclose(fitted.sum_, w @ clipped, rtol=1e-3)
    assert np.allclose(ones.sum_, plain.sum_, rtol=1e-6)
    assert np.array_equal(pieces.sum_, fitted.sum_)


def test_weights_may_be_a_column_by_name(tmp_path):
    X, w = _rows(3000)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(w=w, y=X @ [1.0, 2.0], owner=w > 0.3)
    frame.to_parquet(tmp_path / "rows.parquet")
    line = PrivateLinearRegression(random_state=0)
    right = clone(line).fit(frame[["a", "b"]], frame["y"], w)
    assert "w" not in right.feature_names_in_
    plain = frame.drop(columns="owner")
    for table in (plain, polars.from_pandas(plain), polars.from_pandas(plain).lazy()):
        assert np.array_equal(clone(line).fit(table, "y", "w").coef_, right.coef_)
    path = str(tmp_path / "rows.parquet")
    options = {"sample_weight": "w", "groups": "owner"}
    summed = PrivateSum(BOX, random_state=0)
    there = clone(summed).fit(path, **options).sum_
    assert np.array_equal(there, clone(summed).fit(frame, **options).sum_)
    with pytest.raises(ValueError, match="no column of that name"):
        line.fit(frame, "y", "z")
    with pytest.raises(ValueError, match="real numbers"):
        line.fit(frame.assign(w="x"), "y", "w")


@pytest.mark.parametrize("named", ["groups", "sample_weight"])
@pytest.mark.parametrize(
    "model",
    [
        PrivateStandardScaler(),
        FriendlyCoreKMeans(2),
        make_private_pipeline(PrivateStandardScaler(), FriendlyCoreKMeans(2), epsilon=2.0),
    ],
)
def test_a_column_that_is_named_is_none_of_the_rows_that_a_fit_maps(model, named):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2000, 2)), columns=["a", "b"])
    frame["of"] = np.arange(2000) // 2 if named == "groups" else rng.random(2000)
    for do in ("fit_transform", "fit_predict"):
        if hasattr(model, do):
            fitted = clone(model)
            made = getattr(fitted, do)(frame, **{named: "of"})
            assert len(made) == 2000 and list(fitted.feature_names_in_) == ["a", "b"]


@pytest.mark.slow
def test_estimates_are_those_of_scikit_learn_with_the_same_weights():
    X, w = _rows(20000)
    made = {"epsilon": 50.0, "random_state": 0}
    mean = PrivateMean(**made).fit(X, sample_weight=w)
    right = np.average(X, axis=0, weights=w)
    assert np.allclose(mean.location_, right, atol=0.05)
    assert abs(X.mean(0) - right).max() > 0.3
    assert mean.n_rows_ == pytest.approx(w.sum(), rel=0.01)
    assert mean.privacy_report_.privacy_unit == "row" and not hasattr(mean, "rows_per_group_")
    deviation = np.sqrt(np.average((X - right) ** 2, axis=0, weights=w))
    scaler = PrivateStandardScaler(**made).fit(X, None, w)
    assert np.allclose(scaler.mean_, right, atol=0.05)
    assert np.allclose(scaler.scale_, deviation, rtol=0.03)
    (y,) = _target(PrivateLinearRegression(), X)
    line, slopes = PrivateLinearRegression(**made).fit(X, y, w), LinearRegression().fit(X, y, w)
    far = abs(LinearRegression().fit(X, y).coef_ - slopes.coef_).max()
    assert abs(line.coef_ - slopes.coef_).max() < far / 3
    labels = (X[:, 0] + np.random.default_rng(1).normal(size=len(X)) > 2.5).astype(int)
    odds = LogisticRegression(C=np.inf).fit(X, labels, w)
    model = PrivateLogisticRegression(**made, classes=[0, 1]).fit(X, labels, w)
    assert np.allclose(model.coef_, odds.coef_, atol=0.15)


def test_centres_are_those_of_rows_with_weights():
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=20000)
    X = rng.normal(size=(20000, 2)) + np.array([[0.0, 0.0], [9.0, 0.0]])[label]
    w = np.where(X[:, 1] > 0, 1.0, 0.125)
    right = [np.average(X[label == k], axis=0, weights=w[label == k]) for k in (0, 1)]
    for model in (FriendlyCoreKMeans(2), LloydKMeans(2, bounds=(-5.0, 15.0))):
        model.set_params(epsilon=20.0, random_state=0).fit(X, sample_weight=w)
        centers = model.cluster_centers_[np.argsort(model.cluster_centers_[:, 0])]
        assert np.allclose(centers, right, atol=0.1)
    fitted = FriendlyCoreKMeans(2, random_state=0, epsilon=20.0)
    assert fitted.fit_predict(X, sample_weight=w).shape == (20000,)


def test_every_step_of_a_pipeline_weighs_rows():
    X, w = _rows(20000)
    right = np.average(X, axis=0, weights=w)
    chain = make_private_pipeline(PrivateStandardScaler(), PrivateMean(), epsilon=60.0)
    chain.set_params(random_state=0)
    assert chain.fit(X, sample_weight=w).privacy_report_.privacy_unit == "row"
    assert np.allclose(chain[0].mean_, right, atol=0.05)
    assert np.allclose(chain[1].location_, 0, atol=0.03)
    pieces = clone(chain).fit(np.array_split(X, 3), sample_weight=w)
    assert np.array_equal(pieces[1].location_, chain[1].location_)
    ids = np.arange(20000) // 4
    groups = chain.fit(X, sample_weight=w, groups=ids)
    assert groups.privacy_report_.privacy_unit == "group"
    assert np.allclose(groups[1].location_ * groups[0].scale_ + groups[0].mean_, right, atol=0.1)


def test_pipelines_refuse_weights_where_a_step_takes_none_before_the_charge():
    X, w = _rows(200)
    ledger = PrivacyLedger(epsilon=3.0, delta=1e-5, unit="row")
    chains = {
        "the step FriendlyCoreFilter": [FriendlyCoreFilter(1.0), PrivateMean()],
        "the step GroupMap": [GroupMap(np.max), PrivateMean()],
        "the step SensitivityPreprocessor": [
            SensitivityPreprocessor("median", sensitivity=0.1),
            GaussianMechanism(),
        ],
        "ends with PrivateMedian": [PrivateStandardScaler(), PrivateMedian()],
        "the step PrivateGroupBy": [PrivateGroupBy(PrivateMean(), by=0)],
    }
    for text, steps in chains.items():
        for chain in (steps, [make_private_pipeline(*steps)]):
            pipe = make_private_pipeline(*chain, ledger=ledger)
            for groups in ({}, {"groups": np.arange(200) // 2}):
                with pytest.raises(ValueError, match=text):
                    pipe.fit(X, sample_weight=w, **groups)
    with pytest.raises(ValueError, match="must lie in"):
        make_private_pipeline(PrivateMean(), ledger=ledger).fit(X, sample_weight=2 * w)
    assert len(ledger.entries()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [PrivateAdditiveRegressor(epsilon=8.0), PrivateBoostingRegressor(epsilon=8.0)]
)
def test_additive_models_are_those_of_the_rows_that_weigh(model):
    rng = np.random.default_rng(0)
    X, some = rng.uniform(-2, 2, size=(20000, 2)), rng.random(20000) < 0.5
    y = np.where(some, 2 * np.sin(2 * X[:, 0]), -X[:, 0]) + X[:, 1]
    model.set_params(random_state=0).fit(X, y, np.where(some, 1.0, 0.125))
    right = (2 * np.sin(2 * X[:, 0]) - 0.125 * X[:, 0]) / 1.125 + X[:, 1]
    assert np.mean((model.predict(X) - right) ** 2) < 0.03


@pytest.mark.parametrize("domain", [DOMAIN, "auto"])
def test_marginals_count_weights(domain):
    X, w = _rows(20000)
    with config_context(invalid_rows="ignore"):
        fit = MarginalReleaser(1, domain=domain, epsilon=20.0, random_state=0)
        fit.fit(X, sample_weight=w)
    inside = (X[:, 0] >= 0) & (X[:, 0] < 4) & (abs(X[:, 1]) < 3) | (domain == "auto")
    assert fit.n_rows_ == pytest.approx(w[inside].sum(), rel=0.02)


def test_wrong_weights_are_refused_before_the_charge():
    X, w = _rows(100)
    ledger = PrivacyLedger(epsilon=3.0, delta=1e-5, unit="row")
    mean = PrivateMean(ledger=ledger)
    wrong = {
        "must lie in": [w * 3, -w, np.where(w > 0.5, np.nan, w)],
        "is zero for all rows": [w * 0],
        "one entry for each": [w[:-1], w[:, None], 1.0],
        "Got another type": [w.astype(str), w.astype(complex), ["a"] * 100, [[1.0], 2.0]],
    }
    for text, several in wrong.items():
        for one in several:
            with pytest.raises(ValueError, match=text):
                mean.fit(X, sample_weight=one)
    with config_context(invalid_rows="ignore"), pytest.raises(ValueError, match="type of its own"):
        mean.fit(X, sample_weight=list(w))
    assert len(ledger.entries()) == 1  # that it was opened
    mean.fit(X, sample_weight=list(w))
    assert len(ledger.entries()) == 2
    with pytest.raises(TypeError, match="sample_weight"):
        PrivateMedian().fit(X, sample_weight=w)


def test_rows_of_wrong_weights_are_absent_where_such_rows_are():
    X, w = _rows(4000)
    with config_context(invalid_rows="ignore"):
        bad = np.where(np.arange(4000) % 2, w, [np.nan, 2.0, -1.0, np.inf] * 1000)
        fitted = PrivateSum(BOX, epsilon=100.0, random_state=0).fit(X, sample_weight=bad)
    right = w[1::2] @ np.clip(X[1::2], *BOX)
    assert np.allclose(fitted.sum_, right, rtol=0.02, atol=2.0)


def test_no_gap_decides_whether_weights_have_a_type_that_is_read():
    X, w = _rows(300)
    kinds = {"float64": w, "Float64": w, "boolean": w > 0.3, "Int8": w > 0.3}
    series = [pd.Series(one).astype(kind) for kind, one in kinds.items()]
    series += [polars.Series(w), polars.Series(w > 0.3)]
    for one in series:
        gap = one.copy() if hasattr(one, "iloc") else one.clone()
        gap[7] = None
        with config_context(invalid_rows="ignore"):
            given = [PrivateSum(BOX, random_state=0).fit(X, sample_weight=x) for x in (one, gap)]
            filled = np.array(one, dtype=np.float64) * (np.arange(300) != 7)
            absent = PrivateSum(BOX, random_state=0).fit(X, sample_weight=filled)
        assert np.isfinite(given[0].sum_).all()
        assert np.array_equal(given[1].sum_, absent.sum_)
    for refused in (pd.Series(w > 0.3).astype("category"), pd.Series(pd.to_timedelta(w * 0))):
        with config_context(invalid_rows="ignore"), pytest.raises(ValueError, match="another type"):
            PrivateSum(BOX).fit(X, sample_weight=refused)


def test_a_weight_beyond_floats_warns_of_nothing():
    X, w = _rows(300)
    w = np.where(np.arange(300) == 3, np.longdouble(10) ** 400, w.astype(np.longdouble))
    with config_context(invalid_rows="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert np.isfinite(PrivateSum(BOX, random_state=0).fit(X, sample_weight=w).sum_).all()


def test_groups_count_as_their_rows_weigh():
    n = 20_000
    groups, x = np.arange(n) // 5, np.random.default_rng(0).normal(size=(n, 2))
    heavy = groups % 2 == 0
    x[heavy] += 10.0
    w = np.where(heavy, 1.0, 0.1)
    right = np.average(x, axis=0, weights=w)
    given = {"sample_weight": w, "groups": groups}
    for gap in (False, True):
        x[::9, 0] = np.nan if gap else x[::9, 0]
        for bounds in (None, (-10.0, 20.0)):
            mean = PrivateMean(epsilon=20.0, bounds=bounds, random_state=0).fit(x, **given)
            assert np.allclose(mean.location_, right, atol=0.15)
    x = np.nan_to_num(x)
    right, center = np.average(x, axis=0, weights=w), np.average(x**2, axis=0, weights=w)
    for bounds in (None, (-10.0, 20.0)):
        found = PrivateVariance(epsilon=20.0, bounds=bounds, random_state=0).fit(x, **given)
        assert np.allclose(found.var_, center - right**2, rtol=0.1)
        assert not found.accuracy_warnings_
    core = PrivateMean(epsilon=20.0, method="friendly", random_state=0).fit(x, **given)
    assert np.allclose(core.location_, right, atol=0.3)


def test_one_row_of_a_group_is_drawn_by_the_mean_of_its_weights():
    codes, shares = np.repeat(np.arange(4000), 8), np.tile([1.0, 0.5, 0.5, 0, 0, 0, 0, 0], 4000)
    keys = np.random.default_rng(0).integers(0, 2**63, size=32000, dtype=np.uint64) * 2
    coins = FixedKeys(keys)
    persons = Persons(codes, 4000, shares)
    drawn = persons.drawn(coins)
    assert drawn.sizes().max() == 1 and drawn.sizes().sum() == pytest.approx(1000, rel=0.1)
    rows = np.flatnonzero(drawn.codes >= 0)
    assert np.array_equal(drawn.first_by_key(coins, "representative"), rows)
    less = persons.of(codes != 7).drawn(coins).codes
    assert np.array_equal(less, np.where(codes == 7, -1, drawn.codes))
