"""Levels, columns of frames of any kind, and codes that depend on their entry alone."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skdp.marginals._domain import read_domain
from skdp.marginals._frames import tidy_frame
from skdp.marginals._levels import Bins, read_levels
from skdp.readers._columns import BlockEncoder, TableRows, read_columns, table_type
from skdp.readers._raw import schema_of

INF = float("inf")
FRAME = pd.DataFrame(
    {
        "letter": ["x", "y", None, "q", "x"],
        "code": [0, 3, 1, 4, 2],
        "amount": [0.0, np.nan, 8.0, 9.0, 1.0],
        "flag": [True, False, True, True, False],
        "unread": [1j, 2, 3, 4, 5],
    }
)
DOMAIN = {
    "amount": Bins([0, 1, 8, 9], missing=True),
    "letter": ["x", "y", None, ...],
    "flag": [False, True],
    "code": 4,
}
WANT = np.array(
    [[0, 0, 1, 0], [3, 1, 0, 3], [2, 2, 1, 1], [2, 3, 1, np.nan], [1, 0, 0, 2]], dtype=float
)


def encoded(X, domain=DOMAIN, names=tuple(FRAME), **chunks):
    columns = read_columns(X)
    read = read_domain(domain, columns.table.shape[1], names)
    source = TableRows(columns).decoded_by(block_of(columns, read))
    source.block_rows = chunks.get("block_rows", source.block_rows)
    return np.concatenate([block for _, block in read.coded.over(source).blocks()])


def block_of(columns, domain):
    return BlockEncoder(tuple(domain.columns), schema_of(columns.table))


KINDS = {
    "pandas": FRAME,
    "pandas, nullable": FRAME.drop(columns="unread").convert_dtypes().assign(unread=0),
    "pandas, objects": FRAME.astype(object),
    "pandas, categories": FRAME.astype({"letter": "category", "code": "category"}),
    "polars": pl.from_pandas(FRAME.assign(unread=0)),
    "array of objects": FRAME.to_numpy(dtype=object),
    "lists": FRAME.to_numpy(dtype=object).tolist(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block_rows", [1, 2, 100])
def test_tables_of_all_kinds_have_the_same_codes(kind, block_rows):
    got = encoded(KINDS[kind], block_rows=block_rows)
    assert np.array_equal(got, WANT, equal_nan=True)


def test_rows_can_be_taken():
    domain = read_domain(DOMAIN, 5, list(FRAME))
    columns = read_columns(FRAME)
    source = TableRows(columns).decoded_by(block_of(columns, domain))
    rows = domain.coded.over(source)
    assert len(rows) == 5
    assert np.array_equal(rows.take([4, 0]), WANT[[4, 0]])
    assert rows.take([]).shape == (0, 4)
    assert domain.coded.outside(source).tolist() == [False, False, False, True]


@pytest.mark.parametrize("dtype", ["float64", "float32", ">f8", "int64", "uint8", object])
def test_types_of_numbers_do_not_matter(dtype):
    X = np.array([[0, 1], [2, 0], [3, 1]]).astype(dtype)
    got = encoded(X, {0: [2, 0, 3], 1: 2}, None)
    assert np.array_equal(got, [[1, 1], [0, 0], [2, 1]])


def test_entries_outside_their_levels():
    odd = [-1, 4, 1.5, INF, -INF, np.nan, None, "1", 10**400, [1], pd.NA, np.bool_(True), 2]
    X = np.empty((len(odd), 1), dtype=object)
    X[:, 0] = odd
    codes = encoded(X, {0: 4}, None)[:, 0]
    assert np.isnan(codes[:-2]).all() and codes[-2:].tolist() == [1, 2]
    values = encoded(X, {0: [2, "1", None]}, None)[:, 0]
    known = {5: 2, 6: 2, 7: 1, 12: 0}
    assert {i: v for i, v in enumerate(values) if v == v} == known
    assert encoded(X, {0: [2, ...]}, None)[:, 0].tolist() == [1] * 12 + [0]
    bins = encoded(X, {0: Bins([-INF, 0, 2, INF])}, None)[:, 0]
    assert {i: v for i, v in enumerate(bins) if v == v} == {0: 0, 1: 2, 2: 1, 11: 1, 12: 2}


def test_bins_are_those_of_numpy(rng):
    edges = np.array([-1.0, 0.0, 0.5, 1.0])
    x = np.concatenate([rng.normal(size=500), edges])
    codes = encoded(x[:, None], {0: Bins(edges)}, None)[:, 0]
    counts = np.bincount(codes[codes == codes].astype(int))
    assert np.array_equal(counts, np.histogram(x, edges)[0])


def test_labels_of_bins_tell_close_edges_apart():
    labels = read_domain({0: Bins([1.0, 1.00000001, 2.0])}, 1).labels[0]
    assert len(set(labels)) == 2 and labels[0].endswith(")") and labels[1].endswith("]")


def test_columns_have_names_and_numbers():
    by_name, by_number = read_domain({"b": 2, "a": 3}, 2, ["a", "b"]), read_domain({1: 2, 0: 3}, 2)
    assert by_name.columns == by_number.columns == (1, 0)
    assert by_name.levels == (2, 3) and by_name.names == ("b", "a") and by_number.names == (1, 0)
    mixed = read_domain({1: 2, "a": 3}, 2, ["a", "b"])
    assert mixed.names == ("b", "a")
    assert by_name.place(["a", 1]) == [1, 0]
    assert by_name.level(0, True) == 1


@pytest.mark.parametrize(
    ("domain", "match"),
    [
        ({}, "one column at least"),
        ({"c": 2}, "which X has not"),
        ({2: 2}, "below 2"),
        ({True: 2}, "which X has not"),
        ({"a": 2, 0: 2}, "twice"),
        ({"a": 1}, "two levels"),
        ({"a": True}, "number of codes"),
        ({"a": "xy"}, "number of codes"),
        ({"a": ["x"]}, "two levels"),
        ({"a": ["x", "x"]}, "twice"),
        ({"a": [0, False]}, "twice"),
        ({"a": [None, np.nan, 1]}, "twice"),
        ({"a": ["missing", None]}, "taken"),
        ({"a": [1, INF]}, "finite"),
        ({"a": [1j, 2]}, "astype"),
        ({"a": Bins([1.0])}, "increasing"),
        ({"a": Bins([1.0, 1.0, 2.0])}, "increasing"),
        ({"a": Bins([0.0, 1.0])}, "two levels"),
        ({"a": Bins([0.0, np.nan, 1.0])}, "increasing"),
    ],
)
def test_domains_that_are_none(domain, match):
    with pytest.raises(ValueError, match=match):
        read_domain(domain, 2, ["a", "b"])


def test_a_name_must_name_one_column():
    with pytest.raises(ValueError, match="Rename"):
        read_domain({"a": 2}, 2, ["a", "a"])


@pytest.mark.parametrize(
    "X",
    [
        np.zeros(3),
        np.zeros((2, 2, 2)),
        3.0,
        [[1, 2], [3]],
        np.zeros((2, 2), dtype=complex),
    ],
)
def test_what_is_no_table_is_refused(X):
    with pytest.raises(ValueError, match="must be a table"):
        read_columns(X)


def test_sparse_tables_are_refused():
    from scipy import sparse

    with pytest.raises(TypeError, match="toarray"):
        read_columns(sparse.eye_array(3).tocsr())


def test_tidy_frames():
    cells = {"a": np.array(["x", 1, None], dtype=object), "n": np.arange(3)}
    assert table_type(tidy_frame(cells, "pandas")) == "pandas"
    frame = tidy_frame(cells, "polars")
    assert frame["a"].to_list() == ["x", "1", None] and frame["n"].dtype == pl.Int64


def test_levels_that_floats_do_not_tell_apart_are_refused():
    """A row of a list could else decide whether those of all others are compared as floats."""
    with pytest.raises(ValueError, match="2\\^53"):
        read_levels(0, [2**53, 2**53 + 1])
    assert read_levels(0, [1 - 2**53, 2**53 - 1]).labels == (1 - 2**53, 2**53 - 1)
