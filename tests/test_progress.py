import io
import pickle
import re
import threading
from contextlib import redirect_stderr
from contextvars import copy_context
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import skdp
from skdp import (
    FriendlyCoreKMeans,
    LloydKMeans,
    PrivateGMM,
    PrivateHistogram,
    PrivateMean,
    PrivatePipeline,
    PrivateSearchCV,
    PrivateStandardScaler,
    make_private_pipeline,
)
from skdp.accounting import Budget, Plan, Step
from skdp.audit import non_interference
from skdp.base import PrivateEstimator
from skdp.exceptions import ReleaseError
from skdp.gate._curator import replaced_curator
from skdp.readers import ArrayRows, map_merge
from skdp.utils._progress import counted, tell
from tests._curators import canned

X = np.random.default_rng(0).normal(size=(600, 2))
INNER = make_private_pipeline(PrivateStandardScaler(), PrivateMean(), random_state=0)
FITS = [
    PrivateMean(random_state=0),
    LloydKMeans(3, random_state=0),
    FriendlyCoreKMeans(2, method="friendly", n_parts=12, epsilon=40.0, n_init=1, random_state=0),
    PrivateGMM(2, max_iter=2, n_init=1, random_state=0),
    PrivateHistogram(bins=4, epsilon=2.0, random_state=0),
    PrivatePipeline([("first", PrivateStandardScaler()), ("then", INNER)], random_state=0),
    PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, epsilon=4.0, random_state=0),
]
RELEASE = re.compile(
    r"\[(\w+)\] release (\d+) \(step (\d+) of (\d+), (.*)\): (.*)% of the budget left, (.*) s"
)


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self):
        return True


def told(estimator, X, *, stream=None, progress=True):
    """Return what a fit writes to the standard error."""
    stream = io.StringIO() if stream is None else stream
    with skdp.config_context(progress=progress), redirect_stderr(stream):
        estimator.fit(X)
    return stream.getvalue()


@pytest.fixture
def ticking(monkeypatch):
    """Let a second pass between two looks at the clock."""
    seconds = iter(range(10**6))
    monkeypatch.setattr("skdp.utils._progress.monotonic", lambda: float(next(seconds)))


@pytest.fixture
def timeless(monkeypatch):
    monkeypatch.setattr("skdp.utils._progress.monotonic", lambda: 0.0)


@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
@pytest.mark.parametrize("estimator", FITS, ids=lambda estimator: type(estimator).__name__)
def test_the_lines_are_the_bill(estimator):
    fitted, name = clone(estimator), type(estimator).__name__
    first, *lines, last = told(fitted, X).splitlines()
    steps = [step.label for step in fitted.plan().steps if step.mechanism != "child"]
    assert first == f"[{name}] planned steps: {len(steps)}, 0.0 s"
    left, charges = 1, fitted.privacy_report_.charges
    assert len(lines) == len(charges) > 0
    for number, (line, charge) in enumerate(zip(lines, charges, strict=True), 1):
        left -= charge.share
        shown = RELEASE.fullmatch(line).groups()
        place = str(steps.index(charge.label) + 1)
        assert shown[:5] == (name, str(number), place, str(len(steps)), charge.label)
        assert shown[5] == f"{100 * float(left):.1f}" and 0 <= float(shown[6]) < 60
    assert last.startswith(f"[{name}] done: {float(left):.1%} of the budget not used, ")


@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
@pytest.mark.parametrize("estimator", FITS[:2], ids=lambda estimator: type(estimator).__name__)
def test_progress_changes_nothing(estimator):
    silent, loud = clone(estimator).fit(X), clone(estimator)
    assert told(loud, X) and "progress" not in loud.get_params()
    assert pickle.dumps(loud) == pickle.dumps(silent)


def test_nothing_is_told_unasked():
    assert told(PrivateMean(), X, progress=False) == ""
    assert not skdp.get_config()["progress"]


