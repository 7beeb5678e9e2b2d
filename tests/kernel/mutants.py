"""Mechanical mutants of the kernel: does a test of the kernel notice each of them?

``python tests/kernel/mutants.py [--jobs N] [--every K --first I] [FILE ...]`` changes one thing at
a time in a copy of the source: comparisons, numbers, signs, bounds, clips, checks that are left
out. For each it runs tests of ``tests/kernel`` in a process of its own, those that call the
changed function, and lists mutants that survive. Those in ``equivalent_mutants.txt`` change
nothing that can be observed, for the reason given.
"""

import argparse
import ast
import copy
import gc
import os
import pickle
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "skdp" / "kernel"
SECONDS, WAITED = 240, 3600  # of the processor, and of the clock: a mutant that hangs is noticed
# The page of the kernel is not copied, and says nothing of a mutant.
TESTS = ["tests/kernel", "--ignore=tests/kernel/test_reading.py"]
ELSEWHERE = "test_elsewhere"  # runs lines of the kernel in another process, which nobody traces
WIRE = {"_totals.py", "_table.py", "_parts.py", "_log.py"}  # what crosses to it

COMPARED = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMED = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "floor": "ceil"}
NAMED |= {"ceil": "floor", "any": "all", "all": "any", "sqrt_up": "sqrt_down"}
LEFT_OUT = {
    "refuse",
    "tame",
    "check",
    "_check_columns",
    "afford",
    "afford_all",
}  # calls that refuse
KEPT_WHOLE = {"certified": 0, "clip": 0, "own": 0, "tuple": 0, "copy": None}  # a call: an argument

EQUIVALENT = Path(__file__).parent / "equivalent_mutants.txt"


def explained():
    """Return {(file, text of the line, change): why nothing can be observed}."""
    found = {}
    for line in EQUIVALENT.read_text().splitlines():
        if line and not line.startswith("#"):
            name, text, change, reason = line.split("\t")
            found[name, text, change] = reason
    return found


def places(tree):
    """Yield (node, field, index, what to put there) of every change."""
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            for i, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(child, ast.AST):
                    for other in changes(child):
                        yield node, field, i, other


