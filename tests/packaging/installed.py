"""What an installed wheel must do, in an environment with its hard dependencies alone.

Run outside the source tree: ``python installed.py``, and ``python installed.py plot`` once
``skdp[plot]`` is installed.
"""

import sys
from importlib.metadata import requires, version
from importlib.resources import files

import numpy as np

import skdp
from skdp import FriendlyCoreKMeans, PrivateMean
from skdp.inspection import BudgetDisplay
from skdp.marginals.published import relaxed_projection
from skdp.mechanisms import _compiled

OPTIONAL = {"cvxpy", "dask", "matplotlib", "opendp", "pandas", "polars", "pyarrow"}

assert version("skdp") == skdp.__version__
assert not OPTIONAL & set(sys.modules), "import skdp loads what is optional"
for name in ("py.typed", "__init__.pyi"):
    assert files("skdp").joinpath(name).is_file(), f"the wheel lacks {name}"
extras = {r.split("extra == ")[1].strip("\"'") for r in requires("skdp") if "extra == " in r}
assert {"plot", "frames", "published", "examples", "distributed", "test", "doc"} <= extras

built = _compiled.loops is not None
assert built == ("uncompiled" not in sys.prefix), "loops are compiled where there is a compiler"

X = np.random.default_rng(0).normal(size=(2000, 2))
mean = PrivateMean(epsilon=1.0, delta=1e-6).fit(X)
FriendlyCoreKMeans(2, epsilon=1.0, delta=1e-6).fit(X).predict(X)
assert mean.privacy_report_.epsilon(1e-6) <= 1

try:
    relaxed_projection([5.0, 6.0, 7.0], [(0, 1), (0, 2), (1, 2)], 3, n=9, steps=2, solver="cvxpy")
except ImportError as problem:
    assert "pip install 'skdp[published]'" in str(problem)
else:
    raise AssertionError("cvxpy is there: this environment shows nothing")

if "plot" in sys.argv:
    BudgetDisplay.from_plan(mean).figure_.savefig("budget.png")
else:
    try:
        BudgetDisplay.from_plan(mean)
    except ImportError as problem:
        assert "pip install 'skdp[plot]'" in str(problem)
    else:
        raise AssertionError("matplotlib is there: this environment shows nothing")
