"""A Curator that writes down what it was asked and answers from a script."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp._curator import Curator
from skdp.accounting import Budget, Plan, Step
from skdp.mechanisms import make_entropy

GAUSSIAN = Budget.gaussian(1.0, 1e-6)


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


class CannedCurator(Curator):
    """A Curator with every check of the real one and without its noise.

    Parameters
    ----------
    plan : Plan
    transcript : "exact", "noise", list or callable, default="exact"
        ``"exact"`` answers with the value itself, ``"noise"`` as a real Curator from ``seed``.
        A list holds the answers one by one, for instance ``other.answers``: the replay of a run on
        one table for its neighbour. A callable maps ``(label, value, scale)`` to the answer.
    seed : int, default=0
    coins : object, default=None
        Source of the row keys; :class:`FixedKeys` keeps a key with its row.
    """

    def __init__(self, plan, transcript="exact", *, seed=0, coins=None):
        super().__init__(plan, make_entropy(seed))
        self.transcript = transcript
        self.records = []
        if coins is not None:
            self.coins = coins

    @property
    def answers(self):
        """The answers so far, in order: a transcript to replay."""
        return [record.answer for record in self.records]

    def _answer(self, value, law, scale, real):
        charge = self._charges[-1]
        if isinstance(self.transcript, str):
            answer = {"exact": lambda: value, "noise": real}[self.transcript]()
        elif callable(self.transcript):
            answer = self.transcript(charge.label, value, scale)
        else:
            assert len(self.records) < len(self.transcript), f"no answer left for {charge.label!r}"
            answer = self.transcript[len(self.records)]
        sensitivity = Fraction(charge.sensitivity)
        self.records.append(Record(charge.label, law, value.copy(), sensitivity, scale, answer))
        return answer

    def _noisy(self, value, law, scale):
        answer = self._answer(value, law, scale, lambda: Curator._noisy(self, value, law, scale))
        answer = np.asarray(answer, dtype=np.int64)
        assert answer.shape == value.shape
        return answer.copy()

    def _choose(self, scores, rate):
        # "exact": the best candidate, the limit of a choice without noise
        real = lambda: Curator._choose(self, scores, rate)  # noqa: E731
        answer = self._answer(scores, "select", float(1 / rate), real)
        return int(np.argmax(scores)) if isinstance(answer, np.ndarray) else int(answer)


class FixedKeys:
    """Row keys given by hand: ``keys[i]`` belongs to row i."""

    def __init__(self, keys):
        self._keys = np.asarray(keys, dtype=np.uint64)

    def keys(self, start, stop):
        return self._keys[start:stop]


def canned(label="x", transcript="exact", *, times=1000, mechanism="gaussian", budget=GAUSSIAN):
    """Return a CannedCurator that may make ``times`` releases of one label."""
    return CannedCurator(Plan(budget, (Step(label, mechanism, times=times),)), transcript)


def squared_distance(a, b):
    """Return |a - b|^2 of two integer arrays as an exact int."""
    return sum((int(x) - int(y)) ** 2 for x, y in zip(a.ravel(), b.ravel(), strict=True))


def check_replay(run, replay):
    """Assert that a replay saw the same releases and that no value moved too far.

    ``run`` and ``replay`` are CannedCurators after the same algorithm on two neighbouring tables,
    the second with the transcript of the first. Returns the largest exact ratio of a squared change
    to its squared sensitivity, as a float.
    """
    assert len(run.records) == len(replay.records)
    worst = 0.0
    for a, b in zip(run.records, replay.records, strict=True):
        # what to ask, and how, depends on earlier answers only
        assert (a.label, a.law, a.sensitivity, a.scale) == (b.label, b.law, b.sensitivity, b.scale)
        assert a.value.shape == b.value.shape
        distances = {
            "gaussian": lambda a=a, b=b: squared_distance(a.value, b.value),
            "laplace": lambda a=a, b=b: int(np.abs(a.value - b.value).sum()) ** 2,
            "select": lambda a=a, b=b: int(np.abs(a.value - b.value).max()) ** 2,
        }
        squared = distances[a.law]()
        assert squared <= a.sensitivity**2, f"{a.label!r} moved by more than it declared"
        if a.sensitivity:
            worst = max(worst, float(squared / a.sensitivity**2))
    return worst
