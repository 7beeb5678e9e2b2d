"""Methods of rows on sources: what one table in memory gives, piece by piece."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from skdp import (
    PrivateAdditiveClassifier,
    PrivateAdditiveRegressor,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateRidge,
)

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
N = 3000
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["a", "b"])
NUMBERS = FRAME.to_numpy() @ [2.0, -1.0] + RNG.normal(size=N)
MODELS = [
    PrivateLinearRegression(epsilon=8.0, random_state=0),
    PrivateRidge(epsilon=8.0, random_state=0),
    PrivateLogisticRegression(epsilon=8.0, classes=[0, 1], random_state=0),
    PrivateAdditiveRegressor(epsilon=8.0, random_state=0),
    PrivateAdditiveClassifier(epsilon=8.0, classes=[0, 1], random_state=0),
]


@cache
def fitted(number):
    model = MODELS[number]
    y = NUMBERS if model._target == "number" else (NUMBERS > 0).astype(int)
    return model.fit(FRAME, y), y


def batches(tmp_path):
    return [FRAME[i : i + 700] for i in range(0, N, 700)]


def parquet(tmp_path):
    pytest.importorskip("pyarrow")
    FRAME.to_parquet(tmp_path / "rows.parquet", row_group_size=900)
    return tmp_path / "rows.parquet"


def dask(tmp_path):
    return pytest.importorskip("dask.dataframe").from_pandas(FRAME, npartitions=3)


def polars(tmp_path):
    return pytest.importorskip("polars").DataFrame({name: FRAME[name] for name in FRAME})


@pytest.mark.parametrize("source", [batches, parquet, dask, polars])
@pytest.mark.parametrize("number", range(len(MODELS)), ids=[type(m).__name__ for m in MODELS])
def test_sources_are_predicted_and_scored_as_tables_are(number, source, tmp_path):
    model, y = fitted(number)
    told, X = model.predict(FRAME), source(tmp_path)
    pieces = model.predict(X)
    pieces = pieces.compute() if hasattr(pieces, "compute") else pieces
    one = np.ndim(pieces) == 1 and isinstance(pieces, np.ndarray)
    again = pieces if one else np.concatenate([np.asarray(piece) for piece in pieces])
    assert np.allclose(again, told, rtol=1e-12, atol=0)
    assert model.score(X, y) == pytest.approx(model.score(FRAME, y), rel=1e-12)
