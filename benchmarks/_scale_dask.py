"""Fits on a cluster of processes, of rows that are made chunk by chunk, anew or once.

Scheduler and workers are processes of their own, so that the CPU of the driver is its own. Rows are
made anew at each pass, or persisted: on two workers of 1 GB a part of these lies on disk.

python benchmarks/_scale_dask.py [--fits NAME ...] [--scale 0.01] [--json PATH]
"""

import argparse
import os
import pickle
import threading
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from _harness import print_table, write_json

__all__ = ["of_dask"]

N_ROWS, D, K = 10_000_000, 20, 3
STRIPE = 1000  # rows that one seed makes
CHUNKS = {
    "100k": 100_000,
    "37k": 37_000,
    "100k, persisted": 100_000,
    "100k, the last row alone": 100_000,
}
MOST_MB, MOST_SENT = 200, 64  # samples are of 2^22 entries at most, 32 MB
MOST_MS = 1.0  # of the driver, for a task
MOST_ROWS = {"filter": 1_000_000}  # it gathers all rows at the driver, group by group
DEFAULT_JSON = Path(__file__).parent / "results" / "scale_dask.json"


def fits():
    """Return the estimators by name."""
    import skdp

    return {
        "mean": skdp.PrivateMean(),
        "median": skdp.PrivateMedian(),
        "standard scaler": skdp.PrivateStandardScaler(),
        "covariance": skdp.PrivateCovariance(),
        "PCA": skdp.PrivatePCA(),
        "k-means": skdp.FriendlyCoreKMeans(K, n_init=1),
        "Lloyd": skdp.LloydKMeans(K),
        "GMM": skdp.PrivateGMM(K, max_iter=5, n_init=1),
        "marginals": skdp.MarginalReleaser(1),
        "variance": skdp.PrivateVariance(),
        "filter": skdp.FriendlyCoreFilter(),
    }


def rows_of(start, stop):
    """Return rows by their numbers, the same in every chunking."""
    stripes = range(start // STRIPE, -(-stop // STRIPE))
    made = [_stripe(np.random.default_rng(i)) for i in stripes]
    first = start - stripes[0] * STRIPE
    return np.concatenate(made)[first : first + stop - start]


def _stripe(rng):
    return rng.standard_normal((STRIPE, D)) + 8 * rng.integers(0, K, size=(STRIPE, 1))


def collection(n_rows, kind):
    """Return a dask.array whose chunks are made where they are needed."""
    import dask.array as da

    step, rest = CHUNKS[kind], n_rows - kind.endswith("alone")
    lengths = [min(step, rest - start) for start in range(0, rest, step)]
    lengths += [n_rows - rest] * (rest < n_rows)

    def made(block_info=None):
        return rows_of(*block_info[None]["array-location"][0])

    return da.map_blocks(made, chunks=(tuple(lengths), (D,)), dtype=float, meta=np.empty((0, 0)))


def in_file(path, n_rows):
    """Return the same rows in a memory map."""
    X = np.lib.format.open_memmap(path, mode="w+", dtype=float, shape=(n_rows, D))
    for start in range(0, n_rows, 100_000):
        X[start : start + 100_000] = rows_of(start, min(start + 100_000, n_rows))
    X.flush()
    del X
    return np.load(path, mmap_mode="r")


class Watched:
    """What a fit costs the driver: bytes that come home, passes, own memory in MB.

    ``cost`` is the CPU of the watch itself, in seconds, which is none of the driver's.
    """

    def __enter__(self):
        from skdp.readers import _dask

        self.module, self.computed = _dask, _dask._computed
        self.sent = self.passes = self.tasks = 0
        self.start = self.most = _own()
        self.cost = 0.0
        self._done = threading.Event()
        _dask._computed = self._weighed
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self.module._computed = self.computed
        self._done.set()
        self._thread.join()

    def _weighed(self, job, calls):
        result = self.computed(job, calls)
        self.passes += 1
        self.tasks += len(calls)
        self.sent += len(pickle.dumps(result))
        return result

    def _watch(self):
        while not self._done.wait(0.01):
            self.most = max(self.most, _own())
            self.cost = time.thread_time()


def _own():
    """Return the memory of this process that is no page of a file, in MB."""
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in status if line.startswith("RssAnon"))) / 1024


def _released(estimator):
    from skdp.audit._fingerprint import fingerprint

    names = sorted(name for name in vars(estimator) if name.endswith("_"))
    return fingerprint({name: getattr(estimator, name) for name in names})


def of_dask(scale, folder, only):
    """Yield what fits on chunks made on the fly cost the driver, with the bits of a memory map."""
    from dask.distributed import Client, wait
    from distributed.deploy.subprocess import SubprocessCluster

    warnings.simplefilter("ignore")
    n_rows = int(N_ROWS * scale)
    X = in_file(folder / "rows.npy", n_rows)
    options = {"n_workers": 2, "threads_per_worker": 1, "worker_kwargs": {"memory_limit": "1GB"}}
    with SubprocessCluster(**options, dashboard_address=":0") as cluster, Client(cluster) as client:
        client.wait_for_workers(2)
        pids = client.run(os.getpid)
        for i, (name, estimator) in enumerate(fits().items()):
            if only and name not in only:
                continue
            few = min(n_rows, MOST_ROWS.get(name, n_rows))
            kind = list(CHUNKS)[i % len(CHUNKS)]
            estimator.set_params(random_state=0)
            cpu = time.process_time()
            bits = _released(estimator.fit(X[:few]))
            here = time.process_time() - cpu
            there = collection(few, kind)
            if kind.endswith("persisted"):
                there = there.persist()
                wait(there)
            with Watched() as watched:
                cpu, wall = time.process_time(), time.perf_counter()
                same = _released(estimator.fit(there)) == bits
                cpu = time.process_time() - watched.cost - cpu
                wall = time.perf_counter() - wall
            del there
            grown, sent = watched.most - watched.start, watched.sent / 1e6
            task_ms = 1000 * cpu / watched.tasks
            alive = client.run(os.getpid) == pids
            yield {
                "fit": name,
                "n": few,
                "chunks": kind,
                "passes": watched.passes,
                "wall": wall,
                "driver_cpu": cpu,
                "ms_per_task": task_ms,
                "memmap_cpu": here,
                "driver_mb": grown,
                "sent_mb": sent,
                "same_bits": same,
                "no_restart": alive,
                "load": os.getloadavg()[0],
                "met": same
                and alive
                and grown < MOST_MB
                and sent < MOST_SENT
                and task_ms < MOST_MS,
            }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", nargs="+", metavar="NAME")
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of rows")
    parser.add_argument("--folder", type=Path, help="where the memory map is written")
    parser.add_argument("--json", type=Path, default=DEFAULT_JSON, help="where results go")
    args = parser.parse_args()
    rows = []
    with TemporaryDirectory(dir=args.folder) as place:
        for row in of_dask(args.scale, Path(place), args.fits):
            rows.append(row)
            print_table([row], header=len(rows) == 1)
            write_json(args.json, rows, scale=args.scale)


if __name__ == "__main__":
    main()
