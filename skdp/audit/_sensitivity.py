"""Conditional sensitivity: given the same answers, no value moves more than it declares."""

import math
import re
import types
from dataclasses import dataclass
from numbers import Real

import numpy as np

from skdp.audit._draw import AuditRandom
from skdp.audit._fingerprint import classes_of
from skdp.audit._observe import audited_clone, recorded_fit
from skdp.audit._pairs import SENTINELS, draw_group_pair, draw_pair, mutated, mutated_group_pair
from skdp.audit._tables import example
from skdp.audit._transcript import FixedKeys, Script, moves
from skdp.exceptions import AuditFailure
from skdp.utils._config import config_context

N_ROWS = 64
LONGEST = 150_000
MOST_BINS = 64
MOST = 200  # numbers of one estimator


def numbers_of(estimator):
    """Return the finite numbers that parameters and code of an estimator mention, a list."""
    found = {}
    for value in estimator.get_params().values():
        _collect(value, found)
    for cls in classes_of(estimator):
        if cls.__module__.partition(".")[0] != "skdp":
            for member in vars(cls).values():
                _collect_code(member, found)
    return list(found)[:MOST]


def _collect_code(member, found, depth=2):
    function = getattr(member, "__func__", getattr(member, "fget", member))
    if not isinstance(function, types.FunctionType):
        return _collect(member, found)
    codes = [function.__code__]
    for code in codes:
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        _collect([c for c in code.co_consts if not isinstance(c, types.CodeType)], found)
        for name in code.co_names:
            value = function.__globals__.get(name)
            own = getattr(value, "__module__", None) == function.__module__
            if isinstance(value, types.FunctionType) and own and depth:
                _collect_code(value, found, depth - 1)
            else:
                _collect(value, found)


def _collect(value, found):
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.size <= MOST:
        value = value.ravel().tolist()
    if isinstance(value, (list, tuple, set, frozenset)) and len(value) <= MOST:
        for item in value:
            _collect(item, found)
    elif isinstance(value, dict) and len(value) <= MOST:
        _collect([*value.keys(), *value.values()], found)
    elif isinstance(value, Real) and not isinstance(value, (bool, np.bool_)):
        x = float(value) if abs(value) < 1e300 else math.inf
        if math.isfinite(x):
            found[x] = True


def sizes_of(estimator, least):
    """Return numbers of rows above ``least`` at which code may branch, the last three."""
    whole = {int(x) for x in numbers_of(estimator) if x == int(x) and least <= x <= LONGEST}
    return [n + 1 for n in sorted(whole)[-3:]]


def _edges(numbers):
    """Return the inner edges of bins that three numbers in a row may stand for: ends and number."""
    edges = []
    for low, high, k in zip(numbers, numbers[1:], numbers[2:], strict=False):
        if low < high and k == int(k) and 2 <= k <= MOST_BINS:
            for n in (int(k), int(k) + 1):
                edges += np.linspace(low, high, n)[1:-1].tolist()
    return edges[:MOST]


def telling_rows(estimator, data, draw):
    """Return rows of numbers that an estimator may treat apart, an array; None for frames."""
    if not data.is_numeric:
        return None
    known = [x for x in numbers_of(estimator) if x]
    known += _edges(known)
    values = np.array([*SENTINELS, *SENTINELS, 999.0, -99.0, *known, *known, *(-x for x in known)])
    d, rows = data.n_features, []
    for i in range(N_ROWS):
        row = data.X[draw.below(len(data))].astype(np.float64)
        if i % 4 == 0:
            row = np.full(d, draw.choice(values))
        elif i % 4 == 1:
            row[draw.below(d)] = draw.choice(values)
        else:
            row = values[draw.below(len(values), d)]
        rows.append(row)
    return np.array(rows)


ATTAINED = 0.99  # of the declared sensitivity
_KEY = re.compile(r"\[.*?\](?=/)")  # of one child of many


@dataclass(frozen=True)
class Worst:
    """The largest ratio of change to declared sensitivity of one release, and where it occurred.

    Notes
    -----
    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.
    """

    ratio: float  # of the change to the declared sensitivity
    exceeds: bool  # whether the change is larger, in exact integers
    pair: object  # Pair or GroupPair: the tables on which it occurred


