"""While an estimator fits, randomness and clocks answer to the rooms that own them only."""

import os
import random
import secrets
import sys
import time
import uuid
import warnings
from datetime import datetime
from random import gauss
from time import perf_counter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import check_random_state

from skdp import PrivacyLedger, PrivateMean
from skdp.exceptions import SeededNoiseWarning
from tests._estimators import ESTIMATORS, fitted
from tests.privacy._tripwire import Tripped, tripwire

X = np.random.default_rng(0).standard_normal((60, 2))
SCORES = np.random.default_rng(0).standard_normal((60, 3))  # for reports of predictions


@pytest.mark.cases(18)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_a_fit_touches_no_wire(estimator):
    for random_state in (None, "instance"):
        ledger = PrivacyLedger(500.0, 1e-5, composition="basic")  # takes budgets of every unit
        estimator = clone(estimator).set_params(ledger=ledger)
        if random_state == "instance":
            random_state = np.random.RandomState(0)
        estimator.set_params(random_state=random_state)
        with tripwire(), warnings.catch_warnings():
            warnings.simplefilter("ignore", SeededNoiseWarning)
            reports = type(estimator).__module__.startswith("skdp.metrics")
            fitted(estimator, SCORES if reports else X)
        assert len(estimator.ledger.entries()) == 2


def planted(draw):
    class Planted(PrivateMean):
        def _release(self, table):
            return super()._release(table) | {"planted_": draw()}

    return Planted()


DRAWS = {
    "numpy function": lambda: np.random.normal(),  # noqa: NPY002
    "numpy generator": lambda: np.random.default_rng(0).normal(),
    "numpy state": lambda: np.random.RandomState(0).normal(),
    "numpy bits": lambda: np.random.PCG64(0).random_raw(),
    "numpy global state": lambda: check_random_state(None).normal(),
    "numpy new state": lambda: check_random_state(3).normal(),
    "random": lambda: random.random(),
    "random class": lambda: random.Random(0).random(),
    "imported name": lambda: gauss(),
    "secrets": lambda: secrets.token_bytes(8),
    "uuid": lambda: uuid.uuid4(),
    "urandom": lambda: os.urandom(8),
    "clock": lambda: time.time(),
    "imported clock": lambda: perf_counter(),
    "sleep": lambda: time.sleep(0),
    "date": lambda: datetime.now(),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_planted_draw_trips_it(name):
    estimator = planted(DRAWS[name])
    estimator.fit(X)  # nobody notices
    with tripwire(sys.modules[__name__]), pytest.raises(Tripped):
        estimator.fit(X)
    estimator.fit(X)  # the wires are gone


def test_a_clock_is_for_the_ledger_and_not_for_the_mechanisms(monkeypatch):
    from skdp.mechanisms import _entropy

    source = "def words(self, n):\n    time.time()\n    return words_of(self, n)\n"
    names = {"time": time, "words_of": _entropy.SystemEntropy.words}
    exec(compile(source, _entropy.__file__, "exec"), names)
    monkeypatch.setattr(_entropy.SystemEntropy, "words", names["words"])
    PrivateMean().fit(X)
    with tripwire(), pytest.raises(Tripped, match="time"):
        PrivateMean().fit(X)
