"""A Curator that writes down what it was asked and answers from a script."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp._curator import Curator
from skdp.audit._draw import Draw
from skdp.exceptions import AuditFailure
from skdp.mechanisms import RowKeys, make_entropy

__all__ = [
    "CannedCurator",
    "FixedKeys",
    "Record",
    "Script",
    "check_replay",
    "squared_distance",
]


@dataclass(frozen=True)
class Record:
    """One release: what went in, under which declared sensitivity, and what came out.

    ``scale`` is the declared scale of the noise; for a choice it is 1 / rate.
    """

    label: str
    law: str
    value: np.ndarray
    sensitivity: Fraction
    scale: float
    answer: object

    @property
    def request(self):
        """Everything about a release that may depend on earlier answers only."""
        return self.label, self.law, self.value.shape, self.sensitivity, self.scale


class Script:
    """Answers fixed in advance: the k-th depends on k, label, law, shape and scale alone.

    Parameters
    ----------
    recorded : sequence of Record, default=()
        A run to repeat, as long as it is asked the same questions. Other questions get noise.
    seed : int, default=0
    shift : float, default=0.0
        Noise scales by which the repeated answers are moved at random.
    stretch : float, default=1.0
        Largest factor on the noise that answers other questions.
    """

    def __init__(self, recorded=(), *, seed=0, shift=0.0, stretch=1.0):
        self.recorded, self.seed, self.shift, self.stretch = list(recorded), seed, shift, stretch

    def answer(self, k, label, law, shape, scale):
        """Return the k-th answer: int64 of that shape, or an index into it for a choice."""
        draw = Draw(self.seed, k, label, law, shape)
        old = self.recorded[k] if k < len(self.recorded) else None
        if old is not None and (old.label, old.law, old.value.shape) != (label, law, shape):
            old = None
        if law == "select":
            return draw.below(shape[0]) if old is None or self.shift else old.answer
        if old is None:
            return _integers(draw, shape, scale * self.stretch ** draw.uniform())
        return old.answer + _integers(draw, shape, scale * self.shift) if self.shift else old.answer


def _integers(draw, shape, scale):
    return np.clip(np.rint(draw.normal(shape) * scale), -(2.0**60), 2.0**60).astype(np.int64)


class CannedCurator(Curator):
    """A Curator with every check of the real one and without its noise.

    Parameters
    ----------
    plan : Plan
    transcript : "exact", "noise", Script, list or callable, default="exact"
        ``"exact"`` answers with the value itself, ``"noise"`` as a real Curator from ``seed``, a
        :class:`Script` without looking at the value. A list holds the answers one by one, for
        instance ``other.answers``: the replay of a run on one table for its neighbour. A callable
        maps ``(label, value, scale)`` to the answer.
    seed : int, default=0
    coins : object, default=None
        Source of the row keys; :class:`FixedKeys` keeps a key with its row.
    records : list, default=None
        Where the records go; several Curators of one fit may share a list.
    entropy : object, default=None
        Where ``"noise"`` comes from, instead of ``seed``.
    """

    def __init__(self, plan, transcript="exact", *, seed=0, coins=None, records=None, entropy=None):
        super().__init__(plan, entropy or make_entropy(seed))
        self.transcript = transcript
        self.records = [] if records is None else records
        if coins is not None:
            self.coins = coins

    @property
    def answers(self):
        """The answers so far, in order: a transcript to replay."""
        return [record.answer for record in self.records]

    def _answer(self, value, law, scale, real):
        charge, k = self._charges[-1], len(self.records)
        if isinstance(self.transcript, str):
            answer = {"exact": lambda: value, "noise": real}[self.transcript]()
        elif isinstance(self.transcript, Script):
            answer = self.transcript.answer(k, charge.label, law, value.shape, scale)
        elif callable(self.transcript):
            answer = self.transcript(charge.label, value, scale)
        elif k < len(self.transcript):
            answer = self.transcript[k]
        else:
            raise AuditFailure("the transcript has no answer left: it is that of another run.")
        sensitivity = Fraction(charge.sensitivity)
        self.records.append(Record(charge.label, law, value.copy(), sensitivity, scale, answer))
        return answer

    def _noisy(self, value, law, scale):
        answer = self._answer(value, law, scale, lambda: Curator._noisy(self, value, law, scale))
        answer = np.asarray(answer, dtype=np.int64)
        if answer.shape != value.shape:
            raise AuditFailure("an answer has another shape than its value.")
        return answer.copy()

    def _choose(self, scores, rate):
        # "exact": the best candidate, the limit of a choice without noise
        real = lambda: Curator._choose(self, scores, rate)  # noqa: E731
        answer = self._answer(scores, "select", float(1 / rate), real)
        return int(np.argmax(scores)) if isinstance(answer, np.ndarray) else int(answer)


class FixedKeys:
    """Row keys given by hand: ``keys[i]`` belongs to row i; others come from a fixed stream."""

    def __init__(self, keys):
        self._keys = np.asarray(keys, dtype=np.uint64)

    def keys(self, start, stop):
        """Return the keys of rows ``start, ..., stop - 1``."""
        if start > len(self._keys):  # keys that belong to no row
            return RowKeys(make_entropy(0)).keys(start, stop)
        return self._keys[start:stop]


def squared_distance(a, b, law="gaussian"):
    """Return the squared distance of two integer arrays as an exact int.

    The norm is the one that the noise asks for: l2 for "gaussian", l1 for "laplace" and the
    largest entry for "select".
    """
    a, b = a.ravel(), b.ravel()
    moved = np.flatnonzero(a != b)
    steps = [abs(int(x) - int(y)) for x, y in zip(a[moved], b[moved], strict=True)]
    if law == "gaussian":
        return sum(step * step for step in steps)
    return (sum(steps) if law == "laplace" else max(steps, default=0)) ** 2


def moves(run, replay):
    """Yield (label, squared change, squared sensitivity) of every release, exactly.

    Parameters
    ----------
    run, replay : sequences of Record

    Raises
    ------
    AuditFailure
        If the two were not asked the same questions.
    """
    for a, b in zip(run, replay, strict=False):
        # what to ask, and how, depends on earlier answers only
        if a.request != b.request:
            raise AuditFailure(
                f"given the same answers, one run releases {a.label!r} and its neighbour "
                f"{b.label!r}, or with another shape, sensitivity or scale."
            )
        yield a.label, squared_distance(a.value, b.value, a.law), a.sensitivity**2
    if len(run) != len(replay):
        raise AuditFailure("given the same answers, one run makes more releases than the other.")


def check_replay(run, replay):
    """Assert that a replay saw the same releases and that no value moved too far.

    ``run`` and ``replay`` are CannedCurators after the same algorithm on two neighbouring tables,
    the second with the transcript of the first. Returns the largest exact ratio of a squared change
    to its squared sensitivity, as a float.
    """
    worst = 0.0
    for label, moved, allowed in moves(run.records, replay.records):
        if moved > allowed:
            raise AuditFailure(f"{label!r} moved by more than it declared.")
        if allowed:
            worst = max(worst, float(moved / allowed))
    return worst
