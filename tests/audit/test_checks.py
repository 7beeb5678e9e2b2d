"""Every public estimator passes every check, and every broken one fails where it should."""

from functools import partial

import pytest

from skdp import (
    FriendlyCoreKMeans,
    PrivateAdditiveClassifier,
    PrivateCovariance,
    PrivateHistogram,
    PrivateMean,
    PrivateMinMaxScaler,
    PrivatePCA,
    PrivateRidge,
    PrivateRobustScaler,
    PrivateStandardScaler,
)
from skdp.audit import (
    LEAK_CHECKLIST,
    _checks,
    check_private_estimator,
    conditional_sensitivity,
    non_interference,
    private_estimator_checks,
)
from skdp.audit._checks import CHECKS
from skdp.audit._tables import example_table
from skdp.exceptions import AuditFailure
from tests._estimators import ESTIMATORS, EXPENSIVE
from tests.audit._broken import BROKEN, SoundMean
from tests.audit._broken_more import BROKEN_MORE
from tests.audit._broken_too import BROKEN_TOO
from tests.audit._sound import SOUND, Mean, OfPersons

LAYERS = (
    "check_non_interference",
    "check_conditional_sensitivity",
    "check_long_tables",
    "check_wide_tables",
    "check_other_budgets",
    "check_persons",
    "check_spare_targets",
    "check_numpy_parameters",
)
KINDS = (PrivateMean, PrivateHistogram, FriendlyCoreKMeans, PrivateAdditiveClassifier)
RARE = LAYERS[4:-1]  # of dear estimators one of each kind
LONGEST = LAYERS[:4]  # ten seconds each: one of each kind; all have the tests of fewer pairs below
ROADLESS = (  # they see the class, whichever way its rows go
    "check_plan_without_data",
    "check_over_budget_refused_first",
    "check_charged_once_and_kept",
    "check_ledger_survives_copies",
    "check_seed_is_flagged",
    "check_fresh_noise",
    "check_frame_index_not_stored",
    "check_wrong_tables_refused",
    "check_weights_refused",
)
LONG = (
    *("check_fresh_noise", "check_types_and_layouts", "check_attributes_are_agreed"),
    "check_always_answers",
)
FIRSTS = list({type(estimator): estimator for estimator in reversed(ESTIMATORS)}.values())
CHOICES = "method", "domain", "bounds", "linear"  # parameters that lead to other releases
BORROWERS = PrivatePCA | PrivateRidge | PrivateRobustScaler | PrivateStandardScaler
BORROWERS |= PrivateMinMaxScaler
FAULTS = BROKEN | BROKEN_TOO | BROKEN_MORE
HARD = (  # to find
    *("NamesOfFrames", "ExactTies", "FiftyColumns", "FourthColumn", "LengthWithoutDelta"),
    *("BoundsFromData", "WritesFile", "ComparesWithNaN", "SinglePrecision", "BothEdges"),
)


# one of every check that is not hard to find
QUICK_FAULTS = {
    check: fault for fault, check in FAULTS.items() if fault.__name__ not in HARD
}.values()


def identify(value):
    return value.func.__name__ if isinstance(value, partial) else repr(value)


def road(estimator):
    """Return what decides which releases an estimator makes: its class and some parameters."""
    params = estimator.get_params(deep=False)
    return type(estimator), *(str(params.get(name)) for name in CHOICES)


def has_pairs_elsewhere(estimator):
    """Tell whether what meets noise is that of others here, or is replayed in its own room."""
    own = isinstance(estimator, FriendlyCoreKMeans | PrivateCovariance)
    return isinstance(estimator, BORROWERS) or (own and estimator.method == "friendly")


ROADS = [
    estimator
    for estimator in {road(estimator): estimator for estimator in reversed(ESTIMATORS)}.values()
    if not has_pairs_elsewhere(estimator)
]


def pairs(estimator):
    """Yield every check of an estimator: slow is what takes long, once for each road."""
    dear, quick = estimator in EXPENSIVE, estimator in FIRSTS and isinstance(estimator, KINDS)
    for twin, check in private_estimator_checks(estimator):
        found, marks = check.func.__name__, []
        if dear and found in RARE and not quick:
            continue
        if found in LONGEST:
            marks = pytest.mark.slow if quick else pytest.mark.nightly
        elif found in LAYERS:
            marks = pytest.mark.slow if estimator in ROADS or not dear else pytest.mark.nightly
        elif dear and (found in LONG or not quick):
            marks = pytest.mark.slow
        elif estimator not in FIRSTS and found in ROADLESS:
            marks = pytest.mark.nightly
        yield pytest.param(twin, check, marks=marks)


@pytest.mark.cases(50)
@pytest.mark.parametrize(
    "estimator, check",
    [pair for estimator in ESTIMATORS for pair in pairs(estimator)],
    ids=identify,
)
def test_public_estimators(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_the_layers_on_few_tables(estimator):
    X = example_table()
    non_interference(estimator, X, n_transcripts=1, random_state=1)
    if not has_pairs_elsewhere(estimator):
        conditional_sensitivity(estimator, X, n_pairs=8, random_state=1)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", EXPENSIVE, ids=repr)
def test_sensitivities_on_more_pairs(estimator):
    if not has_pairs_elsewhere(estimator):
        conditional_sensitivity(estimator, example_table(), n_pairs=30, random_state=1)


@pytest.mark.slow
def test_a_sound_estimator_of_a_user(rng):
    report = check_private_estimator(SoundMean(), rng.normal(size=(300, 2)))
    assert report.ok and set(report.ratios) == {"count", "sum"}


@pytest.mark.slow
@pytest.mark.parametrize("sound", SOUND, ids=lambda cls: cls.__name__)
def test_sound_estimators_raise_no_alarm(sound):
    for twin, check in private_estimator_checks(sound()):
        if check.func.__name__ not in LAYERS[2:] or sound in (Mean, OfPersons):
            check(twin)


def test_errors_of_an_estimator_are_failures_of_its_audit(monkeypatch):
    def check_reports(name, estimator, data):
        return estimator.report_

    monkeypatch.setattr(_checks, "CHECKS", (check_reports,))
    with pytest.raises(AuditFailure, match="check_reports ends with AttributeError"):
        check_private_estimator(SoundMean())


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(fault, marks=[] if fault in QUICK_FAULTS else [pytest.mark.slow])
        for fault in FAULTS
    ],
    ids=lambda cls: cls.__name__,
)
def test_broken_estimators(broken, capsys):
    (found,) = [
        check
        for _, check in private_estimator_checks(broken())
        if check.func.__name__ == FAULTS[broken]
    ]
    with pytest.raises(AuditFailure):
        found(broken())


def test_the_leak_checklist_is_complete():
    assert list(LEAK_CHECKLIST) == list(range(1, 29))
    for _, checks, note in LEAK_CHECKLIST.values():
        assert set(checks) <= set(CHECKS)
        assert checks or note
    covering = {check for _, checks, _ in LEAK_CHECKLIST.values() for check in checks}
    assert covering == set(CHECKS)
    assert all(check.__doc__ and "\n" not in check.__doc__ for check in CHECKS)


@pytest.mark.slow
@pytest.mark.filterwarnings("error::skdp.exceptions.LowAccuracyWarning")
def test_an_audit_says_nothing_about_its_own_small_tables():
    assert check_private_estimator(PrivateMean()) is not None
