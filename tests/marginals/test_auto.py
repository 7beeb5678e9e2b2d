"""Levels that a fit buys: given the same answers, neighbouring tables give the same run."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import skdp
from skdp import MarginalReleaser, RowMap, config_context, make_private_pipeline
from skdp.marginals import Bins
from skdp.marginals._auto import _cells, _Entries
from skdp.marginals._found import cdf_at, laws_of, laws_of_intervals, spread
from skdp.marginals._frames import NUMBER, ColumnType
from skdp.marginals._synthetic_report import table_of_codes

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
# --- what is found

SHARP = 1e4


def _frame(n=4000):
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "town": rng.choice(["north", "south", "east"], p=[0.5, 0.3, 0.2], size=n),
            "wage": rng.lognormal(3, 1, size=n),
            "gain": np.where(rng.random(n) < 0.8, 0, rng.integers(1, 5000, size=n)),
            "kids": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 4, size=n)),
            "flag": rng.random(n) < 0.3,
            "level": pd.Categorical(rng.choice(["low", "high"], size=n), ["low", "mid", "high"]),
        }
    ).astype({"town": "object"})


@pytest.fixture(scope="module")
def found():
    X = _frame()
    return X, MarginalReleaser(1, domain="auto", n_bins=5, epsilon=SHARP, random_state=0).fit(X)


def test_levels_are_those_of_the_rows(found):
    X, fit = found
    labels = dict(zip(fit.domain_.names, fit.domain_.labels, strict=True))
    assert labels["town"] == ("east", "north", "south")
    assert labels["flag"] == (False, True) and labels["level"] == ("high", "low")
    assert labels["kids"] == ("0", "1", "2", "3", "missing")
    assert (
        labels["gain"][0] == "0"
        and labels["gain"][-1] == f"({fit.domain_.kinds[2].edges[-1]:g}, inf)"
    )
    rows = fit.marginal("wage", as_frame=False)
    assert len(rows) == 5 and np.abs(rows / len(X) - 0.2).max() < 0.1
    kids = fit.marginal("kids", as_frame=False)
    want = [*X.kids.value_counts().sort_index(), X.kids.isna().sum()]
    assert np.abs(kids - want).max() < 10
    assert fit.privacy_report_.charges[-1].share > 0.6


def _pieces(X, folder):
    """Yield a table in all forms that a fit reads."""
    yield pl.from_pandas(X)
    yield pl.from_pandas(X).lazy()
    yield [X[:1000], X[1000:]]
    pl.from_pandas(X).write_parquet(folder / "table.parquet")
    yield folder / "table.parquet"


def test_all_sources_give_the_same(found, tmp_path):
    X, fit = found
    for table in _pieces(X, tmp_path):
        other = MarginalReleaser(1, domain="auto", n_bins=5, epsilon=SHARP, random_state=0).fit(
            table
        )
        assert other.domain_.kinds == fit.domain_.kinds
        assert np.array_equal(other.residuals_, fit.residuals_)


def test_a_pipeline_finds_the_levels_of_what_it_maps(tmp_path):
    X = np.random.default_rng(0).normal(size=(3000, 3))
    chain = make_private_pipeline(
        RowMap(np.abs), MarginalReleaser(1, domain="auto"), epsilon=SHARP, random_state=0
    )
    X.astype("float64").tofile(tmp_path / "rows")
    mapped = np.memmap(tmp_path / "rows", dtype="float64", shape=X.shape, mode="r")
    one, two, three = (chain.fit(table)[-1] for table in (X, mapped, [X[:700], X[700:]]))
    assert one.domain_ == two.domain_ == three.domain_
    assert np.array_equal(one.residuals_, three.residuals_)
    assert min(kind.laws[0][0][0] for kind in one.domain_.kinds) >= 0


def test_a_pipeline_hands_over_texts_and_gaps(found, tmp_path):
    X, fit = found
    X = X.astype({"level": "object"})  # Categoricals of polars are for no pipeline
    for table in (X, *_pieces(X, tmp_path)):
        chain = make_private_pipeline(
            MarginalReleaser(1, domain="auto", n_bins=5), epsilon=SHARP, random_state=0
        ).fit(table)
        assert chain[-1].domain_.labels[:3] == fit.domain_.labels[:3]


def test_public_levels_cost_nothing():
    public = {"town": ["north", "south", "east"], "kids": [0, 1, 2, 3, None]}
    fit = MarginalReleaser(1, domain=public, random_state=0).fit(_frame())
    assert [charge.label for charge in fit.privacy_report_.charges] == ["residuals"]
    some = MarginalReleaser(1, domain=public | {"wage": "auto"}, random_state=0).fit(_frame())
    assert some.domain_.names == ("town", "kids", "wage")
    assert some.domain_.labels[:2] == fit.domain_.labels


@pytest.mark.parametrize(("rare", "doubts"), [(0.02, 0), (0.3, 1)])
@pytest.mark.parametrize("workload", ["all", "rows", [("town",), ("flag", "town")]])
def test_many_values_without_a_name_are_doubted(rare, doubts, workload):
    X, n = _frame(), round(4000 * rare)
    X["town"] = [*map(str, range(n)), *X.town[n:]]
    domain = {"flag": "auto", "wage": "auto", "town": "auto"}
    fit = MarginalReleaser(1, domain=domain, workload=workload, random_state=0).fit(X)
    warned = [line for line in fit.accuracy_warnings_ if "'other'" in line]
    assert len(warned) == doubts and all(line.startswith("column town:") for line in warned)
    assert set(fit.domain_.labels[2]) >= {"east", "north", "south"}  # named nevertheless
    again = MarginalReleaser(1, domain=fit.domain_, workload=workload, random_state=1).fit(X)
    assert len(again.accuracy_warnings_) == doubts


@pytest.mark.slow
@pytest.mark.parametrize(("n", "stray"), [(1000, 40), (40_000, 90)])
def test_intervals_of_counts_hold_where_entries_have_no_level(n, stray):
    held = np.zeros(3)
    for seed in range(20):
        x = np.arange(n)
        town = np.where(x < stray, np.char.add("town ", x.astype(str)), np.array(["a", "b"])[x % 2])
        X = pd.DataFrame({"town": town, "age": np.where(x < stray, np.nan, x % 50 / 7)})
        fit = MarginalReleaser(1, domain="auto", epsilon=1.0, random_state=seed).fit(X)
        low, high = fit.interval("age")
        ages = fit.domain_.kinds[1].coded.codes(X.age[stray:].to_numpy()).astype(int)
        counts = np.bincount(ages, minlength=len(low))
        known = np.array(fit.domain_.labels[1]) != "missing"
        held[0] += np.mean((low <= counts) & (counts <= high), where=known)
        for i, name in enumerate("ab"):
            low, high = fit.query({"town": name}).interval
            held[1 + i] += low <= (n - stray) / 2 <= high and high - low < 0.1 * n
        told = [fit.query({"age": level}).interval[0] for level in fit.domain_.labels[1]]
        assert np.allclose(told, fit.interval("age")[0])
    assert held.min() >= 18


def test_a_column_of_which_nothing_shows_has_two_levels():
    X = pd.DataFrame({"id": [f"{i}" for i in range(300)], "none": np.full(300, np.nan)})
    with pytest.warns(skdp.exceptions.LowAccuracyWarning, match="levels"):
        fit = MarginalReleaser(1, domain="auto", random_state=0).fit(X)
    assert fit.domain_.labels[0] == ("missing", "other")
    assert fit.domain_.labels[1][:2] == ("(-inf, 0]", "(0, inf)")


@pytest.mark.parametrize("seed", range(4))
def test_numbers_are_never_drawn_far_beyond_those_that_show(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "years": rng.choice(17, size=4000, p=[0.01, *[0.99 / 16] * 16]),
            "few": np.append(rng.normal(50, 10, 200), np.full(3800, np.nan)),
            "wage": np.append(rng.lognormal(9, 0.5, 3960), rng.lognormal(12, 0.1, 40)),
        }
    )
    fit = MarginalReleaser(1, domain="auto", n_bins=60, random_state=seed).fit(X)
    for name, drawn_ in fit.sample(2000).items():
        assert np.nanmax(np.abs(drawn_)) < 8 * X[name].max()


def test_an_open_bin_in_which_nothing_shows_is_none():
    law, none = (np.array([1.0]), np.array([2.0]), np.array([9.0])), (np.empty(0),) * 3
    entries = _Entries(np.zeros(3), 1.0, ColumnType(NUMBER, "float64"))
    edges = np.array([-(2.0**46), 1.0, 2.0, 3.0, 2.0**70])
    ends = (np.nan, np.nan)
    other = np.array([3.0]), np.array([4.0]), np.array([9.0])
    kept, told = _cells(edges, [none, none, law, none, other, none], ends, entries, 100)
    assert told and kept.edges == (2.0, 3.0)
    assert kept.laws[::2] == (((1.0,), (2.0,), (9.0,)), ((3.0,), (4.0,), (9.0,)))
    for laws in ([none] * 6, [law] + [none] * 5):  # nothing, or one bin of which no more is known
        kept, told = _cells(edges, laws, ends, entries, 100)
        assert not told and kept.edges == (0.0,)


def test_many_levels_are_cut_to_what_a_workload_admits():
    X = pd.DataFrame({f"c{j}": np.repeat([f"{i}" for i in range(100)], 50) for j in range(2)})
    fit = MarginalReleaser(1, domain="auto", epsilon=SHARP, random_state=0).fit(X)
    assert fit.domain_.levels == (63, 63) and fit.domain_.labels[0][-1] == "other"


@pytest.mark.parametrize(
    "public, match",
    [
        ({"postprocess": "exact"}, "public"),
        ({"k": 7}, "k=7"),
        ({"workload": [("town", "nowhere")]}, "nowhere"),
        ({"domain": {"town": "automatic"}}, "auto"),
        ({"n_bins": 4096, "k": 3}, "at most"),
    ],
)
def test_what_cannot_be_found_is_refused_before_anything_is_charged(public, match):
    ledger = skdp.PrivacyLedger(10.0, 1e-5)
    with pytest.raises(ValueError, match=match):
        MarginalReleaser(**{"domain": "auto", "ledger": ledger, **public}).fit(_frame(50))
    assert len(ledger.entries()) == 1  # it was opened


def test_types_that_tell_nothing_and_infinity_are_refused():
    X = _frame(50)
    with pytest.raises(ValueError, match="not numbers"):
        MarginalReleaser(domain="auto").fit(X.to_numpy(dtype=object))
    parts = X.assign(day=pd.Timestamp("2000-01-01").to_period("D"))
    with pytest.raises(ValueError, match=r"'day'.*cannot be bought"):
        MarginalReleaser(domain="auto").fit(parts)
    X.loc[0, "wage"] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        MarginalReleaser(domain="auto").fit(X)


def test_no_entry_of_a_list_decides_how_others_are_read():
    rows = np.random.default_rng(0).integers(9, size=(2000, 2)).tolist()
    one, two = (
        MarginalReleaser(1, domain="auto", random_state=0).fit(X).domain_
        for X in (rows, [*rows, [0.5, 1.0]])
    )
    assert one.types == two.types
    with config_context(invalid_rows="ignore"), pytest.raises(ValueError, match="dtypes"):
        MarginalReleaser(domain="auto").fit(rows)


# --- synthetic rows


def _some(fit, n=500, library="pandas"):
    codes = np.random.default_rng(0).integers(0, fit.domain_.levels, size=(n, 6))
    return codes, table_of_codes(fit.domain_, codes, library)


def test_rows_have_the_types_and_the_levels_of_the_table(found):
    X, fit = found
    codes, rows = _some(fit)
    assert list(rows) == list(X) and rows.dtypes.drop("level").equals(X.dtypes.drop("level"))
    assert set(rows.level.cat.categories) == {"low", "high"}
    assert np.array_equal(rows.gain, rows.gain.round()) and rows.gain.between(0, 8192).all()
    assert set(rows.kids.dropna()) == {0, 1, 2, 3}
    assert rows.wage.between(0, 1024).all()
    columns = [
        rows[name].astype("object" if name == "level" else rows[name].dtype) for name in rows
    ]
    arrays = [column.to_numpy() for column in columns]
    again = np.column_stack(
        [
            kind.coded.codes(array if array.dtype.kind != "b" else array.astype(float))
            for kind, array in zip(fit.domain_.kinds, arrays, strict=True)
        ]
    )
    assert np.array_equal(again, codes)


def test_rows_of_polars_and_arrays_are_the_same(found):
    _, fit = found
    _, rows = _some(fit)
    _, frame = _some(fit, library="polars")
    _, array = _some(fit, library=None)
    assert frame["wage"].to_list() == rows.wage.tolist() == array[:, 1].tolist()
    assert frame["town"].to_list() == rows.town.tolist() == array[:, 0].tolist()
    schema = pl.from_pandas(_frame(5)).schema
    whole = MarginalReleaser(1, domain="auto", n_bins=5, random_state=0).fit(
        pl.from_pandas(_frame())
    )
    codes = np.zeros((4, 6), dtype=int)
    assert table_of_codes(whole.domain_, codes, "polars").schema == schema


@pytest.mark.parametrize(
    ("library", "name"),
    [
        ("pandas", "float32"),
        ("pandas", "Float32"),
        ("pandas", "float[pyarrow]"),
        ("pandas", "float16"),
        ("polars", "Float32"),
    ],
)
def test_short_floats_stay_short_and_inside_their_bins(library, name):
    x = np.random.default_rng(0).normal(size=3000).astype("float16")
    frame = pd.DataFrame({"x": x, "y": x[::-1]})
    frame = frame.astype(name.lower() if library == "polars" else name)
    frame = pl.from_pandas(frame) if library == "polars" else frame
    edges = np.linspace(-5, 5, 41) + 1e-9  # which no short float is
    for domain in ({0: Bins(edges), 1: Bins(edges)}, {0: "auto", 1: Bins(edges)}):
        with config_context(invalid_rows="ignore"):
            fit = MarginalReleaser(1, domain=domain, random_state=0, epsilon=5.0).fit(frame)
        kind = fit.domain_.kinds[0]
        codes = np.random.default_rng(1).integers(len(kind.labels), size=(4000, 2)) % [10**6, 2]
        rows = table_of_codes(fit.domain_, codes, library)
        column = rows[rows.columns[0]]
        assert column.dtype == next(iter(frame.dtypes))
        assert np.array_equal(kind.coded.codes(np.array(list(column), dtype=float)), codes[:, 0])


def test_numbers_follow_their_law():
    law = ((0.0, 10.0), (1.0, 20.0), (1.0, 3.0))
    parts = (np.arange(1000) + 0.5) / 1000
    x = cdf_at(law, parts, whole=False)
    assert np.sum(x <= 1) == 250 and x.min() > 0 and x.max() <= 20
    assert np.abs(np.quantile(x, [0.125, 0.625]) - [0.5, 15]).max() < 0.02
    assert set(cdf_at(law, parts, whole=True)) == {1, *range(11, 21)}
    edge = np.nextafter(3.0, 0)
    assert set(cdf_at(((edge,), (3.0,), (1.0,)), parts, whole=False)) == {3.0}


def test_open_bins_are_as_wide_as_those_beside_them():
    laws = laws_of_intervals((-np.inf, 0, 15, np.inf), whole=False)
    assert [round(low) for (low,), _, _ in laws] == [-15, 0, 15]
    assert [round(high) for _, (high,), _ in laws] == [0, 15, 30]
    whole = laws_of_intervals((-np.inf, 0, np.inf), whole=True)
    assert [cdf_at(law, np.array([0.1, 0.9]), whole=True).tolist() for law in whole] == [
        [-1] * 2,
        [0] * 2,
    ]
    ((bottom, top, _), _, last) = laws_of([2.5, 7.0], [((), (), ())] * 3, whole=True)
    assert (bottom, top) == ((1.0,), (2.0,)) and last[1] == (8.0,)


def test_parts_of_a_level_are_even():
    codes = np.random.default_rng(0).integers(3, size=500)
    parts = spread(codes, 0)
    for level in range(3):
        own = np.sort(parts[codes == level])
        assert np.allclose(own, (np.arange(own.size) + 0.5) / own.size)
    assert abs(np.corrcoef(parts, spread(codes, 1))[0, 1]) < 0.2
    assert spread(codes[:0], 0).shape == (0,)
