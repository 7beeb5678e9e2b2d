"""A holder as it is deployed: over TLS, from files in pieces, stopped while fits are open."""

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import skdp
import skdp.remote
from skdp.exceptions import PlanError
from skdp.remote._client import _Holder
from skdp.remote._holdings import Holding, Limits, read_columns
from skdp.remote._workers import _limit
from tests.remote._holder import FRAME, holder, tables
from tests.remote.test_attacks import opened

pytest.importorskip("uvicorn")
pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
PAGE = Path(__file__).parents[2] / "doc" / "remote.rst"
MEAN = skdp.PrivateMean(bounds=(0, 10), epsilon=0.5, delta=0)


def free_port():
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        return line.getsockname()[1]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the openssl command makes the files")
def test_tls(tmp_path):
    files = {"certificate": str(tmp_path / "pem"), "key": str(tmp_path / "key")}
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost", "-out", "pem", "-keyout", "key"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    port = free_port()
    url = f"https://127.0.0.1:{port}"
    with holder(tmp_path, where={"port": port, **files}):
        table = skdp.remote.connect(url, token="ana", cafile=files["certificate"])["rows"]
        assert abs(MEAN.fit(table[["a"]]).location_[0] - 5) < 1
        with pytest.raises(ConnectionError, match="no answer") as unknown:
            skdp.remote.connect(url, token="ana")
        assert isinstance(unknown.value.__cause__, ssl.SSLCertVerificationError)
        with pytest.raises(ConnectionError, match="no answer"):
            skdp.remote.connect(url.replace("https", "http"), token="ana")


def test_a_table_in_pieces_is_fitted(tmp_path):
    FRAME.assign(t="x", d=pd.Timestamp("2020-01-01")).to_parquet(tmp_path / "f.parquet")
    source = read_columns(tmp_path / "f.parquet", None, "", in_pieces=True)
    mean = skdp.PrivateMean(bounds=(-50, 50), epsilon=0.3, random_state=0)
    with holder(tmp_path, more={"pieces": Holding("pieces", source)}, seeded=True):
        table = tables(tmp_path)["pieces"]
        assert table.columns == ["a", "b", "c", "y", "t", "d"]
        there = mean.fit(table[["b", "a"]]).location_
        with pytest.raises(PlanError, match="another type: t, d"):
            mean.fit(table)
    with pytest.warns(skdp.exceptions.SeededNoiseWarning):
        assert np.array_equal(mean.fit(FRAME[["b", "a"]]).location_, there)


@pytest.mark.slow
@pytest.mark.parametrize("signals", [1, 2])
def test_a_holder_that_stops_lets_open_fits_end(tmp_path, signals):
    where = str(tmp_path / "socket")
    with holder(tmp_path, stop=60.0) as process:
        table, line = opened(tmp_path, "mean")
        for _ in range(signals):
            os.kill(process, signal.SIGTERM)
            time.sleep(0.2)
        if signals == 1:
            before = tables(tmp_path, "bob")["rows"]
            left = before.remaining
            with pytest.raises(PlanError, match=r"about to stop\. Nothing was charged"):
                MEAN.fit(before[["a"]])
            assert before.remaining == left
            assert table.n_features == 4 and table.fails("h-index") > 0
            line.close()
        for _ in range(100):
            if not Path(where).exists():
                break
            time.sleep(0.1)
        with pytest.raises(ConnectionError):
            tables(tmp_path)


@pytest.mark.slow
def test_a_search_leaves_at_its_own_times(tmp_path):
    search = skdp.PrivateSearchCV(
        skdp.PrivateLogisticRegression(), {"C": [1.0]}, epsilon=0.5, mean_trials=2
    )
    with holder(tmp_path, search_pace=1.0):
        began = time.monotonic()
        search.fit(tables(tmp_path)["rows"], "y")
        assert time.monotonic() - began >= 1.0
    with (
        holder(tmp_path, search_pace=None),
        pytest.raises(PlanError, match=r"set .*search_pace"),
    ):
        search.fit(tables(tmp_path)["rows"], "y")


