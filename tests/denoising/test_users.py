"""Whose row it is: users are told apart exactly, whatever the type of their column."""

import datetime
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skdp import PrivacyLedger, config_context
from skdp.audit._observe import recorded_fit
from skdp.denoising import PrivateHistogram
from skdp.denoising._user_ids import with_exact_users
from skdp.exceptions import PlanError
from skdp.kernel._histograms import capped_sensitivity
from tests._curators import FixedKeys

pytestmark = pytest.mark.filterwarnings(
    "ignore::skdp.exceptions.SeededNoiseWarning", "ignore:.*user:FutureWarning"
)

BIG = 2**60  # neighbours of it are one float
CAP = 5
PANDAS = ["int64", "uint64", "Int64", "UInt64", "object", "category", "string", "str"]
PANDAS += ["datetime64[ns]", "datetime64[ns, UTC]", "timedelta64[ns]"]
POLARS = [pl.Int64, pl.UInt64, pl.Int128, pl.String, pl.Categorical, pl.Binary, pl.Datetime]


def of_pandas(dtype):
    def make(ids, values):
        users = pd.Series(ids).astype(dtype)
        return pd.DataFrame({"user": users, "x": np.asarray(values, float)})

    return make


def of_polars(dtype):
    def make(ids, values):
        text = dtype in (pl.Categorical, pl.Binary)
        users = pl.Series([str(i) for i in ids] if text else ids).cast(dtype)
        return pl.DataFrame({"user": users, "x": np.asarray(values, float)})

    return make


def of_array(dtype):
    return lambda ids, values: np.column_stack(
        [np.array(ids, dtype=dtype), np.array(values, dtype=dtype)]
    )


TABLES = {f"pandas {dtype}": of_pandas(dtype) for dtype in PANDAS}
TABLES |= {f"polars {dtype}": of_polars(dtype) for dtype in POLARS}
TABLES |= {f"array {dtype}": of_array(dtype) for dtype in ("int64", "uint64", "object", "U30")}


def exact_counts(X, keys, **params):
    """Return the integers that meet noise, and the sensitivity that is paid for."""
    params = {"rows_per_user": CAP, "noise": "laplace"} | params
    histogram = PrivateHistogram(categories={1: range(4)}, user=0, **params)
    records, _, error = recorded_fit(histogram, X, "exact", coins=FixedKeys(keys))
    assert error is None
    return records[0].value, records[0].sensitivity


@pytest.mark.cases(11)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("name", TABLES)
def test_a_user_moves_counts_by_at_most_the_sensitivity(name, noise):
    """Three users whose ids are one float, one of them added or removed with all rows."""
    make, rng = TABLES[name], np.random.default_rng(0)
    worst = 0.0
    for _ in range(8):
        n = int(rng.integers(2, 40))
        ids = [BIG + int(i) for i in rng.integers(3, size=n)]
        values = rng.integers(rng.choice([1, 4]), size=n)
        keys = rng.integers(0, 2**63, size=n, dtype=np.uint64)
        rest = np.array(ids) != ids[0]
        if not rest.any():
            continue
        full, sensitivity = exact_counts(make(ids, values), keys, noise=noise)
        left = make([i for i in ids if i != ids[0]], values[rest])
        moved = (full - exact_counts(left, keys[rest], noise=noise)[0]).tolist()
        norm = sum(map(abs, moved)) if noise == "laplace" else math.hypot(*moved)
        assert norm <= sensitivity
        worst = max(worst, norm / float(sensitivity))
    assert worst > 0.8


@pytest.mark.parametrize("name", TABLES)
def test_equal_entries_are_one_user(name):
    """Users that are split would count twice."""
    X = TABLES[name]([BIG, BIG + 1] * 20, [0] * 40)
    value, sensitivity = exact_counts(X, np.arange(40))
    assert value.sum() * CAP == 2 * CAP * sensitivity


