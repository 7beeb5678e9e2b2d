"""PrivateCount: rows of any frame."""

import numpy as np
import pandas as pd
import polars
import pytest

from skdp import PrivacyLedger, PrivateCount, PrivateGroupBy, config_context
from skdp.audit import non_interference

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
FRAME = pd.DataFrame(
    {
        "town": ["x", "y", None] * 100,
        "age": np.arange(300.0),
        "kind": pd.Categorical(["u", "v", None] * 100),
        "day": pd.Timestamp("2020-01-01"),
    }
)


def count(X, **told):
    model = PrivateCount(epsilon=1e3, random_state=0).fit(X, **told)
    return model.count_, list(model.feature_names_in_)


@pytest.mark.parametrize("names", [list(FRAME), ["town", "kind"], ["age", "town"]])
@pytest.mark.parametrize("kind", ["pandas", "polars", "batches", "parquet", "dask"])
def test_rows_of_any_frame_are_counted(kind, names, tmp_path):
    X = FRAME[names]
    if kind == "polars":
        X = polars.from_pandas(X)
    elif kind == "batches":
        X = [X[:50], X[50:]]
    elif kind == "parquet":
        X.to_parquet(tmp_path / "X.parquet")
        X = str(tmp_path / "X.parquet")
    elif kind == "dask":
        X = pytest.importorskip("dask.dataframe").from_pandas(X, npartitions=3)
    assert count(X) == (300, names)


def test_gaps_of_numbers_and_dates_alone_lose_a_row():
    X = FRAME.copy()
    X.loc[3, "age"] = np.nan
    X.loc[5, "day"] = pd.NaT
    ledger = PrivacyLedger(3.0, 1e-5)
    with pytest.raises(ValueError, match="NaN"):
        PrivateCount(ledger=ledger).fit(X)
    assert len(ledger.entries()) == 1
    with config_context(invalid_rows="ignore"):
        assert count(X)[0] == 298


def test_persons_and_groups_of_frames_with_text_are_counted():
    assert count(FRAME, groups=np.arange(300) // 3)[0] == 100
    by = PrivateGroupBy(PrivateCount(), "kind", ["u", "v"], epsilon=1e3, random_state=0)
    assert by.fit(FRAME).results()["value"].tolist() == [100, 100]


def test_text_tells_nothing():
    assert non_interference(PrivateCount(), FRAME[["town", "age"]], n_transcripts=1).ok
