"""Encoders, bins and an imputer that learn from private rows, as steps of a pipeline."""

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import TargetEncoder

from skdp import (
    PrivacyLedger,
    PrivateKBinsDiscretizer,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateOneHotEncoder,
    PrivateOrdinalEncoder,
    PrivateRidge,
    PrivateSimpleImputer,
    PrivateTargetEncoder,
    config_context,
    make_private_pipeline,
)
from skdp.audit._transcript import FixedKeys, Script, moves
from skdp.gate._curator import replaced_curator
from tests._curators import CannedCurator
from tests._persons import HOSTILE, replayed

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]


def table(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, size=n),
            "town": rng.choice(["north", "south", "east"], size=n, p=[0.5, 0.3, 0.2]),
            "ill": rng.random(n) < 0.3,
        }
    )
    frame.loc[::7, "age"] = np.nan
    frame.loc[::11, "town"] = None
    return frame


def both(frame):
    """Return a chain that encodes text and bins numbers."""
    return ColumnTransformer(
        [("text", PrivateOneHotEncoder(), ["town"]), ("age", PrivateKBinsDiscretizer(4), ["age"])]
    )


# --- what neighbours see


def replay(model, X, ids, stay, seed, y=None):
    rng, runs = np.random.default_rng(seed), []
    keys = rng.integers(0, 2**63, size=len(X), dtype=np.uint64) * 2
    for rows in (np.ones(len(X), dtype=bool), stay):
        script, made = Script(runs[0].records) if runs else "noise", []

        def make(plan, entropy, script=script, rows=rows, made=made):
            made.append(CannedCurator(plan, script, seed=seed, coins=FixedKeys(keys[rows])))
            return made[-1]

        given = {} if ids is None else {"groups": ids[rows]}
        with config_context(invalid_rows="ignore", debug=True), replaced_curator(make):
            clone(model).fit(X[rows], None if y is None else y[rows], **given)
        runs += made
    assert runs[0].close("x") == runs[1].close("x")
    return [float(m / a) for _, m, a in moves(runs[0].records, runs[1].records) if a]


@pytest.mark.cases(8)
@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "make",
    [
        lambda: (PrivateOneHotEncoder(epsilon=20.0), ["town", "ill"]),
        lambda: (PrivateOrdinalEncoder(epsilon=20.0), ["town"]),
        lambda: (PrivateSimpleImputer(epsilon=20.0), ["age", "town", "ill"]),
        lambda: (make_private_pipeline(both(None), PrivateMean(bounds=(0, 1)), epsilon=40.0), None),
    ],
    ids=["one-hot", "ordinal", "imputer", "transformer"],
)
def test_nobody_moves_a_release_by_more_than_it_declares(make, seed, persons):
    model, names = make()
    rng = np.random.default_rng(seed)
    X = table(200, seed)[names or ["age", "town"]]
    ids = rng.integers(50, size=200) if persons else None
    gone = ids == 7 if persons else np.arange(200) == rng.integers(200)
    hostile = rng.choice(HOSTILE, size=int(gone.sum()))
    if "age" in X:
        X.loc[gone, "age"] = hostile
    X.loc[gone, "town"] = rng.choice(["only here", "north", None], size=int(gone.sum()))
    worst = replay(model, X, ids, ~gone, seed)
    assert max(worst) <= 1


def encode_and_learn(model, kind):
    """Return a chain that encodes towns as means of the target, then learns from them and ages."""
    encoder = PrivateTargetEncoder(target_type=kind)
    columns = ColumnTransformer([("town", encoder, ["town"])], remainder="passthrough")
    return make_private_pipeline(columns, model, epsilon=40.0)


