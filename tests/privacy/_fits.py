"""What the layers of evidence have in common: the alarm, tables, fits with canned answers."""

import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import clone

import skdp
from skdp.gate._curator import replaced_curator
from tests._curators import CannedCurator, FixedKeys


class Alarm(Exception):
    """A layer has caught something."""


def expect(condition, what):
    if not condition:
        raise Alarm(what)


@contextmanager
def alarms(*kinds):
    try:
        yield
    except kinds as error:
        raise Alarm(str(error)) from error


def passes(test, *args):
    """Run a test of the suite; what it finds is an alarm."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            test(*args)
        except (Exception, pytest.fail.Exception) as error:
            raise Alarm(f"{test.__name__}: {error}") from error


def table(seed=0, n=300, d=2):
    return np.random.default_rng(seed).normal(size=(n, d)) * 0.3 + 0.1


def row_keys(n, seed=0):
    return np.random.default_rng(seed).integers(0, 2**63, size=n, dtype=np.uint64) * 2


def replayed(estimator, X, transcript, *, seed=0, keys=None):
    """Fit on X with canned answers; return the fitted estimator and the Curator."""
    made = []

    def make(plan, entropy):
        coins = FixedKeys(row_keys(len(X)) if keys is None else keys)
        made.append(CannedCurator(plan, transcript, seed=seed, coins=coins))
        return made[-1]

    with replaced_curator(make), skdp.config_context(invalid_rows="ignore", debug=True):
        return clone(estimator).set_params(random_state=None).fit(X), made[-1]
