"""Persons: whose rows are whose, their weights, and one row or mean of each."""

import datetime

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

from skdp.audit._transcript import FixedKeys
from skdp.mechanisms._exact import Weighed, of_persons, unit_of, weighed
from skdp.readers import ArrayRows, map_merge, weighed_sum
from skdp.readers._entries import entries_of
from skdp.readers._ids import UnitCodes, persons_of
from skdp.readers._persons import (
    GRAIN,
    NoisyUnitCount,
    Persons,
    extremes_of,
    means_of,
    representatives_of,
    sums_of,
    weighed_rows,
)
from skdp.readers._rows import MappedRows

HEADS = NoisyUnitCount(100.0, 1.0)


def _keys(n, seed=0):
    return np.random.default_rng(seed).integers(0, 2**63, size=n, dtype=np.uint64) * 2


def _codes(sizes, seed=0):
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))


@pytest.mark.parametrize("cap", [1, 2, 7, 64, 1000])
def test_rows_of_a_person_weigh_no_more_than_a_unit(cap):
    sizes = [0, 1, 2, 3, cap - 1, cap, cap + 1, 2 * cap, 31, 33, 1000, 4097, GRAIN * cap // 100]
    codes = _codes(sizes)
    persons = Persons(codes, len(sizes))
    weights, unit = persons.weights(cap, FixedKeys(_keys(len(codes))))
    sums = np.bincount(codes, weights=weights, minlength=len(sizes))
    assert unit == GRAIN * cap
    assert sums.max() <= unit
    for m, total in zip(sizes, sums, strict=True):
        if m <= cap:
            assert total == GRAIN * m
        else:
            kept = min(m, unit)
            assert total >= unit * 15 / 16 - kept or kept == unit
    assert persons.mass(cap)[0].sum() == weights.sum()


def test_a_person_with_more_rows_than_the_grain_keeps_those_with_the_smallest_keys():
    n = 2 * GRAIN + 5
    codes = np.append(np.zeros(2 * n, dtype=int), np.ones(3, dtype=int))
    keys = _keys(len(codes))
    weights, unit = Persons(codes, 2).weights(2, FixedKeys(keys))
    kept = np.flatnonzero(weights[: 2 * n])
    assert weights[kept].tolist() == [1] * unit
    dealt = FixedKeys(keys).keys(0, len(keys), use="kept row of a person")[: 2 * n]
    assert set(kept) == set(np.argsort(dealt)[:unit])
    assert weights[2 * n :].tolist() == [GRAIN * 2 // 3] * 3


def test_every_row_weighs_something_whatever_a_size_is_rounded_to():
    sizes = np.array([33 * GRAIN - 1, 33 * GRAIN, 34 * GRAIN])
    persons = Persons(np.repeat(np.arange(3), sizes), 3)
    weights, unit = persons.weights(33, FixedKeys(_keys(sizes.sum())))
    assert np.bincount(persons.codes, weights=weights).tolist() == [unit - 1, unit, unit]


def test_a_unit_is_attained():
    codes = np.repeat([0, 1], [64, 1])
    weights, unit = Persons(codes, 2).weights(4, FixedKeys(_keys(65)))
    assert weights[:64].sum() == unit


def test_rows_of_nobody_weigh_nothing():
    codes = np.array([0, -1, 0, 1, -1])
    persons = Persons(codes, 2)
    weights, _ = persons.weights(1, FixedKeys(_keys(5)))
    assert weights.tolist() == [GRAIN // 2, 0, GRAIN // 2, GRAIN, 0]
    assert persons.of(np.array([True, True, True, False, True])).sizes().tolist() == [2, 0]
    nobody = Persons(np.full(5, -1), 0)
    assert nobody.first_by_key(FixedKeys(_keys(5)), "x").tolist() == []
    assert nobody.weights(3, FixedKeys(_keys(5)))[0].tolist() == [0] * 5


def _statistic(start, block):
    return np.rint(1000 * block).astype(np.int64).sum(axis=0), len(block)


@pytest.mark.parametrize("block_rows", [1, 2, 7, 1000])
def test_sums_means_and_drawn_rows_do_not_depend_on_blocks_or_on_others(block_rows):
    rng = np.random.default_rng(1)
    codes = _codes(rng.integers(1, 9, size=30))
    X, keys = rng.normal(size=(len(codes), 3)) * 1e5 + 0.1, _keys(len(codes))
    persons = Persons(codes, 30)
    whole = weighed_rows(ArrayRows(X), persons, 4, FixedKeys(keys), HEADS)
    cut = weighed_rows(ArrayRows(X, block_rows=block_rows), persons, 4, FixedKeys(keys), HEADS)
    for one, two in zip(weighed_sum(whole, _statistic), weighed_sum(cut, _statistic), strict=True):
        assert np.array_equal(one, two)
        assert one.unit == two.unit == 4 * GRAIN
    for made in (_means, _extremes, _sums, _drawn):
        assert np.array_equal(made(whole, keys), made(cut, keys))
    for leaving in range(0, 30, 3):
        stay = codes != leaving
        fewer = weighed_rows(
            ArrayRows(X[stay], block_rows=block_rows),
            Persons(codes[stay], 30),
            4,
            FixedKeys(keys[stay]),
            HEADS,
        )
        for made in (_means, _extremes, _sums, _drawn):
            common = made(fewer, keys[stay])
            others = {row.tobytes() for row in made(whole, keys)} - {r.tobytes() for r in common}
            assert len(others) == 1


def _means(rows, keys):
    return _table(means_of(rows, 4, FixedKeys(keys)).representatives(None))


def _extremes(rows, keys):
    return _table(extremes_of(rows, FixedKeys(keys)))


def _sums(rows, keys):
    return _table(sums_of(rows, FixedKeys(keys)))


def _drawn(rows, keys):
    return _table(representatives_of(rows, FixedKeys(keys))[0])


def _table(rows):
    return np.concatenate(map_merge(rows, lambda start, block: [block], list.__add__))


def test_means_and_extremes_are_those_of_the_rows():
    codes = np.array([0, 1, 0, 2, 0, -1])
    X = np.array([[1.0], [5.0], [2.0], [np.inf], [6.0], [100.0]])
    rows = weighed_rows(ArrayRows(X), Persons(codes, 3), 2, FixedKeys(_keys(6)), HEADS)
    np.testing.assert_array_equal(np.sort(_means(rows, _keys(6)).ravel()), [3.0, 5.0, np.nan])
    ends = _extremes(rows, _keys(6))
    assert sorted(map(tuple, ends)) == [(1.0, 6.0), (5.0, 5.0), (np.inf, np.inf)]
    means = means_of(rows, 2, FixedKeys(_keys(6)))
    assert (means.unit, means.cap) == (2, 2)
    total = weighed_sum(means, lambda start, block: np.array([len(block)]))
    assert (int(total[0]), total.unit) == (4, 2)  # two rows of the first, one of each other


class _Half(MappedRows):
    def _mapped(self, block):
        return block[block[:, 0] > 0]


def test_a_view_of_fewer_rows_is_weighed_as_the_table_behind_it():
    rng = np.random.default_rng(2)
    codes, X = _codes([1, 2, 3, 4, 9]), rng.normal(size=(19, 2))
    persons, coins = Persons(codes, 5), FixedKeys(_keys(19))
    weights, unit = persons.weights(3, coins)
    view = weighed_rows(_Half(ArrayRows(X, block_rows=4)), persons, 3, coins, HEADS)
    count = weighed_sum(view, lambda start, block: np.array([len(block)]))
    assert int(count[0]) == weights[X[:, 0] > 0].sum()
    assert (count.unit, view.unit, view.cap, view.heads) == (unit, unit, 3, HEADS)


def test_what_is_no_sum_is_refused():
    rows = weighed_rows(
        ArrayRows(np.ones((3, 1))), Persons(np.arange(3), 3), 1, FixedKeys(_keys(3)), HEADS
    )
    with pytest.raises(TypeError, match="only sums"):
        map_merge(rows, lambda start, block: [len(block)], list.__add__)


IDS = np.array([0, 1, 2, 0, 1, 0, 3])


@pytest.mark.parametrize(
    "of",
    [
        lambda i: i,
        lambda i: i + 2**60,
        lambda i: i.astype(np.int8),
        lambda i: i / 3,
        lambda i: i.astype(str),
        lambda i: [f"person {x}" for x in i],
        lambda i: pd.Series(i.astype(str)),
        lambda i: pd.Series(i.astype(str)).astype("category"),
        lambda i: pd.Series(i, index=i[::-1]).astype("Int64"),
        lambda i: pd.to_datetime(pd.Series(i), unit="D"),
        lambda i: [datetime.date(2020, 1, 1 + int(x)) for x in i],
        lambda i: [(int(x), "x") for x in i],
        lambda i: [int(x) if x % 2 else str(x) for x in i],
        lambda i: polars.Series(i.astype(str)),
        lambda i: polars.Series(i.astype(str), dtype=polars.Categorical),
        lambda i: pyarrow.array(i),
        lambda i: pyarrow.chunked_array([i[:3].astype(str), i[3:].astype(str)]),
        lambda i: [bool(x % 2) for x in i],
    ],
)
def test_ids_of_every_kind_tell_the_same_persons(of):
    given = of(IDS)
    persons = persons_of(given, len(IDS), ignore=False)
    expected = IDS % 2 if isinstance(given, list) and isinstance(given[0], bool) else IDS
    same = persons.codes[:, None] == persons.codes[None, :]
    assert np.array_equal(same, expected[:, None] == expected[None, :])
    assert persons.n == len(set(expected.tolist()))


def test_ids_that_differ_by_one_beyond_floats_are_two_persons():
    ids = np.array([2**60, 2**60 + 1, 2**60])
    for given in (ids, ids.tolist(), ids.astype(object), pd.Series(ids), [*ids[:2].tolist(), 2.0]):
        assert persons_of(given, 3, ignore=False).codes[:2].tolist() == [0, 1]
    with pytest.raises(ValueError, match="2\\^53"):
        persons_of(ids.astype(float), 3, ignore=False)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint64", "int64"])
@pytest.mark.parametrize("apart", [1, 3, 10**6])
def test_whole_numbers_at_the_ends_of_their_type_are_told_apart(kind, apart):
    ends, rng = np.iinfo(kind), np.random.default_rng(0)
    away = rng.integers(min(60, 1 + (int(ends.max) - int(ends.min)) // apart), size=300) * apart
    for ids in ([ends.min + int(x) for x in away], [ends.max - int(x) for x in away]):
        ids = np.array(ids, dtype=kind)
        expected = np.unique(ids, return_inverse=True)[1]
        assert np.array_equal(UnitCodes(ids).codes, expected)
        pieces = UnitCodes(ids[:100].astype(object), ids[100:])
        assert len(pieces) == len(UnitCodes(ids)) == expected.max() + 1
        pairs = np.stack([pieces.codes, expected])
        assert np.unique(pairs, axis=1).shape[1] == len(pieces)


@pytest.mark.parametrize(
    "given",
    [
        np.array([1.0, np.nan, 2.0]),
        ["a", None, "b"],
        pd.Series(["a", pd.NA, "b"]),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series(["a", None, "b"], dtype="category"),
        np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="datetime64[D]"),
        polars.Series([1, None, 2]),
        pyarrow.array(["a", None, "b"]),
    ],
)
def test_rows_without_an_owner_are_refused_or_absent(given):
    with pytest.raises(ValueError, match="missing entries"):
        persons_of(given, 3, ignore=False)
    persons = persons_of(given, 3, ignore=True)
    assert (persons.codes >= 0).tolist() == [True, False, True]


LARGE = [2**60, 2**60 + 1, None, 2**60]
GAPS = pd.Series(pd.Categorical.from_codes([0, 1, -1, 0], categories=LARGE[:2]))


@pytest.mark.parametrize(
    "given",
    [
        pd.Series(LARGE, dtype="Int64"),
        pd.Series(LARGE, dtype="int64[pyarrow]"),
        GAPS,
        polars.Series(LARGE),
        pyarrow.array(LARGE),
        pyarrow.array(LARGE).dictionary_encode(),
        np.ma.array([2**60, 2**60 + 1, 2**60, 2**60], mask=[0, 0, 1, 0]),
        [("a", 1), ("a", 2), ("a", float("nan")), ("a", 1)],
    ],
    ids=lambda given: f"{type(given).__module__}, {getattr(given, 'dtype', '')}",
)
def test_a_missing_owner_does_not_decide_how_others_are_read(given):
    assert persons_of(given, 4, ignore=True).codes.tolist() == [0, 1, -1, 0]
    with pytest.raises(ValueError, match="missing entries"):
        persons_of(given, 4, ignore=False)


@pytest.mark.parametrize("other", [2**63, 2**70, 0.5, "a", np.int8(3)])
def test_no_entry_of_a_list_decides_how_others_are_read(other):
    ids = [2**60, 2**60 + 1, -1, other, 2**60]
    assert persons_of(ids, 5, ignore=True).codes.tolist() == [0, 1, 2, 3, 0]


def test_whole_numbers_that_single_precision_does_not_tell_apart_are_refused():
    with pytest.raises(ValueError, match="2\\^24"):
        persons_of(np.array([2**24, 2**24 + 1], dtype=np.float32), 2, ignore=False)


def test_a_time_is_one_person_in_whatever_unit():
    days = np.array(["2020-01-01", "2020-01-02", "NaT"], dtype="datetime64[D]")
    pieces = [days.astype(f"datetime64[{unit}]") for unit in ("D", "h", "s", "us", "ns", "25s")]
    assert UnitCodes(*pieces).codes.tolist() == [0, 1, -1] * len(pieces)
    apart = np.array([3, 3]).astype("m8[s]"), np.array([3, 36]).astype("m8[M]"), days[:1]
    assert UnitCodes(*apart, np.array(["1970-01"], dtype="M8[M]")).codes.tolist() == [
        0,
        0,
        1,
        2,
        3,
        4,
    ]


def test_batches_and_collections_of_ids_are_read_as_one_column():
    dd = pytest.importorskip("dask.dataframe")
    batches = [IDS[:5], pd.Series(IDS[5:7], dtype="Int64"), pyarrow.array(IDS[7:].tolist())]
    lazy = dd.from_pandas(pd.Series(IDS), npartitions=2)
    for given in (batches, lazy):
        codes = persons_of(given, len(IDS), ignore=False).codes
        assert codes.tolist() == persons_of(IDS.tolist(), len(IDS), ignore=False).codes.tolist()


class _Talkative:
    def __eq__(self, other):
        raise RuntimeError("canary")

    def __hash__(self):
        raise RuntimeError("canary")


def test_an_entry_that_cannot_be_compared_is_not_quoted():
    for given in ([_Talkative(), 1], np.array([_Talkative()], dtype=object), [[1, "canary"], [2]]):
        with pytest.raises(TypeError, match="UUIDs") as caught:
            persons_of(given, len(given), ignore=False)
        assert caught.value.__context__ is None
        assert persons_of(given, len(given), ignore=True).codes[0] == -1


@pytest.mark.parametrize(
    "given",
    [
        np.zeros((3, 1)),
        np.zeros(2),
        5,
        [[1], [2], [3]],
        np.zeros((3, 2)),
        "name",
        polars.DataFrame({"a": [[1], [2]]}),
        pyarrow.table({"a": [1]}),
        pd.DataFrame({"a": [1]}),
    ],
)
def test_groups_that_are_none_are_refused(given):
    with pytest.raises((ValueError, TypeError), match=r"one-dimensional|one column|UUIDs"):
        persons_of(given, 3, ignore=False)


def test_ids_of_pieces_of_other_types_are_joined_exactly():
    pieces = [np.array([1, 2]), np.array([2, 3], dtype=np.int8), np.array([1.0, 4.0])]
    assert UnitCodes(*map(entries_of, pieces)).codes.tolist() == [0, 1, 1, 2, 0, 3]


def test_a_unit_stays_with_sums_and_with_nothing_else():
    a = weighed(np.array([[4, 2], [1, 3]]), 8)
    kept = [a + 1, -a, abs(a), 3 * a, a.sum(axis=0), a.reshape(4), a[0], a.T, np.diff(a, prepend=0)]
    kept += [np.concatenate([a, a]), np.stack([a, a]), np.add.reduceat(a, [0, 1]), np.cumsum(a)]
    kept += [np.atleast_1d(weighed(3, 8)), np.minimum(a, 2), np.array([[1, 2]]) @ a, a // 2]
    kept += np.split(a, 2)
    assert {unit_of(x) for x in kept} == {8}
    lost = [a * a, a @ a, np.dot(a, a), a**2, np.sqrt(a), a.prod(), np.prod(a), np.unique(a)]
    lost += [np.argsort(a), np.bincount(a.ravel()), np.asarray(a), np.einsum("ij,jk", a, a), a > 1]
    assert all(unit_of(x) is None for x in lost)
    assert not isinstance(a * 0.5 > 1, Weighed)
    for mixed in (
        lambda: a + of_persons(a),
        lambda: np.concatenate([a, weighed(a, 4)]),
        lambda: unit_of([a, 3]),
    ):
        with pytest.raises(TypeError, match="do not mix"):
            mixed()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, bool])
def test_narrow_integers_times_a_weight_do_not_wrap(dtype):
    codes = np.zeros(100, dtype=int)
    rows = weighed_rows(
        ArrayRows(np.ones((100, 1))), Persons(codes, 1), 31, FixedKeys(_keys(100)), HEADS
    )
    total = weighed_sum(rows, lambda start, block: np.ones(len(block), dtype=dtype)[:1] * dtype(1))
    assert 0 < int(total[0]) <= rows.unit
    assert int(total[0]) == int(rows.weights.max())
    with pytest.raises(TypeError):
        weighed_sum(rows, lambda start, block: block.sum(axis=0))


@pytest.mark.parametrize("dtype", ["Int64", "string", "category", "boolean"])
def test_bare_arrays_of_pandas_are_ids_as_series_are(dtype):
    ids = pd.Series([1, 0, 1, 0, 0] if dtype != "string" else list("babaa"), dtype=dtype)
    for gaps in (False, True):
        ids = ids.where([True] * 4 + [not gaps])
        bare, series = (persons_of(given, 5, ignore=True) for given in (ids.array, ids))
        assert bare.codes.tolist() == series.codes.tolist() and bare.n == series.n == 2
