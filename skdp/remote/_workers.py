"""A process for every fit: it opens the fit, charges for it and answers its lines."""

import contextlib
import gc
import json
import os
import resource
import select
import shutil
import signal
import socket
import tempfile
from pathlib import Path

import numpy as np
import sklearn
from joblib import parallel_config
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from skdp._private_part import SCHEMA
from skdp.accounting import PrivacyLedger
from skdp.estimator._estimator import PrivateEstimator
from skdp.exceptions import PlanError
from skdp.gate._curator import make_curator
from skdp.kernel._plain import refuse
from skdp.kernel._sums import Count
from skdp.kernel._table import made_table
from skdp.mechanisms import make_entropy
from skdp.readers._loop import Levels
from skdp.remote._holdings import Holding, Limits
from skdp.remote._session import MOST_LINE, Session, refusal
from skdp.remote._wire import (
    as_json,
    classes,
    estimator_of,
    heard,
    refuse_annex,
    refuse_long,
    request,
    sent,
)
from skdp.table._groups import weighted_persons, without_groups, without_weights
from skdp.utils._config import config_context
from skdp.utils._threads import quiet

SCRATCH = 2**25 - 2**16  # bytes: up to 2^25, malloc of glibc can be told to keep them
NO_TARGET = "this estimator needs a target. Pass the name of its column, for instance y='income'"


class Workers:
    """Forks a process for every fit from one that has read all tables and does nothing else.

    One process, the spare, is forked ahead of the next fit.

    Notes
    -----
    **Privacy**: a worker has the tables of the holder and one connection. It is killed when the
    connection is closed, or at a limit of time or memory, and says the same whenever it fails at
    rows. Noise is drawn from the operating system, so processes share none. Nothing of an analyst
    is in a spare: it has read made-up rows, and serves one fit alone.
    """

    def __init__(self, holdings):
        self._folder = tempfile.mkdtemp(prefix="skdp")  # for this user alone
        self.address = str(Path(self._folder) / "fits")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.address)
        listener.listen(64)
        alive, self._alive = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.close(self._alive)
            try:
                _fork_for_each(listener, alive, holdings)
            finally:
                os._exit(0)
        listener.close()
        os.close(alive)

    def connect(self):
        """Return a connection to a new process."""
        line = socket.socket(socket.AF_UNIX)
        line.connect(self.address)
        return line

    def close(self):
        """Start no more processes; those that run end with their connections."""
        if self._alive is not None:
            os.close(self._alive)
            os.waitpid(self._process, 0)
            shutil.rmtree(self._folder, ignore_errors=True)
            self._alive = None


