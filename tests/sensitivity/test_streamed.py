"""What two passes tell of a column is what all its entries do, to the last digit."""

import numpy as np
import pytest

from skdp.readers import ArrayRows
from skdp.sensitivity import Quantile, TrimmedMean, WinsorisedMean, _bounded, _streamed
from skdp.sensitivity._bounded import bounded_columns
from skdp.sensitivity._cells import FIRST, LAST, N_CELLS, _cell

N = 300
STATISTICS = [
    *("mean", "median", "min", "max", "variance", "std", "sum_of_squares"),
    *("sum", "range", "midrange"),  # are not told
    *(Quantile(0.0), Quantile(0.3), TrimmedMean(0.1), WinsorisedMean(0.2)),
]


def columns(rng):
    yield rng.normal(size=N)
    yield rng.lognormal(0, 2, size=N)
    yield rng.standard_cauchy(N)
    yield rng.integers(-5, 6, size=N) * 1.0
    yield np.where(rng.random(N) < 0.9, 3.0, 100 * rng.normal(size=N))
    yield np.full(N, 7.0)
    yield np.where(rng.random(N) < 0.3, np.nan, rng.integers(-1000, 1000, size=N))
    yield np.r_[rng.normal(size=N - 2), 1e12, -1e9]


def tables(rng):
    """Yield rows and public places of all statistics of their column."""
    k = len(STATISTICS)
    for x in columns(rng):
        width = max(np.nanquantile(x, 0.9) - np.nanquantile(x, 0.1), 1e-3)
        sensitivity = width / N * np.exp(rng.uniform(-2, 3, size=k))
        sensitivity[4] *= width
        sensitivity[6] *= width * N
        center = rng.choice([0, 1, 10], size=k) * width * rng.normal(size=k)
        center[STATISTICS.index("sum")] = 0
        yield ArrayRows(x[:, None]), sensitivity, center


def values(rows, sensitivity, center):
    columns = [0] * len(STATISTICS)
    given = {"sensitivity": sensitivity, "center": center}
    return [one.value for one in bounded_columns(rows, columns, STATISTICS, **given)]


@pytest.mark.parametrize("few", [False, True])
def test_two_passes_tell_what_all_entries_do(few):
    told = []

    def streamed(rows, asked):
        told.extend(_streamed.streamed(rows, asked))
        return told[-len(asked) :]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_bounded, "JOBS_AT_ONCE", 5)
        patch.setattr(_bounded, "streamed", streamed)
        patch.setattr(_streamed, "PART", (2, 8))
        patch.setattr(_streamed, "STEPS", 24)
        if few:
            patch.setattr(_streamed, "MOST", 12)
            patch.setattr(_streamed, "NEAR", 4)
            patch.setattr(_streamed, "GROWTH", 0.1)
        for case in tables(np.random.default_rng(3)):
            exact = values(*case)
            with pytest.MonkeyPatch.context() as short:
                short.setattr(_bounded, "LONG", 0)
                assert values(*case) == exact
    assert sum(g is not None for g in told) > len(told) / (4 if few else 2)


def test_an_ordinary_long_column_is_never_held(monkeypatch, rng):
    n = 200_000
    x = np.clip(rng.normal(loc=3.0, size=n), -1, 7)
    public = dict.fromkeys(STATISTICS[:7], 8 / n)
    public |= {"variance": 16 / n, "sum_of_squares": 16.0, "min": 0.1, "max": 0.1}
    public |= {Quantile(0.3): 6 / n, TrimmedMean(0.1): 6 / n, WinsorisedMean(0.2): 6 / n}
    assert n > _bounded.LONG
    monkeypatch.setattr(_bounded, "gathered_columns", None)
    sensitivity = list(public.values())
    given = {"sensitivity": sensitivity, "center": [3.1] * len(public)}
    found = bounded_columns(ArrayRows(x[:, None]), [0] * len(public), list(public), **given)
    truth = [np.mean(x), np.median(x), x.min(), x.max(), np.var(x), np.std(x), n * np.var(x)]
    s = np.sort(x)
    truth += [np.quantile(x, 0.3), s[n // 10 : -n // 10].mean()]
    truth += [np.clip(x, s[n // 5], s[-n // 5 - 1]).mean()]
    for one, exact, D in zip(found, truth, sensitivity, strict=True):
        assert abs(one.origin + one.unit * one.value - exact) <= 2 * D


def test_cells_hold_what_lies_between_their_ends(rng):
    far = 2.0 ** rng.integers(0, 36, size=10_000) * rng.uniform(-1, 1, size=10_000)
    ends = [-(2**36), 1 - 2**36, 2**36 - 1, 2**36]
    k = np.concatenate([np.arange(-3000, 3000), far.astype(np.int64), ends])
    cell = _cell(k)
    assert cell.min() == 0
    assert cell.max() == N_CELLS - 1
    assert np.all(FIRST[cell] <= k)
    assert np.all(k <= LAST[cell])
    held = FIRST <= LAST
    assert np.array_equal(FIRST[held][1:], LAST[held][:-1] + 1)
