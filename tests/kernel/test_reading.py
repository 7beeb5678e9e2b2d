"""The page that lists what must be read says how much it is."""

import ast

from tests.kernel.reading import ORDER, ROOT, counted, files, stated

NEAR = 0.05


def test_the_page_states_the_lines_of_the_source():
    numbers, told = counted(), stated()
    assert told.keys() == numbers.keys() == {what for what, *_ in ORDER}
    wrong = {k: (told[k], n) for k, n in numbers.items() if abs(told[k] - n) > NEAR * n}
    assert not wrong, f"run python tests/kernel/reading.py: {wrong}"


def test_every_file_of_the_kernel_is_listed_once():
    found = [file for _, names, _, _ in ORDER for file in files(names)]
    assert len(set(found)) == len(found)
    assert set((ROOT / "skdp" / "kernel").rglob("*.py")) <= set(found)


SEE_ROWS = "kernel", "readers", "mechanisms", "gate"
# What decides neither what is released of a row nor how much noise it has.
REST = {
    "readers/__init__.py": "names",
    "mechanisms/__init__.py": "names",
    "readers/_calendar.py": "a format",
    "readers/_raw.py": "a format",
}


def _imported(file):
    """Return the modules of skdp that a file imports, by path."""
    source = ROOT / "skdp"
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skdp."):
            of_module = ROOT.joinpath(*node.module.split("."))
            for name in (of_module, *(of_module / one.name for one in node.names)):
                for path in (name.with_suffix(".py"), name / "__init__.py"):
                    if path.exists():
                        yield path.relative_to(source).as_posix()


def test_what_is_listed_rests_on_what_is_listed():
    found = {file for _, names, _, _ in ORDER for file in files(names)}
    listed = {file.relative_to(ROOT / "skdp").as_posix() for file in found}
    assert not listed & REST.keys()
    python = (file for file in found if file.suffix == ".py")
    rests_on = {path for file in python for path in _imported(file)}
    rests_on = {path for path in rests_on if path.split("/")[0] in SEE_ROWS}
    assert rests_on - listed == REST.keys()
