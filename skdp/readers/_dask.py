"""Rows of dask collections: statistics are computed and merged where the chunks are."""

from dataclasses import dataclass
from functools import partial, reduce, wraps
from operator import or_

import numpy as np
from dask import delayed
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from skdp.readers._loop import both_looks, both_sums, one_look, statistic_of
from skdp.readers._raw import TableError, numbers, schema_of
from skdp.readers._rows import Source, cut, take, without_weights_of
from skdp.utils._threads import at_rows, one_thread, quiet

try:
    from dask._task_spec import Task, TaskRef
except ImportError:  # before dask 2024.12 a task is a tuple, in which keys stand for results
    Task = None


FAN_IN = 8
KIND = (
    "X is a dask collection that is no table. Pass a dask.array of two dimensions whose chunks are "
    "numpy arrays, or a dask.dataframe of pandas frames."
)
WIDTH = (
    "X is a dask.array whose number of columns is not known: call X.compute_chunk_sizes(), or "
    "select columns by their numbers."
)
TARGET = (
    "y is a dask collection that is no target. Pass a dask.array of one dimension whose chunks are "
    "numpy arrays, or a Series of a dask.dataframe."
)
CUT = (
    "y is cut into other chunks than X. Give both the same: y.rechunk(X.chunks[0]), or take both "
    "from one dask.dataframe and pass the name of the column as y. Chunks of 10 to 100 MB suit."
)
FAILED = (
    "a chunk of X could not be computed; the error of its task is withheld, since it may quote "
    "rows. X.map_blocks(len).compute(), or X.map_partitions(len).compute(), raises it again. If "
    "workers ran out of memory, cut X into smaller chunks: 10 to 100 MB suit."
)


def source(X):
    """Return the DaskRows of a dask.array or a dask.dataframe; nothing is computed."""
    meta = getattr(X, "_meta", None)
    if type(meta) is np.ndarray and X.ndim == 2:
        return _of_array(X)
    if type(meta).__module__.startswith("pandas") and meta.ndim == 2:
        return DaskRows(X.to_delayed(), None, meta.iloc[:0])
    raise TableError(KIND)


def _of_array(X):
    if np.isnan(X.shape[1]):
        raise TableError(WIDTH)
    chunks = X.rechunk({1: -1}).to_delayed().ravel().tolist()
    lengths = None if np.isnan(X.shape[0]) else X.chunks[0]
    return DaskRows(chunks, lengths, np.empty((0, X.shape[1]), dtype=X.dtype))


def paired(rows, y):
    """Return DaskRows whose chunks are pairs with those of a target, and no rows of the target."""
    meta = getattr(y, "_meta", None)
    is_array = type(meta) is np.ndarray and y.ndim == 1
    if not (is_array or (type(meta).__module__.startswith("pandas") and meta.ndim == 1)):
        raise TableError(TARGET)
    chunks = np.ravel(y.to_delayed()).tolist() if is_array else y.to_delayed()
    known = is_array and not np.isnan(y.shape[0]) and rows.n_rows is not None
    if len(chunks) != len(rows._chunks) or (known and list(y.chunks[0]) != rows.lengths):
        raise TableError(CUT)
    pair = delayed(_pair, pure=False)
    both = rows.decoded_by(rows.decode)
    both._chunks = [pair(*chunk) for chunk in zip(rows._chunks, chunks, strict=True)]
    both.n_features += 1
    target = np.empty(0, dtype=y.dtype) if is_array else meta.iloc[:0]
    both._head = rows.head(), target
    return both, target


def _pair(x, y):
    return x, y


