"""What a bug report needs to know."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = (
    "skdp",
    "scikit-learn",
    "numpy",
    "scipy",
    "joblib",
    "threadpoolctl",
    "cvxpy",
    "pandas",
    "polars",
    "matplotlib",
    "dask",
    "opendp",
)


def show_versions(file=None):
    """Print versions of Python, skdp and its dependencies, and the source of randomness.

    Parameters
    ----------
    file : file object, default=None
        Where to print; standard output by default.

    See Also
    --------
    get_config

    Notes
    -----
    **Privacy**: it reads no table.

    Examples
    --------
    >>> from io import StringIO
    >>> from skdp import show_versions
    >>> text = StringIO()
    >>> show_versions(text)
    >>> "numpy" in text.getvalue()
    True
    """
    file = sys.stdout if file is None else file
    lines = [f"{'python':<14} {platform.python_version()} on {platform.platform()}"]
    lines.append(f"{'cpu threads':<14} {os.cpu_count()}")
    lines.append(f"{'entropy':<14} os.urandom")
    for name in _PACKAGES:
        try:
            lines.append(f"{name:<14} {version(name)}")
        except PackageNotFoundError:
            lines.append(f"{name:<14} not installed")
    file.write("\n".join(lines) + "\n")
