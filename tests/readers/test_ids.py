"""Equal ids are one person: whatever the ids beside them, and whatever holds them."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

from skdp.readers._ids import persons_of


class _Equal(str):
    """A text that says that it equals all others."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


NOON = dt.datetime(2020, 1, 1, 12)
PARIS = dt.timezone(dt.timedelta(hours=1))
DAY, LATER = np.datetime64("2020-01-01"), np.datetime64("2020-01-01T00:00:00.000000001")
SAME = [  # ids of one person each
    [1, 1.0, True, 1 + 0j, np.int8(1), np.uint64(1), np.float32(1), np.longdouble(1), np.bool_(1)],
    [Decimal("2.00"), Fraction(2), 2],
    ["1", _Equal("1"), np.str_("1")],
    [b"1", np.bytes_(b"1")],
    [0.1, np.float64(0.1)],
    [np.float32(0.1)],
    [Decimal("0.1"), Fraction(1, 10)],
    [2**60, 2.0**60, Decimal(2**60)],
    [2**60 + 1, np.uint64(2**60 + 1), Fraction(2**60 + 1)],
    [Decimal("1e99999")],
    [np.longdouble("inf"), float("inf"), Decimal("inf")],
    [
        pd.Timestamp("2020"),
        DAY,
        np.datetime64("2020", "Y"),
        DAY.astype("M8[ns]"),
        dt.date(2020, 1, 1),
    ],
    [NOON, NOON.replace(tzinfo=dt.UTC), NOON.replace(hour=13, tzinfo=PARIS)],
    [pd.Timestamp("2020-01-01 14:00", tz="Europe/Paris"), dt.datetime(2020, 1, 1, 13)],
    [pd.Timestamp("2020").as_unit("ns") + pd.Timedelta(1, "ns"), LATER],
    [pd.Timestamp(np.datetime64(2**42, "s")), np.datetime64(2**42, "s")],
    [np.datetime64(2**60, "Y"), np.datetime64(12 * 2**59, "2M")],
    [dt.datetime.min.replace(tzinfo=PARIS)],
    [dt.timedelta(1), np.timedelta64(24, "h"), pd.Timedelta("1D")],
    [np.timedelta64(12, "M"), np.timedelta64(1, "Y")],
    [*np.array([1]).astype("m8")],
    [UUID(int=1), UUID(int=1)],
    [("a", 1), ("a", np.float64(1))],
    [("a", dt.datetime(2020, 1, 1)), ("a", np.datetime64("2020"))],
    [("uuid", 1)],
]
NOBODY = [None, float("nan"), np.float32("nan"), pd.NaT, pd.NA, np.datetime64("NaT", "s")]
NOBODY += [Decimal("sNaN"), Decimal("nan"), ("a", (None,)), object(), [1], dt.time(1), {1}]


def _objects(ids):
    made = np.empty(len(ids), dtype=object)
    made[:] = [*ids, None][:-1]
    return made


def _codes(ids):
    return persons_of(ids, len(ids), ignore=True).codes


def test_the_owner_of_a_row_does_not_depend_on_other_rows():
    """Any rows, in any order, have the owners that they have among all rows."""
    pairs = [(one, k) for k, ids in enumerate(SAME) for one in ids] + [(x, -1) for x in NOBODY]
    rng = np.random.default_rng(0)
    for n in [len(pairs)] + 300 * [6]:
        some = [pairs[i] for i in rng.permutation(len(pairs))[:n]]
        codes, owners = _codes(_objects([one for one, _ in some])), np.array([k for _, k in some])
        assert np.array_equal(codes < 0, owners < 0)
        same = codes[:, None] == codes
        assert np.array_equal(same, owners[:, None] == owners), some


def test_a_person_does_not_join_two_others():
    """Python's comparison says that the first equals the others, and that these differ."""
    day = np.datetime64("2020-01-01"), dt.datetime(2020, 1, 1)
    for ids in ([pd.Timestamp("2020"), *day], [Decimal(1), np.int64(1), 1]):
        with_it, without = (_codes(_objects(some)) for some in (ids, ids[1:]))
        assert (with_it[1] == with_it[2]) == (without[0] == without[1])
        assert min(with_it) == min(without) == 0


@pytest.mark.parametrize(
    "ids",
    [
        pd.Series(pd.period_range("2020", periods=3, freq="D")),
        pd.Series(pd.interval_range(0, 3)),
        pd.Series(pd.interval_range(0, 3)).astype("category"),
        polars.Series([[1], [2], [3]]),
        polars.Series([dt.time(1)] * 3),
        pyarrow.array([{"a": 1}] * 3),
        np.zeros(3, dtype=[("a", float)]),
    ],
    ids=lambda ids: str(getattr(ids, "type", getattr(ids, "dtype", ""))),
)
def test_a_column_whose_type_holds_no_ids_is_refused_whatever_is_told(ids):
    for ignore in (False, True):
        with pytest.raises(TypeError, match=r"astype\(str\)"):
            persons_of(ids, 3, ignore=ignore)


def _text(*entries):
    """Return text of Arrow made of bytes that nobody has looked at."""
    ends = np.cumsum([0, *map(len, entries)], dtype=np.int32)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(entries))]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(entries), buffers)


TEXT = _text(b"a", b"\xff", b"a", b"\xfe", b"\xff")


@pytest.mark.parametrize(
    "ids",
    [
        TEXT,
        pyarrow.chunked_array([TEXT]),
        TEXT.dictionary_encode(),
        TEXT.cast(pyarrow.large_string()),
        pd.Series(pd.arrays.ArrowStringArray(pyarrow.chunked_array([TEXT.cast("large_string")]))),
        polars.Series([1, 2**100, 1, 2**100 + 1, 2**100], dtype=polars.Int128),
        *(
            polars.Series([1, 2**64, 1, 2**64 + 1, 2**64], dtype=getattr(polars, name))
            for name in ("UInt128",)
            if hasattr(polars, name)  # later versions
        ),
        pd.Series(pd.to_datetime([1, 2, 1, 3, 2], unit="s", utc=True)).dt.tz_convert("Asia/Tokyo"),
    ],
    ids=lambda ids: f"{type(ids).__module__}.{getattr(ids, 'type', getattr(ids, 'dtype', ''))}",
)
def test_an_entry_does_not_decide_whether_a_column_is_read(ids):
    """Text that is no UTF-8, whole numbers of 128 bits, and times with a zone."""
    assert _codes(ids).tolist() == [0, 1, 0, 2, 1]
    if isinstance(ids, polars.Series):
        assert _codes(ids.extend_constant(None, 1)).tolist() == [0, 1, 0, 2, 1, -1]


@pytest.mark.parametrize("encoding", ["encode", "mask"])
def test_a_missing_entry_among_the_values_of_a_dictionary_joins_nobody(encoding):
    large = [2**60, 2**60 + 1, None]
    ids = pyarrow.array(large).dictionary_encode(null_encoding=encoding)
    assert _codes(ids).tolist() == _codes(pyarrow.chunked_array([ids])).tolist() == [0, 1, -1]
