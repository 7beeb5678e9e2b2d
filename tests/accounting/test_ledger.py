import copy
import json
import math
import pickle
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV

from skdp.accounting import Budget, PrivacyLedger
from skdp.exceptions import BudgetExceeded

try:  # the one that joblib uses
    from joblib.externals import cloudpickle
except ImportError:
    import cloudpickle

settings.register_profile("ledger", deadline=None, max_examples=40)
examples = settings(settings.get_profile("ledger"))


@pytest.fixture(params=["session", "file"])
def ledger(request, tmp_path):
    return PrivacyLedger(1.0, path=None if request.param == "session" else tmp_path / "a.db")


def charges(ledger):
    return [entry for entry in ledger.entries() if entry.kind == "charge"]


class Toy(ClassifierMixin, BaseEstimator):
    """Charges epsilon and answers at random; interrupted after the charge if told so."""

    def __init__(self, epsilon=0.1, ledger=None, interrupt=False, tag=0):
        self.epsilon = epsilon
        self.ledger = ledger
        self.interrupt = interrupt
        self.tag = tag

    def fit(self, X, y):
        self.ledger.charge(Budget.pure(self.epsilon), "Toy")
        if self.interrupt:
            raise KeyboardInterrupt
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


X, Y = np.zeros((20, 2)), np.arange(20) % 2


