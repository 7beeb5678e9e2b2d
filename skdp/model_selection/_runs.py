"""The runs of a search: one split of the rows, a model for one part, its score on the other."""

import numpy as np

from skdp._compat import safe_indexing
from skdp.chunks._tables import Tables
from skdp.mechanisms import finite_rows
from skdp.model_selection._scorers import (
    as_numbers,
    of_rows,
    release_score,
    scale_plan,
    score_plan,
)

__all__ = ["Runs", "Table", "doubles", "split"]


class Table:
    """The rows of a search, and their targets if there are any.

    Parameters
    ----------
    X : array, DataFrame or Tables
        A frame stays one: runs see its names and types. Of Tables runs are given views.
    y : ndarray of shape (n_samples,) or None
    numbers : bool
        Whether the estimator reads X as a table of numbers, so that a row which holds NaN or
        infinity is none.
    """

    def __init__(self, X, y=None, *, numbers=True):
        self._X, self._y, self.numbers = X, y, numbers

    def __len__(self):
        return len(self._X)

    def head(self):
        """Return no rows, as a table of the types that :meth:`take` gives."""
        return self._X.head() if isinstance(self._X, Tables) else self.take(np.arange(0))

    def take(self, numbers):
        """Return a copy of the rows with these numbers, of Tables a view."""
        if isinstance(self._X, Tables):
            return self._X.only(numbers)
        return doubles(safe_indexing(self._X, numbers))

    def targets(self, numbers):
        """Return the targets of the rows with these numbers, or None."""
        return None if self._y is None else self._y[numbers]

    def present(self, numbers):
        """Return those of these numbers whose rows the estimator does not read as absent."""
        if not self.numbers:
            return numbers
        return numbers[of_rows(_finite, self.take(numbers)).astype(bool)]


def doubles(X):
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
    """
    held = coins.keys(0, len(table), use="holdout") < np.uint64(int(holdout * 2.0**64))
    return np.flatnonzero(~held), np.flatnonzero(held)


class Runs:
    """Fits on the training rows of a table, and scores on those held out.

    Parameters
    ----------
    table : Table
    curator : SearchCurator
    train, held : ndarray of int
        Numbers of rows, increasing; of private rows as :func:`split` returns them.
    """

    def __init__(self, table, curator, train, held):
        self._curator, self._table = curator, table
        self._train, self._held = train, table.present(held)
        self._X, self._y = table.take(self._held), table.targets(self._held)
        self._scores = None

    def prepare(self, scorer, reference, budget):
        """Let the scorer look at a reference model, a fitted one or None."""
        curator = None
        if reference is not None:
            curator = self._curator.for_score(scale_plan(budget), self._held)
        self._scores = scorer.prepare(reference, self._X, self._y, curator)

    def fitted(self, model, *, nobody=False):
        """Return ``model`` fitted on the training rows, or on no rows."""
        numbers = self._train[:0] if nobody else self._train
        X, y = self._table.take(numbers), self._table.targets(numbers)
        with self._curator.lent(numbers):
            return model.fit(X) if y is None else model.fit(X, y)

    def scores(self, model):
        """Return the scores of the held-out rows, in [0, 1] or NaN. Private."""
        return self._scores(model)

    def score(self, model, budget):
        """Release the score of a model on the held-out rows."""
        curator = self._curator.for_score(score_plan(budget), self._held)
        return release_score(self.scores(model), curator)
