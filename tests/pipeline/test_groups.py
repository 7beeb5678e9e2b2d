"""Pipelines of fits with groups: whose row each row is reaches every step, and one row of each."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    LloydKMeans,
    PrivacyLedger,
    PrivateMean,
    PrivatePipeline,
    PrivateStandardScaler,
    RowMap,
    config_context,
    make_private_pipeline,
)
from skdp.audit import conditional_sensitivity, non_interference
from skdp.exceptions import BudgetExceeded
from skdp.preprocessing import (
    GaussianMechanism,
    LaplaceMechanism,
    PrivateMinMaxScaler,
    SensitivityPreprocessor,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
DEEP = {"epsilon": 30.0, "random_state": 0}


def persons(n=200, seed=0):
    rng = np.random.default_rng(seed)
    ids = rng.permutation(np.repeat(np.arange(n), rng.integers(1, 9, n)))
    return rng.normal(size=(len(ids), 2)) + rng.normal(size=(n, 2))[ids], ids


X, IDS = persons()
CHAINS = {
    "scaled": lambda **k: make_private_pipeline(PrivateStandardScaler(), PrivateMean(), **k),
    "columns": lambda **k: make_private_pipeline(
        ColumnTransformer([("a", PrivateStandardScaler(), [0]), ("b", PrivateMinMaxScaler(), [1])]),
        PrivateMean(),
        **k,
    ),
    "core": lambda **k: make_private_pipeline(
        FriendlyCoreFilter(8.0), PrivateMean(method="friendly"), **k
    ),
    "core and more": lambda **k: make_private_pipeline(
        FriendlyCoreFilter(8.0), RowMap(np.tanh), PrivateStandardScaler(), PrivateMean(), **k
    ),
    "bounded": lambda **k: make_private_pipeline(
        PrivateStandardScaler(),
        SensitivityPreprocessor("median", sensitivity=0.1),
        GaussianMechanism(),
        **k,
    ),
    "nested": lambda **k: make_private_pipeline(
        PrivateStandardScaler(), make_private_pipeline(RowMap(np.tanh), PrivateMean()), **k
    ),
}
SLOW = {"nested": pytest.mark.slow}


@pytest.mark.slow
@pytest.mark.parametrize("chain", [pytest.param(name, marks=SLOW.get(name, ())) for name in CHAINS])
def test_every_release_of_every_step_moves_by_at_most_what_one_person_may(chain):
    estimator = CHAINS[chain](epsilon=30.0)
    report = conditional_sensitivity(estimator, X, groups=IDS, n_pairs=6)
    assert report.ok and report.ratio > 0.1


def test_a_pipeline_is_a_function_of_answers_whatever_the_owners_are_called():
    owners = IDS[:80]
    tables = {"named": (X[:80], None, np.char.add("person ", owners.astype(str)))}
    tables |= {"one": (X[:80], None, 0 * owners), "each": (X[:60], None, np.arange(60))}
    estimator = CHAINS["core and more"](epsilon=30.0)
    non_interference(estimator, X[:80], groups=owners, n_transcripts=1, datasets=tables)


@pytest.mark.parametrize("chain", CHAINS)
def test_all_steps_protect_groups_and_tell_their_cap(chain):
    pipe = CHAINS[chain](**DEEP).fit(X, groups=IDS)
    assert pipe.privacy_report_.privacy_unit == "group" and "group" in str(pipe.privacy_report_)
    for _, step in pipe.steps_:
        if hasattr(step, "privacy_report_") and not hasattr(step, "steps_"):
            assert step.privacy_report_.privacy_unit == "group" and step.rows_per_group_ >= 1
            assert "ledger=" not in repr(step) and step.ledger is None
    assert "for one group" in str(pipe._grouped_plan())
    assert CHAINS[chain](**DEEP).fit(X).privacy_report_.privacy_unit == "row"


def test_after_a_core_one_drawn_row_of_each_person_is_left_in_every_step():
    lent = []

    class Looking(PrivateMean):
        def _of_persons(self, persons, rows, curator):
            there = np.isfinite(np.concatenate([block for _, block in rows.blocks()])).all(axis=1)
            lent.append((persons.codes, there))
            return super()._of_persons(persons, rows, curator)

    steps = FriendlyCoreFilter(50.0), RowMap(np.tanh), PrivateStandardScaler(), Looking()
    make_private_pipeline(*steps, **DEEP).fit(X, groups=IDS)
    (codes, there), *_ = lent
    assert len(codes) == len(X) and np.unique(codes[there]).size == there.sum() > 150


def test_a_filter_alone_keeps_one_row_of_each_person_at_most():
    kept = FriendlyCoreFilter(50.0, **DEEP).fit(X, groups=IDS).get_support(local=True)
    assert len(kept) == len(X) and np.unique(IDS[kept]).size == kept.sum() > 150


def test_all_sources_and_names_of_columns_give_the_same():
    fit = lambda *data, **k: CHAINS["core and more"](**DEEP).fit(*data, **k)[-1].location_  # noqa
    expected = fit(X, groups=IDS)
    assert np.any(expected != 0)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(owner=IDS)
    for got in (
        fit(np.array_split(X, 4), groups=IDS),
        fit(X, groups=[f"person {i}" for i in IDS]),
        fit(frame.assign(owner=IDS.astype(str)), groups="owner"),
    ):
        np.testing.assert_array_equal(got, expected)


def test_rows_of_persons_that_are_absent_count_for_nothing():
    absent = np.insert(X, [0, 50, 90], np.nan, axis=0)
    owners = np.insert(IDS, [0, 50, 90], [IDS[3], 999, IDS[7]])
    with config_context(invalid_rows="ignore"):
        fit = CHAINS["scaled"](epsilon=1e6, random_state=0).fit(absent, groups=owners)
    other = CHAINS["scaled"](epsilon=1e6, random_state=0).fit(X, groups=IDS)
    np.testing.assert_allclose(fit[-1].location_, other[-1].location_, atol=0.4)


def test_labels_and_rows_come_back_in_their_number():
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(owner=IDS)
    pipe = make_private_pipeline(PrivateStandardScaler(), FriendlyCoreKMeans(2), random_state=0)
    assert pipe.fit_predict(frame, groups="owner").shape == (len(X),)
    assert pipe.fit_transform(X, groups=IDS).shape[0] == len(X)


def test_pure_chains_take_groups():
    pipe = make_private_pipeline(
        SensitivityPreprocessor("median", sensitivity=0.5), LaplaceMechanism(), delta=0
    )
    conditional_sensitivity(pipe, X, groups=IDS, n_pairs=10)
    mixed = PrivatePipeline(
        [("s", PrivateStandardScaler()), ("k", LloydKMeans(2, radius=3.0, delta=0))], random_state=0
    )
    assert mixed.fit(X, groups=IDS).privacy_report_.privacy_unit == "group"


def test_wrong_owners_cost_nothing():
    ledger = PrivacyLedger(epsilon=1.0, delta=1e-5, unit="group")
    pipe = CHAINS["scaled"](ledger=ledger)
    for groups in (IDS[:-1], IDS[:, None], "owner"):
        with pytest.raises(ValueError, match="groups"):
            pipe.fit(X, groups=groups)
    assert len(ledger.entries()) == 1


# --- scikit-learn around it


def test_a_search_without_routing_fits_rows_and_a_ledger_of_groups_refuses_that():
    grid = {"n_clusters": [2, 3]}
    search = GridSearchCV(FriendlyCoreKMeans(random_state=0), grid, cv=GroupKFold(3))
    assert search.fit(X, groups=IDS).best_estimator_.privacy_report_.privacy_unit == "row"
    for error_score in (np.nan, 0.0):
        ledger = PrivacyLedger(epsilon=10.0, delta=1e-5, unit="group")
        search = GridSearchCV(
            FriendlyCoreKMeans(ledger=ledger), grid, cv=GroupKFold(3), error_score=error_score
        )
        with pytest.raises(ValueError, match="All the 6 fits failed"):
            search.fit(X, groups=IDS)
        report = ledger.report()
        assert report.latched and report.spent.amount == 0
        assert report.entries[1].what == "FriendlyCoreKMeans of rows"
        with pytest.raises(BudgetExceeded):
            FriendlyCoreKMeans(ledger=ledger).fit(X, groups=IDS)


@pytest.mark.slow
def test_with_routing_all_fits_protect_groups():
    ledger = PrivacyLedger(epsilon=30.0, delta=1e-4, unit="group")
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_private_pipeline(PrivateStandardScaler(), FriendlyCoreKMeans(2), ledger=ledger)
        grid = {"friendlycorekmeans__n_clusters": [2, 3]}
        with pytest.raises(ValueError, match="not explicitly set as requested"):
            GridSearchCV(pipe, grid, cv=GroupKFold(3)).fit(X, groups=IDS)
        pipe.set_fit_request(groups=True)
        search = GridSearchCV(pipe, grid, cv=GroupKFold(3)).fit(X, groups=IDS)
        fits = cross_validate(
            pipe, X, cv=GroupKFold(3), params={"groups": IDS}, return_estimator=True
        )["estimator"]
    for fit in (search.best_estimator_, *fits):
        assert fit.privacy_report_.privacy_unit == "group"
    assert not ledger.report().latched


def test_a_pipeline_of_scikit_learn_takes_groups_step_by_step():
    pipe = make_pipeline(PrivateStandardScaler(random_state=0), PrivateMean(random_state=0))
    with pytest.raises(ValueError, match="does not accept the groups parameter"):
        pipe.fit(X, groups=IDS)
    pipe.fit(X, privatemean__groups=IDS)  # one step alone: the scaler protects rows
    assert [step.privacy_report_.privacy_unit for _, step in pipe.steps] == ["row", "group"]
    with pytest.raises(ValueError, match="do not add up"):
        sum((step.privacy_report_ for _, step in pipe.steps[1:]), pipe[0].privacy_report_)
