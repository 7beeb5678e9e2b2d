"""What a fit does to the threads of its process, and takes back: warnings, BLAS, OpenMP."""

import sys
import threading
import warnings
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache

_silent = ContextVar("skdp_silent", default=False)
_at_rows = ContextVar("skdp_at_rows", default=False)


class _Here:
    """Stands in a filter of warnings in the place of a compiled pattern."""

    # Parallel of scikit-learn compiles the filters anew for its workers: there it matches all.
    pattern = "(a private part of skdp)?"

    def match(self, text):
        """Return whether this thread, or task, is in a private part."""
        return _silent.get()


_FILTER = ("ignore", _Here(), Warning, None, 0)


class _Shared:
    """Something of the process that is changed while anybody needs it."""

    def __init__(self, change):
        self._change, self._lock = change, threading.Lock()
        self._users, self._undo = 0, None

    def __enter__(self):
        with self._lock:
            self._undo = self._change(self._undo)
            self._users += 1

    def __exit__(self, *exception):
        with self._lock:
            self._users -= 1
            if not self._users:
                undo, self._undo = self._undo, None
                undo()


class _Filtered:
    """Takes the filter away, from every list of filters that it was seen in."""

    def __init__(self):
        self._lists = {}

    def put(self, filters):
        """Put the filter in front of a list, unless it is in it."""
        self._lists[id(filters)] = filters
        if not any(map(_is_ours, filters)):
            filters.insert(0, _FILTER)  # as "ignore" leaves no traces, no registry need be told

    def __call__(self):
        for changed in (*self._lists.values(), warnings.filters):
            for entry in filter(_is_ours, list(changed)):
                with suppress(ValueError):
                    changed.remove(entry)


def _filtered(undo):
    """Put the filter in front; return what takes it away, wherever it was put."""
    undo = undo or _Filtered()
    undo.put(warnings.filters)
    return undo


def _silence_warnings(undo):
    """Show no warnings of private parts; return what shows all again.

    The filter goes for a while if another thread leaves ``catch_warnings`` meanwhile, which knows
    nothing of this.
    """
    show = getattr(warnings, "_showwarnmsg", None)
    if undo is not None or show is None:
        return undo or (lambda: None)

    def heard(message):
        if not _silent.get():
            show(message)

    def show_again():
        if warnings._showwarnmsg is heard:
            warnings._showwarnmsg = show

    warnings._showwarnmsg = heard
    return show_again


def _is_ours(entry):
    return entry is _FILTER or getattr(entry[1], "pattern", None) == _Here.pattern


def _limited(undo):
    """Let BLAS run on one thread; return what gives the others back."""
    if undo is not None:
        return undo
    return _on_one_thread(lib for lib in _libraries(len(sys.modules)) if not _counts_by_thread(lib))


def _on_one_thread(libraries):
    """Set libraries to one thread; return what sets them back."""
    # threadpoolctl >= 3.7 lets one thread alone set what the process shares: here a lock does that
    pairs = [
        (getattr(lib, "_real_set_num_threads", lib.set_num_threads), lib.get_num_threads())
        for lib in libraries
    ]
    for set_number, _ in pairs:
        set_number(1)

    def restore():
        for set_number, number in pairs:
            set_number(number)

    return restore


def _counts_by_thread(library):
    return "openmp" in (library.user_api, getattr(library, "threading_layer", ""))


@lru_cache(maxsize=1)
def _libraries(n_modules):
    """Return the libraries with threads that are loaded; they change with the modules of Python."""
    from threadpoolctl import ThreadpoolController

    return tuple(ThreadpoolController().lib_controllers)


_filters, _shown = _Shared(_filtered), _Shared(_silence_warnings)
one_blas_thread = _Shared(_limited)  # for what limits BLAS by itself, and races to restore it


def is_quiet():
    """Return whether this thread is in a private part, whose warnings are dropped."""
    return _silent.get()


@contextmanager
def quiet():
    """Drop the warnings of this thread, whatever the filters say; those of others pass.

    Notes
    -----
    ``warnings.catch_warnings`` changes the filters of all threads, and threads that leave it in
    another order than they entered make the change last. Here one filter is put in front, whose
    pattern matches in a private part only, and is taken away when the last of them ends. Where
    Python keeps filters by context (``sys.flags.context_aware_warnings``, Python 3.14),
    ``catch_warnings`` does what is wanted.

    A thread that is started in a private part is one of the others until it calls this itself.
    """
    token = _silent.set(True)
    try:
        if getattr(sys.flags, "context_aware_warnings", False):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        else:
            with _filters, _shown:
                yield
    finally:
        _silent.reset(token)


@contextmanager
def at_rows():
    """Mark that a statistic is computed: what runs here may run elsewhere, or twice."""
    token = _at_rows.set(True)
    try:
        yield
    finally:
        _at_rows.reset(token)


def is_at_rows():
    """Return whether a statistic is computed here, which has no random words."""
    return _at_rows.get()


def one_openmp_thread():
    """Let OpenMP run on one thread for this thread of Python, a new one; return the undoing."""
    return _on_one_thread(lib for lib in _libraries(len(sys.modules)) if _counts_by_thread(lib))


@contextmanager
def one_thread():
    """Compute on one thread, so that the bits of a result do not depend on their number.

    Notes
    -----
    OpenMP counts threads for every thread that asks, so each worker must call this itself. BLAS has
    one number for the process: it is set when the first comes and restored when the last has gone.
    """
    with one_blas_thread:
        restore = one_openmp_thread()
        try:
            yield
        finally:
            restore()
