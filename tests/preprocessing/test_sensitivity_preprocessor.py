import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import skdp
from skdp import PrivacyLedger, PrivateMean
from skdp.contracts import BoundedStatistic, Rows, chain_problems, contract_of
from skdp.exceptions import BudgetExceeded
from skdp.preprocessing import (
    GaussianMechanism,
    LaplaceMechanism,
    PrivateStandardScaler,
    SensitivityPreprocessor,
)
from skdp.sensitivity import Quantile, TrimmedMean, bounded_statistic
from skdp.sensitivity._bounded import STATISTICS

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


def table():
    X = np.random.default_rng(0).normal(size=(500, 2)) * [1, 3]
    X[0] = 1e9
    return X


@pytest.mark.parametrize("statistic", [*STATISTICS, Quantile(0.9), TrimmedMean(0.25)], ids=str)
def test_every_column_has_its_bounded_statistic(statistic):
    X = table()
    step = SensitivityPreprocessor(statistic, sensitivity=[0.05, 0.07]).fit(X)
    for j, value in enumerate(step.bounded_values().values):
        direct = bounded_statistic(X[:, j], statistic, sensitivity=[0.05, 0.07][j])
        assert (value.value, value.unit) == (direct.value, direct.unit)


def test_chain():
    X = table()
    step = SensitivityPreprocessor("median", sensitivity=0.05, center=0.0)
    assert contract_of(step).yields(Rows()) == BoundedStatistic("median", 0.05)
    assert not contract_of(step).spends
    assert "nothing is released" in chain_problems([("step", step)])[0]
    for mechanism in (LaplaceMechanism(random_state=0), GaussianMechanism(random_state=0)):
        assert not chain_problems([("step", step), ("last", mechanism)])
        assert not chain_problems([("s", PrivateStandardScaler()), ("p", step), ("m", mechanism)])
        assert "reads BoundedStatistic" in chain_problems([("last", mechanism)])[0]
        released = clone(mechanism).fit(step.fit(X).bounded_values())
        assert np.abs(released.value_ - np.median(X, axis=0)).max() < 1.5
        (charge,) = released.privacy_report_.charges
        assert charge.share == 1 and released.n_features_in_ == 2
    assert "reads Rows" in chain_problems([("step", step), ("mean", PrivateMean())])[0]


def test_noise_of_the_mechanisms():
    values = SensitivityPreprocessor("mean", sensitivity=0.5).fit(table()[:, :1]).bounded_values()
    laplace = LaplaceMechanism(epsilon=2.0, random_state=0).fit(values)
    assert laplace.noise_scale_[0] == pytest.approx(np.sqrt(2) * 0.5 / 2)
    assert float(laplace.privacy_report_.budget.delta) == 0
    gaussian = GaussianMechanism(epsilon=2.0, random_state=0).fit(values)
    sigma = skdp.gaussian_sigma(2.0, 0.95e-6)
    assert gaussian.noise_scale_[0] == pytest.approx(0.5 * sigma, rel=1e-3)


def test_plain_pipelines_and_rows_are_refused():
    X = table()
    pipeline = make_pipeline(SensitivityPreprocessor(sensitivity=1.0), LaplaceMechanism())
    with pytest.raises(TypeError, match="SensitivityPreprocessor"):
        pipeline.fit(X)
    for fit in (LaplaceMechanism().fit, GaussianMechanism().fit):
        with pytest.raises(TypeError, match="bounded_values"):
            fit(X)


def test_the_ledger_is_charged():
    values = SensitivityPreprocessor(sensitivity=1.0).fit(table()).bounded_values()
    ledger = PrivacyLedger(epsilon=1.0, delta=0.0, composition="basic")
    LaplaceMechanism(epsilon=0.75, ledger=ledger).fit(values)
    with pytest.raises(BudgetExceeded):
        LaplaceMechanism(epsilon=0.75, ledger=ledger).fit(values)


