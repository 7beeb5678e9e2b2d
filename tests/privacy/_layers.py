"""The layers of evidence, each a check of one estimator that raises Alarm or stays silent."""

import gc
import pickle
from itertools import product
from types import FunctionType, ModuleType

import numpy as np
from scipy.stats import kstest, laplace, norm
from sklearn.base import clone

from skdp.accounting import Budget, Plan, Step
from skdp.audit._empirical import audit
from skdp.audit._interference import non_interference as look_for_interference
from skdp.audit._sensitivity import conditional_sensitivity as search_pairs
from skdp.exceptions import AuditFailure
from skdp.friendly import h_index
from skdp.gate._curator import Curator
from skdp.kernel import _friends
from skdp.mechanisms import make_entropy
from tests._attacks import precision_attack
from tests.privacy._fits import Alarm, alarms, expect, replayed, row_keys, table
from tests.privacy._guard import findings
from tests.privacy._layers_books import bill, errors, ledger
from tests.privacy._layers_tests import LAYERS_OF_TESTS
from tests.privacy._layers_users import LAYERS_OF_USERS
from tests.privacy._tripwire import Tripped, tripwire

__all__ = ["LAYERS", "Alarm"]

STATIC = (type, ModuleType, FunctionType)
SIX_SIGMA = 6.0  # a false alarm of one test of a standard normal statistic: 2e-9


# --- S1


def precision(subject):
    """S1: the low bits of a release tell nothing. False alarm: 1e-3 a run if a bit did tell."""
    budget = Budget.gaussian(1.0, 1e-5)

    def sampler(value):
        curator = Curator(Plan(budget, (Step("x"),)), make_entropy())
        X = np.full(20000, int(value))
        return curator.gaussian(X, sensitivity=1, share=1, label="x").value

    expect(precision_attack(sampler) <= 1.0, "the low bits tell the value")


# --- S2


def distribution(subject):
    """S2: what the Curator adds has the declared law and is independent of everything else."""
    first, second = _noise(), _noise()
    for (law, scale, x), (_, _, y) in zip(first, second, strict=True):
        cdf = norm(scale=scale).cdf if law == "gaussian" else laplace(scale=scale).cdf
        expect(kstest(x, cdf).pvalue > 1e-9, f"{law} noise has another law")
        for a, b in ((x[1:], x[:-1]), (x, y)):
            expect(abs(np.corrcoef(a, b)[0, 1]) * np.sqrt(len(a)) < SIX_SIGMA, "noise repeats")
    (_, _, x), (_, _, y) = first[0], first[1]
    expect(abs(np.corrcoef(x, y)[0, 1]) * np.sqrt(len(x)) < SIX_SIGMA, "noise of two releases")


def _noise():
    """Return (law, declared scale, noise) of releases of one Curator, scales far above 1."""
    budget = Budget.zcdp(1.0, 1e-6)
    steps = Step("a", times=2), Step("b", "laplace")
    curator = Curator(Plan(budget, steps), make_entropy())
    value = np.arange(20000)
    draws = [
        curator.gaussian(value, sensitivity=500, share=0.25, label="a"),
        curator.gaussian(value, sensitivity=500, share=0.25, label="a"),
        curator.laplace(value, sensitivity=500, share=0.5, label="b"),
    ]
    return [(release.law, release.scale, release.value - value) for release in draws]


# --- S4


def exact_sums(subject):
    """S4: what meets noise is the same for every order, cutting and memory layout of the rows."""
    estimators = [subject.estimator]
    if "scale" in subject.estimator.get_params():  # and the road of columns of one kind
        estimators.append(clone(subject.estimator).set_params(scale="none"))
    for estimator, X in product(estimators, _tables()):
        keys = row_keys(len(X), 7)
        _, run = replayed(estimator, X, "exact", keys=keys)
        for other, its_keys in _same_rows(X, keys):
            _, again = replayed(estimator, other, "exact", keys=its_keys)
            expect(len(run.records) == len(again.records), "other releases for the same rows")
            for a, b in zip(run.records, again.records, strict=True):
                same = np.array_equal(*a.common(b)) and not a.strangers(b)
                expect(same, f"{a.label!r} depends on more than rows")


