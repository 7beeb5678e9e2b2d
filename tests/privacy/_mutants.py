"""Planted faults: edits of the source, each with the layer of evidence that has to catch it.

They are kept as diffs in ``planted_faults.diff``: ``@ fault | layer | file``, then the lines.
"""

import importlib
import inspect
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from skdp import (
    FriendlyCoreKMeans,
    MarginalReleaser,
    PrivateCovariance,
    PrivateGMM,
    PrivateMean,
    PrivateStandardScaler,
    PrivateVariance,
    make_private_pipeline,
)
from skdp.mechanisms import _compiled
from tests.privacy._ball_mean import BallMean

__all__ = ["CLEAN", "MUTANTS", "Mutant"]

HOME = Path(__file__).parents[2]
DIFFS = Path(__file__).with_name("planted_faults.diff")
CACHE = type(lru_cache(int))
DEEP = {"epsilon": 20.0, "delta": 1e-6}  # some hundred rows reach every part of the algorithm
CLEAR = {"epsilon": 4.377, "delta": 1e-5}  # mu = 1, where an audit sees most
OTHERS = {  # who runs through a file, PrivateMean through all others
    "tests/privacy/_ball_mean": lambda: BallMean(**DEEP),
    "skdp/friendly/_filters": lambda: PrivateMean(method="friendly", **DEEP),
    "skdp/friendly/_average": lambda: PrivateMean(method="friendly", **DEEP),
    "skdp/friendly/_core.py": lambda: PrivateMean(method="friendly", **DEEP),
    "skdp/kernel/_cluster_sums": lambda: FriendlyCoreKMeans(3, n_init=1, **DEEP),
    "skdp/cluster/": lambda: FriendlyCoreKMeans(3, n_init=1, **DEEP),
    "skdp/kernel/_mixture": lambda: PrivateGMM(2, n_init=1, max_iter=2, **DEEP),
    "skdp/mixture/": lambda: PrivateGMM(2, n_init=1, max_iter=2, **DEEP),
    "skdp/covariance/": lambda: PrivateCovariance(**DEEP),
    "skdp/kernel/_labels": lambda: MarginalReleaser(1, domain="auto", **DEEP),
    "skdp/marginals/_auto": lambda: MarginalReleaser(1, domain="auto", **DEEP),
    "skdp/marginals/": lambda: MarginalReleaser(**DEEP),
    "skdp/kernel/_bounded": lambda: PrivateVariance(**DEEP),
    "skdp/kernel/_residuals": lambda: MarginalReleaser(**DEEP),
    "skdp/_unread": lambda: make_private_pipeline(PrivateStandardScaler(), PrivateMean(), **DEEP),
    "skdp/pipeline/": lambda: make_private_pipeline(PrivateStandardScaler(), PrivateMean(), **DEEP),
}


@dataclass(frozen=True)
class Mutant:
    """One edit of a file, and the name of the layer that catches it."""

    name: str
    layer: str
    file: str
    old: str
    new: str

    @property
    def estimator(self):
        """The estimator that the layers examine."""
        folder = next((start for start in OTHERS if self.file.startswith(start)), None)
        return OTHERS[folder]() if folder else PrivateMean(**DEEP)

    @property
    def small(self):
        """An estimator for one column of rows in [0, 1], for an audit."""
        if "ball_mean" in self.file:
            return BallMean(**CLEAR)
        return PrivateMean(center=0.0, radius=1.0, **CLEAR)

    @property
    def path(self):
        """Path for the guard; an estimator of the tests stands where one of skdp would."""
        inside = self.file.startswith("skdp/")
        return self.file.removeprefix("skdp/") if inside else "location/_private_mean.py"

    @cached_property
    def source(self):
        """The edited text of the file."""
        source = "\n" + (HOME / self.file).read_text(encoding="utf-8")
        assert source.count(f"\n{self.old}\n") == 1, f"{self.name}: the lines have changed"
        return source.replace(f"\n{self.old}\n", f"\n{self.new}\n")[1:]

    @contextmanager
    def planted(self):
        """Let functions of the module run the code of the edited text, and none compiled loops."""
        module = importlib.import_module(self.file.removesuffix(".py").replace("/", "."))
        edited = dict(_codes(compile(self.source, module.__file__, "exec")))
        clean = {f: f.__code__ for f in _functions(module)}
        changed = [f for f, code in clean.items() if edited[f.__qualname__] != code]
        assert changed or self.old == self.new, f"{self.name}: the edit is in no function"
        compiled, _compiled.loops = _compiled.loops, None
        try:
            for f in changed:
                f.__code__ = edited[f.__qualname__]
            _forget()
            yield
        finally:
            _compiled.loops = compiled
            for f in changed:
                f.__code__ = clean[f]
            _forget()


def _forget():
    """Clear the caches of skdp, which know what functions returned before an edit."""
    modules = [module for name, module in sys.modules.items() if name.startswith("skdp.")]
    for value in [value for module in modules for value in vars(module).values()]:
        if isinstance(value, CACHE):
            value.cache_clear()


def _codes(code):
    """Yield (qualified name, code) of everything that is defined in ``code``."""
    for part in code.co_consts:
        if inspect.iscode(part):
            yield part.co_qualname, part
            yield from _codes(part)


def _functions(module):
    """Yield the functions and methods that a module defines, without their decorators."""
    classes = [c for c in vars(module).values() if inspect.isclass(c)]
    own = [c for c in classes if c.__module__ == module.__name__]
    for value in [v for space in (module, *own) for v in vars(space).values()]:
        inner = (getattr(value, name, None) for name in ("__func__", "fget", "func"))
        value = next(filter(None, inner), value)
        value = inspect.unwrap(value) if callable(value) else value
        named = inspect.isfunction(value) and value.__name__ != "<lambda>"
        if named and value.__code__.co_filename == module.__file__:
            yield value


def _parsed(text):
    """Yield the mutants of a file of diffs."""
    for part in text.removeprefix("@ ").rstrip("\n").split("\n@ "):
        head, *lines = part.split("\n")
        old, new = (
            "\n".join(line[1:] for line in lines if line[0] in signs) for signs in (" -", " +")
        )
        yield Mutant(*head.split(" | "), old, new)


MUTANTS = tuple(_parsed(DIFFS.read_text(encoding="utf-8")))
CLEAN = tuple(
    Mutant(name, "", file, line, line)
    for name, file, line in (
        ("PrivateMean", "skdp/location/_private_mean.py", "    def plan(self):"),
        (
            "friendly PrivateMean",
            "skdp/friendly/_core.py",
            "    rows, level, most = _rows(X), exact(level), whole(most)",
        ),
        ("BallMean", "tests/privacy/_ball_mean.py", "    def plan(self):"),
    )
)
