"""How skdp is set up: options of the process and within contexts, and versions for a bug report."""

import os
import platform
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import PackageNotFoundError, version

_ALLOWED = {"invalid_rows": ("error", "ignore"), "debug": (False, True), "progress": (False, True)}
_process = {name: values[0] for name, values in _ALLOWED.items()}
_context = ContextVar("skdp_config", default=None)

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


def get_config():
    """Return a copy of the configuration that holds here.

    Returns
    -------
    config : dict
        Keys ``invalid_rows``, ``debug`` and ``progress``, see :func:`set_config`.

    See Also
    --------
    set_config, config_context

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp import get_config
    >>> sorted(get_config())
    ['debug', 'invalid_rows', 'progress']
    """
    return {**_process, **(_context.get() or {})}


def set_config(*, invalid_rows=None, debug=None, progress=None):
    """Set the configuration of the process: of all threads, those that run already included.

    Parameters
    ----------
    invalid_rows : {"error", "ignore"}, default=None
        What ``fit`` does with rows that hold NaN or infinity. ``"error"`` (initially): a
        ``ValueError`` before anything is charged; the caller is taken to be the data holder.
        ``"ignore"``: such rows count as absent, one by one and silently, and a table without rows
        is a table like any other; for callers who must not learn even that.
    debug : bool, default=None
        Let exceptions of the private part of a fit through with their traceback. Not private.
    progress : bool, default=None
        Tell of every release on the standard error, as a fit makes it: the step of the plan, the
        share of the budget that is left, the time. Lines for the data holder alone: what they say
        is in ``privacy_report_``, but when they come depends on the rows (user guide "Progress").

    See Also
    --------
    config_context, get_config

    Notes
    -----
    None leaves a value as it is. Within a :func:`config_context` that sets the same value, that one
    holds until its end. A process that is started anew, as some backends of joblib do, has the
    initial configuration; the workers of a fit have that of the fit.

    **Privacy**: settings cost nothing. ``debug=True`` lets exceptions quote rows, and when lines of
    ``progress`` come depends on them: both are for the data holder alone.

    Examples
    --------
    >>> from skdp import get_config, set_config
    >>> set_config(progress=False)
    >>> get_config()["progress"]
    False
    """
    _process.update(_checked(invalid_rows=invalid_rows, debug=debug, progress=progress))


@contextmanager
def config_context(*, invalid_rows=None, debug=None, progress=None):
    """Set the configuration within a ``with`` block, for this thread or task only.

    Parameters as in :func:`set_config`.

    Parameters
    ----------
    invalid_rows, debug, progress : default=None
        As for :func:`set_config`; None leaves a value as it is.

    See Also
    --------
    set_config, get_config

    Notes
    -----
    **Privacy**: as for :func:`set_config`.

    Examples
    --------
    >>> from skdp import config_context, get_config
    >>> with config_context(invalid_rows="ignore"):
    ...     print(get_config()["invalid_rows"])
    ignore
    """
    given = _checked(invalid_rows=invalid_rows, debug=debug, progress=progress)
    token = _context.set({**(_context.get() or {}), **given})
    try:
        yield
    finally:
        _context.reset(token)


def _checked(**given):
    """Return the options that are given, or raise ValueError."""
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        if value not in _ALLOWED[name]:
            raise ValueError(
                f"{name} must be one of {list(_ALLOWED[name])}. Got {value!r} instead."
            )
    return given


# --- what a bug report needs to know


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
