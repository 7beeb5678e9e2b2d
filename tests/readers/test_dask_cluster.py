"""Fits on a cluster of processes: the bits of the array, whoever dies meanwhile."""

import os
import pickle
import signal
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster
from joblib import parallel_config
from sklearn.base import clone

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    MarginalReleaser,
    PrivacyLedger,
    PrivateCovariance,
    PrivateGMM,
    PrivateMean,
    PrivateMedian,
    PrivateStandardScaler,
)
from skdp.audit._fingerprint import fingerprint
from skdp.base import map_merge
from skdp.mechanisms import make_entropy
from skdp.readers import _dask
from skdp.readers._sources import source_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

N_ROWS, D = 100_000, 5
FITS = [
    FriendlyCoreFilter(),
    FriendlyCoreKMeans(3, n_init=1),
    MarginalReleaser(2),
    PrivateCovariance(),
    PrivateGMM(3, max_iter=3, n_init=1),
    PrivateMean(trim=True),
    PrivateMedian(),
    PrivateStandardScaler(),
]


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="1GB", dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def rows_made():
    """Return a function that makes rows by their numbers, in a worker too."""

    def stripe(i):
        rng = np.random.default_rng(i)
        return rng.normal(size=(1000, D)) + 8 * rng.integers(0, 3, size=(1000, 1))

    def rows(start, stop):
        first = start // 1000
        made = np.concatenate([stripe(i) for i in range(first, -(-stop // 1000))])
        return made[start - 1000 * first : stop - 1000 * first]

    return rows


def collection(lengths):
    """Return a dask.array whose chunks are made where they are needed."""
    rows = rows_made()

    def made(block_info=None):
        return rows(*block_info[None]["array-location"][0])

    return da.map_blocks(made, chunks=(lengths, (D,)), dtype=float, meta=np.empty((0, 0)))


CHUNKS = [(10_000,) * 10, (37_000, 37_000, 26_000), (50_000, 49_999, 1)]


@pytest.fixture(scope="module")
def table():
    return rows_made()(0, N_ROWS)


def released(estimator):
    names = sorted(name for name in vars(estimator) if name.endswith("_"))
    return fingerprint({name: getattr(estimator, name) for name in names})


def seeded(estimator, **params):
    return clone(estimator).set_params(random_state=0, **params)


def resident():
    """Return the bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_bits_memory_and_traffic(client, table, monkeypatch):
    came, pids = [], client.run(os.getpid)
    computed = _dask._computed

    def weighed(*arguments):
        result = computed(*arguments)
        came[-1] += len(pickle.dumps(result))
        return result

    monkeypatch.setattr(_dask, "_computed", weighed)
    bits = [released(seeded(estimator).fit(table)) for estimator in FITS]
    before = resident()
    for i, estimator in enumerate(FITS):
        came.append(0)
        lengths = CHUNKS[i % len(CHUNKS)]
        assert released(seeded(estimator).fit(collection(lengths))) == bits[i], (estimator, lengths)
    assert max(came) < 2e7  # samples of a bounded number of rows, and tables of 2^20 cells
    assert resident() - before < 200e6
    assert client.run(os.getpid) == pids


def test_a_persisted_array_is_made_once(client, table, tmp_path):
    def noted(block):
        if len(block):
            (tmp_path / f"{os.getpid()}-{len(list(tmp_path.iterdir()))}").touch()
        return block

    X = da.from_array(table, chunks=(10_000, D)).map_blocks(noted, meta=np.empty((0, 0))).persist()
    for estimator in (PrivateMean(), PrivateCovariance(), MarginalReleaser(2)):
        bits = released(seeded(estimator).fit(table))
        assert released(seeded(estimator).fit(X)) == bits, estimator
    assert len(list(tmp_path.iterdir())) == 10


def test_a_worker_that_dies_in_a_fit_changes_nothing(client, table, tmp_path):
    """It dies when the fourth chunk is made for the third time."""

    def made(block, block_info=None):
        if block_info[0]["chunk-location"][0] == 3:
            times = len(list(tmp_path.iterdir()))
            (tmp_path / str(times)).write_text(str(os.getpid()))
            if times == 2:
                os.kill(os.getpid(), signal.SIGKILL)
        return block

    X = da.from_array(table, chunks=(10_000, D)).map_blocks(made, dtype=float)
    ledgers = [PrivacyLedger(epsilon=4.0, delta=1e-5) for _ in range(2)]
    here = seeded(PrivateMean(), ledger=ledgers[0]).fit(table)
    there = seeded(PrivateMean(), ledger=ledgers[1]).fit(X)
    assert released(here) == released(there)
    assert len(ledgers[0].entries()) == len(ledgers[1].entries()) == 2
    died = (tmp_path / "2").read_text()
    client.wait_for_workers(2)
    assert len(list(tmp_path.iterdir())) > 3
    assert int(died) not in client.run(os.getpid).values()


def test_noise_is_not_drawn_in_a_worker(client, table):
    rows = source_of(da.from_array(table, chunks=(50_000, D)))
    with pytest.raises(RuntimeError, match="statistic"):
        map_merge(rows, lambda start, block: make_entropy(None).words(1), np.add)


@pytest.mark.parametrize("backend", ["threading", "loky", "dask"])
def test_fits_to_parts_are_the_same_on_every_backend(client, table, backend):
    model = FriendlyCoreKMeans(2, method="friendly", n_parts=12, epsilon=40.0, n_init=1)
    bits = released(seeded(model).fit(table[:2000]))
    with parallel_config(backend, n_jobs=2):
        assert released(seeded(model).fit(table[:2000])) == bits
