"""A Curator that writes down what it was asked and answers from a script."""

from fractions import Fraction
from numbers import Rational

import numpy as np

from skdp._curator import Curator
from skdp.audit._draw import Draw
from skdp.audit._keys import FixedKeys, Heard, keyed_normal
from skdp.audit._matrices import matrix_distance, matrix_factor
from skdp.audit._records import NameAnswer, Record, RowAnswer
from skdp.exceptions import AuditFailure
from skdp.mechanisms import make_entropy
from skdp.mechanisms._weighed import unit_of

__all__ = [
    "CannedCurator",
    "FixedKeys",
    "Record",
    "Script",
    "check_replay",
    "squared_distance",
]


class Script:
    """Answers fixed in advance: the k-th depends on k, label, law, shape and scale alone.

    Notes
    -----
    **Privacy**: none: for audits, on tables made or chosen for them.
    """

    def __init__(self, recorded=(), *, seed=0, shift=0.0, stretch=1.0, equal=None):
        self.recorded, self.seed, self.shift, self.stretch = list(recorded), seed, shift, stretch
        self.equal = equal

    def row_answer(self, k, record_of, value, scale):
        """Return the k-th answer, by rows or parts: ``record_of`` is its label, owners, by_parts.

        Owners that the repeated run has not seen get their value plus noise by their key: what they
        decide is about them alone.
        """
        label, owners, by_parts = record_of
        noise = keyed_normal(owners, self.seed, k, label)
        noisy = value + np.rint(noise * scale).astype(np.int64)
        old = self.recorded[k] if k < len(self.recorded) else None
        if old is None or (old.label, old.by_parts) != (label, by_parts) or old.owners is None:
            return noisy
        answer = old.answer.for_others(owners, value, noisy, by_parts=by_parts)
        return answer + np.rint(noise * scale * self.shift).astype(np.int64)

    def names(self, k, label):
        """Return the names of the k-th answer, whether they occur or not: none if it is new."""
        old = self.recorded[k] if k < len(self.recorded) else None
        return (
            old.answer.names if old is not None and (old.label, old.named) == (label, True) else []
        )

    def answer(self, k, label, law, shape, scale):
        """Return the k-th answer: int64 of that shape, or an index into it for a choice."""
        draw = Draw(self.seed, k, label, law, shape)
        old = self.recorded[k] if k < len(self.recorded) else None
        if old is not None and (old.label, old.law, old.value.shape) != (label, law, shape):
            old = None
        if law == "select":
            return draw.below(shape[0]) if old is None or self.shift else old.answer
        if law == "matrix":
            noise = np.tril(draw.normal(shape))
            if old is None:
                return noise * np.sign(np.diag(noise)) * scale * self.stretch ** draw.uniform()
            return old.answer @ (np.eye(len(noise)) + scale * self.shift * noise)
        if self.equal is not None:
            return np.full(shape, self.equal, dtype=np.int64)
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
        ``Script`` without looking at the value. A list holds the answers one by one, for
        instance ``other.answers``: the replay of a run on one table for its neighbour. A callable
        maps ``(label, value, scale)`` to the answer.
    seed : int, default=0
    coins : object, default=None
        Source of the row keys; ``FixedKeys`` keeps a key with its row.
    records : list, default=None
        Where the records go; several Curators of one fit may share a list.
    entropy : object, default=None
        Where ``"noise"`` comes from, instead of ``seed``.

    See Also
    --------
    skdp.base.Curator

    Notes
    -----
    **Privacy**: none: for audits, on tables made or chosen for them.

    Examples
    --------
    >>> from skdp.accounting import Budget, Plan, Step
    >>> from skdp.audit import CannedCurator
    >>> curator = CannedCurator(Plan(Budget.pure(1.0), (Step("count", "laplace"),)))
    >>> curator.laplace([17], sensitivity=1, share=1, label="count").value.tolist()
    [17]
    """

    def __init__(self, plan, transcript="exact", *, seed=0, coins=None, records=None, entropy=None):
        super().__init__(plan, entropy or make_entropy(seed))
        self.transcript = transcript
        self._label, self._declared, self._weight, self._words = None, None, 1, ()
        _overhear(self, self)
        self.records = [] if records is None else records
        if coins is not None:
            self.coins = coins

    @property
    def answers(self):
        """The answers so far, in order: a transcript to replay."""
        return [record.answer for record in self.records]

    def _answer(self, value, law, scale, real, rows=None, parts=None):
        label, k, self._words = self._label, len(self.records), ()
        by_parts = rows is None and parts is not None
        owners = np.asarray(parts) if by_parts else rows if rows is None else self._keys_of(rows)
        if isinstance(self.transcript, str):
            exact = matrix_factor if law == "matrix" else np.asarray
            answer = {"exact": lambda: exact(value), "noise": real}[self.transcript]()
        elif isinstance(self.transcript, Script) and owners is not None:
            asked = label, owners, by_parts
            answer = self.transcript.row_answer(k, asked, value, scale)
        elif isinstance(self.transcript, Script):
            answer = self.transcript.answer(k, label, law, value.shape, scale)
        elif callable(self.transcript):
            answer = self.transcript(label, value, scale)
        elif k < len(self.transcript):
            answer = self.transcript[k]
        else:
            raise AuditFailure("the transcript has no answer left: it is that of another run.")
        if isinstance(answer, RowAnswer):
            answer = answer.for_others(owners, value, real(), by_parts=by_parts)
        given = answer
        if owners is not None:
            given = RowAnswer(owners, value.copy(), np.asarray(answer, dtype=np.int64).copy())
        unit, declared = self._weight, self._declared  # exactly: what the charge states is rounded
        self.records.append(
            Record(
                label,
                law,
                value.copy(),
                declared,
                scale,
                given,
                owners,
                by_parts,
                unit=unit,
                words=self._words,
            )
        )
        return answer

    def _keys_of(self, numbers):
        numbers = np.asarray(numbers, dtype=np.int64)
        stop = int(numbers.max()) + 1 if numbers.size else 0
        return self.coins.keys(0, stop)[numbers]

    def _drawn(self, draw, *given):
        """Return what a real Curator draws, and keep the words that it has taken for it."""
        own, self._entropy = self._entropy, Heard(self._entropy)
        try:
            return draw(self, *given)
        finally:
            self._words, self._entropy = tuple(self._entropy.heard), own

    def _noisy(self, value, law, scale, rows=None, parts=None):
        real = lambda: self._drawn(Curator._noisy, value, law, scale)  # noqa: E731
        answer = np.asarray(self._answer(value, law, scale, real, rows, parts), dtype=np.int64)
        if answer.shape != value.shape:
            raise AuditFailure("an answer has another shape than its value.")
        return answer.copy()

    def _occurring(self, names, value, scale, threshold):
        label, k, noisy = self._label, len(self.records), value
        self._words = ()
        if isinstance(self.transcript, Script):
            found = self.transcript.names(k, label)
        elif isinstance(self.transcript, list):
            found = self.transcript[k].names
        else:
            if self.transcript == "noise":
                noisy = self._drawn(Curator._noisy, value, "gaussian", scale)
            found = [name for name, count in zip(names, noisy, strict=True) if count > threshold]
        owners = np.array([repr(name) for name in names], dtype=str)
        answer = NameAnswer(list(found), noisy)
        declared, given = self._declared, value.copy()
        words = {"named": True, "words": self._words}
        self.records.append(
            Record(label, "gaussian", given, declared, scale, answer, owners, **words)
        )
        return list(found)

    def _perturb(self, value, eta, log_p):
        real = lambda: self._drawn(Curator._perturb, value, eta, log_p)  # noqa: E731
        return np.array(self._answer(value, "matrix", eta, real), dtype=np.float64)

    def _choose(self, scores, rate):
        # "exact": the best candidate, the limit of a choice without noise
        real = lambda: self._drawn(Curator._choose, scores, rate)  # noqa: E731
        answer = self._answer(scores, "select", float(1 / rate), real)
        return int(np.argmax(scores)) if isinstance(answer, np.ndarray) else int(answer)


def _overhear(curator, root, place=""):
    """Let ``root`` know each label and sensitivity as declared to a Curator or its children."""

    def knowing(ask, word):
        def asked(*args, **given):
            root._label = place + given["label"]
            root._weight = unit_of(args[0]) or 1
            root._declared = exactly(given[word]) * root._weight
            return ask(*args, **given)

        return asked

    def heard(part):
        return _overhear(part, root, place + part._place)

    def child(*args, _child=curator.child, **given):
        return heard(_child(*args, **given))

    for law in ("gaussian", "laplace", "select"):
        setattr(curator, law, knowing(getattr(curator, law), "sensitivity"))
    curator.matrix = knowing(curator.matrix, "distance")
    curator.names = knowing(curator.names, "moved")
    curator.child = child
    curator._heard = heard
    return curator


def exactly(number):
    """Return a number of Python or numpy as a Fraction of Python's integers."""
    if isinstance(number, Rational):
        return Fraction(int(number.numerator), int(number.denominator))
    return Fraction(*(int(part) for part in number.as_integer_ratio()))


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
    """Yield (label, squared change, squared sensitivity) of every release, exactly."""
    for a, b in zip(run, replay, strict=False):
        # what to ask, and how, depends on earlier answers only
        if a.request != b.request:
            raise AuditFailure(
                f"given the same answers, one run releases {a.label!r} and its neighbour "
                f"{b.label!r}, or with another shape, sensitivity or scale."
            )
        if a.strangers(b) > 1:
            raise AuditFailure(f"{a.label!r}: more than one row has an entry in one run only.")
        value, other = a.common(b)
        if a.law == "matrix":
            moved = Fraction(matrix_distance(value, other)) ** 2
        else:
            moved = squared_distance(value, other, a.law)
        yield a.label, moved, a.allowed
    if len(run) != len(replay):
        raise AuditFailure("given the same answers, one run makes more releases than the other.")


def check_replay(run, replay):
    """Assert that a replay saw the same releases and that no value moved too far.

    ``run`` and ``replay`` are CannedCurators after the same algorithm on two neighbouring tables,
    the second with the transcript of the first. Returns the largest exact ratio of a squared change
    to its squared sensitivity, as a float.

    Notes
    -----
    **Privacy**: none: for audits, on tables made or chosen for them.
    """
    worst = 0.0
    for label, moved, allowed in moves(run.records, replay.records):
        if moved > allowed:
            raise AuditFailure(f"{label!r} moved by more than it declared.")
        if allowed:
            worst = max(worst, float(moved / allowed))
    return worst
