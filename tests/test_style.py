"""Guide pages keep the rules of doc/style.rst that a program can count."""

import re
from pathlib import Path

import pytest

DOC = Path(__file__).resolve().parents[1] / "doc"
MEAN, LONGEST = 20, 40
ROLE = re.compile(r":\w+:`([^`<]*?)(?:\s*<[^`>]*>)?`")
END = re.compile(r'(?<=[.!?])[)*"]*\s+(?=[A-Z0-9*`"(:])|(?<=:)\s*$', re.M)


def toctree(page):
    """Return the pages that a page lists."""
    parts = re.findall(
        r"^\.\. toctree::\n((?:   .*\n|\n)+)", (DOC / f"{page}.rst").read_text(), re.M
    )
    return [
        line.strip()
        for part in parts
        for line in part.splitlines()
        if re.fullmatch(r"   \w+", line)
    ]


GUIDE = sorted({*toctree("guide"), *toctree("start")})


def paragraphs(text):
    """Return the prose of a page: paragraphs and entries of lists, no code, tables, titles."""
    text = re.sub(
        r"^( *)\.\. (?!note|warning|container)[\w-]+::.*\n(?:\1 +.*\n|\s*\n)*",
        "\n",
        text,
        flags=re.M,
    )
    text = re.sub(r"^.*\n([=\-~])\1{2,}\n", "\n", text, flags=re.M)
    text = re.sub(r"^(=+ +)+=+\n(.*\n)*?(=+ +)+=+\n(.*\n)*?(=+ +)+=+\n", "\n", text, flags=re.M)
    text = re.sub(r"::\n\n(?:(?: {3,}.*)?\n)+", ".\n\n", text)
    text = re.sub(r"^\.\. (\[\d+\]|_|\w+::).*\n", "\n", text, flags=re.M)
    text = re.sub(r"^ *([*-]|\d+\.|#\.) ", "\n", text, flags=re.M)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def sentences(text):
    """Return the sentences of a page; a role is its words, code and a formula count as one word."""
    found = []
    for paragraph in paragraphs(text):
        plain = re.sub(r":math:`[^`]*`|``[^`]*``", "Code", paragraph)
        plain = ROLE.sub(lambda m: m[1][:1].upper() + m[1][1:], plain).replace("e.g. ", "")
        found += [s for s in END.split(plain) if len(s.split()) > 2]
    return found


def lengths(text):
    return [len(sentence.split()) for sentence in sentences(text)]


@pytest.mark.parametrize("page", GUIDE)
def test_sentences_of_a_guide_page_are_short(page):
    text = (DOC / f"{page}.rst").read_text()
    count = lengths(text)
    assert sum(count) / len(count) < MEAN
    assert [s for s in sentences(text) if len(s.split()) > LONGEST] == []
