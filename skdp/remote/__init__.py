"""Tables behind a process: rows stay with their holder, estimators run at the analyst's."""

from skdp.remote._client import RemoteTable, connect

__all__ = ["RemoteTable", "connect", "read_holdings", "serve"]


def __getattr__(name):
    if name not in ("read_holdings", "serve"):
        raise AttributeError(f"module 'skdp.remote' has no attribute {name!r}")
    from skdp.remote import _holdings, _server  # of the holder alone, on systems with fork

    return _holdings.read_holdings if name == "read_holdings" else _server.serve
