"""The bill of a search with scikit-learn's own tools: its cost, and what its scores tell."""

import math
import re
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skdp.model_selection._budgets import (
    Total,
    composed,
    composed_epsilon,
    composed_guarantee,
    fits_with_a_row,
    most_expensive,
    plan_budget,
    private_steps,
)
from skdp.show._display import columns, row, table
from skdp.utils._renamed import Renamed, keeps_old_names

STYLE = (
    "<style>.skdp-bill{font:13px system-ui,sans-serif;max-width:60em}.skdp-bill table{"
    "margin:.5em 0;border-collapse:collapse}.skdp-bill td,.skdp-bill th{font-size:13px;"
    "padding:.15em .7em;text-align:left;vertical-align:top;border-bottom:1px solid #8884}"
    ".skdp-bill th{white-space:nowrap}.skdp-bill .warn{color:#c22}</style>"
)
TITLES = ("", "epsilon", "delta", "candidates", "fits", "with one row")
FOLDS = (
    "one row: the others keep their folds when it comes or goes, as with PredefinedSplit. KFold "
    "cuts by the number of rows and moves others too; the line of a replaced row holds for it."
)
WAY_OUT = "skdp.PrivateSearchCV pays for its scores, and releases the winner only."
MIXED = "some steps protect rows and others groups: the sum holds for rows. Pass groups to all."
SEEDED = "seeded, not private. Use random_state=None for a release."


class Cost(NamedTuple):
    """Fits of one budget, and how many of them train on any one row."""

    what: str
    budget: Total
    candidates: int
    fits: int
    with_one_row: int


@keeps_old_names
@dataclass(frozen=True)
class SearchReport:
    """What a search by cross-validation has cost, and what it tells besides; ``str`` and HTML.

    Parameters
    ----------
    search : str
        What was searched, and how.
    costs : tuple of named tuple
        Fits of equal budget: ``what, budget, candidates, fits, with_one_row``.
    charged : named numbers
        The sum over all fits, which is what a ledger was charged: ``measure``, and the sums of
        ``amount``, ``failure``, ``epsilon`` and ``delta``.
    budget : named numbers
        The sum over the fits that train on any one row.
    unprotected : tuple of str
        What the search has kept of its scores, which no guarantee covers.
    others : tuple of str, default=()
        Steps without a plan, whose cost is not known here.
    seeded : bool, default=False
        Whether noise came from a seed; then there is no guarantee.
    privacy_unit : tuple of str, default=("row",)
        What the fits protect, "row" or "group"; both if some steps protect rows and others groups.

    See Also
    --------
    skdp.search_report, skdp.PrivateSearchCV

    Notes
    -----
    **Privacy**: computed from parameters and numbers of fits, so it costs nothing. It protects
    nothing either: what ``unprotected`` names is as private as the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skdp import LloydKMeans, search_report
    >>> X = np.random.default_rng(0).uniform(size=(3000, 2))
    >>> search = GridSearchCV(LloydKMeans(radius=2.0), {"n_clusters": [2, 3]}, cv=2)
    >>> report = search_report(search.fit(X))
    >>> report.charged.epsilon > report.budget.epsilon
    True
    """

    search: str
    costs: tuple
    charged: Total
    budget: Total
    unprotected: tuple
    others: tuple = ()
    seeded: bool = False
    privacy_unit: tuple = ("row",)
    protects = Renamed("privacy_unit")

    def epsilon(self, delta=None, *, group_size=1):
        """Return the smallest epsilon at this delta for the fits that train on one row.

        Parameters
        ----------
        delta : float, default=None
            By default the sum of the deltas of these fits.
        group_size : int, default=1
            Number of rows added or removed together; 2 covers replacing one row.

        Returns
        -------
        epsilon : float
            Infinity where none is proved. The scores are not covered by it.
        """
        return composed_epsilon(self.budget, delta, group_size)

    def __str__(self):
        lines = [f"    {line}" for line in columns([TITLES, *map(_cells, self.costs)])]
        lines += [f"  {name:<16} {text}" for name, text in self._facts()]
        return "\n".join([f"Bill of {self.search}", *lines])

    def _repr_html_(self):
        costs = table(TITLES, map(row, map(_cells, self.costs)))
        facts = [
            row(fact, tags=("th", "td"), kind=" class=warn" * fact[0].isupper())
            for fact in self._facts()
        ]
        title = f"<b>Bill of {escape(self.search)}</b>"
        return f"{STYLE}<div class=skdp-bill>{title}{costs}{table((), facts)}</div>"

    def _facts(self):
        if self.seeded:
            yield "NO GUARANTEE", SEEDED
        yield "all fits", f"{_text(self.charged, 1)}: what a ledger counts"
        if len(self.privacy_unit) > 1:
            yield "NOT ONE UNIT", MIXED
        whom = "group" if self.privacy_unit == ("group",) else "row"
        yield f"one {whom}", f"{_text(self.budget, 1)} for the fits, if added or removed"
        yield f"replace one {whom}", f"{_text(self.budget, 2)} for the fits"
        for text in self.unprotected:
            yield "NOT PRIVATE", text
        if self.others:
            yield "not counted", "steps without a plan: " + ", ".join(self.others)
        yield "note", FOLDS
        yield "way out", WAY_OUT


