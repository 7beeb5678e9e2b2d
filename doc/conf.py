"""Sphinx configuration."""

import os
import re
from importlib.util import find_spec
from pathlib import Path

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
if find_spec("sphinx_gallery"):
    extensions.append("sphinx_gallery.gen_gallery")
    os.environ.setdefault("MPLBACKEND", "Agg")
    sphinx_gallery_conf = {
        "examples_dirs": str(Path(__file__).parents[1] / "examples"),
        "gallery_dirs": "auto_examples",
        "filename_pattern": r"plot_\d+",
        "within_subsection_order": "FileNameSortKey",
        "plot_gallery": "True",  # -D plot_gallery=0 shows the code only
        "remove_config_comments": True,
        "download_all_examples": False,
        "show_signature": False,
        "write_computation_times": False,
        "abort_on_example_error": True,
    }
default_role = "literal"

html_theme = "pydata_sphinx_theme" if find_spec("pydata_sphinx_theme") else "alabaster"
html_title = f"skdp {release}"
exclude_patterns = ["_build", "_*.rst"]  # and tables that pages include
if not find_spec("sphinx_gallery"):
    exclude_patterns.append("auto_examples")


def escaped(line):
    """Escape |x| and (n_features_in_,), which docstrings write as mathematics and as code."""
    parts = re.split(r"(`+[^`]*`+)", line)
    parts[::2] = [re.sub(r"\((\w+)_,\)", r"(\1\\_,)", s.replace("|", r"\|")) for s in parts[::2]]
    return "".join(parts)


def process_docstring(app, what, name, obj, options, lines):
    if (getattr(obj, "__module__", None) or "").startswith("sklearn"):  # links into its own pages
        text = re.sub(r":ref:`([^`<]*?)\s*(?:<[^`>]*>)?`", r"``\1``", "\n".join(lines))
        lines[:] = text.split("\n")
    lines[:] = map(escaped, lines)


def without_gallery(app, name, source):
    if name == "index":
        source[0] = source[0].replace("   auto_examples/index\n", "")


def setup(app):
    if not find_spec("sphinx_gallery"):
        app.add_config_value("plot_gallery", "0", "html")
        app.connect("source-read", without_gallery)
    app.connect("autodoc-process-docstring", process_docstring, priority=400)
