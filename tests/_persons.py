"""Tables of persons, and runs on neighbours that differ in all rows of one of them."""

import numpy as np
from sklearn.base import clone

from skdp import config_context
from skdp.audit._transcript import Script
from skdp.gate._curator import replaced_curator
from tests._curators import CannedCurator, FixedKeys, check_replay

SIZES = [1, 1, 2, 3, 4, 5, 30]
HOSTILE = [0.0, 1e300, -1e300, np.nan, np.inf, 1e-300, 5.0]


def persons_table(rng, n_persons, d, sizes=SIZES):
    """Return rows of persons who are unlike one another, in any order, and whose each one is."""
    ids = rng.permutation(np.repeat(np.arange(n_persons), rng.choice(sizes, size=n_persons)))
    own = rng.normal(size=(n_persons, d))
    X = (rng.normal(size=(len(ids), d)) + own[ids]) * 10.0 ** rng.uniform(-2, 2, size=d) + 3.0
    return X, ids


def neighbours(rng, n_persons, d):
    """Return a table of persons, their ids, and which rows stay where one of them leaves."""
    X, ids = persons_table(rng, n_persons, d)
    leaving = rng.integers(n_persons)
    his = np.flatnonzero(ids == leaving)
    kind = rng.integers(4)
    if kind == 0:
        X[his] = rng.choice(HOSTILE) * np.ones(d)
    elif kind == 1:
        X[his] = rng.choice(HOSTILE, size=(len(his), d))
    elif kind == 2:
        X[his] = X[rng.integers(len(X))]
    return X, ids, ids != leaving


def recorded(estimator, X, ids, keys, transcript, seed=0):
    """Fit a clone with groups, and return it with the Curator that answered it."""
    made = []

    def make(plan, entropy):
        made.append(CannedCurator(plan, transcript, seed=seed, coins=FixedKeys(keys)))
        return made[-1]

    with config_context(invalid_rows="ignore", debug=True), replaced_curator(make):
        return clone(estimator).fit(X, groups=ids), made[0]


def replayed(estimator, seed, n_persons=60, d=2):
    """Return the largest change of a release over what is declared, when a person leaves.

    The run on the neighbour gets the answers of the first run, so both release the same attributes.
    """
    rng = np.random.default_rng(seed)
    X, ids, stay = neighbours(rng, n_persons, d)
    keys = rng.integers(0, 2**63, size=len(X), dtype=np.uint64) * 2
    first, run = recorded(estimator, X, ids, keys, "noise", seed)
    script = Script(run.records)
    second, again = recorded(estimator, X[stay], ids[stay], keys[stay], script, seed)
    assert run.close("x") == again.close("x")
    for name, value in vars(first).items():
        if name.endswith("_") and isinstance(value, np.ndarray | float | int):
            assert np.array_equal(value, getattr(second, name), equal_nan=True), name
    return check_replay(run, again)
