"""What X and y of a search are, and its runs: split rows, fit, score."""

import math
from dataclasses import replace

import numpy as np
from sklearn.utils.validation import validate_data

import skdp
from skdp._unread import Unread
from skdp.accounting import Plan, Step
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._sums import HALF, ScoreSum, table_of_numbers
from skdp.kernel._terms import ClassCounts
from skdp.mechanisms import finite_rows
from skdp.model_selection._scorers import as_numbers, of_rows, scale_plan
from skdp.model_selection._scoring import ReportScorer
from skdp.readers._labels import Known, is_missing
from skdp.readers._rows import Source
from skdp.readers._tables import Tables
from skdp.readers._target import column_of
from skdp.scales._column_noise import with_law
from skdp.table._levels import public_classes
from skdp.table._schema import look_at, validated_rows
from skdp.table._split_target import final_step, reads_numbers_and_gaps
from skdp.table._supervised import checked_target
from skdp.utils._compat import safe_indexing
from skdp.utils._config import config_context, get_config

# what is released of held-out rows, and of how many rows there are
SCORE = Step("score", of=(ScoreSum,))
SIZE = Step("rows of a search", of=(ClassCounts,))


class Table:
    """The rows of a search, and their targets if there are any."""

    kind, door, about = "unread", Unread, {}

    def __init__(self, X, y=None, *, numbers=True, persons=None, search=None):
        self._X, self._y, self.numbers, self.persons = X, y, numbers, persons
        self._search = search

    def search(self, curator):
        """Return the winner of the search of the fit."""
        return self._search(self, curator)

    def of(self, persons):
        """Return this table with whose row each row is."""
        there = np.zeros(len(self), dtype=bool)
        there[self.present(np.arange(len(self)))] = True
        own = {"numbers": self.numbers, "search": self._search}
        return Table(self._X, self._y, **own, persons=persons.of(there))

    def __len__(self):
        return len(self._X)

    def head(self):
        """Return no rows, as a table of the types that :meth:`take` gives."""
        return self._X.head() if isinstance(self._X, Tables) else self.take(np.arange(0))

    def take(self, numbers):
        """Return a copy of the rows with these numbers, of Tables a view."""
        if isinstance(self._X, Tables):
            return self._X.only(numbers)
        return as_float64(safe_indexing(self._X, numbers))

    def targets(self, numbers):
        """Return the targets of the rows with these numbers, or None."""
        return None if self._y is None else self._y[numbers]

    def owners(self, numbers):
        """Return ``fit``'s groups of the rows with these numbers, a dict, empty without groups."""
        return {} if self.persons is None else {"groups": self.persons.some(numbers)}

    def present(self, numbers):
        """Return those of these numbers whose rows the estimator does not read as absent."""
        if self._y is not None:
            target = column_of(self._y[numbers])
            numbers = numbers[~is_missing(target)]
        if not self.numbers:
            return numbers
        return numbers[of_rows(_finite, self.take(numbers)).astype(bool)]


def as_float64(X):
    """Return an array of single precision as one of double precision."""
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X


def _finite(X):
    return finite_rows(as_numbers(X))


def split(table, coins, holdout):
    """Return the numbers of the training rows, and of those that are held out.

    Notes
    -----
    **Privacy**: a row is held out if its key, a secret 64-bit coin of its own, is below
    ``2^64 holdout``. Common rows of neighbouring tables have the same coins, so the row that only
    one of them has is in one part only, and the other part is the same in both. Given the coins, a
    run costs the larger of the costs of its fit and its score; hockey-stick divergence is jointly
    convex, so that this holds without the coins.

    With persons: one row of each is drawn by one key, and tells by another whether its person is
    held out. Then none of the person's rows is a training row, and that one is what scores are
    taken of: neighbours differ in the rows of one person, all in the training part, or in one row
    of the other, so what is proved of scores of rows holds. Scores are means over persons of what
    is expected of a row of theirs.
    """
    held = coins.keys(0, len(table), use="holdout") < np.uint64(int(holdout * 2.0**64))
    if table.persons is None:
        return np.flatnonzero(~held), np.flatnonzero(held)
    drawn = table.persons.first_by_key(coins, "holdout")
    drawn, codes = drawn[held[drawn]], table.persons.codes
    return np.flatnonzero(~np.isin(codes, codes[drawn])), drawn


