import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

import skdp
from skdp import PrivateMean


def test_context_restores():
    assert skdp.get_config() == {"invalid_rows": "error", "debug": False, "progress": False}
    with skdp.config_context(invalid_rows="ignore", debug=True):
        assert skdp.get_config() == {"invalid_rows": "ignore", "debug": True, "progress": False}
        with skdp.config_context(invalid_rows="error"):
            assert skdp.get_config() == {"invalid_rows": "error", "debug": True, "progress": False}
        seen = []
        thread = threading.Thread(target=lambda: seen.append(skdp.get_config()["invalid_rows"]))
        thread.start()
        thread.join()
        assert seen == ["error"]
    assert skdp.get_config() == {"invalid_rows": "error", "debug": False, "progress": False}


def test_a_context_restores_after_an_exception():
    with pytest.raises(KeyError), skdp.config_context(debug=True):
        raise KeyError
    assert skdp.get_config()["debug"] is False


def test_what_is_set_in_a_context_is_set_for_the_process():
    try:
        with skdp.config_context(invalid_rows="ignore"):
            skdp.set_config(invalid_rows="error", debug=True)
            assert skdp.get_config() == {"invalid_rows": "ignore", "debug": True, "progress": False}
        assert skdp.get_config() == {"invalid_rows": "error", "debug": True, "progress": False}
    finally:
        skdp.set_config(debug=False)


def test_wrong_values_are_refused_and_change_nothing():
    for change in (skdp.set_config, lambda **given: skdp.config_context(**given).__enter__()):
        with pytest.raises(ValueError, match="invalid_rows must be one of"):
            change(debug=True, invalid_rows="drop")
        assert skdp.get_config() == {"invalid_rows": "error", "debug": False, "progress": False}


def refusal(X):
    """Return what a fit says to a table under "ignore"; it charges nothing."""
    ledger = skdp.PrivacyLedger(1.0, 1e-6)
    with skdp.config_context(invalid_rows="ignore"), pytest.raises(ValueError) as caught:
        PrivateMean(epsilon=0.5, delta=1e-7, ledger=ledger).fit(X)
    error = caught.value
    assert error.__context__ is None and error.__cause__ is None
    assert len(ledger.entries()) == 1  # that it was opened
    return str(error)


NUMBERS = [[1.0, 2.0]] * 3


@pytest.mark.parametrize(
    "make",
    [
        lambda n: [[1.0, 2.0]] * n,
        lambda n: [[1.0]] * n + [[1.0, 2.0]],
        lambda n: ((1, "Smith"),) * n,
        lambda n: np.ones(n),
        lambda n: np.ones((n, 2, 2)),
        lambda n: np.ones((n, 0)),
        lambda n: np.ones((n, 2), dtype=object),
        lambda n: np.ones((n, 2), dtype=complex),
        lambda n: np.full((n, 2), "Smith"),
        lambda n: pd.Series(np.ones(n)),
        lambda n: pd.DataFrame({"a": ["Smith"] * n}),
        lambda n: pd.DataFrame({"a": np.ones(n), 0: np.ones(n)}),
        lambda n: pd.DataFrame(index=range(n)),
        lambda n: pl.DataFrame({"a": ["Smith"] * n}),
        lambda n: None,
    ],
)
def test_under_ignore_a_refusal_is_a_constant(make):
    few, many = refusal(make(3)), refusal(make(789))
    assert few == many and "Smith" not in few and "789" not in many
    assert len(few) < 300


@pytest.mark.parametrize("entry", [1.0, "Smith", None, 1j, 10**400, [1.0], np.nan, True])
def test_no_entry_of_a_list_decides(entry):
    assert refusal([[entry, 1.0], [2.0, 3.0]]) == refusal(NUMBERS)


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1, 2, None], dtype="Int64"),
        pd.array([1.5, None, 3.0], dtype="Float64"),
        pd.array([True, False, None], dtype="boolean"),
        np.array([1, 2, 3], dtype=np.int8),
        np.array([1.0, np.nan, np.inf], dtype=np.float16),
        np.array([True, False, True]),
        np.array([2**63, 1, 2], dtype=np.uint64),
    ],
)
def test_under_ignore_tables_of_numbers_are_read_whatever_is_missing(column):
    with skdp.config_context(invalid_rows="ignore"):
        for frame in (pd.DataFrame({"a": column, "b": [1.0, 2.0, 3.0]}), column):
            X = frame if hasattr(frame, "columns") else np.asarray(frame, dtype=float)[:, None]
            assert np.isfinite(PrivateMean().fit(X).location_).all()


@pytest.mark.parametrize(
    "X",
    [
        np.array([["2020-01-01"]] * 3, dtype="datetime64[D]"),
        np.array([[3]] * 3, dtype="timedelta64[s]"),
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01"] * 3), "b": [1.0] * 3}),
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01"] * 3).tz_localize("UTC")}),
    ],
)
def test_dates_are_numbers(X):
    for invalid_rows in ("error", "ignore"):
        with skdp.config_context(invalid_rows=invalid_rows), warnings.catch_warnings():
            warnings.simplefilter("ignore", skdp.exceptions.LowAccuracyWarning)
            assert not pd.isna(PrivateMean(epsilon=1e4).fit(X).location_).any()


def test_a_name_twice_is_refused_in_words():
    X = pd.DataFrame(np.zeros((9, 2)), columns=["Smith", "Smith"])
    try:
        StandardScaler().fit(X)
    except ValueError:
        with pytest.raises(ValueError, match=r"names differ\. .* X\.to_numpy\(\)"):
            PrivateMean().fit(X)
    else:  # what scikit-learn reads is read
        assert PrivateMean().fit(X).n_features_in_ == 2


@pytest.mark.parametrize("X", [[["Smith"]], [[1j]], [1.0, 2.0], [[1.0], [1.0, 2.0]], [[10**400]]])
def test_a_refusal_to_the_data_holder_has_no_context_either(X):
    with pytest.raises((ValueError, TypeError)) as caught:
        PrivateMean().fit(X)
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    assert "Smith" not in str(caught.value)


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, lambda X: [X]])
def test_an_estimator_of_rows_says_what_a_gap_loses(make):
    X = np.zeros((9, 4))
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="One gap would lose its row, all 4 columns of it"):
        skdp.PrivateCovariance().fit(make(X))
    with pytest.raises(ValueError, match=r"contains NaN\. Fill in"):
        skdp.PrivateCovariance().fit(make(X[:, :1]))


@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
def test_sparse_rows_are_refused_with_a_way_that_works():
    dense = np.eye(6)[np.arange(600) % 6]
    X, frame = sparse.csr_array(dense), pd.DataFrame.sparse.from_spmatrix(sparse.csr_array(dense))
    for given in (X, frame):
        with pytest.raises(TypeError, match=r"X is sparse.*batch by batch"):
            PrivateMean().fit(given)

    class Batches:
        def __iter__(self):
            return (X[i : i + 250].toarray() for i in range(0, X.shape[0], 250))

    mean = PrivateMean(bounds=(0, 1), random_state=0)
    for given in (Batches(), X.toarray(), frame.sparse.to_dense()):
        assert mean.fit(given).location_ == pytest.approx([1 / 6] * 6, abs=0.1)
