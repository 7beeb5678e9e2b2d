"""What may cross the wire: a digest of all registered classes and their fields."""

import hashlib
import json

import skdp
from skdp.kernel._plain import TYPES

__all__ = ["load", "registry"]


def registry():
    """Return a digest of all that may cross the wire: names and fields of registered classes."""
    load()
    own = [pair for pair in TYPES.items() if pair[1].__module__.startswith("skdp.")]
    fields = sorted((name, *cls.__dataclass_fields__) for name, cls in own)
    return hashlib.sha256(json.dumps([skdp.__version__, fields]).encode()).hexdigest()[:16]


def load():
    """Import all public names of skdp, whose statistics enter the registry."""
    for name in skdp.__all__:
        getattr(skdp, name)
