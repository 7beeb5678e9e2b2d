"""A ledger in daily life: notes, models that outlive its file, a search it has no price for."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from skdp import (
    PrivacyLedger,
    PrivateGroupBy,
    PrivateMean,
    PrivateSearchCV,
    PrivateStandardScaler,
    make_private_pipeline,
)
from skdp.accounting import Budget

X = np.random.default_rng(0).normal(size=(300, 2))


@pytest.fixture
def ledger(tmp_path):
    return PrivacyLedger(tmp_path / "study.db", epsilon=3, delta=1e-6)


def test_every_line_may_have_a_note(ledger):
    noted = ledger.noted(dataset="flights", purpose="a  dashboard\nfor all")
    model = PrivateMean(epsilon=0.1, delta=1e-8, ledger=noted)
    for copy in (model, clone(model), pickle.loads(pickle.dumps(model))):
        copy.fit(X)
    ledger.charge(Budget.pure(0.01), "count", note="by hand")
    PrivateMean(epsilon=0.1, delta=1e-8, ledger=ledger).fit(X)
    notes = [entry.note for entry in ledger.entries()]
    assert notes == ["", *["dataset: flights, purpose: a dashboard for all"] * 3, "by hand", ""]
    assert noted == ledger and noted.spent() == ledger.spent()
    assert "PrivateMean | dataset: flights" in str(ledger.report())
    assert list(ledger.report().to_frame()["note"]) == notes[1:]
    assert PrivacyLedger.open(ledger.path).entries()[1].note == notes[1]


def test_a_fitted_model_outlives_the_file_of_its_ledger(ledger, tmp_path):
    model = PrivateMean(epsilon=0.1, delta=1e-8, ledger=ledger).fit(X)
    blob = pickle.dumps(model)
    (tmp_path / "study.db").unlink()
    loaded = pickle.loads(blob)
    assert np.array_equal(loaded.location_, model.location_)
    assert (loaded.ledger.epsilon, loaded.ledger.path) == (3.0, ledger.path)
    assert loaded.ledger == ledger and "study.db" in repr(loaded)
    assert loaded.transform(X).shape == X.shape
    with pytest.raises(FileNotFoundError, match="Nothing was granted"):
        loaded.fit(X)
    other = PrivacyLedger(tmp_path / "study.db", epsilon=3, delta=1e-6)
    with pytest.raises(ValueError, match="was replaced"):
        loaded.fit(X)
    assert len(other.entries()) == 1
    loaded.set_params(ledger=other).fit(X)


def _search(epsilon, delta, ledger):
    search = PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, epsilon=epsilon, delta=delta)
    return search.set_params(mean_trials=2, ledger=ledger)


def test_a_search_that_is_too_dear_is_offered_a_ledger_before_any_data_are_seen(ledger):
    search = _search(2.5, 1e-6, ledger)
    offer = r"smaller epsilon.*PrivacyLedger\(epsilon=2\.5, delta=1e-06, composition='basic'\)"
    for ask in (search.plan, lambda: search.fit(X)):
        with pytest.raises(ValueError, match=offer):
            ask()
    assert len(ledger.entries()) == 1 and not ledger.report().latched
    made = PrivacyLedger(epsilon=2.5, delta=1e-06, composition="basic")
    assert search.set_params(ledger=made).plan().budget.epsilon == 2.5


def test_a_search_has_a_price_in_a_gaussian_ledger(ledger):
    search = _search(0.3, 1e-8, ledger.noted("which trim"))
    budget = search.plan().budget
    search.fit(X)
    line = ledger.entries()[-1]
    assert (line.amount, line.failure) == ledger.price(budget) and line.note == "which trim"
    assert line.epsilon == budget.epsilon and 0.02 < ledger.spent().fraction < 0.1
    left = ledger.remaining()
    assert left.epsilon > 2.7  # more than 3 - 0.3: what is nearly Gaussian adds up in mu^2
    PrivateMean(epsilon=left.epsilon, delta=left.delta, ledger=ledger).fit(X)


GROUPED = PrivateGroupBy(PrivateMean(), [0], levels=[0.0, 1.0], epsilon=0.1, delta=1e-9)
PIPELINE = make_private_pipeline(PrivateStandardScaler(), PrivateMean(), epsilon=0.1, delta=1e-9)


@pytest.mark.parametrize("estimator", [GROUPED, PIPELINE, _search(0.1, 1e-9, None)])
def test_what_fits_many_models_is_one_line_with_its_note(ledger, estimator):
    noted = ledger.noted(dataset="flights", purpose="of May")
    table = np.column_stack([np.arange(300) % 2, X])
    fitted = clone(estimator).set_params(ledger=noted).fit(table)
    assert [entry.note for entry in ledger.entries()[1:]] == ["dataset: flights, purpose: of May"]
    assert type(fitted).__name__ in ledger.entries()[-1].what
    assert pickle.loads(pickle.dumps(fitted)).ledger == ledger
