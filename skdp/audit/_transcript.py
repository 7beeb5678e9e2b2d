"""A Curator that writes down what it was asked and answers from a script."""

from fractions import Fraction
from numbers import Rational

import numpy as np
from scipy.special import ndtri

from skdp.audit._draw import AuditRandom
from skdp.audit._process import NameAnswer, Record, RowAnswer
from skdp.exceptions import AuditFailure
from skdp.gate._curator import Curator
from skdp.mechanisms import RowKeys, make_entropy
from skdp.mechanisms._exact import unit_of

# --- how far two matrices are apart, for audits

FAR = 2.0**500  # for what is not positive definite


def matrix_distance(a, b):
    """Return max(l, 1 / l) - 1 over the eigenvalues l of a^-1 b, for rational matrices.

    Computed from the exact difference, so that its relative error is near 2^-53 times the root of
    the condition number, times d; and lowered by a millionth, which tells faults from rounding.
    """
    units = np.sqrt([float(x) for x in np.diag(a)])
    units = units[:, None] * units
    try:
        root = np.linalg.inv(np.linalg.cholesky(a.astype(np.float64) / units))
        change = np.linalg.eigvalsh(root @ ((b - a).astype(np.float64) / units) @ root.T)
    except (np.linalg.LinAlgError, ZeroDivisionError):
        return FAR
    low, high = change[0], change[-1]
    distance = max(0.0, high, -low / (1 + low)) if low > -1 else FAR
    return min(float(distance), FAR) * (1 - 1e-6)


def matrix_factor(S):
    """Return the Cholesky factor of a matrix of Fractions."""
    units = np.sqrt([float(x) for x in np.diag(S)])
    return np.linalg.cholesky(S.astype(np.float64) / units[:, None] / units) * units[:, None]


# --- keys of rows that stay with their rows, and random words that are written down


class FixedKeys:
    """Row keys given by hand: ``keys[i]`` belongs to row i; others come from a fixed stream.

    Notes
    -----
    **Privacy**: none, as keys that are known protect nothing: for audits alone.
    """

    def __init__(self, keys):
        self._keys = np.asarray(keys, dtype=np.uint64)

    def keys(self, start, stop, use=""):
        """Return the keys of rows ``start, ..., stop - 1`` for one use."""
        if start > len(self._keys):  # keys that belong to no row
            return RowKeys(make_entropy(0)).keys(start, stop, use)
        keys = self._keys[start:stop]
        return mixed(keys, use) if use else keys


def mixed(keys, *salt):
    """Return other keys, a function of each key and of ``salt``."""
    x = np.asarray(keys).astype(np.uint64) ^ AuditRandom(*salt).words(1)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def keyed_normal(keys, *salt):
    """Return a standard normal float for each key."""
    u = (mixed(keys, *salt) >> np.uint64(11)).astype(np.float64)
    return ndtri((u + 0.5) * 2.0**-53)


class Heard:
    """A source of random words that keeps, in ``heard``, the first of each draw."""

    def __init__(self, entropy):
        self._entropy, self.heard = entropy, []

    def __getattr__(self, name):
        return getattr(self._entropy, name)

    def words(self, n):
        """Return n words."""
        words = self._entropy.words(n)
        self.heard += np.asarray(words[:1]).tolist()
        return words


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
        draw = AuditRandom(self.seed, k, label, law, shape)
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
    curator._wrap_part = heard
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
