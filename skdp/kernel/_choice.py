"""Integers to choose by."""

from abc import abstractmethod

from skdp.kernel._statistic import Statistic

__all__ = ["Choice"]


class Choice(Statistic):
    """Integers that the exponential mechanism chooses by, see :meth:`skdp.base.Table.choose`.

    A subclass writes ``most``, the largest change of one of them by one row, and
    ``scores(exact)``, whose entries move by no more than those of ``exact``.
    """

    @property
    @abstractmethod
    def most(self):
        """The largest size of an entry of a contribution."""

    @abstractmethod
    def scores(self, exact):
        """Return the scores of the candidates; large ones are likely."""
