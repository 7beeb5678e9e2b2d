import gc
import os
import sys
from importlib import import_module
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

import skdp

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

settings.register_profile("house", derandomize=True, deadline=None)  # alike in every run
settings.load_profile("house")


def pytest_collection_finish():
    """Leave the thousands of tests themselves out of every later collection of garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def figures():
    """Close what a test has drawn: beyond twenty open figures matplotlib warns."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def rng():
    return np.random.default_rng(20260101)


@pytest.fixture
def debug():
    """Let exceptions of the private part through."""
    with skdp.config_context(debug=True):
        yield


@pytest.fixture
def bench(monkeypatch):
    """Import scripts of the benchmarks by name, and forget them."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield import_module
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) == str(BENCHMARKS / f"{name}.py"):
            del sys.modules[name]


def pytest_terminal_summary(terminalreporter):
    """Print which layer has caught which planted fault."""
    passed = terminalreporter.stats.get("passed", [])
    found = [dict(report.user_properties).get("planted fault") for report in passed]
    pairs = [text.split(" | ") for text in found if text]
    if pairs:
        terminalreporter.section(f"{len(pairs)} planted faults, each caught by its layer")
        for name, layer in pairs:
            terminalreporter.write_line(f"{name:<44} {layer}")