def search_report(search):
    """Return the bill of a fitted search, from its parameters alone: nothing is fitted again.

    Parameters
    ----------
    search : GridSearchCV, RandomizedSearchCV or another search with ``cv_results_``
        Fitted, over a private estimator, or over a Pipeline, FeatureUnion or ColumnTransformer
        that holds some.

    Returns
    -------
    report : SearchReport

    Raises
    ------
    ValueError
        If it holds no private estimator, or holds one in an estimator that fits it any number of
        times.

    See Also
    --------
    PrivateSearchCV, skdp.model_selection.SearchReport

    Notes
    -----
    **Privacy**: neighbours differ by adding or removing one row, *and the other rows keep their
    folds*, as with ``PredefinedSplit``. A row is in all training sets of a partition but one, and
    in that of the refit. These fits are composed (user guide "Accounting", theorem 1): if all are
    Gaussian, the squares of their mu and the probabilities of their failure events add up, and the
    total is read off the Gaussian curve; otherwise, and where that is less, epsilons and deltas
    add up. The refit counts as the dearest candidate: the scores have decided which one it was.

    ``KFold`` cuts the table by its number of rows, so that one row more may move another row
    across every cut: a training set may then differ by up to three rows. *Replacing* a row leaves
    these folds alone; the total for ``group_size=2`` holds as it stands. ``StratifiedKFold`` looks
    at the classes too.

    Without metadata routing (``set_fit_request(groups=True)``) scikit-learn gives ``groups`` to the
    splitter alone: the fits protect rows. The report says which of the two they do, as told by the
    refit, or else by the ledger.

    Not private: the scores. They are computed on held-out rows, without noise, and so are the
    choice that they make and everything named in ``unprotected``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skdp import FriendlyCoreKMeans
    >>> from skdp.model_selection import search_report
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> grid = GridSearchCV(FriendlyCoreKMeans(), {"n_clusters": [2, 3]}, cv=3).fit(X)
    >>> report = search_report(grid)
    >>> [(cost.what, cost.fits, cost.with_one_row) for cost in report.costs]
    [('search', 6, 4), ('refit', 1, 1)]
    >>> 1 < report.epsilon() < 5  # of five fits of epsilon 1
    True
    """
    check_is_fitted(search, "cv_results_")
    candidates = [
        clone(search.estimator).set_params(**clone(params, safe=False))
        for params in search.cv_results_["params"]
    ]
    found = [private_steps(candidate) for candidate in candidates]
    if not all(parts for parts, _ in found):
        raise ValueError(
            f"a candidate of this {type(search).__name__} over {type(search.estimator).__name__} "
            "holds no private estimator, so it has no bill. Its scores are not private either."
        )
    plans = [[part.plan() for part in parts] for parts, _ in found]
    charges = [composed([(plan.budget, 1) for plan in fit]) for fit in plans]
    proved = [composed([(plan_budget(plan), 1) for plan in fit]) for fit in plans]

    k = search.n_splits_
    with_row = fits_with_a_row(search.cv, k)
    costs = [
        Cost("search", budget, times, k * times, with_row * times)
        for budget, times in _counted(charges)
    ]
    fits = [(budget, k) for budget in charges]
    on_row = [(budget, with_row) for budget in proved]
    if search.refit:
        costs.append(Cost("refit", charges[search.best_index_], 1, 1, 1))
        fits.append((charges[search.best_index_], 1))
        on_row.append((most_expensive(proved), 1))
    name = f"{type(search).__name__} over {type(search.estimator).__name__}"
    return SearchReport(
        search=f"{name}: {len(candidates)} candidates, {k} folds{', refit' * bool(search.refit)}",
        costs=tuple(costs),
        charged=composed(fits),
        budget=composed(on_row),
        unprotected=tuple(_unprotected(search)),
        others=tuple(dict.fromkeys(step for _, rest in found for step in rest)),
        seeded=any(
            part.get_params().get("random_state") is not None
            for parts, _ in found
            for part in parts
        ),
        privacy_unit=_protected(search),
    )


def _protected(search):
    """Return what the fits protect: all are given what the last one, on all rows, is given."""
    parts = private_steps(search.best_estimator_)[0] if search.refit else []
    reports = [getattr(part, "privacy_report_", None) for part in parts]
    return tuple(sorted({report.privacy_unit for report in reports if report})) or _charged(search)


def _charged(search):
    ledgers = [getattr(part, "ledger", None) for part in private_steps(search.estimator)[0]]
    units = (getattr(ledger, "unit", "row") for ledger in ledgers)
    return tuple(
        sorted({u for unit in units for u in ((unit,) if isinstance(unit, str) else unit)})
    )


def _counted(budgets):
    """Return (budget, times) of equal budgets, in order of first appearance."""
    return [(budget, budgets.count(budget)) for budget in dict.fromkeys(budgets)]


def _unprotected(search):
    """Yield what a search has kept of its scores."""
    names = [name for name in search.cv_results_ if "_test_" in name or "_train_" in name]
    names = dict.fromkeys(re.sub(r"^split\d+", "split*", name) for name in names)
    yield f"cv_results_[{', '.join(names)}]: computed on held-out rows, without noise"
    yield "cv_results_[*_time]: run times"
    chosen = [
        name for name in ("best_score_", "best_index_", "best_params_") if hasattr(search, name)
    ]
    if chosen:
        yield f"{', '.join(chosen)}: chosen by these scores"
    if search.refit:
        yield "best_estimator_: its fit is private, but which candidate it is, is not"


def _cells(cost):
    budget, numbers = cost.budget, (cost.candidates, cost.fits, cost.with_one_row)
    return cost.what, f"{float(budget.epsilon):g}", f"{float(budget.delta):g}", *map(str, numbers)


def _text(budget, group_size):
    epsilon, delta = composed_guarantee(budget, group_size)
    if math.isinf(epsilon):
        return f"no guarantee at a delta below {delta:.3g}"
    mu = f", mu={budget.mu:.4g}" if budget.measure == "gdp" and group_size == 1 else ""
    return f"(epsilon={epsilon:.4g}, delta={delta:.3g}){mu}"