def _tables():
    """Return tables that float32 holds exactly, in one of them no difference of two rows."""
    yield (table(n=500) + 100).astype(np.float32).astype(np.float64)
    yield np.where(np.arange(300)[:, None] % 2, 1.0, 2.0**-24 - 1)


def _same_rows(X, keys):
    for order in (np.random.default_rng(1).permutation(len(X)), np.argsort(X[:, 0])):
        yield X[order], keys[order]
    yield np.asfortranarray(X), keys
    yield X.astype(np.float32), keys


# --- S7


def non_interference(subject):
    """S7: given the same answers, no channel tells two tables apart."""
    with alarms(AuditFailure):
        look_for_interference(subject.estimator, table(), n_transcripts=3)


def reachable(thing):
    """Return all objects that an object leads to, but for modules, classes and functions."""
    found, waiting = {}, [thing]
    while waiting:
        new = [x for x in waiting if id(x) not in found and not isinstance(x, STATIC)]
        found |= {id(x): x for x in new}
        waiting = gc.get_referents(*new) if new else []
    return list(found.values())


def canary(subject):
    """S7: no bytes and no digits of a row are left in a fitted estimator."""
    X = table() + 0.123456789
    fit = clone(subject.estimator).fit(X)
    held = [thing for thing in reachable(vars(fit)) if isinstance(thing, np.ndarray)]
    expect(not any(np.shares_memory(thing, X) for thing in held), "the rows are kept in memory")
    blob, text = pickle.dumps(fit), repr(vars(fit)) + str(fit.privacy_report_)
    for row in X:
        for dtype in (np.float64, np.float32):
            expect(row.astype(dtype).tobytes() not in blob, "bytes of a row in the pickle")
        expect(repr(float(row[0])) not in text, "digits of a row in the text")


# --- S8


def conditional_sensitivity(subject):
    """S8: given the same answers, no value moves by more than its declared sensitivity."""
    with alarms(AuditFailure):
        search_pairs(subject.estimator, table(n=400), n_pairs=100)


def failure_events(subject):
    """S8: a core is only averaged where it is certified; 80 runs, false alarm below 1e-6."""
    original, seen = _friends.soft_core_average, []

    def watched(Z, friends, *, n_up, h_low, radius):
        # neighbours have up to one row more, and an h-index lower by up to one
        seen.append((n_up >= len(Z) + 1, h_low <= h_index(friends) - 1))
        return original(Z, friends, n_up=n_up, h_low=h_low, radius=radius)

    _friends.soft_core_average = watched
    try:
        tight = clone(subject.estimator).set_params(epsilon=1.0)  # counts the core by itself
        for seed in range(40):
            replayed(subject.estimator, table(n=400), "noise", seed=seed)
            replayed(tight, table(n=900), "noise", seed=seed)
    finally:
        _friends.soft_core_average = original
    assert len(seen) > 40  # the layer has something to say
    expect(all(n for n, _ in seen), "the bound of the count fails too often")
    expect(all(h for _, h in seen), "the bound of the h-index fails too often")


# --- S9


def end_to_end(subject):
    """S9: no lower bound on the loss, from outputs alone, exceeds the claim (99.9 %)."""
    without = np.zeros((10, 1))
    with_row = np.vstack([without, [[1.0]]])
    report = audit(subject.small, without, with_row, n_runs=1000, random_state=0)
    expect(report.passed, "outputs tell more than was paid for")


# --- S12


def lint(subject):
    """S12: the rules of the guard over the module."""
    found = findings(subject.path, subject.source)
    expect(not found, str(found))


def wire(subject):
    """S12: no random number and no clock outside their rooms."""
    X = table()
    with alarms(Tripped), tripwire():
        for _ in range(5):  # noise decides which lines run
            clone(subject.estimator).fit(X)


LAYERS = {
    "precision attack": precision,
    "distribution": distribution,
    "exact sums": exact_sums,
    "bill": bill,
    "ledger": ledger,
    "errors": errors,
    "non-interference": non_interference,
    "canary": canary,
    "conditional sensitivity": conditional_sensitivity,
    "failure events": failure_events,
    "end-to-end audit": end_to_end,
    "guard": lint,
    "tripwire": wire,
    **LAYERS_OF_USERS,
    **LAYERS_OF_TESTS,
}
