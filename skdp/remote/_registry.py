"""What may cross the wire: a digest of all registered classes and their fields."""

import hashlib
import json
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

import skdp
from skdp import kernel
from skdp.kernel._plain import TYPES

__all__ = ["load", "registry"]


@cache
def registry():
    """Return a digest of all statistics and views: names and fields of the kernel's classes."""
    load()
    own = [pair for pair in TYPES.items() if pair[1].__module__.startswith(kernel.__name__)]
    fields = sorted((name, *cls.__dataclass_fields__) for name, cls in own)
    return hashlib.sha256(json.dumps([skdp.__version__, fields]).encode()).hexdigest()[:16]


@cache
def load():
    """Import the kernel and all public names of skdp, which register what may cross."""
    for module in walk_packages(kernel.__path__, kernel.__name__ + "."):
        import_module(module.name)
    for name in skdp.__all__:
        getattr(skdp, name)
