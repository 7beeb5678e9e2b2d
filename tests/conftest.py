import gc
import os
import sys
from importlib import import_module
from pathlib import Path
from zlib import crc32

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

import skdp

LATER = {"slow", "audit", "nightly"}
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"

settings.register_profile("house", derandomize=True, deadline=None)  # alike in every run
settings.load_profile("house")


@pytest.hookimpl(tryfirst=True)  # before items are deselected by their marks
def pytest_collection_modifyitems(items):
    """Mark as slow all cases of a test but as many as ``cases(n)`` says, drawn by their names."""
    found = {}
    for item in items:
        marks = {mark.name: mark for mark in item.iter_markers()}  # keywords have folders, too
        if "cases" in marks and not LATER & marks.keys():
            found.setdefault((item.nodeid.split("[")[0], *marks["cases"].args), []).append(item)
    for (_, most), cases in found.items():
        for item in sorted(cases, key=lambda item: crc32(item.nodeid.encode()))[most:]:
            item.add_marker("slow")


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