@pytest.mark.cases(10)
@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (PrivateTargetEncoder(epsilon=20.0), "number"),
        (PrivateTargetEncoder(epsilon=20.0, target_range=(-5, 5), rows_per_group=2), "number"),
        (PrivateTargetEncoder(epsilon=20.0, target_type="multiclass"), "class"),
        (PrivateTargetEncoder(epsilon=20.0, target_type="multiclass", classes=[0, 1]), "class"),
        (encode_and_learn(PrivateRidge(), "continuous"), "number"),
    ],
    ids=["numbers", "range", "classes", "two classes", "pipeline"],
)
def test_nobody_moves_a_level_by_more_than_it_declares(model, kind, seed, persons):
    rng = np.random.default_rng(seed)
    X = table(200, seed)[["town", "age"] if hasattr(model, "steps") else ["town", "ill"]]
    ids = rng.integers(50, size=200) if persons else None
    gone = ids == 7 if persons else np.arange(200) == rng.integers(200)
    X.loc[gone, "town"] = rng.choice(["only here", "north", None], size=int(gone.sum()))
    y = rng.normal(size=200) * 3 if kind == "number" else rng.integers(3, size=200).astype(float)
    y[gone] = rng.choice(HOSTILE, size=int(gone.sum()))
    assert max(replay(model, X, ids, ~gone, seed, y)) <= 1


@pytest.mark.parametrize("seed", range(6))
def test_bins_protect_persons(seed):
    assert replayed(PrivateKBinsDiscretizer(3, epsilon=20.0, rows_per_group=2), seed) <= 1
    assert replayed(PrivateSimpleImputer(epsilon=20.0), seed) <= 1


def test_types_of_what_comes_out_are_public():
    frame = table()
    imputer = PrivateSimpleImputer(epsilon=8.0, random_state=0).fit(frame)
    known = imputer.transform(frame).dtypes.tolist()
    for rows in (frame[:1], frame[:0], frame[frame.town.isna()], frame.assign(town=None)):
        assert imputer.transform(rows.astype(frame.dtypes.to_dict())).dtypes.tolist() == known


# --- what they do


@pytest.mark.parametrize("frame", [table(), polars.from_pandas(table())], ids=["pandas", "polars"])
def test_levels_are_found_and_encoded(frame):
    names = ["town", "ill"]
    encoder = PrivateOneHotEncoder(epsilon=3.0, random_state=0).fit(frame[names])
    assert [list(x) for x in encoder.categories_] == [["east", "north", "south"], [False, True]]
    hot = encoder.transform(frame[names])
    assert hot.shape == (3000, 5) and set(np.unique(hot)) == {0.0, 1.0}
    assert (hot[::11, :3] == 0).all() and encoder.get_feature_names_out()[0] == "town_east"
    order = PrivateOrdinalEncoder(epsilon=3.0, random_state=0).fit(frame[["town"]])
    codes = order.transform(frame[["town"]])
    back = order.inverse_transform(codes).ravel()
    assert [x for x in back if x is not None] == [x for x in frame["town"] if isinstance(x, str)]


def test_bins_hold_equally_many_rows():
    X = np.random.default_rng(0).lognormal(size=(8000, 2)) * [1, 1e6]
    bins = PrivateKBinsDiscretizer(5, encode="ordinal", epsilon=2.0, random_state=0).fit(X)
    for column in bins.transform(X).T:
        assert np.bincount(column.astype(int)) == pytest.approx([1600] * 5, abs=250)
    assert (
        np.corrcoef(
            np.log(bins.inverse_transform(bins.transform(X)[:, :2])[:, 0]), np.log(X[:, 0])
        )[0, 1]
        > 0.9
    )
    dense = clone(bins).set_params(encode="onehot-dense").fit(X)
    hot = dense.transform(X)
    assert hot.shape == (8000, 10) and (hot.sum(axis=1) == 2).all()
    assert np.array_equal(dense.inverse_transform(hot), bins.inverse_transform(bins.transform(X)))
    gap = bins.transform([[np.nan, 1.0]])
    assert np.isnan(gap[0, 0]) and not np.isnan(gap[0, 1])


@pytest.mark.parametrize("strategy", ["median", "mean"])
def test_gaps_are_filled(strategy):
    frame = table()
    imputer = PrivateSimpleImputer(strategy, epsilon=3.0, random_state=0).fit(frame)
    assert imputer.statistics_[0] == pytest.approx(40, abs=1)
    assert imputer.statistics_[1:].tolist() == ["north", False]
    filled = imputer.transform(frame)
    assert not filled.isna().any().any() and list(filled.columns) == list(frame.columns)
    numbers = frame[["age"]].to_numpy()
    array = clone(imputer).fit_transform(numbers)
    assert array.dtype == float and not np.isnan(array).any()


