"""Conditional sensitivity: given the same answers, no value moves more than it declares."""

import math
from dataclasses import dataclass

import numpy as np

from skdp._config import config_context
from skdp.audit._draw import Draw
from skdp.audit._group_pairs import draw_group_pair, mutated_group_pair
from skdp.audit._observe import audited_clone, recorded_fit
from skdp.audit._pairs import draw_pair, mutated
from skdp.audit._tables import example
from skdp.audit._transcript import FixedKeys, Script, moves
from skdp.exceptions import AuditFailure

__all__ = ["SensitivityReport", "Worst", "conditional_sensitivity", "examine_pair"]


@dataclass(frozen=True)
class Worst:
    """The largest ratio of change to declared sensitivity of one release, and where it occurred.

    Parameters
    ----------
    ratio : float
        Of the change to the declared sensitivity.
    exceeds : bool
        Whether the change is larger, in exact integers.
    pair : Pair or GroupPair
        The tables on which it occurred.

    See Also
    --------
    conditional_sensitivity, Pair

    Notes
    -----
    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateCount
    >>> from skdp.audit import conditional_sensitivity
    >>> report = conditional_sensitivity(PrivateCount(), np.zeros((20, 2)), n_pairs=5)
    >>> {label: worst.exceeds for label, worst in report.worst.items()}
    {'row count': False}
    """

    ratio: float
    exceeds: bool
    pair: object


@dataclass(frozen=True)
class SensitivityReport:
    """What :func:`conditional_sensitivity` found. It speaks of the rows of the audit.

    Parameters
    ----------
    estimator : str
    n_pairs : int
    worst : dict of str to Worst
        By label of the release.
    problems : tuple of str
        Pairs for which the two runs differed, given the same answers, or did not answer.

    See Also
    --------
    conditional_sensitivity, Worst

    Notes
    -----
    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateCount
    >>> from skdp.audit import conditional_sensitivity
    >>> report = conditional_sensitivity(PrivateCount(), np.zeros((20, 2)), n_pairs=5)
    >>> report.ok, report.ratio <= 1
    (True, True)
    """

    estimator: str
    n_pairs: int
    worst: dict
    problems: tuple = ()

    @property
    def ok(self):
        """Whether every value stayed within its sensitivity, on the same path."""
        return not self.problems and not any(worst.exceeds for worst in self.worst.values())

    @property
    def ratio(self):
        """The largest ratio of all releases."""
        return max((worst.ratio for worst in self.worst.values()), default=0.0)

    def __str__(self):
        lines = [f"Conditional sensitivity of {self.estimator}: {self.n_pairs} neighbouring pairs."]
        for label, worst in self.worst.items():
            flag = "EXCEEDED by: " if worst.exceeds else ""
            lines.append(f"  {label:<20} {worst.ratio:<10.6g} {flag}{worst.pair}")
        lines += [f"  {problem}" for problem in self.problems[:5]]
        return "\n".join(lines)


def examine_pair(estimator, pair):
    """Run on one table with real noise, and on its neighbour with the same answers.

    Parameters
    ----------
    estimator : PrivateEstimator
    pair : Pair or GroupPair

    Returns
    -------
    moved : dict of str to (int, Fraction)
        Largest squared change and its squared sensitivity for every label, exact.

    Raises
    ------
    AuditFailure
        If a fit fails, or the two were not asked the same questions.

    See Also
    --------
    conditional_sensitivity, Pair

    Notes
    -----
    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateCount
    >>> from skdp.audit import conditional_sensitivity, examine_pair
    >>> report = conditional_sensitivity(PrivateCount(), np.zeros((20, 2)), n_pairs=5)
    >>> moved = examine_pair(PrivateCount(), report.worst["row count"].pair)
    >>> change, sensitivity = moved["row count"]
    >>> change <= sensitivity
    True
    """
    params = {} if pair.epsilon is None else {"epsilon": pair.epsilon}
    (first, first_keys), (second, second_keys) = pair.sides()
    with config_context(invalid_rows="ignore"):
        run = _fit(estimator, params, first, "noise", first_keys, pair.seed)
        replay = _fit(estimator, params, second, Script(run), second_keys, pair.seed)
    moved = {}
    for label, squared, allowed in moves(run, replay):
        if label not in moved or squared * moved[label][1] > moved[label][0] * allowed:
            moved[label] = squared, allowed
    return moved


def _fit(estimator, params, X, transcript, keys, seed):
    twin = audited_clone(estimator, **params)
    records, _, error = recorded_fit(twin, X, transcript, seed=seed, coins=FixedKeys(keys))
    if error is not None:
        raise AuditFailure(f"a fit failed with {type(error).__name__}: {error}")
    return records


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
    non_interference, examine_pair, SensitivityReport

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
    draw, cap = Draw("pairs", random_state), getattr(estimator, "rows_per_group", "auto")

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
    worst, problems, n_pairs = {}, [], 0
    for pair in pairs(worst):
        if raise_on_failure and (problems or any(w.exceeds for w in worst.values())):
            break
        n_pairs += 1
        try:
            moved = examine_pair(estimator, pair)
        except AuditFailure as failure:
            problems.append(f"{failure} [{pair}]")
            continue
        for label, (squared, allowed) in moved.items():
            ratio = math.sqrt(squared / allowed) if allowed else math.inf if squared else 0.0
            if label not in worst or (squared > allowed, ratio) > (
                worst[label].exceeds,
                worst[label].ratio,
            ):
                worst[label] = Worst(ratio, squared > allowed, pair)
    report = SensitivityReport(type(estimator).__name__, n_pairs, worst, tuple(problems))
    if raise_on_failure and not report.ok:
        raise AuditFailure(str(report))
    return report
