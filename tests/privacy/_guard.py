"""Rules that the source has to keep, each a function from a syntax tree to findings."""

import ast
import builtins
import io
import tokenize
from functools import lru_cache
from pathlib import Path

from tests.privacy._house import (
    ANNEXES,
    BOOKKEEPING,
    BOOKS,
    CLOCKS,
    CURATORS,
    DRAWS,
    ENGINE_FILES,
    HOOKS,
    IMPORTS,
    LOGS,
    MESSAGES,
    MODULE_LINES,
    PRIVATE,
    PUBLIC,
    RANDOMNESS,
    SCHEMA,
    SETATTR,
    SKLEARN,
    STDOUT,
    STORES,
    WITHOUT_SKLEARN,
)

ROOT = Path(__file__).parents[2] / "skdp"


def room(path):
    """Return the room of a file: its package, one within it that has rules, or its own name."""
    parts = path.split("/")
    inner = "/".join(parts[:2])
    if path in ENGINE_FILES or inner in IMPORTS:
        return ENGINE_FILES.get(path, inner)
    return parts[0].removesuffix(".py")


def allowed(path, places):
    return any(path == p or (p.endswith("/") and path.startswith(p)) for p in places)


def modules(root=ROOT):
    """Yield (path relative to the package, source) of every module."""
    for file in sorted(root.rglob("*.py")):
        yield file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")


def findings(path, source):
    """Return what the rules have against one module: (rule, line, what) each."""
    tree = ast.parse(source)
    found = [
        (rule.__name__, getattr(node, "lineno", 0), what)
        for rule in RULES
        for node, what in rule(path, tree)
    ]
    if len(source.splitlines()) > MODULE_LINES:
        found.append(("length", MODULE_LINES, f"more than {MODULE_LINES} lines"))
    return found


@lru_cache(maxsize=1)  # rules look at the same tree one after the other
def _nodes(tree):
    return list(ast.walk(tree))


