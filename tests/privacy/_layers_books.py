"""The layers that check the books: costs, charges, and errors that tell nothing."""

import copy
import pickle
from fractions import Fraction

import mpmath
from sklearn.base import clone

from skdp import PrivacyLedger
from skdp.accounting import Budget, Plan, Step
from skdp.exceptions import BudgetExceeded, ReleaseError
from skdp.gate._curator import Curator, replaced_curator
from skdp.kernel._table import annex
from skdp.mechanisms import make_entropy
from tests.privacy._fits import Alarm, expect, table


def bill(subject):
    """S5: the releases cost no more than the charge, and the charge proves the claim, exactly."""
    estimator = clone(subject.estimator)
    report = estimator.fit(table()).privacy_report_
    budget = report.budget
    cost = sum((Fraction(c.sensitivity) / Fraction(c.scale)) ** 2 for c in report.charges)
    expect(cost <= budget.amount, "the noise is smaller than the budget pays for")
    expect(sum(c.share for c in report.charges) <= 1, "shares exceed the whole")
    expect(
        sum(p for _, p in report.failure_events) <= budget.failure, "failure events exceed theirs"
    )
    expect(_delta(budget, estimator.epsilon) <= estimator.delta, "the charge proves less")


def _delta(budget, epsilon):
    with mpmath.workdps(60):
        mu = mpmath.sqrt(mpmath.mpf(budget.amount.numerator) / budget.amount.denominator)
        failure = mpmath.mpf(budget.failure.numerator) / budget.failure.denominator
        a = epsilon / mu - mu / 2
        gauss = mpmath.ncdf(-a) - mpmath.exp(epsilon) * mpmath.ncdf(-a - mu)
        return gauss + (1 + mpmath.exp(epsilon)) * failure


def ledger(subject):
    """S6: every fit is charged before it reads, once, for good, to the ledger it was given."""
    X, whole = table(n=30), (2 * subject.estimator.epsilon, 2 * subject.estimator.delta)
    curators = []

    def make(plan, entropy):
        curators.append(Curator(plan, entropy))
        return curators[-1]

    with replaced_curator(make):
        book = PrivacyLedger(*whole)
        estimator = clone(subject.estimator).set_params(ledger=book)
        clone(pickle.loads(pickle.dumps(copy.deepcopy(estimator)))).fit(X)
        expect(_charges(book) == 1, "a copy of the estimator does not charge the ledger")
        _fails(estimator, X)
        expect(_charges(book) == 2, "a fit that failed was not charged")
        before = book.spent().amount
        amounts = [entry.amount for entry in book.entries() if entry.kind == "charge"]
        expect(before == sum(amounts) and min(amounts) > 0, "the charges are not the cost")
        # mu^2 of half of (epsilon, delta) is less than half of mu^2, so more than two may fit
        granted = 2
        while granted < 50 and _granted(estimator, X):
            granted += 1
        expect(granted < 50, "the ledger never refuses")
        expect(len(curators) <= _charges(book), "a Curator without a charge")
        expect(book.spent().amount <= book._capacity[0], "more spent than there is")
        cheap = clone(estimator).set_params(epsilon=estimator.epsilon / 1000)
        expect(not _granted(cheap, X), "a refusal does not latch")
    curator = Curator(Plan(Budget.gaussian(1.0, 1e-6), (Step("x", times=2),)), make_entropy())
    curator.gaussian([0], sensitivity=1, share=0.75, label="x")
    try:
        curator.gaussian([0], sensitivity=1, share=0.75, label="x")
    except BudgetExceeded:
        return
    raise Alarm("the Curator grants more than the whole")


def _charges(book):
    return sum(entry.kind == "charge" for entry in book.entries())


def _granted(estimator, X):
    try:
        estimator.fit(X)
    except BudgetExceeded:
        return False
    return True


def _fails(estimator, X):
    """Fit an estimator whose private part fails after all releases; return the error."""

    class Failing(type(estimator)):
        def _release(self, table):
            super()._release(table)
            raise ValueError(f"the rows are {annex(table)[0].take([0])}")

    Failing.__name__ = type(estimator).__name__
    try:
        Failing(**estimator.get_params(deep=False)).fit(X)
    except (ReleaseError, ValueError) as error:
        return error
    raise AssertionError("the failing estimator did not fail")


def errors(subject):
    """S7: an exception of the private part has a constant text and no trace of its cause."""
    one, two = (_fails(clone(subject.estimator), table(seed)) for seed in (0, 1))
    expect(str(one) == str(two), "the text of an error depends on the rows")
    expect(one.__cause__ is one.__context__ is None, "the cause of an error survives")