def _fork_for_each(listener, alive, holdings):
    """Fork for each connection until the server is gone, killed or not."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the server decides when to end
    Levels.counts_ahead = False  # analysts hold a clock
    tempfile.tempdir = str(Path(listener.getsockname()).parent)  # the server removes it
    for holding in holdings.tables.values():
        _warm(holding)
    gc.collect()
    gc.freeze()  # a collection in a worker would copy whatever it looks at
    poll, workers = select.poll(), {}  # by the numbers of both files that tell of their end
    for file in (listener.fileno(), alive):
        poll.register(file, select.POLLIN)
    spare = _forked(listener, alive, holdings, workers, poll)
    while True:
        ready = [file for file, _ in poll.poll()]
        for file in ready if alive not in ready else list(workers):
            _end(file, workers, poll)
        if alive in ready:
            return
        if listener.fileno() in ready:
            with contextlib.suppress(OSError):  # too many files or processes: this fit fails
                line, _ = listener.accept()
                if spare is None or spare.fileno() < 0:  # it could not be forked, or has failed
                    spare = _forked(listener, alive, holdings, workers, poll)
                worker, spare = spare, None  # whatever fails below: it serves no other fit
                _begin(line, worker, workers, poll)
                spare = _forked(listener, alive, holdings, workers, poll)
            line = None  # closed, if no worker has it


def _warm(holding):
    """Import what fits need, and touch it: a worker that did so in a fit would be slower."""
    with _contexts(), contextlib.suppress(PlanError):
        set(holding.columns)
        _rehearse(classes()["PrivateMean"](), holding.made_up, None)


def _rehearsed():
    """Fit made-up rows: pages that a fit writes are copied for a process when it writes first."""
    mean, made_up = classes()["PrivateMean"](epsilon=1.0, delta=1e-6), _MadeUp()
    asked = {"estimator": sent(as_json(mean), None), "table": "rows", "columns": ["a", "b"]}
    asked |= {"analyst": None, "y": None}
    with _contexts() as stack:
        session, _ = opened(made_up, json.loads(json.dumps(asked)), stack)
        session.line(json.dumps(request(0, "ask", Count(), mean.plan().steps[0])))
        mean.fit(made_up.tables["rows"].source)
    np.empty(SCRATCH, dtype=np.uint8)  # freed, which tells malloc to keep the memory of the next
    np.ones(SCRATCH, dtype=np.uint8)


class _MadeUp:
    """Holdings of made-up rows, which a ledger is charged for that nobody else has."""

    seeded, pace, search_pace, limits = False, None, None, Limits()

    def __init__(self):
        import pandas as pd

        rows = pd.DataFrame(np.arange(600.0).reshape(200, 3), columns=["a", "b", "c"])
        self.tables = {"rows": Holding("rows", rows)}

    def of_analyst(self, _):
        return self.tables

    def admitting(self, *_):
        return None

    def charge(self, analyst, name, plan, what, **_):
        ledger = PrivacyLedger(2.0, 1e-5)
        ledger.charge(plan.budget, what)
        shutil.rmtree(Path(ledger.path).parent)


def _forked(listener, alive, holdings, workers, poll):
    """Fork a worker that waits for the connection of its fit; return the socket that sends it."""
    near, far = socket.socketpair()
    with far:
        process = os.fork()
        if process == 0:
            try:
                for file in (listener.fileno(), alive, near.fileno(), *workers):  # those of others
                    os.close(file)
                _rehearsed()
                _, (line,), _, _ = socket.recv_fds(far, 1, 1)  # fails if there will be no fit
                with socket.socket(fileno=line).makefile("rwb") as stream:
                    _limit(holdings.limits)
                    _work(holdings, stream)
            finally:
                os._exit(0)
    workers[near.fileno()] = process, near
    poll.register(near.fileno(), 0)  # is told of hang-ups
    return near


def _begin(line, worker, workers, poll):
    """Give a worker the connection of its fit; keep it, since it tells of its end."""
    process, _ = workers[worker.fileno()]
    workers[line.fileno()] = workers[worker.fileno()] = process, worker, line
    poll.register(line.fileno(), 0)
    socket.send_fds(worker, [b"1"], [line.fileno()])


def _end(file, workers, poll):
    """Kill a worker whose connection is closed, or that has ended itself."""
    if file in workers:
        process, *files = workers[file]
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        for one in files:
            poll.unregister(one.fileno())
            del workers[one.fileno()]
            one.close()


def _limit(limits):
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
    most = limits.memory + _address_space()  # what is left knows no number of rows
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a dump would hold rows


def _address_space():
    """Return the bytes of address space of this process, tables included; 0 if unknown."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[0]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


def _work(holdings, stream):
    """Open the fit that the first line describes, and answer the others."""
    first = stream.readline(MOST_LINE)

    def note(budget):
        stream.write(json.dumps([float(budget.epsilon), float(budget.delta)]).encode())
        stream.flush()  # whatever becomes of this process

    with _contexts() as stack:
        try:
            session, told = opened(holdings, json.loads(first), stack, note)
            answer = {"ok": sent(told, session.number)}
        except Exception as error:
            session, answer = None, {"no": refusal(error)}
        stream.write(f"\n0 {json.dumps(answer)}\n".encode())  # as a session answers lines
        stream.flush()
        if session is not None:
            session.serve(stream)


@contextlib.contextmanager
def _contexts():
    """Let no entry decide whether rows are read, and nothing of them be said."""
    with (
        config_context(invalid_rows="ignore"),
        sklearn.config_context(assume_finite=True),
        parallel_config(n_jobs=1),
        np.errstate(all="ignore"),
        quiet(),
        contextlib.ExitStack() as stack,
    ):
        yield stack


