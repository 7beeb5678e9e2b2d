"""One release for all columns of a table: names of texts, counts, quantiles, moments."""

import math
import sys
from dataclasses import replace

import numpy as np
from scipy.special import ndtri_exp

from skdp.accounting import Step
from skdp.columns import bounded_moments, find_quantiles, rank_steps
from skdp.columns._ranks_read import RankMoments
from skdp.columns._ranks_search import are_crowded
from skdp.kernel._bounded import Bernstein, Powers
from skdp.kernel._columns import EdgeCells
from skdp.kernel._labels import ColumnLabels, EntryStates, NumberColumns, RowsWithEntries
from skdp.location._column_strategies import are_beyond, reach
from skdp.mechanisms._exact import exact
from skdp.scales._column_noise import ColumnNoise
from skdp.summary._columns import BOOL, JUDGED, NUMBER, TEXT, LabelColumn, NumberColumn
from skdp.table._levels import Selection

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
        told |= _numbers(table, numbers, q, n)
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


def _numbers(table, places, q, n):
    """Return the NumberColumns of columns of numbers, by place; they pay all that is left.

    Ranks of many columns tell their moments, too: less is off than by sums between ends, of which
    noise makes the range. What these had cost tells ranks.
    """
    view = table.map(NumberColumns(tuple(places)))
    asked, q = q, np.union1d(q, OUTER if q[0] > NEAR or q[-1] < 1 - NEAR else [])
    share, noise = float(view.remaining), ColumnNoise(view.budget)
    crowded = are_crowded(noise, share * (1 - MOMENTS), len(places), q, n)
    part = view.remaining * exact(1 - MOMENTS * (not crowded))
    found = find_quantiles(view.child(QUANTILES, part), q, crowded=crowded or None)
    columns = [NumberColumn.of_ranks(q, found, j, asked) for j in range(len(places))]
    reached = [j for j, column in enumerate(columns) if column.found]
    if crowded:
        for j in reached:
            moments = RankMoments.of(found.fits[j])
            alone = _agree(columns[j].location) and moments.unseen(JUDGED).max() > PART
            columns[j] = replace(columns[j], by_ranks=moments, alone=bool(alone))
    elif reached:
        _between_ends(table, places, q, found, columns, reached)
    return dict(zip(places, columns, strict=True))


def _between_ends(table, places, q, found, columns, reached):
    """Release moments of entries between ends, for NumberColumns of which quantiles are found."""
    n = [max(float(found.excess[j][0, -1] - found.excess[j][0, 0]), 1.0) for j in reached]
    view = table.map(NumberColumns(tuple(places[j] for j in reached)))
    strength = view.budget.mu * math.sqrt(float(view.remaining) / len(reached))
    ends = np.array([reach(q, found, j, m * strength) for j, m in zip(reached, n, strict=True)])
    beyond, sd = _beyond(view, ends)
    ends = ends.T
    options = {"degree": 2, "share": view.remaining, "label": "moments"}
    moments = bounded_moments(view, low=ends[0], high=ends[1], **options)
    for i, j in enumerate(reached):
        told = {"moments": moments.values[:, i], "covariance": moments.covariance}
        told["tail"], told["loose"] = are_beyond(q, found, j, ends[:, i], beyond[i], sd)
        alone = _agree(columns[j].location) and (beyond[i] + UNSEEN * sd).max() > PART * n[i]
        columns[j] = replace(columns[j], bounds=ends[:, i], alone=bool(alone), **told)


def _agree(location):
    """Return whether all quantiles but the outermost agree: then rare entries may be hidden.

    The mean of such a column moves by as much as its rare entries are far, which nothing tells.
    """
    inner = location[1:-1]
    near = EQUAL * np.abs(inner).max(initial=0) + sys.float_info.min  # zero, the float below it
    return len(inner) > 1 and np.ptp(inner) <= near


def _beyond(view, ends):
    """Release how many entries are beyond both ends of columns, and the deviation of the noise."""
    edges = tuple(np.array([-np.inf, np.nextafter(a, -np.inf), b, np.inf]) for a, b in ends)
    question = EdgeCells(np.arange(len(ends)), edges, "entries")
    told = view.ask(question, BEYOND, share=view.remaining * exact(COUNTED))
    return told.real.reshape(-1, 3)[:, [0, 2]], told.sd
