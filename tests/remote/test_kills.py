"""Two analysts, and kills of clients and of the holder at random moments.

What is granted is on disk, no budget is exceeded, and nobody else is stopped.
"""

import os
import signal
import time
from collections import Counter

import numpy as np
import pytest

import skdp
from skdp.accounting import PrivacyLedger
from skdp.exceptions import BudgetExceeded, ReleaseError
from skdp.remote._wire import Withheld
from tests.remote._holder import holder, tables

pytest.importorskip("uvicorn")
WHO = "ana", "bob"
EPSILON = 0.02  # of a fit
LOST = ConnectionError, ReleaseError, Withheld


def analyst(folder, who, n):
    """Fit until ``n`` fits have been answered or refused; note each in a file as it is."""
    with (folder / f"{who}.answers").open("a") as file:
        while lines(folder, who).total() < n:
            try:
                mean = skdp.PrivateMean(bounds=(0, 10), epsilon=EPSILON, delta=0)
                mean.fit(tables(folder, who)["rows"][["a"]])
                file.write("answered\n")
            except BudgetExceeded:
                file.write("refused\n")
            except LOST:
                time.sleep(0.02)  # the holder is down
            file.flush()


def lines(folder, who):
    """Return how many fits of an analyst were answered, and how many refused."""
    path = folder / f"{who}.answers"
    return Counter(path.read_text().split() if path.exists() else [])


def forked(function, *arguments):
    """Return the number of a process that runs a function."""
    process = os.fork()
    if process == 0:
        try:
            function(*arguments)
        finally:
            os._exit(0)
    return process


def hunted(folder, n, rng, *, every):
    """Run both analysts; kill one of them or the holder now and then. Return the kills."""
    kills, running = Counter(), {}
    budgets = {"ana": (EPSILON * n / 2, 0.0), "bob": (EPSILON * n * 9, 0.0)}
    while any(lines(folder, who).total() < n for who in WHO):
        (folder / "socket").unlink(missing_ok=True)
        with holder(folder, budgets=budgets, caps=(EPSILON * n * 20, 0.0), open_fits=100) as server:
            for _ in range(int(rng.integers(3, 9))):
                for who in WHO:
                    if who not in running or os.waitpid(running[who], os.WNOHANG)[0]:
                        running[who] = forked(analyst, folder, who, n)
                time.sleep(rng.exponential(every))
                victim = str(rng.choice(WHO))
                os.kill(running[victim], signal.SIGKILL)
                kills[victim] += 1
            os.kill(server, signal.SIGKILL)
            kills["holder"] += 1
    for process in running.values():
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return kills


def check(folder, n, kills):
    """Compare what the analysts have seen with what is on disk."""
    seen = {who: lines(folder, who) for who in WHO}
    assert all(one.total() >= n for one in seen.values()), "nobody was stopped"
    table = PrivacyLedger.open(folder / "rows.db")
    of_table = Counter(e.what for e in table.entries() if e.kind == "charge")
    for who, one in seen.items():
        own = PrivacyLedger.open(folder / f"{who}@rows.db")
        charged = sum(e.kind == "charge" for e in own.entries())
        assert charged == sum(e.what.endswith(f"by {who}") for e in own.entries())
        lost = kills[who] + 2 * kills["holder"]
        assert one["answered"] <= of_table[f"PrivateMean by {who}"] <= charged
        assert charged <= one["answered"] + lost, "what is charged and not answered was killed"
        assert own.remaining().epsilon >= 0 and not own.report().latched
    assert 0 < seen["ana"]["answered"] <= n / 2, "a budget is what it is"
    assert seen["ana"]["refused"] and not seen["bob"]["refused"]
    assert table.remaining().epsilon >= 0 and not table.report().latched


@pytest.mark.slow
def test_kills(tmp_path):
    check(tmp_path, 40, hunted(tmp_path, 40, np.random.default_rng(0), every=2.0))


@pytest.mark.nightly
def test_a_thousand_fits_and_kills(tmp_path):
    check(tmp_path, 500, hunted(tmp_path, 500, np.random.default_rng(1), every=6.0))