@lru_cache(maxsize=1)
def _names(tree):
    """Return (node, dotted name) of every import, name and attribute."""
    found = []
    for node in _nodes(tree):
        if isinstance(node, ast.Import):
            found += [(node, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node, f"{node.module}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Name | ast.Attribute):
            found.append((node, ast.unparse(node)))
    return found


def _calls(tree):
    """Yield (call, last part of the name of what is called)."""
    for node in _nodes(tree):
        if isinstance(node, ast.Call):
            yield node, _last(node.func)


def _last(node):
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def randomness(path, tree):
    """Random draws and hashes outside the mechanisms."""
    if allowed(path, RANDOMNESS):
        return
    heads = ("random", "secrets", "uuid", "hashlib", "scipy.stats", "numpy.random", "np.random")
    tails = {"urandom", "getrandom", "check_random_state", "rvs", "default_rng", "RandomState"}
    for node, name in _names(tree):
        imported = isinstance(node, ast.Import | ast.ImportFrom) and name in heads
        below = name == "np.random" or name.startswith(tuple(f"{head}." for head in heads))
        if imported or below or name.split(".")[-1] in tails:
            yield node, name


def clocks(path, tree):
    """Clocks outside the ledger's file."""
    if allowed(path, CLOCKS):
        return
    for node, name in _names(tree):
        imported = isinstance(node, ast.Import | ast.ImportFrom)
        module = name.split(".")[0] in ("time", "datetime", "timeit")
        if (imported and module) or name.startswith(("time.", "os.times")):
            yield node, name


def output(path, tree):
    """Prints and logs anywhere, standard output outside show_versions."""
    for node, name in _names(tree):
        head = name.split(".")[0]
        log = head == "logging" and not allowed(path, LOGS)
        stream = name in ("sys.stdout", "sys.stderr", "os.write") and not allowed(path, STDOUT)
        if head in ("print", "pprint") or log or stream:
            yield node, name


def annexes(path, tree):
    """Rows and Curators taken out of a Table, but by the annexes."""
    if allowed(path, ANNEXES):
        return
    for node, name in _names(tree):
        imported = isinstance(node, ast.Import | ast.ImportFrom | ast.Attribute)
        if imported and name.split(".")[-1] == "annex":
            yield node, name


DRAWN = (
    "rounded_gaussian",
    "rounded_laplace",
    "exponential_choice",
    "noisy_factor",
    "fine_gaussian",
)


def books(path, tree):
    """Charges, reports, releases, draws and Curators outside the rooms that own them."""
    owners = {
        **dict.fromkeys(("Charge", "PrivacyReport", "Release"), BOOKS),
        **dict.fromkeys(DRAWN, DRAWS),
        "Curator": CURATORS,
    }
    for node, name in _calls(tree):
        if name in owners and not allowed(path, owners[name]):
            yield node, f"{name}(...)"
    hidden = {"_entropy", "_plan", "_lines", "_used", "_steps", "_events"}
    hidden |= {"_pay", "_book", "_record", "_write", "_bill", "_draw", "_seed"}
    for node in _nodes(tree):
        if not isinstance(node, ast.Attribute):
            continue
        if node.attr in ("_noisy", "_choose", "_perturb") and not allowed(path, HOOKS):
            yield node, node.attr
        private = node.attr in hidden and "curator" in ast.unparse(node.value).lower()
        if private and not allowed(path, BOOKKEEPING):
            yield node, ast.unparse(node)


def messages(path, tree):
    """Anything but public facts in an exception or a warning."""
    if allowed(path, MESSAGES):
        return
    public = PUBLIC.get(path, {})
    for node in _nodes(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            parts = node.exc.args
        elif isinstance(node, ast.Call) and (
            _last(node.func) in ("warn", "warn_explicit", "add_note")
            or _last(node.func).endswith(("Error", "Warning", "Exceeded", "Exception"))
        ):
            parts = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "message")]
            parts = parts if _last(node.func).startswith(("warn", "add_")) else node.args
        else:
            continue
        for part in parts:
            yield from ((node, name) for name in _private_parts(part, public))


def _private_parts(node, public):
    """Return the names in an expression that are not known to be public."""
    if isinstance(node, ast.Constant):
        return []
    if isinstance(node, ast.Attribute):
        if node.attr in SCHEMA:
            return []
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            hidden = node.attr.startswith("_") or node.attr.rstrip("_") in PRIVATE
            return [ast.unparse(node)] if hidden else []
    if isinstance(node, ast.Name):
        known = node.id in public or node.id == "np" or hasattr(builtins, node.id)
        known = known or (node.id.strip("_").isupper() and len(node.id) > 1)
        return [] if known and node.id not in PRIVATE else [node.id]
    children = ast.iter_child_nodes(node)
    return [name for child in children for name in _private_parts(child, public)]


def imports(path, tree):
    """Imports against the arrows, scikit-learn in engines, private engines from outside."""
    here = room(path)
    if here not in IMPORTS:
        yield tree, f"room {here!r} has no entry in the graph of imports"
        return
    for node in _nodes(tree):
        if isinstance(node, ast.ImportFrom):
            names = [node.module]
            if node.module == "skdp":
                names = [f"skdp.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "skdp":
                file = "/".join(name.split(".")[1:])
                there = ENGINE_FILES.get(f"{file}.py") or room(file or "__init__")
                if there not in IMPORTS[here] and there != here:
                    yield node, f"{here} imports {name}"
            elif name.split(".")[0] != "sklearn" or here not in WITHOUT_SKLEARN:
                continue
            elif not allowed(path, SKLEARN) or "base" in name:
                yield node, f"{here} imports {name}"


def attributes(path, tree):
    """Fitted attributes that did not come through the dict of ``_release``."""
    if allowed(path, STORES):
        return
    for node in _nodes(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            fitted = node.attr.endswith("_") and not node.attr.endswith("__")
            report = path == "estimator/_estimator.py" and node.attr == "privacy_report_"
            if fitted and not report:
                yield node, ast.unparse(node)
        elif isinstance(node, ast.Call) and _last(node.func) in ("setattr", "__setattr__"):
            if not allowed(path, SETATTR):
                yield node, ast.unparse(node)
        elif isinstance(node, ast.ClassDef) and _is_estimator(node):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                    yield from _stores_on_self(path, method)


def _is_estimator(node):
    return any(_last(base).endswith(("Estimator", "Mixin")) for base in node.bases)


def _stores_on_self(path, method):
    for node in ast.walk(method):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if _last(node.value) == "self" and (path, node.attr) != (
                "estimator/_estimator.py",
                "privacy_report_",
            ):
                yield node, ast.unparse(node)
        elif isinstance(node, ast.Attribute) and node.attr == "__dict__":
            yield node, ast.unparse(node)


def asserts(path, tree):
    """Assertions: they vanish under ``python -O``. And global variables: they outlive a fit."""
    for node in _nodes(tree):
        if isinstance(node, ast.Assert | ast.Global):
            yield node, type(node).__name__.lower()


SCOPES = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def hidden(path, tree):
    """Definitions that a later one of the same name in the same scope hides."""
    for scope in _nodes(tree):
        seen = set()
        for node in scope.body if isinstance(scope, SCOPES) else ():
            if isinstance(node, SCOPES):
                parts = (_last(getattr(d, "func", d)) for d in node.decorator_list)
                harmless = {"overload", "setter", "deleter", "register"} & {*parts}
                if node.name in seen and not harmless:
                    yield node, node.name
                seen.add(node.name)


RULES = (randomness, clocks, output, annexes, books, messages, imports, attributes, asserts, hidden)


def code_lines(source):
    """Count the lines that hold code: no docstrings, comments or blank lines."""
    doc = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                doc |= set(range(first.lineno, first.end_lineno + 1))
    skip = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENCODING,
        tokenize.ENDMARKER,
    }
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skip:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - doc)
