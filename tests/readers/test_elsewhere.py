"""Whatever is computed of rows could be computed in another process, twice, and without the fit."""

import io
import pickle

import numpy as np
import pytest
from cloudpickle import Pickler
from sklearn.base import clone

from skdp import (
    FriendlyCoreKMeans,
    PrivacyLedger,
    PrivateCovariance,
    PrivateHistogram,
    PrivateMean,
    PrivateSummary,
    config_context,
)
from skdp.audit._fingerprint import fingerprint
from skdp.base import Curator, PrivateEstimator, map_merge
from skdp.gate._accountant import BudgetAllocation
from skdp.mechanisms import RowKeys, make_entropy
from skdp.mechanisms._entropy import SeededEntropy
from skdp.readers import ArrayRows
from skdp.table import _schema
from tests._estimators import ESTIMATORS, fitted

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

N_ROWS = 499  # a prime: an array of that length holds something for every row
STAYS = (RowKeys, SeededEntropy, Curator, PrivateEstimator, PrivacyLedger, BudgetAllocation)

ROADS = [
    PrivateCovariance(bounds=(-500.0, 500.0)),
    PrivateHistogram(3, range=[(0, 99), (-50, 60), (-500, 500)], user=0, rows_per_cell=1),
    FriendlyCoreKMeans(2, store_labels=True, n_init=1),
    FriendlyCoreKMeans(2, method="friendly", n_parts=12, epsilon=80.0, n_init=1),
]


class Sent(Pickler):
    """Pickles what a task takes along, and refuses what must stay where the fit is."""

    def __init__(self, file, table):
        super().__init__(file)
        self._table = table

    def persistent_id(self, thing):
        assert not isinstance(thing, STAYS), type(thing)
        if isinstance(thing, np.ndarray):
            assert N_ROWS not in thing.shape and not np.shares_memory(thing, self._table)


class ElsewhereRows(ArrayRows):
    """Rows that no statistic and no merge sees but as a copy of its own, read-only, and twice."""

    sent = 0

    def __init__(self, X):
        super().__init__(X, block_rows=-(-len(X) // 3))

    def map_merge(self, statistic, merge, beside=None):
        statistic, merge = self._sent(twice(statistic)), self._sent(twice(merge))
        return super().map_merge(statistic, merge, beside)

    @staticmethod
    def decode(raw):
        rows = raw.astype(np.float64)
        rows.flags.writeable = False
        return rows

    def _sent(self, function):
        file = io.BytesIO()
        Sent(file, self._X).dump(function)
        ElsewhereRows.sent += 1
        return pickle.loads(file.getvalue())


def twice(function):
    def called(*arguments):
        before = fingerprint(arguments)
        first, again = function(*arguments), function(*arguments)
        assert fingerprint(first) == fingerprint(again)
        assert fingerprint(arguments) == before
        return again

    return called


@pytest.fixture
def elsewhere(monkeypatch):
    def source_of(X):
        is_table = isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2
        return ElsewhereRows(X) if is_table else None

    monkeypatch.setattr(ElsewhereRows, "sent", 0)
    monkeypatch.setattr(_schema, "source_of", source_of)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return np.c_[rng.integers(0, 99, N_ROWS), rng.normal(size=(N_ROWS, 2)) * [10, 100] + 5]


def released(estimator):
    names = [name for name in vars(estimator) if name.endswith("_")]
    return fingerprint({name: getattr(estimator, name) for name in names})


@pytest.mark.cases(16)
@pytest.mark.parametrize("estimator", [*ESTIMATORS, *ROADS])
def test_statistics_run_anywhere_and_twice(estimator, table, monkeypatch, request):
    estimator = clone(estimator).set_params(random_state=0)
    here = released(fitted(clone(estimator), table))
    request.getfixturevalue("elsewhere")
    with config_context(debug=True):
        assert released(fitted(estimator, table)) == here
    # levels are bought of columns, whose types a table in memory has
    typed = getattr(estimator, "domain", None) == "auto" or isinstance(estimator, PrivateSummary)
    assert ElsewhereRows.sent or typed


def test_what_must_stay_is_seen(table):
    rows, coins = ElsewhereRows(table), RowKeys(make_entropy(0))
    merge, one = np.add, np.ones(1, dtype=int)

    def changed(total, other):
        total += other
        return total

    guilty = [
        (lambda start, block: coins.keys(start, start + 1), merge),
        (lambda start, block: one * PrivateMean().epsilon * len(table), merge),
        (lambda start, block: np.random.default_rng().random(), merge),
        (lambda start, block: one + len(block), changed),
    ]
    for statistic, wrong in guilty:
        with pytest.raises(AssertionError):
            map_merge(rows, statistic, wrong)
    with pytest.raises(ValueError, match="read-only"):
        map_merge(rows, lambda start, block: np.maximum(block, 0, out=block).sum(), merge)
