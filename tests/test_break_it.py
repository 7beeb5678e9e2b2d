"""The targets of "Break it": faults are found by the tool that the page names, sound ones stand."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOUND = {1, 5}


@pytest.fixture(scope="module")
def game():
    spec = spec_from_file_location("break_it", ROOT / "examples" / "break_it.py")
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)  # pickles look it up
        spec.loader.exec_module(module)
        yield module


def solutions():
    """Return what the page says of each target: the tool that breaks it, None if it is sound."""
    page = (ROOT / "doc" / "break_it.rst").read_text()
    told = re.findall(r"<summary>Target (\d+)</summary><p>(.*?)</details>", page, re.S)
    tools = r"<code>(non_interference|conditional_sensitivity|precision_attack)</code>"
    return {int(n): (re.findall(tools, text) or [None])[0] for n, text in told}


def test_the_page_solves_every_target():
    assert sorted(solutions()) == list(range(1, 11))
    assert {n for n, tool in solutions().items() if tool is None} == SOUND


@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=[] if n in (3, 4) else [pytest.mark.slow]) for n in range(1, 11)],
)
def test_a_target_falls_as_the_page_says(game, number):
    target = [*game.TARGETS, game.target10][number - 1]
    assert game.attack(target) == solutions()[number]
