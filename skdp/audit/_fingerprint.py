"""Values compared by everything that can be reached from them, pickled or not."""

import functools
import gc
import inspect
import sys
import threading
import types
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from fractions import Fraction
from hashlib import blake2b

import numpy as np
from sklearn.base import BaseEstimator

from skdp._private_part import Local
from skdp.accounting import PrivacyLedger

EXACT = (bool, int, Fraction)
ATOMS = (type(None), *EXACT, float, complex, str, bytes, type(Ellipsis))
OF_PYTHON = frozenset(ATOMS)  # no subclasses, which may hold more
NAMED = (types.ModuleType, types.BuiltinFunctionType, np.ufunc, np.dtype, PrivacyLedger)
FOREIGN = ("sklearn", "builtins", "abc", "numpy", "scipy", "typing")
COMPILED = "cython_runtime", "_cython_"  # modules that compiled code makes for itself
KEEPERS = (
    *ATOMS,
    *(dict, list, set, bytearray, deque, np.ndarray, Mapping),
    *(threading.local, ContextVar, types.SimpleNamespace),
)

_codes = {}
_plain = {}  # (id of the code, name) -> fingerprint of a function that is nothing else


def fingerprint(value):
    """Return bytes that are alike for values that are alike, down to what hides from pickles.

    Cells of functions, slots and the arrays behind views count; memory addresses do not, and
    neither does what is marked as local.
    """
    return _Walk().of(value)


def state(thing):
    """Return the attributes of an object, in its ``__dict__`` and in slots, a dict."""
    found = {}
    for cls in type(thing).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            member = vars(cls).get(name)
            if inspect.ismemberdescriptor(member):
                try:
                    found[name] = member.__get__(thing)
                except AttributeError:
                    continue
    with suppress(AttributeError):
        local = isinstance(thing, threading.local)
        found |= thing.__dict__ if local else object.__getattribute__(thing, "__dict__")
    return found


def kept_elsewhere(estimator):
    """Return fingerprints of what lives on the classes of an estimator and around them.

    Classes of its parts and all parent classes count, those of scikit-learn do not; their modules;
    and what these import from modules of users, of which containers, caches and numbers count.
    """
    walk, kept = _Walk(), {}
    classes = classes_of(estimator)
    for cls in classes:
        for name, value in _own_definitions(vars(cls)):
            kept[f"{cls.__module__}.{cls.__qualname__}.{name}"] = walk.of(value)
    spaces = spaces_of(classes)
    for module, space in spaces.items():
        for name, value in _own_definitions(space):
            kept[f"{module}.{name}"] = walk.of(value)
    for module, space in _imported(spaces).items():
        for name, value in _own_definitions(space):
            if isinstance(value, KEEPERS) or hasattr(value, "cache_info"):
                kept[f"{module}.{name}"] = walk.of(value)
    return kept


def classes_of(estimator):
    """Return the classes of an estimator and of its parts, with parents that are not foreign."""
    parts = [estimator, *(p for p in estimator.get_params().values() if hasattr(p, "get_params"))]
    classes = {
        cls: None
        for part in parts
        if not isinstance(part, type)
        for cls in type(part).__mro__
        if cls.__module__.partition(".")[0] not in FOREIGN
    }
    return list(classes)


def spaces_of(classes):
    """Return the names that the modules of some classes define, a dict of dicts."""
    spaces = {}
    for cls in classes:
        methods = [f for f in vars(cls).values() if isinstance(f, types.FunctionType)]
        known = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
        spaces[cls.__module__] = methods[0].__globals__ if methods and not known else known
    return spaces


def _imported(spaces):
    """Return the names of the modules of users that some modules use, a dict of dicts.

    Those without a file are made while a program runs; they count, whoever knows them.
    """
    found = {}
    for module, space in spaces.items():
        if module.partition(".")[0] == "skdp":
            continue  # no part of skdp keeps a state, which its own tests see to
        for value in list(space.values()):
            name = getattr(value, "__module__", None)
            known = value if isinstance(value, types.ModuleType) else sys.modules.get(str(name))
            if known is not None and _is_of_users(known):
                found[known.__name__] = vars(known)
    for name, known in list(sys.modules.items()):
        made = getattr(known, "__spec__", known) is None and name != "__main__"
        if made and not name.startswith(COMPILED):
            found[name] = vars(known)
    return {name: space for name, space in found.items() if name not in spaces}


def _is_of_users(module):
    """Tell whether a module is neither of Python nor installed from elsewhere."""
    first, file = module.__name__.partition(".")[0], getattr(module, "__file__", None) or ""
    known = first in (*FOREIGN, "skdp") or first in sys.stdlib_module_names
    return not (known or "-packages" in file)


def _own_definitions(space):
    """Return what a class or module defines itself, with special methods, and no special data."""
    return [
        (name, value)
        for name, value in list(space.items())
        if not name.startswith("__") or isinstance(value, types.FunctionType)
    ]


