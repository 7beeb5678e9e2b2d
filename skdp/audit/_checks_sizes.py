"""Checks of tables of other sizes, of other budgets, and of persons."""

from dataclasses import replace

import numpy as np

from skdp.audit._checks_common import answers, small
from skdp.audit._dictionary import sizes_of, telling_rows
from skdp.audit._draw import AuditRandom
from skdp.audit._interference import compare_fits, script
from skdp.audit._observe import audited_clone
from skdp.audit._pairs import long_pairs
from skdp.audit._sensitivity import conditional_sensitivity, examine_pairs
from skdp.audit._tables import (
    Table,
    example_groups,
    small_blocks,
    tables_like,
    wider,
)

LONG, N_LONG = 5000, 16
FULL = 63, 127, 255  # rows that few bits count
VERY_LONG, N_VERY_LONG = 2**15 - 1, 2  # sixteen bits
WIDTHS = {1: 12, 2: 6, 8: 12, 40: 6, 100: 2}  # columns -> pairs
BUDGETS = ({"epsilon": 0.01}, {"delta": 0.0})
N_PAIRS = 12  # of other budgets, and of persons
FEW = 4  # tables for the first layer


def check_long_tables(name, estimator, data):
    """Check both layers on tables of thousands of rows, in several blocks too (8, 12)."""
    draw = AuditRandom("long tables")
    with small_blocks():
        examine_pairs(estimator, lambda worst: long_pairs(data, LONG, N_LONG, draw))
    sizes = [VERY_LONG, *sizes_of(estimator, VERY_LONG)]
    for n in (*FULL, *sizes[-2:]):
        examine_pairs(estimator, lambda worst, n=n: long_pairs(data, n, N_VERY_LONG, draw))
    tables = [Table("the table", data)]
    tables += [Table(f"{n} rows", data.take(np.resize(np.arange(len(data)), n))) for n in sizes]
    compare_fits(estimator, tables, [script(estimator, data, 0, 0)])


def check_wide_tables(name, estimator, data):
    """Check both layers on tables of one column and of many, where that is allowed (1 to 25)."""
    for d, n_pairs in WIDTHS.items():
        if d == data.n_features:
            continue
        rows = wider(data, d)
        if answers(estimator, rows):
            _both_layers(estimator, rows, n_pairs)


def check_other_budgets(name, estimator, data):
    """Check both layers at a small epsilon, and without a delta where that is allowed (9)."""
    for params in BUDGETS:
        if not params.keys() <= estimator.get_params().keys():
            continue
        twin = audited_clone(estimator, **params)
        if params.items() <= estimator.get_params().items() or not answers(twin, data):
            continue
        _both_layers(twin, data, N_PAIRS)


def check_persons(name, estimator, data):
    """Check both layers with all rows of a person for one, where that is allowed (1 to 25)."""
    rows = replace(data, groups=example_groups(len(data)))
    if data.groups is None and answers(estimator, rows):
        _both_layers(estimator, rows, N_PAIRS)


def _both_layers(estimator, data, n_pairs):
    few = small(data, 200)
    tables = tables_like(few)
    step = max(1, len(tables) // FEW)
    compare_fits(estimator, tables[::step], [script(estimator, few, 0, 0)])
    numbers = (
        None if data.groups is not None else telling_rows(estimator, data, AuditRandom("telling"))
    )
    conditional_sensitivity(estimator, data, groups=data.groups, n_pairs=n_pairs, rows=numbers)