class Runs:
    """Fits on the training rows of a table, and scores on those held out."""

    def __init__(self, table, curator, train, held):
        self._curator, self._table = curator, table
        self._train, self._held = train, table.present(held)
        self._X, self._y = table.take(self._held), table.targets(self._held)
        self._scorer = self._scores = self.report = None

    def prepare(self, scorer, reference, budget):
        """Let the scorer look at a reference model, a fitted one or None."""
        self._scorer = scorer
        curator = None
        if reference is not None:
            curator = self._for_score(scale_plan(budget))
        self._scores = scorer.prepare(reference, self._X, self._y, curator)

    def fitted(self, model, *, nobody=False, everybody=False):
        """Return ``model`` fitted on the training rows, on no rows or on all."""
        numbers = self._train[:0] if nobody else self._train
        numbers = np.arange(len(self._table)) if everybody else numbers
        X, y = self._table.take(numbers), self._table.targets(numbers)
        owners = self._table.owners(numbers)
        with self._curator.lent(numbers):
            return model.fit(X, **owners) if y is None else model.fit(X, y, **owners)

    def few(self, least, classes, budget):
        """Return whether rows, or persons, are too few for a search, by noisy counts of classes.

        Of two equal classes, or without public ones, ``least`` rows are enough.

        **Privacy** (add or remove one row): a row, or one row of a person, which its own rows
        choose, is in one class.
        """
        some = self._table.present(self._one_of_each())
        codes = np.zeros(len(some))
        if classes is not None:
            codes = Known(classes, -1.0, -1.0)(column_of(self._table.targets(some)))
        curator = self._for_score(Plan(budget, with_law(budget, SIZE)), some)
        return release_strength(codes, len(classes or [0]), curator) < least

    def _one_of_each(self):
        """Return the number of each row, or of one of each person: the held one, or the first."""
        if self._table.persons is None:
            return np.arange(len(self._table))
        codes = self._table.persons.codes
        firsts = self._train[np.unique(codes[self._train], return_index=True)[1]]
        return np.sort(np.concatenate([self._held, firsts[codes[firsts] >= 0]]))

    def alone(self, budgets, model_of):
        """Return what :meth:`winner` does, of one fit of all rows in place of a search."""
        seed = self._curator.seed()
        self._curator.book("search", budgets.alone.mu)
        model = self.fitted(model_of({}, budgets.alone, seed), everybody=True)
        return -1, math.nan, seed, _released(model), {}

    def winner(self, scorer, candidates, budgets, trials, model_of):
        """Return number, score, seed, attributes and report of the winner; of no other run.

        What is returned of the model are its released attributes.
        """
        seed = self._curator.seed
        numbers = self._curator.draw(trials, len(candidates), mu=budgets.mu, label="search")
        reference = None
        if budgets.reference is not None:
            reference = self.fitted(model_of(candidates[0], budgets.reference, seed()))
        self.prepare(scorer, reference, budgets.reference)
        best, index, winner, own, report = -math.inf, 0, None, None, None
        for i in numbers:
            now = seed()
            fitted = self.fitted(model_of(candidates[i], budgets.run, now))
            score = self.score(fitted, budgets.run)
            if winner is None or score > best:  # a score of which nothing is known is the lowest
                best = -math.inf if math.isnan(score) else score
                index, winner, own, report = i, fitted, now, self.report
        if winner is None:  # no run: an answer that knows no row
            best, own = 0.0, seed()
            winner = self.fitted(model_of(candidates[0], budgets.run, own), nobody=True)
        told = {} if report is None else scorer.state(report)
        return index, best, own, _released(winner), told

    def scores(self, model):
        """Return the scores of the held-out rows, in [0, 1] or NaN. Private."""
        return self._scores(model)

    def score(self, model, budget):
        """Release the score of a model on the held-out rows; ``report`` is what it is of."""
        told = self.scores(model)
        if not isinstance(self._scorer, ReportScorer):
            return release_score(told, self._for_score(Plan(budget, with_law(budget, SCORE))))
        self.report = self._scorer.report(told, budget, self._curator.seed())
        if self.report is not None:
            with self._curator.lent(self._held):
                self.report.fit(self._y, told[0], **self._table.owners(self._held))
        return self._scorer.of(self.report)

    def try_score(self, model, budgets):
        """Score a model of made-up rows, up to what is released unless that is a report."""
        if isinstance(self._scorer, ReportScorer):
            self.score(model, budgets.run)
        else:
            self.scores(model)

    def _for_score(self, plan, numbers=None):
        grouped = self._table.persons is not None
        plan = replace(plan, privacy_unit="group" if grouped else "row")
        curator = self._curator.for_score(plan, self._held if numbers is None else numbers)
        curator.one_row_each = grouped
        return curator


def _released(model):
    given = model.get_params(deep=False)
    return {name: value for name, value in vars(model).items() if name not in given}


def release_score(scores, curator):
    """Release the mean of scores in [0, 1].

    Notes
    -----
    **Privacy** (add or remove one row): see :class:`skdp.kernel._sums.ScoreSum`; the score of a
    row knows no other row.
    """
    release = table_of_numbers(scores, curator).ask(ScoreSum(), SCORE)
    total, count = (float(entry) for entry in release.value)
    return min(max(0.5 + total / max(count, HALF) / 2, -1.0), 2.0)