def changes(node):
    """Return what to put in the place of a node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return [_with(node, ops=[op()]) for op in COMPARED.get(type(node.ops[0]), ())]
    if isinstance(node, ast.Compare):
        first = [_with(node, ops=[op(), *node.ops[1:]]) for op in COMPARED[type(node.ops[0])][:1]]
        last = [_with(node, ops=[*node.ops[:-1], op()]) for op in COMPARED[type(node.ops[-1])][:1]]
        return first + last
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATED and not _is_text(node):
        return [_with(node, op=OPERATED[type(node.op)]())]
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return [_with(node, op=other)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        return [node.operand]
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return [ast.Constant(node.value + 1)]
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        return [ast.Constant(not node.value)]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return [ast.Pass()] if _name(node.value.func) in LEFT_OUT else []
    if isinstance(node, ast.With) and "_lock" in ast.unparse(node.items[0]):
        return []  # what two threads do at once
    if isinstance(node, ast.Call):
        return _calls(node)
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return []


def _calls(node):
    name, found = _name(node.func), []
    if name in NAMED:
        func = copy.deepcopy(node.func)
        if isinstance(func, ast.Attribute):
            func.attr = NAMED[name]
        else:
            func.id = NAMED[name]
        found.append(_with(node, func=func))
    if name in KEPT_WHOLE:
        at = KEPT_WHOLE[name]
        if at is None and isinstance(node.func, ast.Attribute):
            found.append(node.func.value)
        elif at is not None and len(node.args) > at:
            found.append(node.args[at])
    return found


def _name(func):
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")


def _is_text(node):
    return any(isinstance(n, ast.JoinedStr) or _is_str(n) for n in ast.walk(node))


def _is_str(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _with(node, **fields):
    node = copy.copy(node)
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def mutants(source):
    """Yield (line, before, after, source) of every mutant of a module, each a single change."""
    tree = ast.parse(source)
    hinted = _not_run(tree)
    for node, field, i, other in list(places(tree)):
        before = getattr(node, field) if i is None else getattr(node, field)[i]
        if id(before) in hinted:
            continue
        _put(node, field, i, other)
        text = ast.unparse(ast.fix_missing_locations(tree))
        _put(node, field, i, before)
        line = getattr(before, "lineno", getattr(node, "lineno", 0))
        yield line, ast.unparse(before), ast.unparse(other), text


def _not_run(tree):
    """Return the nodes of annotations, which nobody runs, and of texts."""
    found = set()
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            hint = getattr(node, field, None)
            if isinstance(hint, ast.AST):
                found |= {id(n) for n in ast.walk(hint)}
    return found


def _put(node, field, i, value):
    if i is None:
        setattr(node, field, value)
    else:
        getattr(node, field)[i] = value


def copied(folder):
    """Copy what the tests of the kernel need; return the folder."""
    for name in ("skdp", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


class Loop:
    """A plugin of pytest: instead of its tests once, those that matter for every mutant, in forks.

    Functions of the kernel get the code of a mutant in the fork. What runs only once, when modules
    are imported, is left: the tests of these mutants run in a process that imports a copy.
    """

    def __init__(self, wanted, options):
        self.wanted, self.options = wanted, options
        self.told, self.left, self.known, self._forked = {}, [], None, False
        self._now, self._start, self._loud = set(), time.monotonic(), os.dup(2)

    def pytest_runtestloop(self, session):
        """Run the tests for every mutant."""
        self._items, running = {item.nodeid: item for item in session.items}, {}
        with tempfile.TemporaryDirectory() as work:
            kept = self.options.traced or Path(work) / "traced"
            if not kept.exists() and os.waitpid(self._fork(self._trace, kept), 0)[1]:
                raise pytest.UsageError("the tests fail without a mutant")
            self.known = pickle.loads(kept.read_bytes())
        live = functions()
        for k, (name, line, before, after, text) in enumerate(self.wanted):
            if self.late():
                break
            source = (KERNEL / name).read_text()
            tests = (
                list(self._items) if self.options.all else chosen(self.known, name, source, line)
            )
            try:
                patches = patches_of(live, name, source, text, line)
            except SyntaxError:  # a change that is no Python
                continue
            if not patches or not tests:
                self.left.append((k, tests))
                continue
            if len(running) == self.options.jobs:
                self.ended(running)
            process = self._fork(self._mutate, patches, tests)
            running[process] = k, key_of(name, line, before, after)
        while running:
            self.ended(running)
        return True

    def late(self):
        """Return whether no mutant is started any more."""
        return self.options.seconds and time.monotonic() - self._start > self.options.seconds

    def ended(self, running):
        """Wait for a process; keep whether a test has failed, or hangs."""
        process, status = os.wait()
        k, said = running.pop(process)
        self.told[k] = status != 0
        print("killed" if status else "SURVIVED", "\t".join(said), file=sys.stderr, flush=True)
        return k

    def _fork(self, run, *given):
        process = os.fork()
        if process:
            return process
        told, self._forked = 1, True
        try:
            limited()
            run(*given)
            told = 0
        finally:
            os._exit(told)

    def _run(self, tests):
        for test, then in zip(tests, [*tests[1:], None], strict=True):
            item = self._items[test]
            then = self._items.get(then)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=then)

    def _mutate(self, patches, tests):
        for function, code in patches:
            function.__code__ = code
        self._run(tests)

    def _trace(self, kept):
        threading.settrace(self._call)
        found, prefix = {}, str(KERNEL) + os.sep
        for test in self._items:
            start, self._now = time.process_time(), set()
            sys.settrace(self._call)  # an error of recursion, which some tests make, ends a trace
            self._run([test])
            sys.settrace(None)
            lines = {}
            for code in [one for one in self._now if one.co_filename.startswith(prefix)]:
                own = lines.setdefault(code.co_filename[len(prefix) :], set())
                own.add(code.co_firstlineno)
            found[test] = time.process_time() - start, lines
        kept.write_bytes(pickle.dumps(found))

    def _call(self, frame, event, arg):
        self._now.add(frame.f_code)

    def pytest_runtest_logreport(self, report):
        """End the process of a mutant that a test notices."""
        if self._forked and report.failed:
            if self.known is None:  # no mutant is there to be noticed
                os.write(self._loud, f"{report.nodeid}\n{report.longreprtext}\n".encode())
            os._exit(1)


def chosen(known, name, source, line):
    """Return the tests that call the function of a line, quick ones first."""
    node = _functions(ast.parse(source), line)
    first = last = None
    if node:
        first = last = min([node[-1].lineno, *(one.lineno for one in node[-1].decorator_list)])
    found = []
    for test, (seconds, lines) in known.items():
        wanted = lines.get(name, ())
        if (first in wanted if last else wanted) or (ELSEWHERE in test and name in WIRE):
            found.append((seconds, test))
    return [test for _, test in sorted(found)]


def _functions(tree, line):
    """Return the functions whose bodies hold a line, and classes around them, from outside in."""
    found, kinds = [], (ast.FunctionDef, ast.ClassDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and node.body[0].lineno <= line <= node.end_lineno:
            found.append(node)
    return found if found and isinstance(found[-1], ast.FunctionDef) else []


def functions():
    """Return all functions there are, by file and name."""
    gc.unfreeze()  # pytest hides them
    found = {}
    for one in gc.get_objects():
        if isinstance(one, types.FunctionType):
            code = one.__code__
            found.setdefault((code.co_filename, code.co_qualname), []).append(one)
    return found


def patches_of(live, name, source, text, line):
    """Return (function, code of the mutant) of what holds a line; none for what is run once."""
    path = _functions(ast.parse(source), line)
    if not path:
        return []
    outer = next(i for i, node in enumerate(path) if isinstance(node, ast.FunctionDef))
    called = ".".join(node.name for node in path[: outer + 1])
    new = _codes(compile(text, str(KERNEL / name), "exec"))[called]
    found = live.get((str(KERNEL / name), called), [])
    return [(one, new) for one in found if one.__code__.co_freevars == new.co_freevars]


def _codes(code):
    found = {}
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            found |= {one.co_qualname: one} | _codes(one)
    return found


def limited():
    """Let this process have so much time, and say nothing."""
    signal.alarm(WAITED)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


def started(folder, tests):
    """Start tests of a copy in a process of its own; return its number."""
    process = os.fork()
    if process:
        return process
    told = 1
    try:
        os.setsid()
        limited()
        os.chdir(folder)
        path = f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        os.environ |= {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "SKDP_COMPILED": "0"}
        how = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        os.execv(sys.executable, how)
    finally:
        os._exit(told)


def main(arguments=None):
    """Run the mutants of some files; return the number of survivors that nobody explains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="of skdp/kernel; all by default")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="only every K-th mutant")
    parser.add_argument("--first", type=int, default=0, help="the I-th of K such parts")
    parser.add_argument("--lines", type=int, nargs=2, help="only of these lines")
    parser.add_argument("--seconds", type=float, default=None, help="start no mutant after so long")
    parser.add_argument("--all", action="store_true", help="tests that do not execute it, too")
    parser.add_argument("--traced", type=Path, help="where to keep who calls what, for other parts")
    parser.add_argument("--tests", nargs="*", default=TESTS)
    options = parser.parse_args(arguments)
    names = options.files or sorted(p.relative_to(KERNEL).as_posix() for p in KERNEL.rglob("*.py"))
    low, high = options.lines or (0, 10**6)
    wanted = []
    for name in names:
        made = [one for one in mutants((KERNEL / name).read_text()) if low <= one[0] <= high]
        wanted += [(name, *one) for one in made]
    wanted = wanted[options.first :: options.every]
    os.chdir(ROOT)
    loop = Loop(wanted, options)
    pytest.main(["-q", "-p", "no:cacheprovider", *options.tests], plugins=[loop])
    if loop.known is None:
        parser.error("the tests fail without a mutant")
    with tempfile.TemporaryDirectory() as work:
        for k, tests in loop.left:
            name, line, before, after, text = wanted[k]
            if loop.late():
                break
            folder = copied(Path(work) / str(k))
            (folder / "skdp" / "kernel" / name).write_text(text)
            process = started(folder, options.tests if options.all else tests or options.tests)
            loop.ended({process: (k, key_of(name, line, before, after))})
            shutil.rmtree(folder)
    counts = {name: [0, 0, 0, 0] for name in names}
    survivors, known = [], explained()
    for k, (name, line, before, after, _) in enumerate(wanted):
        reason = known.get(key_of(name, line, before, after))
        kind = 3 if k not in loop.told else 0 if loop.told[k] else 2 if reason else 1
        counts[name][kind] += 1
        if kind == 1:
            survivors.append(f"{name}:{line}: {before}  ->  {after}")
    for name, (killed, survived, equivalent, skipped) in counts.items():
        print(f"{name}: {killed} killed, {survived} survived, ", end="")
        print(f"{equivalent} equivalent, {skipped} not run")
    print(*survivors, sep="\n")
    return len(survivors)


def key_of(name, line, before, after):
    """Return how a mutant is named in the list of equivalent ones."""
    text = (KERNEL / name).read_text().splitlines()[line - 1].strip()
    return name, text, f"{before} -> {after}"


if __name__ == "__main__":
    sys.exit(bool(main()))
