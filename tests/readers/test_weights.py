"""Weights, means and names of persons: each a function of the person's own rows."""

import numpy as np

from skdp.accounting import Budget, Plan
from skdp.audit import CannedCurator
from skdp.audit._transcript import FixedKeys
from skdp.base import weighed_sum
from skdp.kernel._parts import persons_table
from skdp.readers import ArrayRows
from skdp.readers._ids import persons_of
from skdp.readers._persons import GRAIN, NoisyUnitCount, Persons, means_of, weighed_rows
from skdp.table._groups import CAP_STEPS, release_contribution_bound

SIZES = (1, 2, 3, 7, 63)
CAPS = (1, 2, 3, 8)


def interleaved(seed=0):
    """Return rows of 60 persons, and whose they are, in any order."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(60), rng.choice(SIZES, 60)))
    return rng.normal(size=(len(codes), 2)) * 1e3 ** rng.normal(size=(len(codes), 1)), codes


def numbered(codes):
    """Return Persons of codes, numbered as they come."""
    return persons_of(np.array([f"p{code}" for code in codes]), len(codes), ignore=False)


def rows_of(X, codes, cap, keys, block_rows=None):
    rows = ArrayRows(X)
    rows.block_rows = block_rows or rows.block_rows
    return weighed_rows(rows, numbered(codes), cap, FixedKeys(keys), NoisyUnitCount(60.0, 1.0))


def sums(X, codes, cap, keys):
    grid = lambda start, block: np.rint(np.clip(block, -4, 4) * 256).astype(np.int64).sum(axis=0)  # noqa: E731
    total = weighed_sum(rows_of(X, codes, cap, keys), grid)
    return np.asarray(total), total.unit


def _moves_by_at_most_the_unit(X, codes, cap):
    keys = np.random.default_rng(1).integers(0, 2**64, len(X), dtype=np.uint64)
    whole, unit = sums(X, codes, cap, keys)
    for gone in range(60):
        kept = gone != codes
        fewer, _ = sums(X[kept], codes[kept], cap, keys[kept])
        assert np.abs(whole - fewer).max() <= unit * 1024
    assert unit == GRAIN * cap


def test_a_person_moves_sums_by_at_most_the_unit_whoever_else_there_is():
    X, codes = interleaved()
    for cap in CAPS:
        _moves_by_at_most_the_unit(X, codes, cap)
        _moves_by_at_most_the_unit(np.full_like(X, 4.0), codes, cap)


def test_a_person_of_more_rows_than_are_kept_counts_once():
    X, codes = np.full((3000, 1), 4.0), np.zeros(3000, dtype=int)
    keys = np.random.default_rng(1).integers(0, 2**64, 3000, dtype=np.uint64)
    for cap in (1, 2):
        total, unit = sums(X, codes, cap, keys)
        assert 0 < total[0] <= unit * 1024


def test_means_are_functions_of_the_rows_of_their_person():
    """Bit by bit, whoever else is there and however the rows are cut into blocks."""
    X, codes = interleaved()
    keys = np.random.default_rng(1).integers(0, 2**64, len(X), dtype=np.uint64)

    def means(kept, block_rows):
        rows = rows_of(X[kept], codes[kept], 3, keys[kept], block_rows)
        table = means_of(rows, 3, FixedKeys(keys[kept]))
        return {tuple(row) for row in table._rows.take(np.arange(len(table)))}

    whole = means(codes >= 0, None)
    assert len(whole) == 60
    for block_rows in (1, 2, 7, len(X)):
        assert means(codes >= 0, block_rows) == whole
        for gone in (0, 17, 59):
            assert len(whole - means(gone != codes, block_rows)) == 1


def test_ids_that_differ_are_different_persons():
    ids = np.arange(5000)
    for groups in (ids, ids * 2**20, ids.astype(str), [f"person {i}" for i in ids], ids * 0.5):
        persons = persons_of(groups, 5000, ignore=False)
        assert persons.n == 5000 and len(np.unique(persons.codes)) == 5000


def test_the_cap_is_found_through_noise():
    """It is a function of answers alone: the largest person may have any number of rows."""
    plan = Plan(Budget.gaussian(1.0, 1e-6), CAP_STEPS, privacy_unit="group")

    def cap(largest):
        codes = np.r_[np.repeat(np.arange(300), 20), np.repeat([300], largest)]
        curator = CannedCurator(plan, lambda label, value, scale: np.full(value.shape, 10**6))
        table = persons_table(Persons(codes, 301), curator)
        return release_contribution_bound(table, noise=2.0, least=40.0)

    assert len({cap(largest) for largest in (1, 100, 5000)}) == 1
