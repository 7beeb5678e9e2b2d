"""Random chains of steps: refused before the charge, or private to the last bit."""

import os

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz._cases import CASES, chain
from tests.fuzz._chains import chains
from tests.fuzz._judge import examine

SEED = int(os.environ.get("SKDP_FUZZ_SEED", "20260101"))
QUICK, MANY, PARTS = 12, 1000, 8


def check(chain):
    """Fail with a program if anything is wrong with a chain."""
    finding = examine(chain)
    if finding is not None:
        raise AssertionError(f"{finding}\n\nSKDP_FUZZ_SEED={SEED}\n\n{chain.program()}")


def fuzzed(strategy, number, examples):
    """Run ``check`` on that many chains; the first that fails is made as small as possible."""
    run = given(strategy)(check)
    run = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )(run)
    seed(SEED + number)(run)()


@pytest.mark.parametrize(
    ("how", "kinds", "mode"),
    [
        ("centre", {"moves too far"}, "ignore"),
        ("widen", {"asks other questions", "moves too far"}, "ignore"),
        ("quote", {"shows an entry"}, "error"),
        ("write", {"writes to the table"}, "error"),
    ],
)
def test_liars_are_found(how, kinds, mode):
    finding = examine(chain(f'Liar("{how}")', "PrivateMean()", invalid_rows=mode))
    assert finding is not None and finding.kind in kinds


@pytest.mark.parametrize("how", ["keep", "fail"])
def test_liars_that_look_at_rows_in_fit_see_made_up_ones(how):
    assert examine(chain(f'Liar("{how}")', "PrivateMean()")) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_cases(name):
    check(CASES[name])


@pytest.mark.slow
def test_some_chains():
    fuzzed(chains(), 0, QUICK)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(PARTS))
def test_many_chains(part):
    fuzzed(chains(), 1 + part, MANY // PARTS)