class DaskRows(Source):
    """The rows of the chunks of a dask collection.

    A pass over the table is one graph: for each chunk a task that returns exact integers, and a
    tree of merges. It is computed once, by the client in scope or as dask is configured.

    Notes
    -----
    **Privacy**: a task is a pure function of its chunk, and of what is laid beside it; it draws
    nothing, so that one that runs twice, or again after its worker has died, changes nothing.
    """

    def __init__(self, chunks, lengths, head):
        schema = schema_of(head)
        super().__init__(len(schema))
        self.names, self._head, self._chunks = schema.names, head, chunks
        self.decode = partial(numbers, schema)
        if lengths is not None:
            self._count(lengths)

    def head(self):
        """Return no rows of the collection."""
        return self._head

    def _count(self, lengths):
        self._ends = np.cumsum([0, *lengths]).tolist()
        self.n_rows = self._ends[-1]

    @property
    def lengths(self):
        """Rows of each chunk, a list."""
        return np.diff(self._ends).tolist()

    def _spans(self):
        """Yield (number of the first row, number of rows, chunk); none without rows."""
        if self.n_rows is None:
            self.look(entries=False)
        pairs = zip(self._ends, self._ends[1:], self._chunks, strict=False)
        yield from ((start, stop - start, chunk) for start, stop, chunk in pairs if stop > start)

    def pieces(self):
        """Yield (number of rows, chunk), computed one after the other."""
        for _, n, chunk in self._spans():
            yield n, chunk.compute()

    def look(self, *, entries, first=None):
        """Read the table once before a fit, see :meth:`Source.look`.

        Columns of a wrong type are refused before anything is computed.
        """
        self.decode(self._head)
        if self.n_rows is not None and not entries:
            return 0, 0
        job = Job(partial(one_look, entries, first or {}), _looks_of_chunks, self.decode)
        call = partial(_looked, self.block_rows)
        try:
            found, known = _computed(job, [(call, chunk) for chunk in self._chunks])
        except TableError:
            raise
        except Exception:
            failure = TableError(FAILED)
        else:
            lengths, nan, infinite = zip(*found, strict=True)
            self._count(lengths)
            self.known = known
            return reduce(or_, nan, 0), reduce(or_, infinite, 0)
        raise failure

    def map_merge(self, statistic, merge, beside=None):
        """Return what :func:`skdp.readers.map_merge` returns, None for no rows."""
        calls = []
        for start, n, chunk in self._spans():
            cuts = cut(start, n, self.block_rows, beside)
            calls.append((partial(_statistic, start, cuts), chunk))
        return _computed(Job(statistic, merge, self.decode), calls) if calls else None

    def take(self, indices):
        """Return the rows at ``indices`` as a float64 array; reads the chunks that hold them."""
        wanted = np.asarray(indices, dtype=np.intp)
        held, at = np.unique(np.searchsorted(self._ends[1:], wanted, "right"), return_inverse=True)
        few = self.decoded_by(self.decode)
        few._chunks = [self._chunks[i] for i in held]
        few._count(np.diff(self._ends)[held].tolist())
        shift = np.array(few._ends[:-1], dtype=np.intp) - np.array(self._ends, dtype=np.intp)[held]
        return take(few, wanted + shift[at])

    def later(self, function, made=None):
        """Return what a function makes of the rows, in as many chunks, not computed."""
        import dask.array as da

        made = without_weights_of(function, self.n_features) if made is None else made
        mapped = delayed(_mapped, pure=False)
        shared = delayed((function, self.decode, made), pure=False, traverse=False)
        chunks = [mapped(shared, chunk) for chunk in self._chunks]
        if hasattr(made, "iloc"):
            from dask.dataframe import from_delayed

            return from_delayed(chunks, meta=made, verify_meta=False)
        lengths = [np.nan] * len(chunks) if self.n_rows is None else np.diff(self._ends)
        return da.concatenate(
            [
                da.from_delayed(chunk, (n, *made.shape[1:]), meta=made)
                for n, chunk in zip(lengths, chunks, strict=True)
            ]
        )


@dataclass(frozen=True)
class Job:
    """What all tasks of a pass share, sent to a worker once."""

    statistic: object
    merge: object
    decode: object


def _computed(job, calls):
    """Return the merged results of ``call(job, chunk)`` for pairs (call, chunk), in their order."""
    shared = delayed(job, pure=False, traverse=False)  # dask makes a name that no other pass has
    name = f"rows-{shared.key}"
    keys = [(name, 0, i) for i in range(len(calls))]
    tasks = {
        key: _task(key, call, shared.key, c.key) for key, (call, c) in zip(keys, calls, strict=True)
    }
    depth = 0
    while len(keys) > 1:
        depth += 1
        groups = [keys[i : i + FAN_IN] for i in range(0, len(keys), FAN_IN)]
        keys = [(name, depth, i) for i in range(len(groups))]
        tasks |= {
            key: _task(key, _folded, shared.key, *group)
            for key, group in zip(keys, groups, strict=True)
        }
    chunks = [chunk for _, chunk in calls]
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[shared, *chunks])
    return Delayed(keys[0], graph, layer=name).compute()


def _task(key, call, *keys):
    """Return a task: a call with the results of tasks of other keys."""
    return (call, *keys) if Task is None else Task(key, call, *map(TaskRef, keys))


def _in_worker(function):
    """Let a task be as silent as the fit, on one thread, and without random words.

    It is sent to a worker by its name.
    """

    @wraps(function)
    def task(*arguments):
        with np.errstate(all="ignore"), quiet(), one_thread(), at_rows():
            return function(*arguments)

    return task


@_in_worker
def _statistic(start, cuts, job, raw):
    return statistic_of(job.statistic, job.merge, job.decode, start, raw, cuts)


@_in_worker
def _looked(block_rows, job, raw):
    rows = job.decode(raw)
    cuts = cut(0, len(rows), block_rows) or [(0, 0)]
    seen, sums = reduce(both_looks, (job.statistic(a, rows[a:b]) for a, b in cuts))
    return [seen], sums


@_in_worker
def _folded(job, *parts):
    return reduce(job.merge, parts)


def _looks_of_chunks(one, two):
    return one[0] + two[0], both_sums(one[1], two[1])


def _mapped(shared, raw):
    function, decode, nobody = shared
    rows = decode(raw)
    return function(rows) if len(rows) else nobody
