"""Sphinx configuration."""

import re
from importlib.util import find_spec

import skdp

project = "skdp"
copyright = "The skdp developers"
version = release = skdp.__version__

extensions = ["sphinx.ext.mathjax", "sphinx.ext.autodoc"]
if find_spec("numpydoc"):
    extensions.append("numpydoc")
    numpydoc_show_class_members = False
else:
    extensions.append("sphinx.ext.napoleon")
    napoleon_use_ivar = True
autodoc_member_order = "bysource"
default_role = "literal"

html_theme = "pydata_sphinx_theme" if find_spec("pydata_sphinx_theme") else "alabaster"
html_title = f"skdp {release}"
exclude_patterns = ["_build"]


def escaped(line):
    """Escape |x| and (n_features_in_,), which docstrings write as mathematics and as code."""
    parts = re.split(r"(`+[^`]*`+)", line)
    parts[::2] = [re.sub(r"\((\w+)_,\)", r"(\1\\_,)", s.replace("|", r"\|")) for s in parts[::2]]
    return "".join(parts)


def process_docstring(app, what, name, obj, options, lines):
    lines[:] = map(escaped, lines)


def setup(app):
    app.connect("autodoc-process-docstring", process_docstring, priority=400)
