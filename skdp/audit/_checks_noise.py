"""Checks of where noise comes from."""

import os
import pickle
import warnings

from sklearn.base import clone

from skdp.audit._checks_common import refusal, released, require, secure, small
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
    """Check that fits share no noise: not clones, pickles or forked processes (row 24)."""
    rows, original = small(data), secure(estimator, ledger=None)
    noises = [_noise(original, rows), _noise(original, rows), _noise(clone(original), rows)]
    noises += [_noise(pickle.loads(pickle.dumps(original)), rows) for _ in range(2)]
    if hasattr(os, "fork"):
        noises += [_in_child(original, rows) for _ in range(2)]
    require(len(set(noises)) == len(noises), f"{name}: two fits have the same noise.")
    outputs = {pickle.dumps(released(data.fit(clone(original)))) for _ in range(4)}
    require(len(outputs) > 1, f"{name}: fits without a seed give the same result again and again.")


def _noise(estimator, data):
    """Return the noise of some fits as bytes, by the entropy that a fit gives its Curator."""
    noise = []
    for _ in range(FITS):
        records, _, _ = recorded_fit(estimator, data, "noise", entropy="given")
        noise += [
            record.answer if record.law == "select" else record.noise.tolist() for record in records
        ]
    require(noise, "no release was made.")
    return repr(noise).encode()


def _in_child(estimator, data):
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks in processes with threads
        pid = os.fork()
    if pid == 0:
        try:
            with os.fdopen(write, "wb") as pipe:
                pipe.write(_noise(estimator, data))
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        noise = pipe.read()
    os.waitpid(pid, 0)
    return noise