@dataclass(frozen=True, repr=False)
class SensitivityReport:
    """What :func:`conditional_sensitivity` found. It speaks of the rows of the audit.

    A change above the declared sensitivity is a leak. One that stays far below it in all pairs is
    none, but a loss: if no pair can do better, the noise is larger than it needs to be.

    Parameters
    ----------
    estimator : str
    n_pairs : int
    worst : dict of str to Worst
        By label of the release.
    problems : tuple of str
        Pairs for which the two runs differed, given the same answers, or did not answer.
    planned : tuple of str
        Labels of the releases that the plans of the fits allow.

    See Also
    --------
    conditional_sensitivity

    Notes
    -----
    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateCount
    >>> from skdp.audit import conditional_sensitivity
    >>> report = conditional_sensitivity(PrivateCount(), np.zeros((20, 2)), n_pairs=5)
    >>> report.ok, report.ratios, report.loose, report.unmoved
    (True, {'row count': 1.0}, {}, ())
    """

    estimator: str
    n_pairs: int
    worst: dict
    problems: tuple = ()
    planned: tuple = ()

    @property
    def ok(self):
        """Whether every value stayed within its sensitivity, on the same path."""
        return not self.problems and not any(worst.exceeds for worst in self.worst.values())

    @property
    def ratios(self):
        """The largest change by label, as a fraction of the declared sensitivity."""
        return {label: worst.ratio for label, worst in self.worst.items()}

    @property
    def ratio(self):
        """The largest ratio of all releases."""
        return max(self.ratios.values(), default=0.0)

    @property
    def loose(self):
        """The ratios below 0.99: a smaller sensitivity may do, or the pairs were too tame."""
        return {label: ratio for label, ratio in self.ratios.items() if 0 < ratio < ATTAINED}

    @property
    def unmoved(self):
        """The labels that no pair moved, planned ones that no pair led to included."""
        asked = {_KEY.sub("", label) for label in self.worst}
        still = [label for label, ratio in self.ratios.items() if not ratio]
        return (*still, *(label for label in self.planned if label not in asked))

    def __str__(self):
        lines = [f"Conditional sensitivity of {self.estimator}: {self.n_pairs} neighbouring pairs."]
        for label, worst in self.worst.items():
            flag = "EXCEEDED by: " if worst.exceeds else ""
            lines.append(f"  {label:<20} {worst.ratio:<10.6g} {flag}{worst.pair}")
        lines += [f"  {problem}" for problem in self.problems[:5]]
        lines += [
            f"  The release {label!r} moves by at most {ratio:.2g} of its declared sensitivity in "
            "these pairs: its noise may be larger than it needs to be."
            for label, ratio in self.loose.items()
        ]
        if self.unmoved:
            lines.append(f"  No pair moves: {', '.join(map(repr, self.unmoved))}.")
        return "\n".join(lines)

    __repr__ = __str__


def examine_pair(estimator, pair):
    """Run on one table with real noise, and on its neighbour with the same answers.

    Notes
    -----
    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.
    """
    return _examine(estimator, pair)[0]


def _examine(estimator, pair):
    """Return what moved, as :func:`examine_pair` does, and the labels planned in the first run."""
    params = {} if pair.epsilon is None else {"epsilon": pair.epsilon}
    (first, first_keys), (second, second_keys) = pair.sides()
    with config_context(invalid_rows="ignore"):
        run, planned = _fit(estimator, params, first, "noise", first_keys, pair.seed)
        replay, _ = _fit(estimator, params, second, Script(run), second_keys, pair.seed)
    moved = {}
    for label, squared, allowed in moves(run, replay):
        if label not in moved or squared * moved[label][1] > moved[label][0] * allowed:
            moved[label] = squared, allowed
    return moved, planned


def _fit(estimator, params, X, transcript, keys, seed):
    twin = audited_clone(estimator, **params)
    records, curators, error = recorded_fit(twin, X, transcript, seed=seed, coins=FixedKeys(keys))
    if error is not None:
        raise AuditFailure(f"a fit failed with {type(error).__name__}: {error}")
    return records, [
        step.label
        for curator in curators
        for step in curator._plan.steps
        if step.mechanism not in ("child", "repeat")
    ]


