"""A tripwire: random numbers and clocks raise, unless the room that owns them asks."""

import datetime
import os
import random
import secrets
import sys
import sysconfig
import time
import types
import uuid
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

import skdp

ROOT = os.path.dirname(skdp.__file__)
# the noise, and libraries that are handed public seeds or name their threads
PUBLIC_SEEDS = (
    "friendly/_parts.py",
    "_synopsis.py",
)
RANDOMNESS = (
    os.path.join(ROOT, "mechanisms", ""),
    os.path.join(ROOT, "utils/_numbers.py"),
    *(os.path.join(ROOT, "cluster", name) for name in PUBLIC_SEEDS),
)
CLOCKS = (
    os.path.join(ROOT, "accounting", "_ledger"),
    os.path.join(ROOT, "cluster", "friendly", "_parts.py"),  # joblib times its batches
)
# name of a module, its callables, and the files that may call them
WIRES = [
    (np.random, None, RANDOMNESS),
    (random, None, RANDOMNESS),
    (secrets, None, RANDOMNESS),
    (uuid, ("uuid1", "uuid4"), RANDOMNESS),
    (os, ("urandom", "getrandom"), RANDOMNESS),
    (time, None, CLOCKS),
    (datetime, ("datetime", "date"), CLOCKS),
]
LIBRARIES = tuple(os.path.realpath(sysconfig.get_path(p)) for p in ("stdlib", "purelib", "platlib"))


class Tripped(KeyboardInterrupt):
    """A forbidden call. No guard swallows what only a user at the keyboard sends."""


def _check(name, owner):
    """Raise unless the innermost frame outside all libraries belongs to the owner."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith("<frozen") and not os.path.realpath(file).startswith(LIBRARIES):
            if file.startswith(owner):
                return
            raise Tripped(f"{name} called from {frame.f_code.co_qualname}")
        frame = frame.f_back


def _function(name, original, owner):
    def wire(*args, **kwargs):
        _check(name, owner)
        return original(*args, **kwargs)

    return wire


def _class(name, original, owner):
    """Stand in for a class: calls are checked, isinstance works as before."""

    class Wire(type):
        def __call__(cls, *args, **kwargs):
            _check(name, owner)
            return original(*args, **kwargs)

        def __getattr__(cls, attribute):
            _check(f"{name}.{attribute}", owner)
            return getattr(original, attribute)

        def __instancecheck__(cls, instance):
            return isinstance(instance, original)

    return Wire(original.__name__, (), {})


class _Instance:
    """Stand in for numpy's global RandomState, which check_random_state(None) hands out."""

    def __init__(self, original):
        self._original = original

    def __getattr__(self, name):
        _check(f"numpy.random.{name}", RANDOMNESS)
        return getattr(self._original, name)


def _wires():
    for module, names, owner in WIRES:
        for name in names or [n for n in dir(module) if not n.startswith("_")]:
            original = getattr(module, name, None)
            if not callable(original) or isinstance(original, types.ModuleType):
                continue
            if getattr(original, "__module__", None) in ("builtins", "typing", "collections.abc"):
                continue
            make = _class if isinstance(original, type) else _function
            yield module, name, original, make(f"{module.__name__}.{name}", original, owner)


@contextmanager
def tripwire(*watched):
    """Set the wires; also for names that skdp or a module of ``watched`` took by from-import."""
    wires = list(_wires())
    stand_in = {id(original): wire for _, _, original, wire in wires}
    loaded = [m for n, m in list(sys.modules.items()) if n.split(".")[0] == "skdp"]
    patches = [patch.object(module, name, wire) for module, name, _, wire in wires]
    for module in {id(m): m for m in [*loaded, *watched]}.values():
        patches += [
            patch.dict(vars(module), {name: stand_in[id(value)]})
            for name, value in list(vars(module).items())
            if id(value) in stand_in
        ]
    mtrand = np.random.mtrand
    patches.append(patch.object(mtrand, "_rand", _Instance(mtrand._rand)))
    try:
        for p in patches:
            p.start()
        yield
    finally:
        for p in reversed(patches):
            p.stop()
