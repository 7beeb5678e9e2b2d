"""One release for all columns of a table: names of texts, counts, quantiles, moments."""

import math
import sys
from dataclasses import replace

import numpy as np
from scipy.special import ndtri_exp

from skdp.accounting import Step
from skdp.columns import bounded_moments, find_quantiles, rank_steps
from skdp.kernel._bounded import Bernstein, Powers
from skdp.kernel._columns import EdgeCells
from skdp.kernel._labels import ColumnLabels, EntryStates, NumberColumns, RowsWithEntries
from skdp.location._gaps import are_beyond, reach
from skdp.mechanisms._exact import exact
from skdp.summary._columns import BOOL, NUMBER, TEXT, LabelColumn, NumberColumn
from skdp.table._target import Selection

__all__ = ["release_columns", "summary_events", "summary_steps"]

COUNT = Step("row count", at_most=0.01, of=(RowsWithEntries,))
COMMON, SURE = 0.05, 1.5  # texts of such a part of all rows are found, with so many noises to spare
NAMES = 0.04, 0.45  # share of the budget that finds them, at least and at most
PART = 0.01  # of all rows: the noise in the count of a label
ENTRIES = 0.03, 0.06  # its share
ALONE = 0.6  # share of the names where no column holds numbers
OUTER, NEAR = (0.02, 0.98), 0.05  # quantiles that moments reach from, if none as far is asked for
MOMENTS = 0.12  # of what columns of numbers have
COUNTED = 1 / 6  # of that
BEYOND = Step("entries beyond", at_most=MOMENTS * COUNTED, of=(EdgeCells,))
QUANTILES = "quantiles"
EQUAL, UNSEEN = 1e-9, 2.0  # part of a number that quantiles differ by; noises that rows hide in


def summary_steps(budget):
    """Return the steps of a plan that :func:`release_columns` takes."""
    return (
        COUNT,
        *Selection("levels", at_most=ALONE).steps(),
        Step("entries", at_most=1, of=(EntryStates,)),
        Step(QUANTILES, "child", at_most=1),
        *(replace(s, label=f"{QUANTILES}/{s.label}") for s in rank_steps(budget, bounded=False)),
        BEYOND,
        Step("moments", at_most=1, of=(Powers, Bernstein)),
    )


def summary_events(budget):
    """Return the failure events of :func:`release_columns`."""
    return Selection("levels").events(budget)


def release_columns(table, kinds, q, failure):
    """Return the released number of rows, its noise, and what is told of every column.

    Shapes: kinds, a kind for each column; q, rising, (n_q,).

    Notes
    -----
    **Privacy** (add or remove one row). A row moves the number of rows by 1, one label of every
    column of text, one state of every such column, and one cell of every column of numbers. What is
    asked next, and for which share, is made of public kinds and of releases.
    """
    release = table.ask(RowsWithEntries(), COUNT)
    sd = release.scale
    n = max(float(release.value[0]), 2 * sd, 2.0)
    texts, labelled, numbers = (
        [j for j, kind in enumerate(kinds) if kind in some]
        for some in ((TEXT,), (TEXT, BOOL), (NUMBER,))
    )
    shares = _shares(table.budget.mu, n, len(texts), len(labelled), len(numbers), failure)
    told = _labels(table, kinds, texts, labelled, shares)
    if numbers:
        told |= _numbers(table, numbers, q)
    return n, sd, tuple(told[j] for j in range(len(kinds)))


def _shares(mu, n, texts, labelled, numbers, failure):
    """Return the shares of names and of states: as much as finds what is common, and tells it.

    A text is found if its count clears a threshold: the noise in k columns is sqrt(k / s) / mu, and
    so much larger is a failure for one of them.
    """
    names = states = 0.0
    if texts:
        log_p = math.log(failure) - math.log(texts)
        needed = (-float(ndtri_exp(log_p)) + SURE) * math.sqrt(texts) / (COMMON * n * mu)
        names = float(np.clip(needed**2, *NAMES)) if numbers else ALONE
    if labelled:
        states = float(np.clip(labelled / (PART * n * mu) ** 2, *ENTRIES))
    return names, states if numbers else None


def _labels(table, kinds, texts, labelled, shares):
    """Return the LabelColumns of columns of text and truth values, by place."""
    if not labelled:
        return {}
    found = {j: (False, True) for j in labelled if kinds[j] == BOOL}
    if texts:
        options = {"share": shares[0], "label": "levels", "event": "levels"}
        names = table.names(ColumnLabels(tuple(texts)), **options)
        found |= {j: tuple(own) for j, own in zip(texts, names, strict=True)}
    question = EntryStates(tuple(labelled), tuple(found[j] for j in labelled))
    share = table.remaining if shares[1] is None else shares[1]
    release = table.ask(question, share=share, label="entries")
    parts = np.split(release.real, np.cumsum(question.sizes)[:-1])
    return {
        j: LabelColumn(kinds[j], found[j], part[:-2], float(part[-2]), float(part[-1]), release.sd)
        for j, part in zip(labelled, parts, strict=True)
    }


def _numbers(table, places, q):
    """Return the NumberColumns of columns of numbers, by place; they pay all that is left."""
    view = table.map(NumberColumns(tuple(places)))
    asked, q = q, np.union1d(q, OUTER if q[0] > NEAR or q[-1] < 1 - NEAR else [])
    found = find_quantiles(view.child(QUANTILES, view.remaining * exact(1 - MOMENTS)), q)
    columns = [NumberColumn.of_ranks(q, found, j, asked) for j in range(len(places))]
    reached = [j for j, column in enumerate(columns) if column.found]
    if reached:
        n = [max(float(found.excess[j][0, -1] - found.excess[j][0, 0]), 1.0) for j in reached]
        strength = view.budget.mu * math.sqrt(float(view.remaining) / len(reached))
        ends = np.array([reach(q, found, j, m * strength) for j, m in zip(reached, n, strict=True)])
        view = table.map(NumberColumns(tuple(places[j] for j in reached)))
        beyond, sd = _beyond(view, ends)
        ends = ends.T
        options = {"degree": 2, "share": view.remaining, "label": "moments"}
        moments = bounded_moments(view, low=ends[0], high=ends[1], **options)
        for i, j in enumerate(reached):
            told = {"moments": moments.values[:, i], "covariance": moments.covariance}
            told["tail"], told["loose"] = are_beyond(q, found, j, ends[:, i], beyond[i], sd)
            told["alone"] = _is_alone(found.location[1:-1, j], beyond[i], sd, n[i])
            columns[j] = replace(columns[j], bounds=ends[:, i], **told)
    return dict(zip(places, columns, strict=True))


def _is_alone(location, beyond, sd, n):
    """Return whether one number hides others: quantiles agree, and a hundredth may be unseen.

    The mean of such a column moves by as much as its rare entries are far, which nothing tells.
    """
    near = EQUAL * np.abs(location).max() + sys.float_info.min  # zero, and the float below it
    agree = len(location) > 1 and np.ptp(location) <= near
    return bool(agree and (beyond + UNSEEN * sd).max() > PART * n)


def _beyond(view, ends):
    """Release how many entries are beyond both ends of columns, and the deviation of the noise."""
    edges = tuple(np.array([-np.inf, np.nextafter(a, -np.inf), b, np.inf]) for a, b in ends)
    question = EdgeCells(np.arange(len(ends)), edges, "entries")
    told = view.ask(question, BEYOND, share=view.remaining * exact(COUNTED))
    return told.real.reshape(-1, 3)[:, [0, 2]], told.sd