def release_strength(codes, n_classes, curator):
    """Release n, of rows with one code, or n times 4 p (1 - p), the mean over classes.

    ``codes`` are those of classes, a number for each row, -1 of what is none of them.
    """
    told = table_of_numbers(codes, curator).ask(ClassCounts(n_classes), SIZE)
    counts = np.maximum(told.real, 0.0)
    n = max(float(counts.sum()), 1.0)
    return n if n_classes < 2 else float(4 * n * np.mean(counts / n * (1 - counts / n)))


UNTYPED = (
    "y has no dtype of its own, and its entries must not choose one: one row could turn the "
    "targets of all others into text. {} an array or a Series."
)


PLAIN = bool, int, float, str, type(None)
OWN = "random_state", "ledger"  # of the fit


def classes_of(estimator):
    """Return the public classes of an estimator, None if it has none."""
    classes = getattr(final_step(estimator), "classes", None)
    return None if classes is None else public_classes(classes)


def counted(search, tables):
    """Set the names of what comes in pieces, and count its rows."""
    validate_data(search, tables.head(), skip_check_array=True)
    look_at(tables, entries=False)
    return tables


def in_memory(search, X, numbers):
    """Return X as runs are given parts of it: a frame stays one."""
    model = search.estimator
    if not numbers and reads_numbers_and_gaps(model, X):
        return validated_rows(search, X, missing=True)
    if not numbers:
        frame = {"skip_check_array": True} if hasattr(X, "columns") else {"dtype": None}
        return validate_data(search, X, **frame, ensure_all_finite=False, ensure_min_samples=0)
    if not hasattr(X, "columns"):
        return validated_rows(search, X, missing=getattr(model, "_gaps", False))
    with config_context(invalid_rows="ignore"):  # as runs will read it: by its types
        validated_rows(search, X, missing=getattr(model, "_gaps", False))
    return X


def of_doubles(tables):
    """Return tables of single precision as those of double precision."""
    return tables.mapped(as_float64, as_float64(tables.head()))


def reads_numbers(model, X, y):
    """Let a model read X as its fit would; return whether that is a table of numbers."""
    if not isinstance(model, PrivateEstimator):
        return True
    rows = model._read(X, y)
    if hasattr(model, "_begins_with_numbers"):
        return model._begins_with_numbers()
    return isinstance(rows, Source) if model._target is None else not model._mixed


def targets_of(X, y, model):
    """Return the targets, an array with one entry per row, checked as a model checks them."""
    if y is None:
        raise ValueError("this search requires y to be passed, but the target y is None.")
    n_rows = _length(X)
    if getattr(final_step(model), "_target", None) is not None:
        return _typed(checked_target(final_step(model), y, n_rows))
    y = _typed(y)
    if y.ndim != 1 or len(y) != n_rows:
        raise ValueError("y must be one-dimensional, with one entry for every row of X.")
    return y


def _length(X):
    if hasattr(X, "shape"):
        return X.shape[0]
    return len(X if hasattr(X, "__len__") else np.asarray(X))


def _typed(y):
    """Return targets as an array whose type no single target chooses.

    Of what has no type of its own, as lists, numbers become float64 and texts objects; so do
    entries of types that numpy does not know, which it would choose by whether one is missing.
    """
    if hasattr(y, "dtype"):
        return np.asarray(y) if isinstance(y.dtype, np.dtype) else _objects(y)
    if get_config()["invalid_rows"] == "ignore":
        raise ValueError(UNTYPED.format('Under invalid_rows="ignore" pass'))
    if isinstance(y, list | tuple) and all(isinstance(target, str) for target in y):
        return _objects(y)
    try:
        return np.asarray(y, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        refusal = ValueError(UNTYPED.format("Pass numbers, texts, or"))
    raise refusal


def _objects(y):
    targets = np.empty(len(y), dtype=object)
    targets[:] = list(y)
    return targets


def is_plain(x):
    """Return whether an estimator, or a parameter, holds no code of a user."""
    if type(x) in PLAIN or (type(x) is np.ndarray and x.dtype.kind in "biufU"):
        return True
    if type(x) in (list, tuple) or (type(x) is np.ndarray and x.dtype.kind == "O"):
        return all(map(is_plain, np.ravel(x) if type(x) is np.ndarray else x))
    if type(x) is dict:
        return all(type(key) is str for key in x) and all(map(is_plain, x.values()))
    if getattr(skdp, type(x).__name__, None) is not type(x) or not hasattr(x, "get_params"):
        return False  # denoisers too are public, of plain parameters
    return all(is_plain(v) for k, v in x.get_params(deep=False).items() if k not in OWN)
