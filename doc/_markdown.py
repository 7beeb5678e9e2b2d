"""Pages whose text stands in Markdown at the root of the project, where forges look for it."""

import re
from pathlib import Path

__all__ = ["setup"]

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"changes": "CHANGES.md", "contributing": "CONTRIBUTING.md"}
LINES = {"#": "=", "##": "-", "###": "~"}


def rst_of(markdown):
    """Return the same text as reStructuredText: titles, code, links and lists."""
    parts = re.split(r"^```(\w*)\n(.*?)^```$", markdown, flags=re.M | re.S)
    text = []
    for prose, language, code in zip(
        parts[::3], [*parts[1::3], None], [*parts[2::3], None], strict=True
    ):
        text.append(re.sub(r"^(#+) (.+)$", title, prose_of(prose), flags=re.M))
        if code is not None:
            indented = re.sub(r"^(?=.)", "   ", code, flags=re.M)
            text.append(f".. code-block:: {language or 'text'}\n\n{indented}")
    return "\n".join(text)


def title(match):
    level, words = match.groups()
    return f"{words}\n{LINES[level] * len(words)}"


def prose_of(text):
    """Return prose with links and code in the manner of reStructuredText."""
    text = re.sub(r"\[`?([^]`]+)`?\]\(([^)]+)\)", link, text)
    pieces = re.split(r"(:doc:`[^`]*`|`[^`]*`__|`[^`]*`)", text)
    return "".join(
        f"`{piece}`" if re.fullmatch(r"`[^`]*`", piece) else piece.replace("|", r"\|")
        for piece in pieces
    )


def link(match):
    words, target = match.groups()
    page = re.fullmatch(r"doc/(\w+)\.rst", target)
    if page:
        return f":doc:`{words} <{page[1]}>`"
    return f"`{words} <{target}>`__" if target.startswith("https:") else f"`{words}`"


def read(app, name, source):
    if name in PAGES:
        source[0] = rst_of((ROOT / PAGES[name]).read_text())


def setup(app):
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