@pytest.mark.parametrize("kind", ["continuous", "multiclass"])
@pytest.mark.parametrize("smooth", [0.0, 100.0, "auto"])
def test_levels_become_the_means_that_scikit_learn_finds(kind, smooth):
    frame = table(6000).assign(ill=lambda X: X.ill.astype(bool))[["town", "ill"]]
    rng = np.random.default_rng(1)
    y = 7.0 + 3 * (frame.town == "north") - 2 * frame.ill + rng.normal(size=6000)
    y = y if kind == "continuous" else np.select([y > 9, y > 6], ["high", "middle"], "low")
    told = PrivateTargetEncoder(
        target_type=kind, smooth=smooth, epsilon=200.0, delta=0.009, random_state=0
    )
    with pytest.warns(Warning, match="promises little"):
        told.fit(frame, y)
    exact = TargetEncoder(target_type=kind, smooth=smooth).fit(frame, y)
    n_outputs = 1 if kind == "continuous" else 3
    assert len(told.encodings_) == len(exact.encodings_) == 2 * n_outputs
    for k, (own, other) in enumerate(zip(told.encodings_, exact.encodings_, strict=True)):
        found = len(told.categories_[k // n_outputs])
        assert own[:found] == pytest.approx(other[:found], abs=0.03)
    assert told.target_mean_ == pytest.approx(exact.target_mean_, abs=0.03)
    encoded, other = told.transform(frame), exact.transform(frame)
    assert encoded.shape == other.shape and np.abs(encoded - other).max() < 0.05
    assert told.get_feature_names_out().tolist() == exact.get_feature_names_out().tolist()
    polar = told.transform(polars.from_pandas(frame))
    assert np.array_equal(polar, encoded)


def test_two_classes_are_one_column_and_rare_levels_are_the_mean():
    frame = pd.DataFrame({"town": ["a"] * 3000 + ["b"] * 3000 + ["c"]})
    y = np.r_[np.arange(3000) % 10 == 0, np.arange(3000) % 10 < 8, True]
    encoder = PrivateTargetEncoder(target_type="multiclass", random_state=0).fit(frame, y)
    assert encoder.classes_.tolist() == [False, True] and encoder.categories_ == [("a", "b")]
    told = encoder.transform(pd.DataFrame({"town": ["a", "b", "c", "mars", None]}))[:, 0]
    assert told == pytest.approx([0.1, 0.8, 0.45, 0.45, 0.45], abs=0.06)
    assert told[2] == told[3]


@pytest.mark.slow
def test_the_target_goes_to_every_step_that_needs_it():
    frame = table(6000)[["town", "age"]].fillna({"age": 40.0})
    y = 5.0 * (frame.town == "north") + (frame.age > 40)
    pipe = encode_and_learn(PrivateRidge(), "continuous").set_params(random_state=0)
    assert pipe.plan().problems == () and pipe.fit(frame, y).score(frame, y) > 0.8
    joined = frame.assign(y=y)
    named = clone(pipe).fit(joined, "y").predict(frame[:9])
    assert np.array_equal(named, pipe.predict(frame[:9]))
    batches = list(np.split(np.arange(6000), 6))
    pieces = [(frame.iloc[rows], y.iloc[rows]) for rows in batches]
    assert np.array_equal(clone(pipe).fit(pieces).predict(frame[:9]), pipe.predict(frame[:9]))
    one = make_private_pipeline(PrivateTargetEncoder(), PrivateMean(), epsilon=4.0, random_state=0)
    assert one.fit(frame[["town"]], y)[-1].location_ == pytest.approx([y.mean()], abs=0.5)
    classes = np.where(y > 3, "many", "few")
    logit = encode_and_learn(PrivateLogisticRegression(), "multiclass").set_params(random_state=0)
    assert logit.fit(frame, classes).score(frame, classes) > 0.9


def test_targets_of_two_kinds_are_refused_before_a_charge():
    ledger, frame = PrivacyLedger(9.0, 1e-3), table()[["town"]]
    pipe = encode_and_learn(PrivateRidge(), "multiclass").set_params(ledger=ledger)
    with pytest.raises(ValueError, match="Ridge needs numbers in y, and PrivateTargetEncoder"):
        pipe.fit(table()[["town", "age"]], np.ones(3000))
    for wrong, match in (
        (PrivateTargetEncoder(classes=[0, 1]), "classes is for target_type='multiclass'"),
        (PrivateTargetEncoder(target_type="multiclass", target_range=(0, 1)), "target_range is"),
        (PrivateTargetEncoder(smooth=-1.0), "smooth"),
    ):
        with pytest.raises(ValueError, match=match):
            wrong.set_params(ledger=ledger).fit(frame, np.ones(3000))
    with pytest.raises(ValueError, match="Got numbers: age"):
        PrivateTargetEncoder(ledger=ledger).fit(table()[["town", "age"]], np.ones(3000))
    with pytest.raises(ValueError, match="requires y"):
        PrivateTargetEncoder(ledger=ledger).fit(frame)
    assert len(ledger.entries()) == 1


def test_a_pipeline_encodes_and_learns():
    frame = table(6000)
    y = 2.0 * (frame.age > 40) + (frame.town == "north")
    pipe = make_private_pipeline(both(frame), PrivateRidge(), epsilon=8.0, random_state=0)
    assert pipe.plan().problems == () and pipe.fit(frame, y).score(frame, y) > 0.6
    filled = make_private_pipeline(PrivateSimpleImputer(), both(frame), PrivateRidge(), epsilon=8.0)
    assert filled.set_params(random_state=0).fit(frame, y).predict(frame[:5]).shape == (5,)


def test_what_cannot_be_encoded_is_refused_before_a_charge():
    ledger, frame = PrivacyLedger(9.0, 1e-3), table()
    with pytest.raises(ValueError, match="PrivateKBinsDiscretizer"):
        PrivateOneHotEncoder(ledger=ledger).fit(frame)
    dates = frame.assign(day=pd.Timestamp("2020-01-01"))
    with pytest.raises(ValueError, match="dates or durations: day"):
        PrivateSimpleImputer(ledger=ledger).fit(dates)
    for wrong in (1, 0, 2.5):
        with pytest.raises(ValueError, match="n_bins"):
            PrivateKBinsDiscretizer(wrong, ledger=ledger).fit(frame[["age"]])
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("n", [0, 1, 50])
def test_few_rows_are_an_answer(n):
    frame = table()[:n]
    with config_context(invalid_rows="ignore"):
        for model, names in (
            (PrivateOneHotEncoder(), ["town"]),
            (PrivateOrdinalEncoder(), ["town"]),
            (PrivateSimpleImputer(), ["age", "town"]),
            (PrivateKBinsDiscretizer(3), ["age"]),
            (PrivateTargetEncoder(), ["town", "ill"]),
            (PrivateTargetEncoder(target_range=(0, 9)), ["town"]),
            (PrivateTargetEncoder(target_type="multiclass", classes=["a", "b", "c"]), ["town"]),
            (PrivateTargetEncoder(target_type="multiclass"), ["town"]),
        ):
            kind = getattr(model, "target_type", "continuous")
            y = np.arange(n) % 2.0 if kind == "continuous" else np.resize(["a", "b"], n)
            fit = model.set_params(epsilon=0.1, random_state=0).fit(frame[names], y)
            assert len(fit.transform(frame[names])) == n


def test_an_encoder_alone_stands_before_a_model_whether_levels_are_found_or_not():
    town = pd.DataFrame({"town": np.repeat(["ayr", "bly"], 3000)})
    model = PrivateLogisticRegression(classes=[0, 1])
    pipe = make_private_pipeline(PrivateOneHotEncoder(), model, epsilon=8.0, random_state=0)
    assert pipe.fit(town, np.arange(6000) < 2000).score(town, np.arange(6000) < 2000) > 0.8
    few = PrivateOneHotEncoder(random_state=0).fit(town[:5])
    assert few.transform(town[:5]).tolist() == [[0.0]] * 5
    assert few.get_feature_names_out().tolist() == ["no_level"]
