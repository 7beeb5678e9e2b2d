"""Differentially private estimators for scikit-learn users."""

import re
import sys
from importlib import import_module
from pathlib import Path

import skdp.accounting  # noqa: F401  the others load with their names, so that this one is quick

__version__ = "0.1.0"

# Pickles of older versions name classes by these modules.
sys.modules["skdp._doubts"] = sys.modules["skdp.utils._warnings"]
sys.modules["skdp._ledger_view"] = sys.modules["skdp.show._ledger"]

# The stub is the one list of public names: type checkers and editors read it, and so does this.
_STUB = Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
_ROOMS = {name: room for room, name in re.findall(r"^from (\S+) import (\w+) as \2$", _STUB, re.M)}

__all__ = sorted(_ROOMS)


def __getattr__(name):
    if name not in _ROOMS:
        if not name.startswith("_") and Path(__file__).with_name(name).is_dir():
            return import_module(f"skdp.{name}")
        from skdp.utils._renamed import meant  # what else it may be, for the error alone

        other = "" if name.startswith("_") else meant(name, __all__)
        raise AttributeError(f"module 'skdp' has no attribute {name!r}{other}", name=name)
    globals()[name] = getattr(import_module(_ROOMS[name]), name)
    return globals()[name]


def __dir__():
    return __all__
