"""The Table: rows, keys, persons and the budget behind one door."""

import math
import threading
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from skdp._private_part import Local
from skdp.kernel._labels import names_of
from skdp.kernel._log import Log, Noisy
from skdp.kernel._plain import checked, refuse
from skdp.kernel._statistic import Choice, Offer, RowMap, Rule, Shape, Statistic
from skdp.kernel._totals import keyed_rows, levels_of, numbering_of, sets_of, totals
from skdp.readers._persons import representatives_of, unweighted_rows

_replacement = ContextVar("skdp_table", default=None)


class Table:
    """Private rows to ask. Only :class:`Noisy` answers, public shapes and the bill come out.

    ``ask`` checks the question, prices it, adds up integers, adds noise, and writes the bill.
    ``map`` and other views return Tables: a row of theirs is a function of the same row here, so
    neighbours stay neighbours; weights, keys and persons of rows go along unseen.

    Parameters
    ----------
    rows : Rows
    curator : Curator

    See Also
    --------
    Statistic, Noisy, PrivateEstimator

    Notes
    -----
    **Privacy**: user guide "Kernel". Nothing here hides rows from Python: engines hold Tables
    alone, which the rules of the source enforce, and give the same bits where the rows are in
    another process.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import ArrayRows, Budget, Count, Plan, Step, Table
    >>> plan = Plan(Budget.gaussian(1.0, 1e-6), (Step("count"),))
    >>> table = Table(ArrayRows(np.zeros((500, 2))), CannedCurator(plan, "exact"))
    >>> table.ask(Count(), share=1, label="count").value
    array([500])
    """

    __slots__ = ("_curator", "_levels", "_lock", "_log", "_rows")
    _answers = Statistic  # kinds of questions

    def __init__(self, rows, curator):
        self._rows, self._curator = rows, curator
        self._log, self._lock, self._levels = Log.of(curator), threading.RLock(), levels_of(rows)

    # -- public numbers ----------------------------------------------------------------------

    @property
    def shape(self):
        """What is public of the rows, read off them at every question."""
        sizes = getattr(self._rows, "sizes", None)
        kind = getattr(self._rows, "kind", "numbers" if sizes is None else "cells")
        return Shape(self._rows.n_features, kind, None if sizes is None else tuple(sizes))

    @property
    def n_features(self):
        """The number of columns."""
        return self._rows.n_features

    @property
    def budget(self):
        """The budget that the shares are parts of."""
        return self._curator.budget

    @property
    def remaining(self):
        """The share that has not been spent, an exact rational."""
        return self._curator.remaining

    @property
    def about(self):
        """What else is public of the rows, by name: types of columns, whether gaps lose rows."""
        of_rows = {"whole_rows": getattr(self._rows, "whole_rows", False)}
        return of_rows | getattr(self._rows, "about", {})

    @property
    def heads(self):
        """The released number of persons, None if rows belong to nobody."""
        return getattr(self._rows, "heads", None)

    @property
    def cap(self):
        """As how many rows a person counts at most: public or released."""
        return self._rows.cap

    @property
    def heads_ticket(self):
        """The ticket of :attr:`heads`."""
        heads = self.heads
        if "ticket" not in self._log.heads:
            told = Noisy(np.array([heads.told]), heads.sd)
            self._log.heads["ticket"] = self._log.add(None, heads, told)
        return self._log.heads["ticket"]

    def decide(self, text):
        """Note a decision that was taken from released values alone."""
        refuse(not isinstance(text, str), "a decision is a text")
        self._curator.decide(text)

    def doubt(self, text, columns=None):
        """Note that something released has low accuracy; see :meth:`skdp.base.Curator.doubt`."""
        self._curator.doubt(text, columns)

    def fails(self, *events):
        """Declare planned failure events, of quantiles kept in the log; return the largest."""
        return max(self._log.fails(event, self._curator.fails(event)) for event in events)

    # -- questions ---------------------------------------------------------------------------

    def ask(self, statistic, step=None, *, share=None, label=None, law=None):
        """Return the :class:`Noisy` answer to a question.

        Parameters
        ----------
        statistic : Statistic
        step : Step, default=None
            The planned step, instead of its label.
        share : float or Fraction, default=None
            Part of the budget; by default ``at_most`` of the step.
        label : str, default=None
            Of a planned step.
        law : {"gaussian", "laplace"}, default=None
            Of the noise; by default Laplace for a pure budget, else Gaussian.
        """
        if step is not None:
            share, label = step.at_most if share is None else share, step.label
        return self.ask_all((statistic, share, label), law=law)[0]

    def ask_all(self, *questions, law=None):
        """Return the answers to several (statistic, share, label): one pass, one charge each."""
        law = law or ("laplace" if self.budget.measure == "pure" else "gaussian")
        refuse(law not in ("gaussian", "laplace"), "a law of noise is gaussian or laplace")
        asked = []
        for statistic, share, label in questions:
            asked.append((self._checked(statistic, label), share, label))
        self._curator.afford_all(law, [(label, share) for _, share, label in asked])
        asked = [(self._prepared(one, share), share, label) for one, share, label in asked]
        pure = law == "laplace"
        refuse(pure and any(one.l1 is None for one, _, _ in asked), "no bound for a pure budget")
        with self._lock:
            exact = self._totals([statistic for statistic, _, _ in asked])
            return [
                self._released(statistic, one, share, label, law)
                for (statistic, share, label), one in zip(asked, exact, strict=True)
            ]

    def choose(self, choice, *, share, label):
        """Return the number of a candidate, by the exponential mechanism.

        **Privacy**: a score moves by at most ``choice.most``, which the :class:`Choice` computes.
        """
        refuse(not isinstance(choice, Choice), "candidates are chosen by a Choice")
        choice = self._checked(choice, label)
        self._curator.afford(label, "select", share)
        choice = choice.at(self._offer(share))
        with self._lock:
            scores = choice.scores(self._totals([choice])[0])
            return self._curator.select(scores, sensitivity=choice.most, share=share, label=label)

    def names(self, labels, *, share, label, event):
        """Return the labels that occur often in each of k columns, sorted: k lists.

        Parameters
        ----------
        labels : Labels
        share : float or Fraction
            Part of the budget.
        label : str
            Of a planned step, Gaussian.
        event : str
            Of a planned failure event.
        """
        with self._lock:
            return names_of(self, labels, share=share, label=label, event=event)

    def _checked(self, statistic, label=None):
        """Return a copy of a question that fits rows and plan."""
        text, shape = "only registered statistics are answered", self._shape_for(statistic)
        statistic = checked(statistic, self._answers, shape, text)
        planned = label is None or self._curator.plans(label, type(statistic))
        refuse(not planned, "the plan names another statistic")
        return statistic

    def _shape_for(self, statistic):
        return self.shape

    def _offer(self, share):
        heads = 0.0 if self.heads is None else self.heads.n
        return Offer(self.budget, share, getattr(self._rows, "unit", 1), heads)

    def _prepared(self, statistic, share):
        return statistic.at(self._offer(share))

    def _totals(self, statistics):
        if len(statistics) == 1 and hasattr(statistics[0], "ahead"):
            return [statistics[0].ahead(self._levels)]
        return totals(self._rows, statistics)

    def _released(self, statistic, exact, share, label, law):
        draw = self._curator.gaussian if law == "gaussian" else self._curator.laplace
        bound = statistic.l2 if law == "gaussian" else statistic.l1
        told = draw(exact, sensitivity=bound, share=share, label=label)
        ticket = self._log.add(self, statistic, told)
        value = np.asarray(told.value)
        return Noisy(value, told.scale, told.law, statistic.step, ticket, statistic.bits)

    # -- views and parts of the budget -------------------------------------------------------

    def _view(self, rows, curator=None):
        return type(self)(rows, curator or self._curator)

    def map(self, row_map):
        """Return the Table of what a :class:`RowMap` makes of every row."""
        row_map = checked(row_map, RowMap, self.shape, "only registered views")
        if row_map.keyed is None:
            return self._view(row_map.over(self._rows))
        self._log.keyed(row_map.keyed, numbering_of(self._rows))
        return self._view(row_map.over(self._rows, self._curator.coins))

    def split(self, rule, n_parts):
        """Return :class:`Parts`: disjoint sets of rows that are asked side by side and pay once."""
        from skdp.kernel._parts import Parts  # it answers with Noisy, which is defined here

        return Parts(self, rule, n_parts)

    def local(self, rule, kind):
        """Return a :class:`skdp.base.Local` of the sets in which a :class:`Rule` puts all rows.

        **Privacy**: none: it is as private as the rows, for their owner alone. It is made in this
        process only.

        Parameters
        ----------
        rule : Rule
        kind : type
            Derived from Local; it is made of an array with the set of every row of the table.
        """
        refuse(not issubclass(kind, Local), "what is private is kept by a Local")
        rule = checked(rule, Rule, self.shape, "only registered rules")
        return kind(sets_of(self._rows, rule))

    def sample(self, size, n_rows):
        """Return the :class:`Sampled` table of about ``size`` of ``n_rows`` rows, by secret keys.

        Of persons it holds one row each. It is in memory for the time of a fit.
        """
        from skdp.kernel._sampled import Sampled  # a Table, which is defined here

        self._check_drawing(size, n_rows)
        whole = numbering_of(unweighted_rows(self._rows))
        self._log.keyed("", numbering_of(self._rows) if whole is None else whole)
        return Sampled.drawn_from(self, size, n_rows)

    def drawn(self):
        """Return the Table of one row of each person, drawn by secret keys."""
        refuse(self.shape.kind != "numbers", "rows of numbers are drawn")
        rows, _ = representatives_of(self._rows, self._curator.coins)
        return self if rows is self._rows else self._view(rows)

    def thinned(self, size, n, *, use):
        """Return the Table of about ``size`` of ``n`` rows, drawn by secret keys of one ``use``."""
        self._check_drawing(size, n)
        refuse(not isinstance(use, str) or not use, "keys have a use, a text")
        self._log.keyed(f"thinned {use}", numbering_of(self._rows))
        return self._view(keyed_rows(self._rows, self._curator.coins, size / n, size, use))

    def _check_drawing(self, size, n):
        refuse(self.shape.kind != "numbers", "rows of numbers are drawn")
        refuse(not 0 < size < math.inf, "a sample has a positive finite size")
        refuse(not 0 < n < math.inf, "the number of rows is positive and finite")

    def child(self, label, share, *, budget=None):
        """Return the same rows with a share of the budget; see :meth:`skdp.base.Curator.child`."""
        return self.paid_by(self._curator.child(label, share, budget=budget))

    def paid_by(self, other):
        """Return the same rows, whose answers the budget of another Table, or a Curator, pays.

        **Privacy**: it is a child of the budget that pays for these rows. That of one of
        some disjoint sets pays for no other rows: all sets together pay once.
        """
        curator = getattr(other, "_curator", other)
        refuse(not _pays(curator, self._curator), "a budget of other rows, or of another fit")
        return self if curator is self._curator else self._view(self._rows, curator)


def _pays(curator, own):
    """Return whether a Curator is another one, or a child of it that pays for the same rows."""
    drawn = getattr(curator, "row_places", None)
    while curator is not own and not getattr(curator, "of_a_set", True):
        curator = curator._parent
    return curator is own and drawn is own.row_places


def opened(rows, curator):
    """Return the Table of rows whose answers a Curator pays; both may be Tables already."""
    if isinstance(rows, Table):
        return rows.paid_by(curator)
    return Table(rows, getattr(curator, "_curator", curator))


def made_table(rows, curator):
    """Return the Table of a fit: of the kind that its rows name, or what stands in for it."""
    return (_replacement.get() or getattr(rows, "door", Table))(rows, curator)


@contextmanager
def replaced_table(make):
    """Let ``make(rows, curator)`` stand in for the Table of fits in this context: for audits."""
    token = _replacement.set(make)
    try:
        yield
    finally:
        _replacement.reset(token)


def annex(table):
    """Return the rows and the Curator behind a Table.

    For the annexes alone, whose rows decide by noise of their own or are functions of a user's:
    they run in this process, under proofs of their own. The rules of the source list them.
    """
    return table._rows, table._curator
