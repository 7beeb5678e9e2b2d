"""One fit on one table in a process of its own: seconds, memory, passes, and a digest of its bits.

A table is a path: of an array in a ``.npy`` file, read through a memory map, or of a folder of
parquet files. Memory is what the fit adds to the process, in MB: ``peak`` is the most that is
resident, pages of a memory map too, ``own`` the most that is no page of a file.
"""

import json
import os
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

__all__ = ["run"]

MB = 2**20
EVERY = 0.005  # seconds between two looks at the memory
STATUS = Path("/proc/self/status")
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}


def run(what, table, **case):
    """Return what a fit of :mod:`_scale_fits` costs, a dict.

    Parameters
    ----------
    what : str
        Name of a fit; with ``peer=True`` that of its counterpart; "plain" for a pass of pyarrow.
    table : path
    **case
        ``n_rows`` (the first of the table), ``n_jobs``, ``in_memory``, ``peer``.
    """
    case = json.dumps({"what": what, "table": str(table), **case})
    done = subprocess.run(
        [sys.executable, __file__, case],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | ONE_THREAD,
    )
    return json.loads(done.stdout.splitlines()[-1])


class Memory:
    """The most memory of this process since the start, less what it had then, in MB."""

    def __enter__(self):
        self._start, self._most, self._done = _memory(), _memory(), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._done.set()
        self._thread.join()

    def added(self):
        """Return the peak and the part of it that is no page of a file."""
        peak, own = (most - start for most, start in zip(self._most, self._start, strict=True))
        return {"peak_mb": peak, "own_mb": own}

    def _watch(self):
        while not self._done.wait(EVERY):
            self._look()
        self._look()

    def _look(self):
        self._most = tuple(map(max, self._most, _memory()))


def _memory():
    """Return the highest resident memory so far and the anonymous memory now, in MB."""
    if not STATUS.exists():
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        most /= MB if sys.platform == "darwin" else 1024
        return most, most
    fields = dict(line.split(":") for line in STATUS.read_text().splitlines())
    return tuple(int(fields[name].split()[0]) / 1024 for name in ("VmHWM", "RssAnon"))


def _count_rows(read):
    """Let every source add the rows of its pieces to ``read``, under its length: 0 if unknown."""
    from skdp.readers._rows import Source

    def counting(pieces):
        def counted(self):
            for n, raw in pieces(self):
                read[self.n_rows or 0] += n
                yield n, raw

        return counted

    kinds = [Source]
    for kind in kinds:
        kinds += kind.__subclasses__()
        if "pieces" in vars(kind) and kind is not Source:
            kind.pieces = counting(kind.pieces)


def _digest(fitted):
    """Return what differs if a bit of what was released differs."""
    import joblib
    import numpy as np

    arrays = {
        name: value
        for name, value in vars(fitted).items()
        if isinstance(value, float | np.ndarray) and name.endswith("_")
    }
    return joblib.hash([sorted(arrays.items()), fitted.privacy_report_.to_json()])


def _plain(folder):
    """Read all batches of the parquet files of a folder."""
    from pyarrow.parquet import ParquetFile

    for path in sorted(Path(folder).glob("*.parquet")):
        for _ in ParquetFile(path).iter_batches(use_threads=False):
            pass


def _tables(path, n_rows, columns, in_memory):
    """Return a table, and one of few rows that makes a fit load what it needs."""
    import numpy as np

    if not path.endswith(".npy"):
        return path, f"{path}-few"
    X = np.load(path, mmap_mode="r")[:n_rows, :columns]
    return np.array(X) if in_memory else X, np.array(X[:1000])


def _function(what, table, peer):
    """Return the function of a table whose cost is asked for."""
    if what == "plain":
        return _plain
    from _scale_fits import PEERS, estimator

    return PEERS[what] if peer else estimator(what, _names(table)).fit


def _names(table):
    """Return the names of the columns of a table."""
    from skdp.readers._sources import source_of

    return source_of(table).names if isinstance(table, str) else range(table.shape[1])


def measure(what, table, n_rows=None, n_jobs=1, in_memory=False, peer=False):
    """Return what :func:`run` returns, of this process."""
    from _scale_fits import NARROW
    from joblib import parallel_config

    warnings.simplefilter("ignore")
    X, few = _tables(table, n_rows, NARROW.get(what), in_memory)
    function, read = _function(what, X, peer), Counter()
    function(few)
    _count_rows(read)
    with parallel_config("threading", n_jobs=n_jobs), Memory() as memory:
        cpu, wall = time.process_time(), time.perf_counter()
        fitted = function(X)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    rows_read = read.pop(0, 0) + read[max(read, default=0)]  # of the table, not of samples of it
    cost = {"cpu": cpu, "wall": wall, **memory.added(), "rows_read": rows_read}
    return cost | ({"bits": _digest(fitted)} if hasattr(fitted, "privacy_report_") else {})


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
