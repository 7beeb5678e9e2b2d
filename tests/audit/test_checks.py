"""Every public estimator passes every check, and every broken one fails where it should."""

from functools import partial

import pytest

from skdp.audit import LEAK_CHECKLIST, check_private_estimator, private_estimator_checks
from skdp.audit._checks import CHECKS
from skdp.exceptions import AuditFailure
from tests._estimators import ESTIMATORS
from tests.audit._broken import BROKEN, SoundMean


def identify(value):
    return value.func.__name__ if isinstance(value, partial) else repr(value)


@pytest.mark.parametrize(
    "estimator, check",
    [pair for estimator in ESTIMATORS for pair in private_estimator_checks(estimator)],
    ids=identify,
)
def test_public_estimators(estimator, check):
    check(estimator)


def test_a_sound_estimator_of_a_user(rng):
    check_private_estimator(SoundMean(), rng.normal(size=(300, 2)))


@pytest.mark.parametrize("broken", BROKEN, ids=lambda cls: cls.__name__)
def test_broken_estimators(broken, capsys):
    (found,) = [
        check
        for _, check in private_estimator_checks(broken())
        if check.func.__name__ == BROKEN[broken]
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
