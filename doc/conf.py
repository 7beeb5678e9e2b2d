"""Sphinx configuration."""

import inspect
import os
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import skdp

project = "skdp"
copyright = "The skdp developers"
version = release = skdp.__version__

HERE = Path(__file__).parent

sys.path.append(str(HERE))  # extensions of our own
extensions = ["_blocks", "_mathml", "_markdown", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
html_math_renderer = "mathml"
templates_path = ["_templates"]
if find_spec("numpydoc"):
    extensions.append("numpydoc")
    numpydoc_show_class_members = False
else:
    extensions.append("sphinx.ext.napoleon")
    napoleon_use_ivar = True
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"  # a class is the title of its page
if find_spec("sphinx_gallery"):
    extensions.append("sphinx_gallery.gen_gallery")
    os.environ.setdefault("MPLBACKEND", "Agg")
    sphinx_gallery_conf = {
        "examples_dirs": str(HERE.parent / "examples"),
        "gallery_dirs": "auto_examples",
        "filename_pattern": r"plot_\d+",
        "within_subsection_order": "_gallery.by_task",
        "plot_gallery": "True",  # -D plot_gallery=0 shows the code only
        "remove_config_comments": True,
        "download_all_examples": False,
        "show_signature": False,
        "write_computation_times": False,
        "abort_on_example_error": True,
    }
default_role = "literal"
nitpicky = True  # a name that leads nowhere is a warning
nitpick_ignore_regex = [  # other packages (pages are built without network), fitted attributes
    (r"py:.*", r"(numpy|scipy|sklearn|joblib|fractions|collections)\..*"),
    (r"py:obj", r"\w+_"),
    (r"py:class", r"skdp\.\w+\._\w+\.\w+"),  # in signatures
]

html_theme = "pydata_sphinx_theme"
html_title = f"skdp {release}"
html_static_path = ["_static"]
html_css_files = ["skdp.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "skdp"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_nav_level": 1,
    "show_prev_next": False,
    "collapse_navigation": True,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "search": [], "genindex": []}  # they have nothing to list
html_sidebars |= {"api": [], "generated/*": []}  # the index itself lists its names, by task
exclude_patterns = ["_build", "_*.rst"]  # and tables that pages include
if not find_spec("sphinx_gallery"):
    exclude_patterns.append("auto_examples")

# Methods of scikit-learn's own that a page shows, and those that are the same everywhere.
SHOWN = {"fit_predict", "fit_transform", "inverse_transform", "score", "transform"}
SHOWN |= {"error_norm", "mahalanobis"}
HIDDEN = {"get_params", "set_params", "set_output"}


def sections():
    """Return the pages of the guide and the names of every section of the reference."""
    parts = re.split(r"^.+\n-{3,}\n", (HERE / "api.rst").read_text(), flags=re.M)[1:]
    names = re.compile(r"^   (\w[\w.]*)$", re.M)
    return [
        (re.findall(r":doc:`(\w+)`", part), [f"skdp.{name}" for name in names.findall(part)])
        for part in parts
    ]


def members_of(cls):
    """Return what the page of a class documents: members that skdp writes, and those shown."""
    found = {}
    for base in cls.__mro__:
        for name, thing in vars(base).items():
            ours = base.__module__.split(".")[0] == "skdp" or name in SHOWN
            hidden = name in HIDDEN or re.fullmatch(r"_.*|.*_|set_\w+_request", name)
            is_member = hasattr(thing, "__get__") and bool(
                inspect.getdoc(getattr(cls, name, thing))
            )
            found.setdefault(name, ours and not hidden and is_member)
    return [name for name, shown in found.items() if shown]


def thing(name):
    """Return what a public name means."""
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


REFERENCE = {name: pages for pages, names in sections() for name in names}
autosummary_context = {  # for the templates of the generated pages
    "guides": {
        name: ", ".join(f":doc:`/{page}`" for page in pages) for name, pages in REFERENCE.items()
    },
    "members_of": {
        name: members_of(thing(name)) for name in REFERENCE if inspect.isclass(thing(name))
    },
}


def remove_strays():
    """Remove the generated pages of names that the reference no longer has."""
    for page in (HERE / "generated").glob("*.rst"):
        if page.stem not in REFERENCE:
            page.unlink()


def escaped(line):
    """Escape |x| and (n_features_in_,), which docstrings write as mathematics and as code."""
    parts = re.split(r"(`+[^`]*`+)", line)
    parts[::2] = [re.sub(r"\((\w+)_,\)", r"(\1\\_,)", s.replace("|", r"\|")) for s in parts[::2]]
    return "".join(parts)


def home_of(target, near):
    """Return the name in the reference that a docstring means by a short one, or None."""
    found = [name for name in REFERENCE if f".{name}".endswith(f".{target}")]
    return max(found, key=lambda name: near.startswith(name.rpartition(".")[0]), default=None)


def linked(line, near):
    """Let names lead to the reference from whatever page shows them; others become code."""

    def link(match):
        role, target = match.groups()
        owner, dot, member = target.rpartition(".") if role == "meth" else (target, "", "")
        home = home_of(owner, near) if owner else None
        if home:
            return f":{role}:`{target} <{home}{dot}{member}>`"
        ours = target.startswith("skdp.") or ("." not in target and role != "meth")
        return f"``{target}``" if ours else match[0]

    return re.sub(r":(class|data|func|meth|mod):`([\w.]+)`", link, line)


def process_docstring(app, what, name, obj, options, lines):
    if (getattr(obj, "__module__", None) or "").startswith("sklearn"):  # links into its own pages
        text = re.sub(r":ref:`([^`<]*?)\s*(?:<[^`>]*>)?`", r"``\1``", "\n".join(lines))
        lines[:] = text.split("\n")
    lines[:] = [linked(escaped(line), name) for line in lines]


def without_gallery(app, name, source):
    if name == "index":
        source[0] = source[0].replace("   auto_examples/index\n", "")


def setup(app):
    remove_strays()
    if not find_spec("sphinx_gallery"):
        app.add_config_value("plot_gallery", "0", "html")
        app.connect("source-read", without_gallery)
    app.connect("autodoc-process-docstring", process_docstring, priority=400)