def test_users_that_may_have_been_rounded_are_none():
    """Floats beyond their exact integers, and fractions, may stand for several users."""
    for dtype, exact in ((np.float64, 2**53), (np.float32, 2**24), (np.float16, 2**11)):
        users = [1, exact - 1, exact, -exact, 0.5, np.inf, 1]
        X = np.column_stack([np.array(users, dtype=dtype), np.zeros(7, dtype=dtype)])
        with pytest.raises(ValueError, match="column of users"):
            PrivateHistogram(2, range=(-1, 1), user=0).fit(X)
        with config_context(invalid_rows="ignore"), np.errstate(all="ignore"):
            for table in (X, pd.DataFrame(X), pl.DataFrame(X.astype(np.float64)[:, :1])):
                seen = np.asarray(with_exact_users(table, 0), dtype=float)[:, 0]
                lost = np.isnan(seen)
                want = [False, False, True, True, True, True, False]
                assert lost.tolist() == want or (dtype != np.float64 and hasattr(table, "columns"))


def test_large_integers_beside_floats_in_one_array_are_refused():
    """A list of ids and measurements becomes an array of floats: ids are rounded by then."""
    X = [[BIG, 0.5], [BIG + 1, 0.1]]
    with pytest.raises(ValueError, match="column of users"):
        PrivateHistogram(2, range=(0, 1), user=0).fit(X)


MISSING = {
    "object": pd.DataFrame({"user": ["a", None, "b", np.nan], "x": 0.0}),
    "nullable": pd.DataFrame({"user": pd.array([1, None, 2, None], dtype="Int64"), "x": 0.0}),
    "category": pd.DataFrame({"user": pd.Categorical(["a", None, "b", None]), "x": 0.0}),
    "dates": pd.DataFrame({"user": pd.to_datetime(["2020", None, "2021", None]), "x": 0.0}),
    "floats": pd.DataFrame({"user": [1.0, np.nan, 2.0, np.nan], "x": 0.0}),
    "polars": pl.DataFrame({"user": [BIG, None, BIG + 1, None], "x": [0.0] * 4}),
    "polars text": pl.DataFrame({"user": ["a", None, "b", None], "x": [0.0] * 4}),
}


@pytest.mark.parametrize("name", MISSING)
def test_rows_without_a_user_are_absent(name):
    X = MISSING[name]
    with pytest.raises(ValueError, match="column of users"):
        PrivateHistogram(2, range=(-1, 1), user=0).fit(X)
    with config_context(invalid_rows="ignore"):
        fit = PrivateHistogram(2, range=(-1, 1), user=0, epsilon=1e5, integer=True).fit(X)
    assert fit.counts_.sum() == 2


def test_columns_of_several_types_are_refused_or_read_as_text():
    """Neither 1 and "1" nor 1 and 1.0 can be two users of one table."""
    column = pd.Series([1, 1.0, "1", b"1", np.int8(1), np.float32(1), 2, "2"], dtype=object)
    X = pd.DataFrame({"user": column, "x": 0.0})
    with pytest.raises(ValueError, match="column of users"):
        PrivateHistogram(2, range=(-1, 1), user=0).fit(X)
    with config_context(invalid_rows="ignore"):
        assert with_exact_users(X, 0)["user"].tolist() == [0.0] * 6 + [1.0] * 2


@pytest.mark.parametrize("entry", [True, datetime.date(2020, 1, 1), (1, 2), [1], 1j, 10**400])
def test_entries_of_other_types_are_no_users(entry):
    column = pd.Series([entry, "a"], dtype=object)
    X = pd.DataFrame({"user": column, "x": 0.0})
    with pytest.raises(ValueError, match="column of users") as refusal:
        PrivateHistogram(2, range=(-1, 1), user=0).fit(X)
    assert str(entry) not in str(refusal.value)
    with config_context(invalid_rows="ignore"):
        assert np.isnan(with_exact_users(X, 0)["user"].tolist()).tolist() == [True, False]