def opened(holdings, asked, stack, note=lambda budget: None):
    """Return the Session of a fit that is paid, and what is public of its table by name.

    ``stack`` keeps the contexts of the estimator for as long as the session is served; ``note``
    hears what was charged.

    **Privacy**: parameters are checked before the charge, on made-up rows, and the table is touched
    after it: what an analyst hears before a charge is no function of rows.
    """
    estimator = estimator_of(heard(asked["estimator"], _no_table))
    refuse(not isinstance(estimator, PrivateEstimator), "no estimator")
    analyst, name, columns = asked["analyst"], asked["table"], asked["columns"]
    holding, seed = holdings.tables[name], asked.get("seed")
    weight = asked.get("sample_weight")
    refuse(seed is not None and not holdings.seeded, "noise of the holder is drawn without a seed")
    refuse(name not in holdings.of_analyst(analyst), "no such table")
    try:
        refuse_annex(estimator)
        estimator.set_params(ledger=holdings.admitting(analyst, name))
        estimator._validate_params()
        takes = weight is None or has_fit_parameter(estimator, "sample_weight")
        refuse(not takes, "this estimator takes no sample_weight")
        plan = estimator._plan_elsewhere(holding.persons is not None, weight is not None)
    except (TypeError, ValueError, PlanError) as error:  # of parameters alone
        raise PlanError(str(error)) from None
    if plan.problems:
        raise PlanError("\n".join(["this fit cannot be carried out:", *plan.problems]))
    y = asked["y"]
    beside = [one for one in (y, weight) if one is not None]
    texts = [*(columns if isinstance(columns, list) else []), *beside]
    refuse(not isinstance(columns, list | None), "columns are a list of names")
    refuse(not all(isinstance(one, str) for one in texts), "names of columns are texts")
    refuse(weight is not None and weight not in holding.columns, "no such column")
    named = columns
    if columns is not None:
        known = set(holding.columns)
        named = [*columns, *(one for one in beside if one not in columns)]
        refuse(not named or not set(named) <= known, "no such column")
        refuse(len(set(named)) < len(named), "a column twice")
    try:
        made_up, _, _ = _parts(holding.made_up, holding.persons, named, weight)
    except ValueError as error:  # of types alone
        raise PlanError(str(error)) from None
    _rehearse(estimator, made_up, y)
    refuse_long(estimator, made_up.shape[1], holdings.limits.body)
    what = type(estimator).__name__
    holdings.charge(analyst, name, plan, what, seeded=seed is not None)
    note(plan.budget)
    stack.enter_context(estimator._curators())
    X, groups, weights = _parts(holding.source, holding.persons, named, weight)
    return _read(estimator, plan, X, y, groups, weights, seed, holdings)


def _parts(X, persons, named, weight):
    """Return the columns that are read, all if none are named, the IDs of persons, and weights."""
    X, groups = without_groups(X, persons)
    X, weights = without_weights(X if named is None else _some(X, named), weight)
    return X, groups, weights


def _rehearse(estimator, made_up, y):
    """Raise what reading a table of these columns would raise, by made-up rows of their types."""
    if estimator._target is not None and y is None:
        raise PlanError(NO_TARGET)
    try:
        clone(estimator)._read(made_up, y)
    except (TypeError, ValueError) as error:
        raise PlanError(str(error)) from None


def _read(estimator, plan, X, y, groups, weights, seed, holdings):
    rows = estimator._read(X, y)
    whole = curator = make_curator(plan, make_entropy(seed))
    curator.column_names = getattr(estimator, "feature_names_in_", None)
    told = {key: value for key, value in vars(estimator).items() if key in SCHEMA}
    persons = None if groups is None else estimator._persons(groups, rows)
    if weights is not None:
        persons = weighted_persons(weights, persons, len(rows))
    if persons is not None:
        rows, curator, more = estimator._of_persons(persons, rows, curator)
        told |= more
    session = Session(
        made_table(rows, curator),
        whole,
        pace=holdings.pace,
        search_pace=holdings.search_pace,
        most_requests=holdings.limits.requests,
    )
    table = session.things[0]
    plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in told.items()}
    return session, {"table": table, "told": plain, "left": table.remaining}


def _some(X, names):
    """Return some columns of a frame, without a copy if their order is the frame's, or of files."""
    if not hasattr(X, "iloc"):
        return X.replace_schema(X.schema.empty_table().select(names).schema)
    some = X.copy(deep=False)
    for name in set(X.columns) - set(names):
        del some[name]  # what is left are views
    return some if list(some.columns) == names else some[names]


def _no_table(_):
    refuse(True, "no table is a parameter")
