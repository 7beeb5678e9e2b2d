"""The Curator of a search, and the Curators of its runs."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from skdp.accounting._selection import search_charge
from skdp.gate._curator import Curator, make_curator, replaced_curator
from skdp.gate._parallel import SubsetKeys
from skdp.mechanisms._repeats import draw_candidates

__all__ = ["SearchCurator"]

NOTE = "one run of a search: the guarantee of what was published is that of the search"


class SearchCurator(Curator):
    """Books a search as one release, and lends every run a Curator and the keys of its rows."""

    def __init__(self, plan, entropy, make):
        super().__init__(plan, entropy)
        self._make = make
        self.coins = self._make_session(plan).coins

    def draw(self, trials, n_candidates, *, mu, label):
        """Draw the number of runs, and the number of a candidate for each. Never published.

        Notes
        -----
        **Privacy**: nothing of it depends on rows. The whole search is charged here; the number of
        runs tells how good the winner had to be, and stays inside the fit.
        """
        self.book(label, mu)
        return draw_candidates(n_candidates, trials.draw(self._entropy), self._entropy)

    def book(self, label, mu):
        """Charge all of the budget, for runs of which one is published."""
        self._pay(label, "repeat", 1)
        self._record(search_charge(label, mu))

    def seed(self):
        """Return the ``random_state`` of a run: None, or of a seeded search another seed."""
        return int(self._entropy.words(1)[0] >> np.uint64(33)) if self._entropy.seeded else None

    @contextmanager
    def lent(self, numbers):
        """Let Curators that are made in this context deal the keys of the rows at ``numbers``."""

        def make(plan, entropy):
            noted = replace(plan, assumptions=(*plan.assumptions, NOTE))
            curator = self._make_session(noted, entropy)
            curator.coins = SubsetKeys(curator.coins, numbers)
            return curator

        with replaced_curator(make):
            yield

    def for_score(self, plan, numbers):
        """Return a Curator for releases about the rows at ``numbers``."""
        with self.lent(numbers):
            return make_curator(plan, self._entropy)

    def _make_session(self, plan, entropy=None):
        with replaced_curator(self._make):
            return make_curator(plan, entropy or self._entropy)
