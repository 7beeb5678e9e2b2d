"""The process that waits for the next fit: it holds nothing of others, who need it not."""

import os
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import skdp
from skdp.remote import _workers
from tests.remote._holder import holder, tables
from tests.remote.test_remote import opened

pytest.importorskip("uvicorn")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
MEAN = skdp.PrivateMean(bounds=(0, 10), epsilon=0.1, delta=0)


def forked(process):
    """Return the processes that a process has forked, and that run."""
    return [int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def workers(server):
    """Return the processes of fits, the last of which waits for one."""
    (forking,) = forked(server)
    return forked(forking)


def until(condition):
    """Wait until a condition holds."""
    late = time.monotonic() + 20
    while not condition() and time.monotonic() < late:
        time.sleep(0.02)
    assert condition()


def sockets(process):
    """Return the sockets and pipes that a process has open."""
    files = (os.path.realpath(file) for file in Path(f"/proc/{process}/fd").iterdir())
    return {Path(file).name for file in files if ":[" in file}


def test_a_worker_serves_one_fit_and_another_one_waits(tmp_path):
    with holder(tmp_path) as server:
        until(lambda: len(workers(server)) == 1)
        (waited,) = workers(server)
        for _ in range(3):
            assert opened(tmp_path)[0]
        until(lambda: len(workers(server)) == 4)
        assert waited in workers(server)[:-1], "it serves the first fit"
        assert all(opened(tmp_path, "bob")[0] for _ in range(3))
        until(lambda: len(workers(server)) == 7)
        *_, waits = served = workers(server)
        until(lambda: len(sockets(waits) - sockets(server)) == 1)
        own = sockets(waits) - sockets(server)  # others are of whoever started the server
        assert not any(own & sockets(one) for one in [*forked(server), *served[:-1]])


def test_a_spare_is_no_open_fit(tmp_path):
    with holder(tmp_path, open_fits=1) as server:
        for _ in range(3):
            MEAN.fit(tables(tmp_path)["rows"][["a"]])
        assert opened(tmp_path)[0]
        assert "too many open fits" in opened(tmp_path)[1]["no"]["text"]
        until(lambda: len(workers(server)) == 2)


def test_fits_go_on_if_a_spare_is_killed(tmp_path):
    with holder(tmp_path) as server:
        for _ in range(3):
            until(lambda: len(workers(server)) == 1)
            os.kill(workers(server)[0], signal.SIGKILL)
            until(lambda: not workers(server))
            MEAN.fit(tables(tmp_path)["rows"][["a"]])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_is_left(tmp_path, how):
    with holder(tmp_path) as server:
        assert opened(tmp_path)[0]
        until(lambda: len(workers(server)) == 2)
        left = [*forked(server), *workers(server)]
        os.kill(server, how)
        until(lambda: not any(_runs(one) for one in left))


def test_no_process_is_left_by_one_that_forks(tmp_path):
    with holder(tmp_path) as server:
        until(lambda: len(workers(server)) == 1)
        (forking,), (waits,) = forked(server), workers(server)
        os.kill(forking, signal.SIGKILL)
        until(lambda: not _runs(waits))


def _runs(process):
    try:
        told = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return told.rsplit(")", 1)[1].split()[0] != "Z"


def test_a_fit_for_which_there_is_no_process_hears_of_it_at_once(monkeypatch):
    listener, (ends, alive) = socket.socket(socket.AF_UNIX), os.pipe()
    with tempfile.TemporaryDirectory() as folder, listener:
        listener.bind(f"{folder}/fits")
        listener.listen()
        answers = iter([None])

        def none_left(*_):
            try:
                return next(answers)
            except StopIteration:
                raise BlockingIOError from None

        monkeypatch.setattr(_workers, "_forked", none_left)
        process = os.fork()
        if process == 0:
            os.close(alive)
            try:
                _workers._fork_for_each(listener, ends, SimpleNamespace(tables={}))
            finally:
                os._exit(0)
        try:
            for _ in range(2):
                with socket.socket(socket.AF_UNIX) as line:
                    line.settimeout(10)
                    line.connect(f"{folder}/fits")
                    assert line.recv(1) == b""
        finally:
            os.close(alive)
            os.close(ends)
            os.waitpid(process, 0)