@pytest.mark.parametrize("estimator", [PrivateMean(), LloydKMeans(2), INNER])
def test_the_text_follows_from_the_answers(estimator, timeless):
    def say(X, seed):
        with replaced_curator(lambda plan, entropy: scripted(plan, seed)):
            return told(clone(estimator).set_params(random_state=None), X)

    def scripted(plan, seed):
        rng = np.random.default_rng(seed)
        curator = canned(transcript=lambda label, value, scale: answer(rng, value, scale))
        return type(curator)(plan, curator.transcript)

    def answer(rng, value, scale):
        return rng.normal(scale=100 * scale, size=np.shape(value)).astype(np.int64)

    assert say(X, 1) == say(1e3 * X[:7] + 5, 1)
    assert len({say(X, seed) for seed in range(3)}) > 1


@pytest.mark.slow
def test_audits_are_silent(timeless):
    with redirect_stderr(io.StringIO()) as stream, skdp.config_context(progress=True):
        assert non_interference(PrivateMean(), X, n_transcripts=1).ok
    assert stream.getvalue() == ""


def test_a_search_tells_nothing_of_its_runs():
    search = PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, epsilon=4.0)
    seen = {re.sub(r"\d+\.\d s", "", told(clone(search), X)) for _ in range(3)}
    assert len(seen) == 1 and seen.pop().count("\n") == 3


class Blocks(PrivateMean):
    """Reads the rows in blocks of a hundred."""

    def _read(self, X, y):
        super()._read(X, y)
        return ArrayRows(X, block_rows=100)


def test_blocks_are_counted_on_a_terminal_only(ticking):
    assert not re.search(r"[^\x20-\x7e\n]|block", told(Blocks(), X))
    text = told(Blocks(), X, stream=Screen())
    assert "\r[Blocks] 6 blocks read (local, not to be published)\r" in text
    shown = []  # what stays on the screen, line by line
    for line in text.split("\n"):
        row = ""
        for part in line.split("\r"):
            row = part + row[len(part) :]
        shown.append(row.rstrip())
    assert len(shown) > 3 and all(re.match(r"\[Blocks\].* s$|$", row) for row in shown)


