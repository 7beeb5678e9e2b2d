"""The runs of a search: one split of the rows, a model for one part, its score on the other."""

import numpy as np

from skdp._config import config_context
from skdp.mechanisms import finite_rows
from skdp.model_selection._scorers import release_score, scale_plan, score_plan

__all__ = ["Runs"]


class Runs:
    """The rows of a search, split once, and how its scorer sees the held-out ones.

    Parameters
    ----------
    rows : ArrayRows
    curator : SearchCurator
    holdout : float
        Part of the rows that is held out.

    Notes
    -----
    **Privacy**: a row is held out if its key, a secret 64-bit coin of its own, is below
    ``2^64 holdout``. Common rows of neighbouring tables have the same coins, so the row that only
    one of them has is in one part only, and the other part is the same in both. Given the coins, a
    run costs the larger of the costs of its fit and its score; hockey-stick divergence is jointly
    convex, so that this holds without the coins.
    """

    def __init__(self, rows, curator, holdout):
        coins = curator.coins.keys(0, len(rows), use="holdout")
        held = coins < np.uint64(int(holdout * 2.0**64))
        self._curator, self._rows = curator, rows
        self._train = np.flatnonzero(~held)
        held = np.flatnonzero(held)
        self._held = held[finite_rows(rows.take(held))]
        self._X = rows.take(self._held)
        self._scores = None

    def prepare(self, scorer, reference, budget):
        """Let the scorer look at a reference model, a fitted one or None."""
        curator = None
        if reference is not None:
            curator = self._curator.for_score(scale_plan(budget), self._held)
        self._scores = scorer.prepare(reference, self._X, self._targets(self._held), curator)

    def fitted(self, model, *, nobody=False):
        """Return ``model`` fitted on the training rows, or on no rows."""
        numbers = self._train[:0] if nobody else self._train
        y = self._targets(numbers)
        with self._curator.lent(numbers), config_context(invalid_rows="ignore"):
            X = self._rows.take(numbers)
            return model.fit(X) if y is None else model.fit(X, y)

    def score(self, model, budget):
        """Release the score of a model on the held-out rows."""
        curator = self._curator.for_score(score_plan(budget), self._held)
        return release_score(self._scores(model), curator)

    def _targets(self, numbers):
        y = self._curator.target
        return None if y is None else y[numbers]
