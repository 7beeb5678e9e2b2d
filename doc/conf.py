"""Sphinx configuration."""

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

html_theme = "pydata_sphinx_theme" if find_spec("pydata_sphinx_theme") else "alabaster"
exclude_patterns = ["_build"]
