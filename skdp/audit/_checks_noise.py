"""Checks of where noise comes from."""

import inspect
import json
import os
import pickle
import warnings

from sklearn.base import clone

from skdp.audit._checks_common import refusal, require, secure, small
from skdp.audit._observe import recorded_fit
from skdp.exceptions import SeededNoiseWarning

FITS = 3


def check_seed_is_flagged(name, estimator, data):
    """Check that a seed warns and marks the report, and that None does neither (row 24)."""
    rows = small(data)
    seeded = secure(estimator, ledger=None).set_params(random_state=0)
    with (
        warnings.catch_warnings(),
        refusal(SeededNoiseWarning, name, "to be silent about a seed"),
    ):
        warnings.simplefilter("error", SeededNoiseWarning)
        rows.fit(seeded)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        require(rows.fit(seeded).privacy_report_.seeded, f"{name}: the report hides the seed.")
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeededNoiseWarning)
        report = rows.fit(secure(estimator, ledger=None)).privacy_report_
    require(not report.seeded, f"{name}: a fit with fresh noise is reported as seeded.")


def check_fresh_noise(name, estimator, data):
    """Check that no two releases share noise: not those of clones, pickles or forks (row 24)."""
    rows, original = small(data), secure(estimator, ledger=None)
    default = inspect.signature(type(estimator)).parameters.get("random_state")
    require(default is None or default.default in (None, default.empty), f"{name} seeds itself.")
    draws = _draws(original, rows) + _draws(original, rows) + _draws(clone(original), rows)
    for _ in range(2):
        draws += _draws(pickle.loads(pickle.dumps(original)), rows)
        draws += _in_child(original, rows) if hasattr(os, "fork") else []
    require(draws, "no release was made.")
    require(all(draws), f"{name}: a release has no noise of its own.")
    words = [word for draw in draws for word in draw]
    require(len(set(words)) == len(words), f"{name}: two releases have the same noise.")


def _draws(estimator, data):
    """Return the random words that the releases of some fits take from what a fit gives them.

    A list with a list for each release that has something to add noise to.
    """
    draws = []
    for _ in range(FITS):
        records, _, _ = recorded_fit(estimator, data, "noise", entropy="given")
        draws += [list(record.words) for record in records if record.value.size]
    return draws


def _in_child(estimator, data):
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks in processes with threads
        pid = os.fork()
    if pid == 0:
        try:
            with os.fdopen(write, "w") as pipe:
                json.dump(_draws(estimator, data), pipe)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        draws = json.load(pipe)
    os.waitpid(pid, 0)
    return draws
