"""Every planted fault is caught by its layer; the same layers are silent on the clean tree."""

import builtins
import dis
import importlib
import inspect
import re
from collections import Counter
from inspect import CO_OPTIMIZED
from pathlib import Path

import pytest

from tests.privacy._layers import LAYERS, Alarm
from tests.privacy._layers_tests import LAYERS_OF_TESTS
from tests.privacy._mutants import CLEAN, MUTANTS

PAGE = Path(__file__).parents[2] / "doc" / "planted_faults.rst"
ROW = re.compile(r"^   \* - (.+)\n     - (.+)\n     - ``(.+)``$", re.MULTILINE)
# These have estimators of their own; and BallMean declares no failure event.
ONCE = {*LAYERS_OF_TESTS, "rows by themselves", "refusals", "output of a search", "failure events"}
ALIKE = {("friendly PrivateMean", "end-to-end audit")}  # audits the fits of PrivateMean again
SUITE = {*LAYERS_OF_TESTS} - {"one budget"}  # tests that every run has on the clean tree anyway


def quiet_mark(layer):
    """Return when a layer is to stay silent."""
    return pytest.mark.nightly if layer in SUITE else pytest.mark.slow


QUIET = [
    pytest.param(clean, layer, id=f"{clean.name}-{layer}", marks=quiet_mark(layer))
    for clean in CLEAN
    for layer in LAYERS
    if layer not in ONCE or clean.name == "PrivateMean"
    if (clean.name, layer) not in ALIKE
]


MOST_LINES = 30  # of a fault: the longest has 22
FIRST = {mutant.layer: mutant for mutant in reversed(MUTANTS)}  # of a layer, in every run
DEAR = ("end-to-end audit", "numbers")


@pytest.mark.cases(12)
@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(
            mutant,
            id=mutant.name,
            marks=[pytest.mark.audit]
            if FIRST[mutant.layer] is not mutant or mutant.layer in DEAR
            else [],
        )
        for mutant in MUTANTS
    ],
)
def test_a_planted_fault_is_caught(mutant, record_property):
    with mutant.planted(), pytest.raises(Alarm):
        LAYERS[mutant.layer](mutant)
    record_property("planted fault", f"{mutant.name} | {mutant.layer}")


@pytest.mark.parametrize(("clean", "layer"), QUIET)
def test_no_alarm_on_the_clean_tree(clean, layer):
    """False alarms: below 1e-6 a run; the audit, at 1e-3, draws from fixed seeds."""
    with clean.planted():
        LAYERS[layer](clean)


def test_every_layer_catches_something_and_names_are_distinct():
    assert {mutant.layer for mutant in MUTANTS} == set(LAYERS)
    assert max(Counter(mutant.name for mutant in MUTANTS).values()) == 1
    assert len(MUTANTS) >= 110


def test_a_fault_leaves_no_trace():
    fault = next(mutant for mutant in MUTANTS if mutant.layer == "distribution")
    with fault.planted(), pytest.raises(Alarm):
        LAYERS["distribution"](fault)
    LAYERS["distribution"](fault)


def test_faults_are_short_and_name_what_exists():
    """What a wrong name raises is caught as well, whatever the fault is."""
    for mutant in MUTANTS:
        assert (mutant.old + mutant.new).count("\n") < MOST_LINES, mutant.name
        if mutant.layer == "guard":  # reads the source, runs nothing
            continue
        module = importlib.import_module(mutant.file.removesuffix(".py").replace("/", "."))
        known = {*vars(module), *vars(builtins)}
        parts = _parts(compile(mutant.source, mutant.file, "exec"))
        asked = {
            step.argval
            for part in parts
            for step in dis.get_instructions(part)
            if step.opname in {"LOAD_GLOBAL", "LOAD_NAME"} and part.co_flags & CO_OPTIMIZED
        }
        assert asked <= known, f"{mutant.name}: {asked - known}"


def _parts(code):
    yield code
    for part in filter(inspect.iscode, code.co_consts):
        yield from _parts(part)


def test_the_page_lists_exactly_the_faults():
    page = PAGE.read_text(encoding="utf-8")
    listed = [(name.replace("``", ""), *rest) for name, *rest in ROW.findall(page)]
    assert listed == [(mutant.name, mutant.layer, mutant.file) for mutant in MUTANTS]