def conditional_sensitivity(
    estimator,
    X,
    y=None,
    *,
    groups=None,
    n_pairs=500,
    random_state=0,
    rows=None,
    raise_on_failure=True,
):
    """Search neighbouring tables on which a value moves by more than its declared sensitivity.

    Parameters
    ----------
    estimator : PrivateEstimator
        Is cloned; the clones have no ledger. Every second pair is run at another epsilon than its
        own, where that is a parameter: a large one leads small tables into the deep branches.
    X : array-like or DataFrame of shape (n_samples, n_features)
        Where tables are taken from. Made or chosen for the audit: the report quotes it.
    y : array-like of shape (n_samples,), default=None
        Targets, for estimators that use them: a row has its target with it.
    groups : array-like of shape (n_samples,), default=None
        Whose row each row is: audits the fit with groups, on tables that differ in all
        rows of one group, of which there are none, one, about as many as the cap, and many more.
    n_pairs : int, default=500
        A quarter of them are changes of the worst pairs so far, of releases with a ratio below one.
    random_state : int, default=0
    rows : array-like of shape (n_rows, n_features), default=None
        More rows to add. Corners of the box of X, zero, duplicates, ties, 1e300, 1e-300, NaN and
        infinity are tried anyway; of frames, missing entries and unknown categories.
    raise_on_failure : bool, default=True

    Returns
    -------
    report : SensitivityReport

    Raises
    ------
    AuditFailure
        At the first pair where a value moved too far, or the path of a run depends on more than
        the answers.

    See Also
    --------
    non_interference, SensitivityReport

    Notes
    -----
    This is the condition of adaptive composition itself: given the same earlier answers, a value
    that meets noise moves by at most its sensitivity, in l2 (Gaussian), l1 (Laplace) or entry by
    entry (choice), in exact integers. Keys go with their rows. Answers are those of a run with real
    noise: a claim that holds outside failure events is tested where it is made, unless a run hits
    one. Their probability is part of delta / 20 a run, below 1e-5 for 500 runs at delta = 1e-6, and
    to hit one is not yet to exceed: a failure is a failure.

    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateCount
    >>> from skdp.audit import conditional_sensitivity
    >>> report = conditional_sensitivity(PrivateCount(), np.zeros((20, 2)), n_pairs=5)
    >>> report.worst["row count"].ratio <= 1
    True
    """
    data = example(estimator, X, y, groups)
    if data.is_numeric:
        data = data.take(np.flatnonzero(np.isfinite(data.X).all(axis=1)))
    other_epsilon = "epsilon" in estimator.get_params()
    draw, cap = AuditRandom("pairs", random_state), getattr(estimator, "rows_per_group", "auto")

    def pairs(worst):
        for i in range(n_pairs):
            below = [w.pair for w in worst.values() if w.ratio < 1]
            if groups is not None and i % 4 == 3 and below:
                yield mutated_group_pair(draw.choice(below), draw)
            elif groups is not None:
                yield draw_group_pair(data, draw, rows, cap=cap, other_epsilon=other_epsilon)
            elif i % 4 == 3 and below:
                yield mutated(draw.choice(below), data, draw, rows)
            else:
                yield draw_pair(data, draw, rows, other_epsilon=other_epsilon)

    return examine_pairs(estimator, pairs, raise_on_failure=raise_on_failure)


def examine_pairs(estimator, pairs, *, raise_on_failure=True):
    """Examine the pairs that ``pairs(worst)`` yields, who may look at the worst so far."""
    worst, planned, problems, n_pairs = {}, {}, [], 0
    for pair in pairs(worst):
        if raise_on_failure and (problems or any(w.exceeds for w in worst.values())):
            break
        n_pairs += 1
        try:
            moved, labels = _examine(estimator, pair)
        except AuditFailure as failure:
            problems.append(f"{failure} [{pair}]")
            continue
        planned |= dict.fromkeys(labels)
        for label, (squared, allowed) in moved.items():
            ratio = math.sqrt(squared / allowed) if allowed else math.inf if squared else 0.0
            if label not in worst or (squared > allowed, ratio) > (
                worst[label].exceeds,
                worst[label].ratio,
            ):
                worst[label] = Worst(ratio, squared > allowed, pair)
    report = SensitivityReport(
        type(estimator).__name__, n_pairs, worst, tuple(problems), tuple(planned)
    )
    if raise_on_failure and not report.ok:
        raise AuditFailure(str(report))
    return report
