"""Configuration of skdp, per thread, in the manner of :func:`sklearn.config_context`."""

from contextlib import contextmanager
from threading import local

__all__ = ["config_context", "get_config", "set_config"]

_ALLOWED = {"invalid_rows": ("error", "ignore"), "debug": (False, True)}
_state = local()


def get_config():
    """Return a copy of the configuration of this thread.

    Returns
    -------
    config : dict
        Keys ``invalid_rows`` and ``debug``, see :func:`set_config`.
    """
    return {name: getattr(_state, name, values[0]) for name, values in _ALLOWED.items()}


def set_config(*, invalid_rows=None, debug=None):
    """Set the configuration of this thread.

    Parameters
    ----------
    invalid_rows : {"error", "ignore"}, default=None
        What ``fit`` does with rows that hold NaN or infinity. ``"error"`` (initially): a
        ``ValueError`` before anything is charged; the caller is taken to be the data holder.
        ``"ignore"``: such rows count as absent, one by one and silently, and a table without rows
        is a table like any other; for callers who must not learn even that.
    debug : bool, default=None
        Let exceptions of the private part of a fit through with their traceback. Not private.

    None leaves a value as it is.
    """
    for name, value in (("invalid_rows", invalid_rows), ("debug", debug)):
        if value is None:
            continue
        if value not in _ALLOWED[name]:
            raise ValueError(
                f"{name} must be one of {list(_ALLOWED[name])}. Got {value!r} instead."
            )
        setattr(_state, name, value)


@contextmanager
def config_context(*, invalid_rows=None, debug=None):
    """Set the configuration within a ``with`` block; parameters as in :func:`set_config`."""
    before = get_config()
    set_config(invalid_rows=invalid_rows, debug=debug)
    try:
        yield
    finally:
        set_config(**before)
