import io
import subprocess
import sys

import skdp

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