@pytest.mark.parametrize("row", [[5, 1], [5, 0.5], ["a", 1], [None, 1], [2**70, 1], [True, 1]])
def test_a_row_of_a_list_does_not_decide_how_the_ids_of_others_are_read(row):
    """One fraction in a list makes floats of all whole numbers, one text makes objects."""
    X = [[2**53 + 2 * i, 1] for i in range(9)] + [row]
    refused = pytest.raises(ValueError, match="those of lists depend on their entries")
    with config_context(invalid_rows="ignore"), refused:
        PrivateHistogram(2, range=(-1, 1), user=0).fit(X)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_ids_do_not_decide_the_type_of_an_array_of_floats(dtype):
    for users in ([1, 2], [1, 0.5], [1, np.nan]):
        X = np.column_stack([users, [0, 0]]).astype(dtype)
        with config_context(invalid_rows="ignore"):
            assert with_exact_users(X, 0).dtype == dtype


def test_long_floats_that_floats_cannot_tell_apart_are_no_users():
    X = np.zeros((3, 2), dtype=np.longdouble)
    X[:, 0] = 2.0**53
    X[0, 0] += 1
    X[2, 0] = 7
    with pytest.raises(ValueError, match="column of users"):
        PrivateHistogram(2, range=(-1, 1), user=0).fit(X)
    with config_context(invalid_rows="ignore"):
        for table in (X, pd.DataFrame(X)):
            seen = np.asarray(with_exact_users(table, 0), dtype=float)[:, 0]
            assert np.isnan(seen).tolist() == [True, True, False]


def test_a_class_of_text_or_floats_is_read_as_what_it_equals():
    class Same(str):
        def __str__(self):
            return "same"

    class Number(float):
        pass

    column = pd.Series(["ann", Same("ann"), Same("bob"), Same("eve"), "eve"], dtype=object)
    X = pd.DataFrame({"user": column, "x": 0.0})
    assert with_exact_users(X, 0)["user"].tolist() == [0.0, 0.0, 1.0, 2.0, 2.0]
    X = pd.DataFrame({"user": pd.Series([Number(3), 3, Number(4)], dtype=object), "x": 0.0})
    assert with_exact_users(X, 0)["user"].tolist() == [0.0, 0.0, 1.0]


def test_the_table_is_left_alone():
    X = pd.DataFrame({"user": ["a", "b"], "x": [0.0, 1.0]})
    before, array = X.copy(), np.array([[BIG, 1], [BIG + 1, 1]])
    PrivateHistogram(2, range=(0, 1), user=0).fit(X)
    PrivateHistogram(2, range=(0, 1), user=0).fit(array)
    pd.testing.assert_frame_equal(X, before)
    assert array[:, 0].tolist() == [BIG, BIG + 1]


# --- the cap, whatever type of integer


WIDTHS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_cap_may_be_of_any_type_of_integers(width, noise):
    """Products of small integer types wrap around."""
    X = np.column_stack([np.zeros(9), np.zeros(9)])
    for m, k in ((100, None), (127, 120), (np.iinfo(width).max, None), (3, 2)):
        small = PrivateHistogram(
            categories={1: [0]},
            user=0,
            rows_per_user=width(m),
            rows_per_cell=None if k is None else width(k),
            noise=noise,
        )
        exact = PrivateHistogram(
            categories={1: [0]}, user=0, rows_per_user=int(m), rows_per_cell=k, noise=noise
        )
        assert small._sensitivity() == exact._sensitivity()
        try:
            want = exact.fit(X).noise_scale_
        except PlanError:  # noise beyond what is drawn
            continue
        assert small.fit(X).noise_scale_ == want
        squared = int(m) // int(k or m) * int(k or m) ** 2 + (int(m) % int(k or m)) ** 2
        assert capped_sensitivity(width(m), width(k or m)) == (Fraction(int(m)), Fraction(squared))


@pytest.mark.parametrize("invalid_rows", ["error", "ignore"])
def test_users_of_pieces_that_are_text_are_refused_before_the_charge(invalid_rows):
    table = pd.DataFrame({"who": ["a4242"] * 9, "x": 0.5})
    ledger = PrivacyLedger(epsilon=1.0)
    histogram = PrivateHistogram(3, range=(0, 1), user=0, ledger=ledger)
    with config_context(invalid_rows=invalid_rows), pytest.raises(ValueError) as caught:
        histogram.fit([table, table])
    assert "a number for each user" in str(caught.value) and "4242" not in str(caught.value)
    assert len(ledger.entries()) == 1  # it was opened