class InThreads(PrivateMean):
    """Reads fifty blocks in each of four threads, in its context."""

    def _release(self, table):
        runs = [copy_context().run for _ in range(4)]
        threads = [threading.Thread(target=run, args=(list, counted(range(50)))) for run in runs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return super()._release(table)


def test_threads_count_blocks_together(ticking):
    assert "] 200 blocks read" in told(InThreads(), X, stream=Screen())


def test_map_merge_counts_every_block_once(monkeypatch):
    read = []
    monkeypatch.setattr(
        "skdp.utils._progress._reader", SimpleNamespace(get=lambda: lambda: read.append(1))
    )
    rows = ArrayRows(X, block_rows=250)
    assert map_merge(rows, lambda start, block: len(block), int.__add__) == 600 and len(read) == 3
    assert map_merge(ArrayRows(X[:0]), lambda start, block: len(block), int.__add__) == 0


class Broken(io.StringIO):
    def write(self, text):
        raise BrokenPipeError

    def isatty(self):
        raise ValueError("closed")


@pytest.mark.parametrize("stream", [Broken(), SimpleNamespace(), None])
def test_a_broken_stream_ends_no_fit(stream, monkeypatch):
    monkeypatch.setattr("sys.stderr", stream)
    with skdp.config_context(progress=True):
        assert np.isfinite(PrivateMean().fit(X).location_).all()


class Fails(PrivateEstimator):
    def __init__(self, *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        self.epsilon, self.delta = epsilon, delta
        self.random_state, self.ledger = random_state, ledger

    def plan(self):
        return Plan(self._budget(Budget.gaussian), (Step("first"), Step("second")))

    def _release(self, rows, curator):
        curator.gaussian(np.array(len(rows)), sensitivity=1, share=0.25, label="first")
        raise ValueError("789")


def test_a_fit_that_fails_is_not_done():
    stream = io.StringIO()
    with pytest.raises(ReleaseError):
        told(Fails(), X, stream=stream)
    lines = re.sub(r"\d+\.\d s", "-", stream.getvalue()).splitlines()
    assert lines == [
        "[Fails] planned steps: 2, -",
        "[Fails] release 1 (step 1 of 2, first): 75.0% of the budget left, -",
    ]


def test_everybody_who_listens_hears_the_same():
    curator, heard = canned("x"), ([], [])
    tell(curator, [None, *(lambda *said, to=to: to.append(said) for to in heard)])
    for share in (0.5, 0.25):
        curator.gaussian(np.array([1]), sensitivity=1, share=share, label="x")
    assert heard[0] == heard[1] == [("x", 0.5), ("x", 0.25)]


class Recorder:
    """A callback of scikit-learn."""

    max_propagation_depth = None

    def __init__(self):
        self.calls, self.names = [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if isinstance(estimator, PrivateEstimator):
            assert X is None and y is None and fitted_estimator is None
            assert {name for name in vars(estimator) if name.endswith("_")} <= {"n_features_in_"}
        self.calls.append("begin")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        assert X is None or not isinstance(estimator, PrivateEstimator)
        self.calls.append("end")
        self.names.append((context.estimator_name, context.task_name))


@pytest.fixture
def recorder():
    pytest.importorskip("sklearn.callback")
    return Recorder()


@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
def test_callbacks_see_the_budget_go(recorder):
    mean = PrivateMean(random_state=0).set_callbacks(recorder).fit(X)
    assert recorder.calls == ["setup", *["begin"], *["begin", "end"] * 100, "end", "teardown"]
    names, left = [], 1
    for charge in mean.privacy_report_.charges:
        left -= charge.share
        names += [("PrivateMean", charge.label)] * (int(100 * (1 - left)) - len(names))
    assert recorder.names == [*names, ("PrivateMean", "fit")]
    assert not [name for name in vars(mean) if "callback" in name and name != "_skl_callbacks"]


@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
def test_callbacks_reach_through_containers(recorder):
    make_pipeline(PrivateMean(bounds=(-9, 9), delta=0)).set_callbacks(recorder).fit(X)
    assert recorder.names[:101] == [("PrivateMean", label) for label in [*["moments"] * 100, "fit"]]
    recorder.names.clear()
    clone(INNER).set_callbacks(recorder).fit(X)
    assert len(recorder.names) == 101 and {name for name, _ in recorder.names} == {
        "PrivatePipeline"
    }


def test_callbacks_of_an_inner_step_are_silent(recorder):
    step = PrivateMean().set_callbacks(recorder)
    PrivateSearchCV(step, {"trim": [False, True]}, epsilon=4.0).fit(X)
    make_private_pipeline(PrivateStandardScaler(), step).fit(X)
    assert recorder.calls == []


def test_a_callback_that_fails_tells_nothing(recorder):
    def end(estimator, context):
        raise ValueError("of the callback")

    recorder.on_fit_task_end = end
    with pytest.raises(ReleaseError) as caught:
        PrivateMean().set_callbacks(recorder).fit(X)
    assert caught.value.__cause__ is None and "callback" not in str(caught.value)
    assert recorder.calls[-1] == "teardown"


@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
@pytest.mark.parametrize("hook", ["setup", "on_fit_task_begin"])
def test_a_callback_that_fails_to_begin_costs_nothing(recorder, hook):
    def fails(estimator, context):
        raise ValueError("of the callback")

    setattr(recorder, hook, fails)
    ledger = skdp.PrivacyLedger(epsilon=1, delta=1e-5)
    with pytest.raises(ValueError, match="of the callback"):
        PrivateMean(ledger=ledger, random_state=0).set_callbacks(recorder).fit(X)
    assert len(ledger.entries()) == 1 and recorder.calls[-1] == "teardown"  # it was opened


@pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
def test_what_is_released_is_kept_if_a_callback_fails_at_the_end(recorder):
    def end(estimator, context):
        if context.task_name == "fit":
            raise ValueError("of the callback")

    recorder.on_fit_task_end = end
    mean = PrivateMean(random_state=0).set_callbacks(recorder)
    with pytest.raises(ValueError, match="of the callback"):
        mean.fit(X)
    assert np.array_equal(mean.location_, PrivateMean(random_state=0).fit(X).location_)
    assert mean.privacy_report_.charges
