"""What must be read to believe skdp, in reading order: ``python tests/kernel/reading.py`` counts.

It writes ``doc/_kernel_lines.rst``, the table of the page "Kernel"; a test holds it against the
source.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)] if __name__ == "__main__" else []
from tests.privacy._guard import code_lines  # noqa: E402

PAGE = ROOT / "doc" / "_kernel_lines.rst"
REST = "the other files of ``kernel``"
# What, its files, what is proved of it, and where.
ORDER = [
    (
        "Budgets and plans",
        "accounting/_budget.py accounting/_plan.py accounting/_gaussian.py "
        "accounting/_conversions.py accounting/_composition.py",
        "a budget proves the epsilon and delta that it claims",
        "theorem 1 of :doc:`accounting`",
    ),
    (
        "Accountant and session",
        "gate/_accountant.py gate/_curator.py gate/_parallel.py",
        "shares sum to at most one, whatever an engine does; one charge for each release",
        "theorems 1 and 2 of :doc:`accounting`",
    ),
    (
        "Noise",
        "mechanisms/_exact.py mechanisms/_entropy.py mechanisms/_noise.py "
        "accounting/_matrix_noise.py",
        "integers plus noise of exactly the scale that was paid for",
        ":doc:`building_blocks`",
    ),
    (
        "Queries",
        "kernel/_plain.py kernel/_statistic.py kernel/_totals.py",
        "queries are plain data; none holds a bound",
        "K1, K2",
    ),
    (
        "The table",
        "kernel/_table.py kernel/_parts.py _unread.py",
        "check, price, sum, add noise, record the charge: in this order, and nothing else leaves",
        "K3, K4, K5",
    ),
    (
        "Bounded rows",
        "mechanisms/_rows.py mechanisms/_norms.py mechanisms/_compiled.py mechanisms/_loops.c",
        "a row becomes integers of certified length, by itself; compiled loops give those of numpy",
        ":doc:`building_blocks`",
    ),
    (
        "Statistics",
        REST,
        "one row adds no more than the class computes: each class by itself",
        "docstring of each class",
    ),
    (
        "Rows and privacy IDs",
        "readers/_rows.py readers/_loop.py readers/_persons.py "
        "readers/_norm_weights.py readers/_some_rows.py "
        "readers/_together.py",
        "each row is read once in a pass; rows of one privacy ID weigh at most their bound",
        ":doc:`groups`",
    ),
    (
        "Entries",
        "readers/_sources.py readers/_tables.py readers/_columns.py readers/_labels.py "
        "readers/_target.py",
        "a row of a block, and a code of a label, is a function of one row of the table",
        "docstring of each class",
    ),
    (
        "Whose rows",
        "readers/_ids.py readers/_entries.py by_group/_rows.py by_group/_keys.py "
        "rowwise/_groups.py",
        "the person, or the group, of a row is a function of one entry or two of it",
        ":doc:`groups`, :doc:`by_group`",
    ),
    (
        "A fit",
        "estimator/_estimator.py table/_groups.py _private_part.py",
        "the plan is charged before rows are read; exceptions tell nothing",
        ":doc:`threat_model`",
    ),
]


def files(names):
    """Return the files of a line of the table."""
    if names != REST:
        return [ROOT / "skdp" / name for name in names.split()]
    named = " ".join(names for _, names, _, _ in ORDER).split()
    kernel = sorted((ROOT / "skdp" / "kernel").rglob("*.py"))
    return [file for file in kernel if file.relative_to(ROOT / "skdp").as_posix() not in named]


def lines_of(file):
    """Return the number of lines of code of a file of Python or C."""
    source = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        return code_lines(source)
    code = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
    return sum(bool(line.strip()) for line in code.splitlines())


def counted():
    """Return the lines of code of every line of the table."""
    return {what: sum(map(lines_of, files(names))) for what, names, _, _ in ORDER}


def stated():
    """Return the numbers that the table states."""
    return {
        what: int(number.replace(",", ""))
        for what, number in re.findall(r"\* - (.+)\n +- .+\n +- ([\d,]+)\n", PAGE.read_text())
    }


def table():
    """Return the table as text."""
    head = "What", "Files, in ``skdp``", "Lines", "What is proved of it", "Where"
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 12 34 8 30 16", ""]
    numbers = counted()
    rows = [
        (what, names if names == REST else _listed(names), f"{numbers[what]:,}", claim, where)
        for what, names, claim, where in ORDER
    ]
    everything = "Together", "", f"{sum(numbers.values()):,}", "", ""
    for row in (head, *rows, everything):
        lines += [f"   {'* -' if i == 0 else '  -'} {cell}".rstrip() for i, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


def _listed(names):
    return ", ".join(f"``{name}``" for name in names.split())


if __name__ == "__main__":
    PAGE.write_text(table())