def test_what_it_learnt_does_not_travel():
    fit = SensitivityPreprocessor("mean", sensitivity=0.01).fit(table())
    for twin in (pickle.loads(pickle.dumps(fit)), copy.copy(fit), copy.deepcopy(fit)):
        with pytest.raises(AttributeError, match="stays behind"):
            twin.bounded_values()
    with pytest.raises(TypeError, match="private"):
        pickle.dumps(fit.bounded_values())
    assert "private" in repr(fit.bounded_values())
    assert set(vars(fit)) == {"statistic", "sensitivity", "center", "n_features_in_", "_local"}


def test_rows_that_are_not_finite_are_absent():
    X = table()
    bad = np.vstack([X, [[np.nan, 5.0], [7.0, np.inf]]])
    with skdp.config_context(invalid_rows="ignore"):
        a = SensitivityPreprocessor(sensitivity=0.1).fit(bad).bounded_values()
        empty = SensitivityPreprocessor(sensitivity=0.1, center=3.0).fit(np.empty((0, 2)))
    b = SensitivityPreprocessor(sensitivity=0.1).fit(X).bounded_values()
    assert [v.value for v in a.values] == [v.value for v in b.values]
    assert [v.value for v in empty.bounded_values().values] == [0, 0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"statistic": "mode", "sensitivity": 1.0},
        {"sensitivity": 0.0},
        {"sensitivity": [1.0, -1.0]},
        {"sensitivity": 1.0, "center": [0.0, np.inf]},
        {"sensitivity": 1.0, "statistic": "sum", "center": 1.0},
    ],
)
def test_parameters(wrong):
    with pytest.raises(ValueError, match=r"statistic|sensitivity|center|sum"):
        SensitivityPreprocessor(**wrong).fit(table())


def test_names_of_columns_are_handed_on():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(table(), columns=["a", "b"])
    step = SensitivityPreprocessor(sensitivity=1.0).fit(frame)
    fit = LaplaceMechanism(random_state=0).fit(step.bounded_values())
    assert list(fit.feature_names_in_) == ["a", "b"]
    assert list(LaplaceMechanism(random_state=0).fit(step.bounded_values()).value_) == list(
        fit.value_
    )


@pytest.mark.parametrize(
    "statistic", ["mean", "min", "max", "sum", "median", Quantile(0.9)], ids=str
)
def test_a_group_moves_a_bounded_value_by_no_more_than_the_sensitivity(statistic):
    rng = np.random.default_rng(0)
    for seed in range(6):
        ids = rng.integers(0, 40, size=300)
        X = rng.normal(size=(300, 2)) + ids[:, None] % 5
        X[ids == seed] = rng.choice([0.0, 1e300, -1e300, np.nan, 7.0])
        values = [_bounded(statistic, X[part], ids[part]) for part in (ids >= 0, ids != seed)]
        for one, two in zip(*values, strict=True):
            if isinstance(statistic, str) and statistic != "median":  # drawn rows are drawn anew
                assert abs(one.value - two.value) <= one.sensitivity == two.sensitivity


def _bounded(statistic, X, ids):
    with skdp.config_context(invalid_rows="ignore"):
        return SensitivityPreprocessor(statistic, sensitivity=0.5).fit(X, groups=ids)._local.values


def test_bounded_values_of_groups_are_those_of_their_rows():
    rng = np.random.default_rng(0)
    ids = np.arange(1000) % 190
    X = rng.normal(size=(1000, 2))
    size = np.bincount(ids)
    means = np.stack([np.bincount(ids, weights=x) / size for x in X.T], axis=1)
    for statistic, expected in (("max", X.max(0)), ("min", X.min(0)), ("mean", means.mean(0))):
        step = SensitivityPreprocessor(statistic, sensitivity=2.0).fit(X, groups=ids)
        values = step.bounded_values()
        told = [value.origin + value.unit * value.value for value in values.values]
        assert np.allclose(told, expected, atol=0.01)
        ledger = PrivacyLedger(3.0, unit="group")
        fitted = LaplaceMechanism(random_state=0, ledger=ledger).fit(values)
        assert fitted.privacy_report_.privacy_unit == "group"
        with pytest.raises(BudgetExceeded):
            LaplaceMechanism(random_state=0, ledger=PrivacyLedger(3.0)).fit(values)
