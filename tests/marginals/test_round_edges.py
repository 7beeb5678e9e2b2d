"""Edges of bought bins are round numbers, years and months, and move no more than a tenth."""

import numpy as np
import pandas as pd
import pytest

from skdp import MarginalReleaser
from skdp.marginals._found import rounded, split

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
LAW = (np.array([1000.0, 1024.0]), np.array([1024.0, 1280.0]), np.array([10.0, 90.0]))
NEXT = (np.array([1280.0]), np.array([2048.0]), np.array([100.0]))
UNKNOWN = (np.empty(0),) * 3
PLAIN = {"whole": False, "calendar": None}
NO_ENDS = (np.nan, np.nan)


def test_an_edge_goes_to_the_roundest_number_within_a_tenth_of_both_bins():
    edges, laws = np.array([1280.0]), [LAW, NEXT]
    assert rounded(edges, laws, NO_ENDS, **PLAIN) == [1300.0]
    assert rounded(-edges[::-1], [NEXT_BELOW, LAW_BELOW], NO_ENDS, **PLAIN) == [-1300.0]
    for side in (0, 1):  # nothing tells how far
        laws = [UNKNOWN if side == i else law for i, law in enumerate((LAW, NEXT))]
        assert rounded(edges, laws, NO_ENDS, **PLAIN) == [1280.0]


NEXT_BELOW, LAW_BELOW = ((-law[1][::-1], -law[0][::-1], law[2][::-1]) for law in (NEXT, LAW))


def test_bins_of_one_number_stay():
    value = 7.25
    edges = np.array([np.nextafter(value, -np.inf), value])
    below, above = (np.array([low]) for low in (1.0, value))
    laws = [
        (below, edges[:1], np.array([9.0])),
        (edges[:1], edges[1:], np.array([9.0])),
        (above, above + 9, np.array([9.0])),
    ]
    assert rounded(edges, laws, NO_ENDS, **PLAIN) == edges.tolist()
    assert rounded(edges[1:], laws[1:], (value, np.nan), **PLAIN) == [value]
    whole = {"whole": True, "calendar": None}
    one = [(np.array([1.0]), np.array([2.0]), np.array([9.0]))] * 2
    assert rounded(np.array([1.0, 2.0]), [UNKNOWN, *one], (np.nan, 3.0), **whole) == [1.0, 2.0]


def test_cut_cells_keep_their_rows():
    made = split([LAW, NEXT], [1100.0, 1300.0])
    assert [law[2].sum() for law in made] == pytest.approx(
        [10 + 90 * 76 / 256, 90 * 180 / 256 + 100 * 20 / 768, 100 * 748 / 768]
    )
    for (low, high, _), ends in zip(made, [(1000, 1100), (1100, 1300), (1300, 2048)], strict=True):
        assert (low.min(), high.max()) == ends
    huge = np.finfo(float).max
    wide = [(np.array([-huge]), np.array([huge]), np.array([8.0]))]
    assert [law[2].sum() for law in split(wide, [0.0])] == [4.0, 4.0]


@pytest.mark.parametrize("unit", [1e-320, 1e-310, 1e-300, 1e300, 1.7e308])
@pytest.mark.parametrize("kind", [None, "date", "duration"])
def test_edges_near_the_ends_of_floats_are_rounded_too(unit, kind):
    edges = np.array([0.25, 0.5]) * unit
    cuts = zip([-1.0, 0.25, 0.5], [0.25, 0.5, 1.0], strict=True)
    laws = [(np.array([a * unit]), np.array([b * unit]), np.array([9.0])) for a, b in cuts]
    calendar = None if kind is None else (kind, "us", None, None)
    made = rounded(edges, laws, NO_ENDS, whole=False, calendar=calendar)
    assert len(made) == 2 and np.isfinite(made).all() and np.all(np.diff(made) > 0)
    assert np.allclose(np.divide(made, unit), edges / unit, atol=0.15)


def test_columns_near_the_ends_of_floats_have_bins():
    part = np.random.default_rng(0).uniform(0.1, 1.7, size=(4000, 1))
    fit = MarginalReleaser(1, domain="auto", n_bins=4, epsilon=20.0, random_state=0)
    fit.fit(np.hstack([part * 1e308, -part * 1e-310]))
    assert [len(labels) > 2 for labels in fit.domain_.labels] == [True, True]


@pytest.fixture(scope="module")
def dated():
    n, rng = 20000, np.random.default_rng(0)
    days = pd.to_timedelta(rng.integers(0, 3000, n), unit="D")
    X = pd.DataFrame({"day": pd.Timestamp("2015-01-01") + days, "wage": rng.lognormal(7.5, 0.5, n)})
    X = X.assign(wait=pd.to_timedelta(rng.exponential(3e4, n), unit="s"))
    X["there"] = X.day.dt.tz_localize("Asia/Tokyo")
    return X, MarginalReleaser(1, domain="auto", n_bins=8, random_state=0).fit(X)


def test_edges_are_written_as_people_write_them(dated):
    X, fit = dated
    labels = dict(zip(fit.domain_.names, fit.domain_.labels, strict=True))
    days = [pd.Timestamp(text[1:-1].split(", ")[1]) for text in labels["day"][:-1]]
    assert all(day.day == 1 for day in days) and len(days) > 5
    assert all(text.split(", ")[0].endswith(("h", "(-inf")) for text in labels["wait"])
    assert all("+09:00" in text for text in labels["there"])
    for edge in fit.domain_.kinds[1].edges:
        assert edge == float(f"{edge:.3g}")
    for name in ("day", "wage", "wait"):
        counts = np.asarray(fit.marginal(name)["count"])
        assert counts.min() > len(X) / 8 / 2 and counts.max() < len(X) / 8 * 2


def test_a_range_of_dates_is_asked_by_dates(dated):
    X, fit = dated
    end = pd.Timestamp(fit.domain_.labels[0][2][1:-1].split(", ")[1])
    for asked in (end, str(end), np.datetime64(end)):
        told = fit.count_between("day", None, asked)
        assert abs(told.count - (X.day <= end).sum()) < 5 * told.noise_scale + 1
    edge = fit.domain_.kinds[2].edges[1]
    told = fit.count_between("wait", pd.Timedelta(edge, "us"), None)
    assert abs(told.count - (X.wait > pd.Timedelta(edge, "us")).sum()) < 5 * told.noise_scale + 1
    with pytest.raises(ValueError, match="nearest edges"):
        fit.count_between("day", "2016-02-07", None)


def test_rows_are_in_the_levels_that_were_counted(dated):
    X, fit = dated
    rows = fit.sample(20000)
    assert fit.synthetic_report(rows).distance.max() < 0.01 and rows.dtypes.equals(X.dtypes)
