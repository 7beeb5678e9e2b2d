"""The documentation is complete, its examples run, and it builds without a warning."""

import doctest
import inspect
import os
import pkgutil
import re
import runpy
import subprocess
import sys
import textwrap
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

import skdp
from skdp.audit import check_private_estimator
from skdp.estimator._estimator import PrivateEstimator

ROOT = Path(__file__).resolve().parents[1]
MODULES = ["skdp", *(info.name for info in pkgutil.walk_packages(skdp.__path__, "skdp."))]
PACKAGES = [name for name in MODULES if "._" not in name]


def public(package):
    module = import_module(package)
    return {f"{package}.{name}": getattr(module, name) for name in getattr(module, "__all__", ())}


PUBLIC = {name: thing for package in PACKAGES for name, thing in public(package).items()}
CALLABLE = {name: thing for name, thing in PUBLIC.items() if callable(thing)}
ESTIMATORS = {
    name: cls
    for name, cls in public("skdp").items()
    if isinstance(cls, type) and issubclass(cls, PrivateEstimator)
}


# --- the reference lists everything


def in_tables(page):
    """Return the names in the tables of a page, each of which has a page of its own."""
    tables = re.findall(r"^\.\. autosummary::\n((?:   .*\n|\n)+)", page, re.M)
    names = [name for table in tables for name in re.findall(r"^   (\w\S*)$", table, re.M)]
    assert all("   :toctree: generated/\n" in table for table in tables)
    return [f"skdp.{name}" for name in names]


def listed_on(page):
    """Return the names that have a page of their own, or a paragraph on this one."""
    paragraphs = re.findall(r"^\.\. data:: (\S+)\n\n   \S", page, re.M)
    return in_tables(page) + [f"skdp.{name}" for name in paragraphs]


def missing_from(page):
    """Return the public names that a page documents under no name at all."""
    listed = listed_on(page)
    things = [PUBLIC.get(name) for name in listed]
    return [
        name
        for name, thing in PUBLIC.items()
        if name not in listed and not any(thing is other for other in things)
    ]


def test_the_reference_lists_every_public_name():
    page = (ROOT / "doc" / "api.rst").read_text()
    assert missing_from(page) == []
    listed = listed_on(page)
    assert set(listed) <= set(PUBLIC) and len(set(listed)) == len(listed)
    one_less = page.replace("   set_config\n", "")
    assert missing_from(one_less) == ["skdp.set_config"]


def module_of(name):
    spec = spec_from_file_location(name, ROOT / "doc" / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def conf():
    return module_of("conf")


@pytest.fixture(scope="module")
def blocks():
    return module_of("_runner")


def test_the_reference_shows_at_most_130_names_at_once():
    page = (ROOT / "doc" / "api.rst").read_text()
    folded = re.sub(r"<details>.*?</details>", "", page, flags=re.S)
    assert page.count("<details>") == page.count("</details>") > 5
    assert len(in_tables(folded)) <= 130 < len(in_tables(page))


def test_every_page_of_a_name_leads_to_the_guide(conf):
    assert list(conf.REFERENCE) == in_tables((ROOT / "doc" / "api.rst").read_text())
    for pages in conf.REFERENCE.values():
        assert pages and all((ROOT / "doc" / f"{page}.rst").is_file() for page in pages)


def test_pages_of_classes_show_what_skdp_writes(conf):
    shown = conf.autosummary_context["members_of"]
    assert set(shown) == {name for name in conf.REFERENCE if inspect.isclass(PUBLIC[name])}
    for name, members in shown.items():
        assert all(inspect.getdoc(inspect.getattr_static(PUBLIC[name], m)) for m in members)
        assert not any(re.match(r"_|(get|set)_params|set_\w+_request", m) for m in members)
        made = [(m, f) for m, f in vars(PUBLIC[name]).items() if not isinstance(f, property)]
        own = [m for m, f in made if getattr(f, "__name__", "") == m]
        hidden = {m for m in own if m.startswith("_")} | conf.HIDDEN
        assert set(own) - hidden <= set(members), name
    for name in ESTIMATORS:
        assert {"fit", "plan"} <= set(shown[name])
    assert {"predict", "fit_predict", "transform", "score"} <= set(shown["skdp.LloydKMeans"])
    assert {"error_norm", "mahalanobis"} <= set(shown["skdp.PrivateCovariance"])


# --- docstrings


def parameters(thing):
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return []
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in inspect.signature(thing).parameters.values() if p.kind not in kinds]


