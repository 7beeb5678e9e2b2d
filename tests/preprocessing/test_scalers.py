import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import skdp
from skdp import PrivateMean
from skdp.contracts import Rows, chain_problems, contract_of
from skdp.preprocessing import (
    PrivateMinMaxScaler,
    PrivateRobustScaler,
    PrivateStandardScaler,
)

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

SCALERS = [
    PrivateStandardScaler(epsilon=4.0),
    PrivateStandardScaler(epsilon=4.0, delta=0.0, with_mean=False),
    PrivateRobustScaler(epsilon=4.0),
    PrivateRobustScaler(epsilon=4.0, delta=0.0, with_centering=False, unit_variance=True),
    PrivateMinMaxScaler(epsilon=4.0),
    PrivateMinMaxScaler((-1, 1), epsilon=4.0, delta=0.0, clip=True),
]
ids = pytest.mark.parametrize("scaler", SCALERS, ids=str)


def table(n=20000):
    return np.random.default_rng(0).normal([5.0, -1e4], [0.1, 1e3], size=(n, 2))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_parameters_are_near_those_of_the_exact_scalers(delta, debug):
    """Limits about four times the largest errors measured."""
    X = table()
    given = {"delta": delta, "random_state": 0}
    exact, ours = StandardScaler().fit(X), PrivateStandardScaler(**given).fit(X)
    assert np.abs((ours.mean_ - exact.mean_) / exact.scale_).max() < 0.05
    assert np.abs(ours.scale_ / exact.scale_ - 1).max() < 0.1
    assert np.allclose(ours.scale_, np.sqrt(ours.var_))
    exact, ours = RobustScaler().fit(X), PrivateRobustScaler(**given).fit(X)
    assert np.abs((ours.center_ - exact.center_) / exact.scale_).max() < 0.05
    assert np.abs(ours.scale_ / exact.scale_ - 1).max() < 0.1
    exact, ours = MinMaxScaler().fit(X), PrivateMinMaxScaler(**given, epsilon=4.0).fit(X)
    assert np.abs(np.log2(ours.data_range_ / exact.data_range_)).max() < 1.0


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (PrivateStandardScaler(), StandardScaler()),
        (PrivateStandardScaler(with_mean=False), StandardScaler(with_mean=False)),
        (PrivateStandardScaler(with_std=False), StandardScaler(with_std=False)),
        (PrivateRobustScaler(), RobustScaler()),
        (
            PrivateRobustScaler(quantile_range=(10.0, 80.0), unit_variance=True),
            RobustScaler(quantile_range=(10.0, 80.0), unit_variance=True),
        ),
        (PrivateMinMaxScaler((-1, 1), clip=True), MinMaxScaler((-1, 1), clip=True)),
    ],
    ids=str,
)
def test_without_noise_to_speak_of_they_are_the_exact_scalers(ours, theirs, debug):
    X = np.random.default_rng(0).uniform(2, 3, size=(4000, 2)) * [1, 100]
    a = clone(ours).set_params(epsilon=1e5, random_state=0).fit(X)
    b = theirs.fit(X)
    assert np.abs(a.transform(X) - b.transform(X)).max() < 0.03
    assert np.allclose(a.inverse_transform(X), b.inverse_transform(X), rtol=0.03)
    for name in ("mean_", "scale_", "center_", "data_min_", "data_max_", "data_range_", "min_"):
        if getattr(a, name, None) is not None:
            assert np.allclose(getattr(a, name), getattr(b, name), rtol=0.02)


@ids
def test_there_and_back(scaler, debug):
    X = table(3000)
    fit = clone(scaler).set_params(
        random_state=0, **({"clip": False} if hasattr(scaler, "clip") else {})
    )
    scaled = fit.fit_transform(X)
    assert np.allclose(fit.inverse_transform(scaled), X, rtol=1e-9)
    with pytest.raises(ValueError, match="columns of fit"):
        fit.inverse_transform(scaled[:, :1])
    assert fit.transform(X.astype(np.float32)).dtype == np.float32


HOSTILE = {
    "one row": np.array([[1.0, 2.0]]),
    "two rows": np.array([[1.0, 2.0], [1e300, -1e300]]),
    "constant": np.full((3000, 2), 7.0),
    "huge": 1e300 * (3 + np.random.default_rng(0).normal(size=(3000, 1))),
    "largest": np.full((3000, 2), np.finfo(float).max),
    "offset": 1e8 + np.random.default_rng(0).normal(size=(3000, 2)),
    "empty": np.empty((0, 2)),
}


@pytest.mark.cases(2)
@ids
def test_always_finite(scaler, debug):
    for name in HOSTILE:
        with skdp.config_context(invalid_rows="ignore"):
            for epsilon in (1.0, 1e4):
                fit = clone(scaler).set_params(random_state=0, epsilon=epsilon).fit(HOSTILE[name])
                for attribute, value in vars(fit).items():
                    if attribute.endswith("_") and isinstance(value, np.ndarray):
                        assert np.isfinite(value).all(), name
                if getattr(fit, "scale_", None) is not None:
                    assert (fit.scale_ > 0).all(), name


def test_what_is_not_asked_for_is_not_released():
    X = table(3000)
    fit = PrivateStandardScaler(with_std=False, random_state=0).fit(X)
    assert fit.var_ is None and fit.scale_ is None
    both = PrivateStandardScaler(random_state=0).fit(X)
    last, of_both = fit.privacy_report_.charges[-1], both.privacy_report_.charges[-1]
    assert last.sensitivity < of_both.sensitivity and last.label == "statistic"
    for wrong in (
        PrivateStandardScaler(with_mean=False, with_std=False),
        PrivateRobustScaler(with_centering=False, with_scaling=False),
        PrivateRobustScaler(quantile_range=(75.0, 25.0)),
        PrivateMinMaxScaler((1, 1)),
    ):
        with pytest.raises(ValueError, match=r"Set one|must"):
            wrong.fit(X)


@ids
def test_contract(scaler):
    contract = contract_of(scaler)
    assert contract.spends and contract.accepts(Rows()) and contract.yields(Rows()) == Rows()
    assert not chain_problems([("scale", scaler), ("mean", PrivateMean())])
    assert not chain_problems([("scale", scaler)])  # its parameters are the release


def test_in_a_pipeline():
    X = table(4000)
    pipeline = make_pipeline(PrivateStandardScaler(random_state=0), PrivateMean(random_state=1))
    assert np.abs(pipeline.fit(X)[-1].location_).max() < 0.2
