"""What a fit has been told: noisy answers, and the log that bounds are read off."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri_exp

from skdp.kernel._plain import public, refuse


@public
@dataclass(frozen=True, eq=False)
class Noisy:
    """A released answer of a :class:`Table`: integers plus noise.

    Parameters
    ----------
    value : ndarray
        Exact integers plus noise, in units of ``step``; of persons, float64.
    scale : float
        Standard deviation (Gaussian) or scale (Laplace) of the noise, in units of ``step``.
    law : {"gaussian", "laplace"}
    step : float, default=1.0
        Worth of one unit, in the unit of the data.
    ticket : int, default=-1
        Number of the answer in the log of the fit: conditional statistics name it.
    bits : int, default=None
        Of the grid that the kernel chose.
    """

    value: np.ndarray
    scale: float
    law: str = "gaussian"
    step: float = 1.0
    ticket: int = -1
    bits: int | None = None

    @property
    def real(self):
        """The answer in the unit of the data."""
        return self.value * self.step

    @property
    def sd(self):
        """The scale of its noise in the unit of the data."""
        return self.scale * self.step

    def __array__(self, dtype=None, copy=None):
        return np.array(self.value, dtype=dtype)


class Log:
    """What a fit has been told: bounds of conditional statistics are read off it.

    **Privacy.** A conditional statistic names tickets of earlier answers; the bound that follows
    from them is computed here, from what was released and from the failure events of the plan, so
    nobody can state a bound that does not hold. One failure event pays for the bound of one answer.
    """

    def __init__(self, above=None, place=""):
        self.own = above is None
        self.answers = [] if above is None else above.answers
        self.numberings = {} if above is None else above.numberings
        self.place = place if above is None else above.place + place
        self.quantile, self.bound, self.heads = {}, {}, {}

    @classmethod
    def of(cls, curator):
        """Return the log of a Curator, which shares the answers of its parent.

        One of several disjoint sets of rows has its own: no answer about other rows bounds anything
        here.
        """
        log = getattr(curator, "kernel_log", None)
        if log is None:
            parent = None if getattr(curator, "of_a_set", False) else curator
            parent = getattr(parent, "_parent", None)
            above = None if parent is None else cls.of(parent)
            log = curator.kernel_log = cls(above, getattr(curator, "_place", ""))
        return log

    @staticmethod
    def forget(curator):
        """Let go of the Tables of a fit that has ended, and so of rows that are held for it.

        **Privacy**: its tickets stay used up, and so do its keys: whoever holds the Curator still
        gets no bound from another answer, and no rows that old keys draw in a new numbering.
        """
        log = getattr(curator, "kernel_log", None)
        if log is not None and log.own:
            log.answers[:] = [None] * len(log.answers)
            log.numberings.update(dict.fromkeys(log.numberings, log))

    def add(self, view, statistic, told):
        """Keep an answer, of two numbers at most a copy that nobody else has; return its ticket."""
        value = np.array(told.value) if np.size(told.value) <= 2 else None
        return self.keep(view, statistic, Noisy(value, told.scale, told.law))

    def keep(self, view, question, told=None):
        """Keep an answer that no other answer rests on; return its ticket."""
        self.answers.append((view, question, told))
        return len(self.answers) - 1

    def get(self, ticket):
        """Return (Table, statistic, answer) of a ticket."""
        known = type(ticket) is int and 0 <= ticket < len(self.answers)
        refuse(not known or self.answers[ticket] is None, "no answer has this ticket")
        return self.answers[ticket]

    def keyed(self, use, numbering):
        """Refuse keys of one use for rows that are numbered in another way.

        Common rows of neighbours share their keys in one numbering; in two at once they cannot. The
        children of one label have the same keys, and so the same numbering.
        """
        first = self.numberings.setdefault(self.place + use, numbering)
        refuse(first is not numbering, "these keys have drawn other rows")

    def fails(self, event, log_probability):
        """Keep the normal quantile of a failure event; return it."""
        self.quantile[event] = -float(ndtri_exp(log_probability))
        return self.quantile[event]

    def margin(self, event, ticket):
        """Return how many standard deviations a bound lies off: an event serves one answer."""
        refuse(event not in self.quantile, "an event that was not declared")
        refuse(self.bound.setdefault(event, ticket) != ticket, "an event of another answer")
        return self.quantile[event]