class _Walk:
    def __init__(self):
        self._done, self._alive = {}, []

    def of(self, value):
        """Return the fingerprint of a value; in a cycle, where it closes."""
        kind = type(value)
        if kind in OF_PYTHON:
            if kind in EXACT:  # Python writes no number of 4300 digits or more as decimals
                value = [hex(part) for part in value.as_integer_ratio()]
            return repr((kind.__name__, value)).encode()
        if kind is types.FunctionType and _is_plain(value):
            known = id(value.__code__), value.__qualname__
            if known not in _plain:
                _plain[known] = self._digest(value)  # which keeps the code: its id stays
            return _plain[known]
        if id(value) not in self._done:
            self._done[id(value)] = b"a cycle"
            self._alive.append(value)  # or its id could be that of another
            self._done[id(value)] = self._digest(value)
        return self._done[id(value)]

    def _digest(self, value):
        digest = blake2b(digest_size=16)
        for part in _parts(value, self):
            text = part if isinstance(part, bytes) else self.of(part.value)
            digest.update(b"%d:" % len(text) + text)
        return digest.digest()


class _Part:
    """Something to walk into."""

    def __init__(self, value):
        self.value = value


def _parts(value, walk):
    """Yield bytes, and parts to walk into."""
    kind = type(value)
    yield f"{kind.__module__}.{kind.__qualname__}".encode()
    if isinstance(value, Local):
        return
    if isinstance(value, NAMED):
        yield repr(getattr(value, "__qualname__", getattr(value, "__name__", ""))).encode()
        return
    if isinstance(value, type):
        yield from _of_class(value)
    elif isinstance(value, types.FunctionType):
        yield from _of_function(value)
    elif isinstance(value, types.CodeType):
        if id(value) not in _codes:  # which are never changed, and kept, so that ids stay
            digest = walk.of((value.co_code, *value.co_consts))
            _codes[id(value)] = value, digest
        yield _codes[id(value)][1]
    elif isinstance(value, types.MethodType):
        yield from map(_Part, (value.__func__, value.__self__))
    elif isinstance(value, functools.partial):
        yield from map(_Part, (value.func, value.args, value.keywords))
    elif isinstance(value, (staticmethod, classmethod)):
        yield _Part(value.__func__)
    elif isinstance(value, property):
        yield from map(_Part, (value.fget, value.fset, value.fdel))
    elif isinstance(value, types.GeneratorType):
        yield _Part(value.gi_frame and value.gi_frame.f_locals)
    elif isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)):
        yield value.__name__.encode()
    elif isinstance(value, ContextVar):
        yield _Part(value.get(None))
    elif hasattr(value, "cache_info"):
        yield _Part(value.cache_info().currsize)
        yield _Part(value.__wrapped__)
        kept = [held for held in gc.get_referents(value) if isinstance(held, dict)]
        yield from sorted(walk.of(key) for held in kept for key in held)
    else:
        yield from _of_object(value, walk)


def _of_class(cls):
    yield f"{cls.__module__}.{cls.__qualname__}".encode()
    found = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is not cls:  # made on the way: whoever made it may have put something in
        for name, value in _own_definitions(vars(cls)):
            yield name.encode()
            yield _Part(value)


def _is_plain(function):
    """Tell whether a function is its code and its name, without defaults, cells and attributes."""
    given = function.__defaults__, function.__kwdefaults__, function.__closure__
    return given == (None, None, None) and not function.__dict__


def _of_function(function):
    yield function.__qualname__.encode()
    yield from map(
        _Part,
        (function.__code__, function.__defaults__, function.__kwdefaults__, function.__dict__),
    )
    for cell in function.__closure__ or ():
        try:
            yield _Part(cell.cell_contents)
        except ValueError:
            yield b"empty"


def _of_object(value, walk):
    """Yield what an array, a container or any other object is made of."""
    known = False
    if isinstance(value, (np.ndarray, np.generic)):
        known = True
        yield f"{value.dtype.str} {value.shape}".encode()
        if value.dtype.hasobject:
            yield _Part(value.tolist())
        else:
            yield value.tobytes()
        if isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray):
            yield _Part(value.base)  # a view keeps what it is a view of
    elif isinstance(value, dict):
        known = True
        for key, item in value.items():
            yield from map(_Part, (key, item))
    elif isinstance(value, (list, tuple)):
        known = True
        yield from map(_Part, tuple(value))
    elif isinstance(value, (set, frozenset)):
        known = True
        yield from sorted(walk.of(item) for item in value)
    elif isinstance(value, (bytearray, memoryview)):
        known = True
        yield bytes(value)
    attributes = state(value)
    for name, item in attributes.items():
        yield name.encode()
        yield _Part(item)
    if not known and not attributes and not isinstance(value, BaseEstimator):
        yield from _of_reduced(value)


def _of_reduced(value):
    """Yield what a pickle would hold of an object of compiled code, if it can be pickled."""
    try:
        reduced = value.__reduce_ex__(4)
    except Exception:
        return
    if isinstance(reduced, str):
        yield reduced.encode()
        return
    for part in reduced[1:3]:
        yield _Part(part)
    for items in reduced[3:5]:
        yield _Part(None if items is None else list(items))
