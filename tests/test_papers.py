"""The page ``doc/papers.rst``, and every name in the documentation, speaks of what exists."""

import ast
import re
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "doc").glob("*.rst"))
LITERAL = re.compile(r"``([^`]+)``")
COLUMNS = ["Paper", "Statement", "Function", "Test"]


def rows(text):
    """Yield the cells of every row of every list-table."""
    row = []
    for line in text.splitlines():
        cell = re.match(r"   (\* -|  -) (.*)", line)
        if cell and cell[1] == "* -":
            if row:
                yield row
            row = [cell[2]]
        elif cell and row:
            row.append(cell[2])
        elif row and line.startswith("       "):
            row[-1] += " " + line.strip()
        elif row:
            yield row
            row = []
    if row:
        yield row


def imports(name):
    """Return whether a dotted name leads to something: the longest module, then attributes."""
    parts = name.split(".")
    for i in range(len(parts), 0, -1):
        try:
            thing = import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        for part in parts[i:]:
            if part not in dir(thing) and part not in getattr(thing, "__annotations__", ()):
                return False
            thing = getattr(thing, part, None)
        return True
    return False


@lru_cache
def functions_in(path):
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(
        node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, functions)
    )


def is_test(reference):
    path, _, name = reference.partition("::")
    return name.startswith("test_") and name in functions_in(path)


def problems(text):
    """Return what is wrong with a page of papers."""
    wrong = []
    for row in rows(text):
        if row == COLUMNS:
            continue
        if len(row) != len(COLUMNS):
            wrong.append(f"{len(row)} cells: {row}")
            continue
        paper, _, functions, tests = row
        for cell, kind, exists in (
            (functions, "function", imports),
            (tests, "test", is_test),
        ):
            names = LITERAL.findall(cell)
            wrong += [] if names else [f"{paper}: no {kind}"]
            wrong += [f"{paper}: no such {kind}: {name}" for name in names if not exists(name)]
    return wrong


def dead_names(text):
    """Return the names of skdp and of test files in a page that lead nowhere."""
    dead, file = [], None
    for literal in LITERAL.findall(text):
        name = re.split(r"[\s(\[]", literal)[0]
        if re.fullmatch(r"skdp(\.\w+)+", name) and not imports(name):
            dead.append(name)
        if re.match(r"(tests/\S+\.py)?::\w", name):
            path, _, test = name.partition("::")
            file = path or file
            if file is None or not is_test(f"{file}::{test}"):
                dead.append(name)
        elif re.match(r"(tests|benchmarks|examples|doc|skdp)/\S+\.\w+$", name):
            file = name
            if not (ROOT / name).is_file():
                dead.append(name)
    return dead


def test_papers_speak_of_what_exists():
    text = (ROOT / "doc" / "papers.rst").read_text()
    assert problems(text) == []
    assert len(list(rows(text))) > 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_name_what_exists(page):
    assert dead_names(page.read_text()) == []


OURS = re.compile(
    r"(Priva|Marginal|Friendly|Lloyd|RowMap|GroupMap|make_private|config_|(stats|metrics|remote)\.)"
)
NO_NAME = "``bounds=`` of the estimator"


def unknown(text):
    """Return the cells of the second column of a map of names that name nothing of skdp."""
    wrong = []
    for cell in [row[1] for row in rows(text) if len(row) > 1 and "``" in row[1]]:
        names = [re.split(r"[(=]", name)[0] for name in LITERAL.findall(cell)]
        ours = [name for name in names if OURS.match(name)]
        wrong += [] if ours or cell == NO_NAME else [cell]
        wrong += [name for name in ours if not imports(f"skdp.{name}")]
    return wrong


def test_maps_of_names_lead_to_skdp():
    for page in ("choosing_estimator", "dictionary"):
        text = (ROOT / "doc" / f"{page}.rst").read_text()
        assert unknown(text) == []
        assert unknown(text.replace("``PrivateMean", "``PrivateMaen"))
    assert unknown("   * - ``f``\n     - ``g``\n\n") == ["``g``"]


ROW = """
   * - Paper
     - Statement
     - Function
     - Test
   * - Somebody 2020
     - Theorem 1
     - ``{function}``
       ``skdp.accounting.Budget.gaussian``
     - ``tests/test_papers.py::{test}``

"""
FINE = {"function": "skdp.PrivateMean.fit", "test": "test_papers_speak_of_what_exists"}


def test_a_good_row_passes():
    assert problems(ROW.format(**FINE)) == []
    assert len(list(rows(ROW.format(**FINE)))) == 2


@pytest.mark.parametrize(
    "fault",
    [
        {"function": "skdp.PrivateMaen.fit"},
        {"function": "skdp.PrivateMean.fitt"},
        {"function": "skdp.accountin.gaussian_sigma"},
        {"function": "skpd.PrivateMean"},
        {"test": "test_papers_speak_of_what_exist"},
        {"test": "problems"},  # a function, and no test
    ],
    ids=str,
)
def test_a_misspelt_name_is_found(fault):
    assert len(problems(ROW.format(**FINE | fault))) == 1


def test_missing_cells_and_files_are_found():
    text = ROW.format(**FINE)
    assert problems(text.replace("tests/test_papers.py", "tests/test_paper.py"))
    assert problems(text.replace("``tests/", "tests/"))
    assert problems(text.replace("     - Theorem 1\n", ""))


@pytest.mark.parametrize(
    "text",
    [
        "``skdp.accounting.gaussian_sigmo(1.0, 1e-6)``",
        "``tests/test_papers.py`` and ``::test_of_nothing``",
        "``tests/test_papers.py::test_of_nothing``",
        "``tests/test_nothing.py``",
        "``::test_a_good_row_passes``",
    ],
)
def test_dead_names_in_prose_are_found(text):
    assert len(dead_names(text)) == 1


def test_live_names_in_prose_pass():
    text = "``tests/test_papers.py`` (``::test_a_good_row_passes``)"
    assert dead_names(text + ", ``skdp.config_context(debug=True)``") == []
