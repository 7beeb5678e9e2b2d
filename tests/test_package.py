import io
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import skdp
from skdp.inspection import BudgetDisplay

ROOT = Path(__file__).resolve().parents[1]

LAZY = ("cvxpy", "matplotlib", "pandas", "polars", "mpmath", "opendp", "dask", "scipy.stats")


def test_import_loads_nothing_heavy():
    code = f"import sys, skdp; print([m for m in {LAZY!r} if m in sys.modules])"
    base = f"import sys, sklearn.base; print([m for m in {LAZY!r} if m in sys.modules])"
    loaded, already = (
        subprocess.run([sys.executable, "-c", c], capture_output=True, text=True, check=True).stdout
        for c in (code, base)
    )
    assert loaded == already


def test_every_public_name_exists():
    for name in skdp.__all__:
        assert getattr(skdp, name).__doc__


def test_show_versions():
    out = io.StringIO()
    skdp.show_versions(file=out)
    assert "scikit-learn" in out.getvalue() and "os.urandom" in out.getvalue()


def test_type_checkers_see_the_public_names():
    stub = (ROOT / "skdp" / "__init__.pyi").read_text()
    seen = re.findall(r"^from (\S+) import (\w+) as \2$", stub, re.M)
    assert sorted(name for _, name in seen) == sorted(skdp.__all__)
    for room, name in seen:
        assert getattr(import_module(room), name) is getattr(skdp, name)


def test_ci_tries_the_oldest_versions_that_are_allowed():
    project = (ROOT / "pyproject.toml").read_text()
    hard = re.search(r"^dependencies = \[\n(.*?)^\]", project, re.M | re.S)[1]
    lowest = re.findall(r'"([\w-]+)>=([\d.]+)"', hard)
    leg = (ROOT / ".ci" / "run").read_text().split('oldest/bin/pip" install')[1]
    assert len(lowest) == 5 and all(f'"{name}=={low}.*"' in leg for name, low in lowest)


def test_the_conda_recipe_is_of_this_version_and_needs_the_same():
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    hard = re.search(r"^dependencies = \[\n(.*?)^\]", project, re.M | re.S)[1]
    run = recipe.split("  run:\n")[1].split("\n\n")[0]
    assert f'version = "{skdp.__version__}"' in recipe
    assert re.findall(r"- (\S+) (>=\S+)", run) == re.findall(r'"([\w-]+)(>=[\d.]+)"', hard)
    for name in ("setuptools", "python"):
        low = re.search(rf'"{name}(>=\d+)"|requires-{name} = "(>=[\d.]+)"', project)
        assert f"- {name} {low[1] or low[2]}\n" in recipe


def test_pictures_name_what_they_need(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'skdp\[plot\]'"):
        BudgetDisplay.from_plan(skdp.PrivateMean())


def test_a_display_is_one_line_in_a_notebook():
    many = np.ones(1000)
    assert len(repr(BudgetDisplay([""] * 1000, many, many, "many releases"))) < 200


def test_messages_name_the_way_out():
    pandas = pytest.importorskip("pandas")
    text = pandas.DataFrame({"colour": ["red", "blue"] * 20})
    with pytest.raises(ValueError, match=r"domain=\{'column': \[level"):
        skdp.MarginalReleaser().fit(text)
    with pytest.raises(ValueError, match="no columns"):
        skdp.PrivateMean().fit(pandas.DataFrame(index=range(5)))
    with pytest.raises(ValueError, match=r"'skdp\.PrivacyLedger' or None") as caught:
        skdp.PrivateMean(ledger="study.db").fit([[0.0]])
    assert "BudgetAllocation" not in str(caught.value)


@pytest.mark.slow
def test_packages_are_attributes():
    code = "import skdp; skdp.stats.private_ttest_ind, skdp.metrics, skdp.marginals.Bins"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="no attribute 'statistics'"):
        skdp.statistics  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute '_secret'"):
        skdp._secret  # noqa: B018