@pytest.fixture
def by_value():
    """Let joblib workers have the classes of this module."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


# -- what is granted ---------------------------------------------------------------------------


def test_ten_tenths_fit_and_the_eleventh_is_refused(ledger):
    ids = [ledger.charge(Budget.pure(0.1), "fit") for _ in range(10)]
    assert len(set(ids)) == 10 and all(isinstance(i, str) for i in ids)
    with pytest.raises(BudgetExceeded, match=r"0\.1 of the whole requested, 1 spent"):
        ledger.charge(Budget.pure(0.1), "fit")
    assert ledger.spent().amount == 1 and ledger.remaining().amount == 0
    assert [e.kind for e in ledger.entries()] == ["opened", *["charge"] * 10, "refused"]


@pytest.mark.slow
@examples
@given(
    st.fractions(Fraction(1, 10**9), 100, max_denominator=10**12),
    st.lists(st.fractions(Fraction(1, 10**9), 100, max_denominator=10**12), max_size=12),
)
def test_charges_never_exceed_the_whole_and_all_that_fit_are_granted(whole, parts):
    ledger, total = PrivacyLedger(whole), Fraction(0)
    for part in parts:
        if total + part <= whole:
            ledger.charge(Budget.pure(part), "fit")
            total += part
        else:
            with pytest.raises(BudgetExceeded):
                ledger.charge(Budget.pure(part), "fit")
            ledger.acknowledge()
        assert ledger.spent().amount == total == whole - ledger.remaining().amount
    assert sum(e.amount for e in charges(ledger)) == total <= whole


def test_the_smallest_excess_is_seen():
    ledger = PrivacyLedger(1)
    ledger.charge(Budget.pure(Fraction(1, 3)), "fit")
    ledger.charge(Budget.pure(Fraction(1, 3)), "fit")
    with pytest.raises(BudgetExceeded):
        ledger.charge(Budget.pure(Fraction(1, 3) + Fraction(1, 10**400)), "fit")
    ledger.acknowledge()
    ledger.charge(Budget.pure(Fraction(1, 3)), "fit")


@pytest.mark.parametrize("epsilon, delta", [(1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-5), (1e4, 1e-6)])
def test_a_fit_with_the_budget_of_the_ledger_is_granted_once(epsilon, delta):
    ledger = PrivacyLedger(epsilon, delta)
    budget = Budget.gaussian(epsilon, delta)
    assert ledger.admit(budget) == budget and ledger.remaining().epsilon == epsilon
    ledger.charge(budget, "fit")
    assert ledger.spent().fraction == 1 and ledger.spent().epsilon == epsilon
    assert ledger.remaining().epsilon == 0 and "100.00%: epsilon" in repr(ledger.spent())
    assert repr(ledger.entries()[1]).endswith(f"fit  epsilon={epsilon:.4g}, delta={delta:.3g}")
    ledger.acknowledge()  # of nothing
    with pytest.raises(BudgetExceeded):
        ledger.charge(ledger.admit(Budget.gaussian(epsilon / 1e6, delta)), "fit")


@pytest.mark.slow
@examples
@given(
    st.floats(1e-3, 100),
    st.floats(1e-12, 0.5),
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), min_size=2, max_size=12),
)
def test_gaussian_fits_whose_guarantees_add_up_are_all_granted(epsilon, delta, weights):
    ledger = PrivacyLedger(epsilon, delta)
    e, d = (sum(column) for column in zip(*weights, strict=True))
    epsilon, delta = Fraction(str(epsilon)), Fraction(str(delta))
    for i, j in weights:
        budget = ledger.admit(Budget.gaussian(epsilon * i / e, delta * j / d))
        assert (
            0 < budget.failure <= ledger.entries()[0].failure * budget.amount / ledger._capacity[0]
        )
        ledger.charge(budget, "fit")
    # the guarantee of everything together, in 60 digits
    used = ledger.spent()
    with mpmath.workdps(60):
        mu, eps = mpmath.sqrt(_mpf(used.amount)), _mpf(epsilon)
        curve = mpmath.ncdf(mu / 2 - eps / mu) - mpmath.e**eps * mpmath.ncdf(-mu / 2 - eps / mu)
        assert curve + (1 + mpmath.e**eps) * _mpf(used.failure) <= _mpf(delta)


def _mpf(q):
    return mpmath.mpf(q.numerator) / q.denominator


@examples
@given(
    st.floats(0.01, 20),
    st.floats(1e-10, 1e-2),
    st.lists(st.floats(0.01, 0.9), max_size=4),
)
def test_what_remains_is_enough_for_a_last_fit(epsilon, delta, parts):
    ledger = PrivacyLedger(epsilon, delta)
    for part in parts:
        if last := ledger.remaining().epsilon:
            ledger.charge(ledger.admit(Budget.gaussian(part * last, delta)), "fit")
    left = ledger.remaining()
    if left.epsilon == 0:  # so little that delta alone covers it
        assert left.mu < 3 * delta
        return
    ledger.charge(ledger.admit(Budget.gaussian(left.epsilon, left.delta)), "last")
    assert ledger.spent().fraction > 0.9


def test_failure_probabilities_have_a_capacity_of_their_own():
    ledger = PrivacyLedger(1.0, 1e-6)
    tenth = Budget.gaussian(0.1, 1e-7)
    for _ in range(5):
        ledger.charge(tenth, "fit")
    with pytest.raises(BudgetExceeded, match="pass a smaller delta"):
        ledger.charge(tenth, "fit")


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.3, 1.0, 3.0])
def test_pure_fits_cost_the_gaussian_that_dominates_them(epsilon):
    ledger = PrivacyLedger(100.0, 1e-6)
    ledger.charge(Budget.pure(epsilon), "fit")
    with mpmath.workdps(60):
        e = mpmath.mpf(str(epsilon))
        truth = mpmath.e**e / (1 + mpmath.e**e)  # Phi(mu / 2) of the Gaussian pair
        mu = 2 * mpmath.sqrt(2) * mpmath.erfinv(2 * truth - 1)
        assert mu**2 <= _mpf(ledger.spent().amount) <= mu**2 * (1 + mpmath.mpf("1e-12"))
    assert ledger.spent().failure == 0


def test_what_is_too_dear_for_the_whole_is_refused_and_does_not_latch():
    ledger = PrivacyLedger(1.0, 1e-6)
    with pytest.raises(ValueError, match="no price for a 'zcdp' budget"):
        ledger.charge(Budget.zcdp(1.0, 1e-5), "fit")
    e, d = Fraction(1, 10), Fraction(1, 10**5)
    with pytest.raises(ValueError, match="no price for a 'pure' budget with delta=1e-05"):
        ledger.charge(Budget("pure", e, Fraction(0), e, d), "sum of reports")
    ledger.charge(Budget.pure(0.1), "fit")


def test_what_is_not_gaussian_has_the_price_of_what_it_is_nearly():
    ledger = PrivacyLedger(1.0, 1e-6)
    ledger.charge(ledger.admit(Budget.zcdp(0.1, 1e-9)), "fit")
    e, d = Fraction(1, 10), Fraction(1, 10**9)
    ledger.charge(Budget("pure", e, Fraction(0), e, d), "sum of reports")
    zcdp, pure = charges(ledger)
    for charge in (zcdp, pure):  # the failure probability in proportion, as of Gaussian fits
        assert charge.failure * ledger._capacity[0] == charge.amount * ledger._capacity[1]
    assert 2 * Budget.zcdp(0.1, 1e-9).amount < zcdp.amount < pure.amount


def test_basic_composition_adds_up_guarantees_of_any_unit():
    ledger = PrivacyLedger(1.0, 1e-6, composition="basic")
    for make in (Budget.gaussian, Budget.zcdp):
        assert ledger.admit(make(0.25, 4e-7)) == make(0.25, 4e-7)
        ledger.charge(make(0.25, 4e-7), "fit")
    ledger.charge(Budget.pure(0.5), "fit")
    assert (ledger.spent().epsilon, ledger.spent().delta) == (1.0, 8e-7)
    assert ledger.remaining().mu is None and ledger.spent().fraction == 1
    other = PrivacyLedger(1.0, 1e-6, composition="basic")
    with pytest.raises(BudgetExceeded):
        other.charge(Budget.gaussian(0.1, 1.1e-6), "fit")


# -- refusals ----------------------------------------------------------------------------------


def test_a_refusal_latches_until_it_is_acknowledged(ledger):
    with pytest.raises(BudgetExceeded, match=r"1\.5 of the whole"):
        ledger.charge(Budget.pure(1.5), "greedy")
    for handle in (ledger, clone(ledger, safe=False), PrivacyLedger.open(ledger.path)):
        with pytest.raises(BudgetExceeded, match="latched"):
            handle.charge(Budget.pure(0.1), "small")
    assert ledger.report().latched and ledger.spent().amount == 0
    ledger.acknowledge()
    assert not ledger.report().latched
    ledger.charge(Budget.pure(0.1), "small")
    kinds = [e.kind for e in ledger.entries()]
    assert kinds == ["opened", *["refused"] * 4, "acknowledged", "charge"]


@pytest.mark.parametrize("value", [-1.0, -0.1, math.nan, math.inf, -math.inf, 5e-324])
def test_amounts_that_are_no_amounts_are_refused(value):
    for make in (PrivacyLedger, Budget.pure):
        with pytest.raises(ValueError, match="epsilon must"):
            make(value)
    with pytest.raises(ValueError, match="delta must"):
        PrivacyLedger(1.0, value)


@pytest.mark.parametrize("value", [True, np.True_, "1", None, 1j])
def test_types_that_are_no_amounts_are_refused(value):
    with pytest.raises(TypeError, match="epsilon must"):
        PrivacyLedger(value)
    with pytest.raises(TypeError, match="delta must"):
        PrivacyLedger(1.0, value)


def test_forged_budgets_are_refused(ledger):
    good = {"measure": "pure", "amount": Fraction(1), "failure": Fraction(0)}
    good |= {"epsilon": Fraction(1), "delta": Fraction(0)}
    for name, value in (
        ("amount", 0.5),
        ("amount", True),
        ("amount", math.inf),
        ("failure", 0.0),
        ("epsilon", Fraction(0)),
        ("epsilon", Fraction(-1)),
        ("delta", Fraction(-1)),
        ("delta", math.nan),
    ):
        with pytest.raises(ValueError, match=r"needs a positive Fraction|does not follow"):
            ledger.charge(Budget(**(good | {name: value})), "forged")
    with pytest.raises(TypeError, match=r"must be a Budget\. Got float"):
        ledger.charge(0.1, "forged")
    assert len(ledger.entries()) == 1


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="'gaussian' with delta > 0"):
        PrivacyLedger(1.0, composition="gaussian")
    for delta in (1, 1.5):
        with pytest.raises(ValueError, match="delta"):
            PrivacyLedger(1.0, delta, composition="basic")
    with pytest.raises(ValueError, match="composition must be"):
        PrivacyLedger(1.0, 1e-6, composition="advanced")


# -- one ledger, many handles ------------------------------------------------------------------


def test_copies_are_the_ledger(ledger):
    assert copy.copy(ledger) is copy.deepcopy(ledger) is clone(ledger, safe=False) is ledger
    assert clone(Toy(ledger=ledger)).ledger is ledger
    twin = pickle.loads(pickle.dumps(ledger))
    assert twin is not ledger and twin == ledger and hash(twin) == hash(ledger)
    assert repr(twin) == repr(ledger) and twin != PrivacyLedger(1.0) and twin != "ledger"
    with twin as same:
        same.charge(Budget.pure(0.75), "twin")
    with pytest.raises(BudgetExceeded):
        ledger.charge(Budget.pure(0.75), "original")


def test_clones_share_the_budget(ledger):
    toy = Toy(epsilon=0.25, ledger=ledger)
    for _ in range(4):
        clone(toy).fit(X, Y)
    with pytest.raises(BudgetExceeded):
        clone(toy).fit(X, Y)


def test_an_interrupted_fit_stays_charged(ledger):
    with pytest.raises(KeyboardInterrupt):
        Toy(epsilon=0.5, ledger=ledger, interrupt=True).fit(X, Y)
    assert ledger.spent().amount == Fraction(1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_search_pays_for_every_fit(ledger, n_jobs, by_value):
    grid = {"tag": [0, 1, 2]}
    search = GridSearchCV(Toy(epsilon=0.1, ledger=ledger), grid, cv=3, n_jobs=n_jobs).fit(X, Y)
    assert ledger.spent().amount == 1 and len(charges(ledger)) == 3 * 3 + 1
    assert search.best_estimator_.ledger is ledger
    with pytest.raises(BudgetExceeded):
        Toy(epsilon=0.1, ledger=ledger).fit(X, Y)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_search_cannot_hide_a_refusal(ledger, n_jobs, by_value):
    toy = Toy(epsilon=0.3, ledger=ledger)
    search = GridSearchCV(toy, {"tag": [0, 1]}, cv=2, n_jobs=n_jobs, error_score=np.nan)
    with (
        pytest.warns((FitFailedWarning, UserWarning), match=r"fits failed|non-finite"),
        pytest.raises(BudgetExceeded, match="latched"),
    ):
        search.fit(X, Y)
    with pytest.raises(BudgetExceeded, match="latched"):  # 0.1 would fit
        Toy(epsilon=0.1, ledger=ledger).fit(X, Y)
    assert ledger.spent().amount == Fraction(9, 10)


# -- what it shows -----------------------------------------------------------------------------


def test_repr_shows_the_capacity_and_nothing_of_the_charges(tmp_path):
    ledger = PrivacyLedger(1.0, 1e-6, tmp_path / "a.db")
    before = repr(ledger)
    assert before == f"PrivacyLedger(epsilon=1.0, delta=1e-06, path={str(tmp_path / 'a.db')!r})"
    assert (ledger.epsilon, ledger.delta, ledger.composition) == (1.0, 1e-6, "gaussian")
    ledger.charge(Budget.pure(0.1), "fit")
    assert repr(ledger) == before
    assert repr(PrivacyLedger(2)) == "PrivacyLedger(epsilon=2.0, delta=0.0, path=None)"


def test_report():
    ledger = PrivacyLedger(1.0, 1e-6)
    ledger.charge(ledger.admit(Budget.gaussian(0.5, 1e-7)), "<first>", seeded=True)
    with pytest.raises(BudgetExceeded):
        ledger.charge(Budget.gaussian(2.0, 1e-6), "second")
    report = ledger.report()
    assert "LATCHED" in str(report) and "seeded: not private" in str(report)
    assert "&lt;first&gt;" in report._repr_html_() and "<first>" not in report._repr_html_()
    facts = json.loads(report.to_json())
    assert facts["latched"] and facts["entries"][1]["what"] == "<first>"
    assert facts["spent"]["mu"] == pytest.approx(Budget.gaussian(0.5, 1e-7).mu)
    assert 0.4 < facts["spent"]["epsilon"] < 0.5 < facts["remaining"]["epsilon"] < 1
    assert facts["spent"]["fraction"] + facts["remaining"]["fraction"] == pytest.approx(1)
    first, charge, refused = ledger.entries()
    assert (charge.unit, charge.seeded, refused.seeded) == ("gdp", True, False)
    assert (charge.epsilon, charge.delta) == (Fraction(1, 2), Fraction(1, 10**7))
    assert first.time <= charge.time and charge.time.endswith("+00:00")