def blocks_of_the_page(kind):
    text = PAGE.read_text()
    found = re.findall(rf"\.\. code-block:: {kind}\n\n((?:   .*\n|\n)+)", text)
    return ["\n".join(line[3:] for line in one.splitlines()) for one in found]


@pytest.mark.slow
def test_the_example_of_the_page_runs(tmp_path):
    """Both terminals of doc/remote.rst as they are written, but for the port."""
    make, serve = blocks_of_the_page("bash")[:2]
    pip, *make = make.replace("python ", f"{sys.executable} ").splitlines()
    assert pip == 'pip install "skdp[serve]"'

    def ran(text, **more):
        run = subprocess.run(
            text, shell=True, check=True, capture_output=True, text=True, cwd=tmp_path, **more
        )
        return run.stdout

    told = ran("\n".join(make))
    token, digest = re.search(r"analyst: +(\S+)", told)[1], re.search(r'"(\w+)"', told)[1]
    port = free_port()
    toml = blocks_of_the_page("toml")[0].replace("the digest", digest)
    (tmp_path / "holder.toml").write_text(f"{toml}\n[server]\nport = {port}\n")
    serve = [sys.executable, *serve.split()[1:]]
    analyst = blocks_of_the_page("py")[0].replace("the token", token).replace("8765", str(port))
    with subprocess.Popen(serve, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert "1 table(s), 1 analyst(s)" in server.stdout.readline()
            for _ in range(200):
                with socket.socket() as line:
                    if line.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            told = ran(f"{sys.executable} -", input=analyst)
        finally:
            server.send_signal(signal.SIGINT)
    assert server.returncode == 0, "it stops when it is asked to"
    assert "['age', 'wage', 'union']" in told and "(1.0, 1e-06)" in told
    means = re.search(r"\[ *([\d.]+) +([\d.]+) *\]", told)
    assert abs(float(means[1]) - 43.5) < 3 and abs(float(means[2]) - 3240) < 200
    assert "PrivateLogisticRegression" in (tmp_path / "holder.log").read_text()


@pytest.mark.slow
def test_messages_of_a_million_rows_are_small(tmp_path, monkeypatch):
    rng, sizes, raw = np.random.default_rng(0), [], _Holder.raw

    def weighed(self, method, path, body=None):
        told = raw(self, method, path, body)
        sizes.extend([len(told), len(body or b"")])
        return told

    monkeypatch.setattr(_Holder, "raw", weighed)
    wide = pd.DataFrame(rng.normal(size=(1_000_000, 10)), columns=list("abcdefghij"))
    wide = wide.assign(y=(wide["a"] > 0).astype(float))
    fits = [
        (skdp.PrivateMean(epsilon=0.5), None),
        (skdp.PrivateQuantile(epsilon=0.5), None),
        (skdp.PrivateCovariance(epsilon=0.5), None),
        (skdp.LloydKMeans(3, epsilon=0.5), None),
        (skdp.PrivateLogisticRegression(epsilon=0.5), "y"),
        (skdp.PrivateAdditiveClassifier(epsilon=0.5), "y"),
        (skdp.PrivateSummary(epsilon=0.5), None),
    ]
    with holder(tmp_path, more={"wide": Holding("wide", wide)}):
        table = tables(tmp_path)["wide"]
        for estimator, y in fits:
            n = len(sizes)
            estimator.fit(table if y else table[list("abcdefghij")], y)
            assert len(sizes) > n + 10 and max(sizes) < 1e6, type(estimator).__name__


@pytest.mark.skipif(sys.platform != "linux", reason="memory that is held is read in /proc")
def test_the_limit_of_memory_lies_beside_the_tables():
    """Else what is refused for want of it, before a charge, tells how large a table is."""
    process = os.fork()
    if process == 0:
        told = 1
        try:
            table = np.zeros(2**27)  # pages that nobody touches
            _limit(Limits(memory=2**29))
            np.empty(2**25)
            np.empty(len(table))
        except MemoryError as error:
            told = int("134217728" not in str(error))  # the last one, of twice the limit
        finally:
            os._exit(told)
    assert os.waitpid(process, 0)[1] == 0