def section(doc, title):
    """Return the names that a numpydoc section documents."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[^\n]*\n-{{3,}}\n|\Z)", doc, re.M | re.S)
    heads = re.findall(r"^(\w[\w, ]*?)(?: : .*)?$", found[1], re.M) if found else []
    return [name.strip() for head in heads for name in head.split(",")]


def unnamed(thing):
    """Return the parameters that neither a docstring nor the one it refers to names."""
    doc = inspect.getdoc(thing) or ""
    module = inspect.getmodule(thing)
    for reference in re.findall(r"`(\w+)`", doc):
        doc += inspect.getdoc(getattr(module, reference, None)) or ""
    if "Attributes\n---" in doc or "Parameters\n---" in doc:
        documented = section(doc, "Parameters") + section(doc, "Attributes")
        return {p for p in parameters(thing) if p not in documented and f"``{p}``" not in doc}
    return {p for p in parameters(thing) if not re.search(rf"\b{p}\b", doc)}


def test_docstrings_name_every_parameter():
    assert {name: unnamed(thing) for name, thing in CALLABLE.items() if unnamed(thing)} == {}


def test_a_parameter_without_a_name_is_found():
    def f(x, budget):
        """Return x.

        Parameters
        ----------
        x : float

        Returns
        -------
        budget : float
        """

    def g(x, budget):
        """Return x."""

    assert unnamed(f) == unnamed(g) == {"budget"}


# What a docstring must hold beside its first line.
SECTIONS = {
    "parameters": r"^(Parameters|Attributes)\n-{10}",
    "privacy": r"\*\*Privacy",
    "see also": r"^See Also\n-{8}\n\S",
    "example": r"^Examples\n-{8}\n(.*\n)*?>>> ",
}


# What nobody makes by hand, or is a variant, and where its page sends readers for the rest.
ELSEWHERE = {
    "Curator": "see :class:`skdp.base.PrivateEstimator`",
    "Release": "see :class:`skdp.base.PrivateEstimator`",
    "Noisy": "A released answer of a :class:`Table`",
    "OneCell": "see :func:`public`",
    "weighed_sum": "As for :func:`map_merge`",
}


def lacks(thing):
    """Return what the docstring of a class or function lacks."""
    doc = inspect.getdoc(thing) or ""
    if thing.__name__ in ELSEWHERE:
        return set() if ELSEWHERE[thing.__name__] in doc else {"the way to its example"}
    found = {name for name, pattern in SECTIONS.items() if re.search(pattern, doc, re.M)}
    return SECTIONS.keys() - found - (set() if parameters(thing) else {"parameters"})


def test_docstrings_tell_parameters_privacy_an_example_and_what_else_to_see():
    assert {name: lacks(thing) for name, thing in CALLABLE.items() if lacks(thing)} == {}


def test_what_a_docstring_lacks_is_found():
    def f(x):
        """Return x."""

    assert lacks(f) == set(SECTIONS)
    full = inspect.getdoc(skdp.gaussian_sigma)
    for cut, missing in ((">>> ", "example"), ("See Also", "see also"), ("**Privacy", "privacy")):
        f.__doc__ = full.replace(cut, "")
        assert lacks(f) == {missing}


def seen_also(doc):
    """Return the names that a docstring sends its readers to."""
    block = re.search(r"^See Also\n-{8}\n((?:\S.*\n?)+)", doc, re.M)
    names = [line.split(" : ")[0] for line in block[1].splitlines()] if block else []
    return re.findall(r"[\w.]+", " ".join(names))


def test_what_docstrings_send_to_is_in_the_reference():
    for name, thing in PUBLIC.items():
        doc = inspect.getdoc(thing) if callable(thing) else ""
        homes = {home for home in CALLABLE if CALLABLE[home] is thing}
        rooms = {home.rpartition(".")[0] for home in homes}
        for other in seen_also(doc) if callable(thing) else ():
            assert {other, *(f"{room}.{other}" for room in rooms)} & PUBLIC.keys(), (name, other)


def test_estimators_are_documented_in_full():
    for name, estimator in ESTIMATORS.items():
        doc = inspect.getdoc(estimator)
        assert section(doc, "Parameters") == parameters(estimator), name
        assert {"privacy_report_", "n_features_in_"} <= set(section(doc, "Attributes")), name
        assert "**Privacy**" in doc and "Not private" in doc and ">>> " in doc, name


# --- examples


MANY_FITS = (
    "skdp.marginals",
    "skdp.additive",
    "skdp.audit",
    "skdp.model_selection",
    "skdp.metrics",
    "skdp.stats",
)
ROOMS = [
    pytest.param(room, marks=[pytest.mark.slow] if room in MANY_FITS else [])
    for room in sorted({".".join(name.split(".")[:2]) for name in MODULES})
]


@pytest.mark.parametrize("room", ROOMS)
def test_docstring_examples_run(room):
    found = {
        name: doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE).failed
        for name in MODULES
        if name == room or name.startswith(f"{room}.")
        if room != "skdp" or name == room
    }
    assert {name for name, failed in found.items() if failed} == set()


def snippets(path):
    """Return the blocks of Python in a Markdown or reStructuredText file."""
    text = path.read_text()
    if path.suffix == ".md":
        return re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    pattern = r"^( *)\.\. code-block:: python\n\n((?:(?:\1   .*)?\n)+)"
    return [textwrap.dedent(block) for _, block in re.findall(pattern, text, re.M)]


LONG = ("README.md", "how_we_know.rst", "ledger.rst", "choosing_epsilon.rst", "tour.rst")
LONG += (
    "predicting.rst",
    "private_search.rst",
    "large_tables.rst",
    "not_protected.rst",
    "pipelines.rst",
)
PAGES = [
    pytest.param(page, id=page.name, marks=[pytest.mark.slow] if page.name in LONG else [])
    for page in (ROOT / "README.md", *sorted((ROOT / "doc").glob("*.rst")))
]


@pytest.mark.parametrize("page", PAGES)
def test_snippets_run(page, tmp_path, blocks):
    """One after the other, as when the pages are built, and each shows something."""
    run = blocks.Blocks(tmp_path).run
    assert all(any(run(snippet)) for snippet in snippets(page))


@pytest.mark.slow
def test_outputs_of_the_readme_are_what_its_blocks_print(blocks):
    text = (ROOT / "README.md").read_text()
    new = blocks.outputs_written(text)
    number = r"-?\d[\d,.]*(?:e-?\d+)?"
    assert re.sub(number, "#", new).split() == re.sub(number, "#", text).split()
    before, after = (
        [float(each.replace(",", "").rstrip(".")) for each in re.findall(number, page)]
        for page in (text, new)
    )
    np.testing.assert_allclose(before, after, rtol=0.05, atol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("user", ["an_analyst", "a_data_scientist", "an_office", "a_researcher"])
def test_a_day_of_each_user(user, capsys):
    runpy.run_path(str(ROOT / "examples" / f"for_{user}.py"))
    assert "nan" not in capsys.readouterr().out.lower().split()


@pytest.mark.slow
def test_the_estimator_of_thirty_lines_stands_every_check(monkeypatch):
    path = ROOT / "examples" / "estimator_of_your_own.py"
    spec = spec_from_file_location("estimator_of_your_own", path)
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # pickles look it up
    spec.loader.exec_module(module)
    check_private_estimator(module.PrivateRate())


def test_snippets_are_found():
    assert len(snippets(ROOT / "README.md")) >= 1
    assert any("group_size=5" in snippet for snippet in snippets(ROOT / "doc" / "threat_model.rst"))


# --- the build


def links_inside(folder):
    """Return how many links of pages lead to pages, and those that lead nowhere."""
    pages = {path.resolve(): path.read_text() for path in folder.rglob("*.html")}
    names = {path: set(re.findall(r'\sid="([^"]+)"', text)) for path, text in pages.items()}
    links, broken = 0, set()
    for path, text in pages.items():
        assert not re.search(r'(src|<link[^>]*href)="https?:', text), "a page needs the network"
        for target in re.findall(r'<a[^>]*\shref="([^"]+)"', text):
            if re.match(r"(https?|mailto|javascript):", target):
                continue
            links += 1
            file, _, place = unquote(target).partition("#")
            there = (path.parent / file).resolve() if file else path
            if not there.exists() or (place and place not in names.get(there, {place})):
                broken.add((path.name, target))
    return links, broken


@pytest.mark.slow
def test_the_pages_build_without_a_warning(tmp_path):
    pytest.importorskip("sphinx")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    command += ["-D", "plot_gallery=0"]  # the gallery shows the examples without running them
    command += ["-d", tmp_path / "trees", ROOT / "doc", tmp_path / "html"]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    built = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}
    )
    assert built.returncode == 0, built.stderr
    links, broken = links_inside(tmp_path / "html")
    assert links > 10_000 and not broken
