import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.base import Table
from skdp.kernel._sampled import draw_sample
from skdp.kernel._sums import KeptRows
from skdp.location._clip import release_distances
from skdp.mechanisms import RowKeys, gram_sum, make_entropy, row_norms
from skdp.readers import ArrayRows, map_merge, weighed_sum
from skdp.readers._rows import VIEW_BYTES, MappedRows
from skdp.scales import LogBins, clipped_sum, count_rows, ring_differences
from tests._curators import CannedCurator

BLOCKS = (1, 3, 7, None)


@pytest.fixture(params=["float64", "float32", "fortran", "memmap"])
def table(request, rng, tmp_path):
    """53 rows of 5 columns with everything that is unpleasant."""
    X = rng.normal(size=(53, 5)) * [1.0, 1e3, 1e-3, 1.0, 0.0] + [0, 1e6, 0, 0, 7]
    X[3, 1], X[11, 4], X[12] = np.nan, np.inf, -np.inf
    X[20:23] = X[0]
    X[30] = [1e38, -1e38, 1e-38, 0.0, -0.0]
    X[31] = 0
    if request.param == "memmap":
        path = tmp_path / "rows"
        X.tofile(path)
        return np.memmap(path, mode="r", dtype=float, shape=X.shape)
    if request.param == "fortran":
        return np.asfortranarray(X)
    return X.astype(request.param)


def statistics(rows):
    """Return every exact statistic that is summed over blocks, as nested lists of integers."""
    center, scale = np.array([0.1, 1e6, 0.0, 0.3, 7.0]), np.array([1.0, 1e3, 1e-3, 1.0, 2.0])
    steps = Step("x", times=2), Step("distances")
    curator = CannedCurator(Plan(Budget.gaussian(1.0, 1e-6), steps))
    table = Table(rows, curator)
    clipped_sum(table, center=center, radius=2.0, share=0.1, label="x", scale=scale)
    ball = {"center": center, "radius": 0.3, "scale": scale, "drop": 6.0}
    kept = table.ask(KeptRows(**ball), share=0.1, label="x").value.item()
    release_distances(table, center=center, scale=scale, around=2.0, share=0.1)
    norms = map_merge(rows, lambda start, block: LogBins(4).counts(row_norms(block)), np.add)
    gram = map_merge(
        rows,
        lambda start, block: gram_sum(block, center=center, radius=3.0, bits=15, scale=scale),
        np.add,
    )
    return [
        count_rows(rows),
        kept,
        norms.tolist(),
        gram.tolist(),
        *(record.value.tolist() for record in curator.records),
    ]


@pytest.mark.parametrize("size", [10, 1000])
def test_the_sample_does_not_depend_on_the_blocks(table, size):
    coins = RowKeys(make_entropy(3))
    with np.errstate(all="ignore"):
        samples = [
            draw_sample(ArrayRows(table, block_rows=rows), coins, 53.0, size) for rows in BLOCKS
        ]
    first = samples[0]
    assert (first.q, len(first.Z)) == (1.0, 50) if size == 1000 else first.q == 10 / 53
    assert first.Z.dtype == np.float64 and np.isfinite(first.Z).all()
    for sample in samples[1:]:
        assert sample.Z.tobytes() == first.Z.tobytes()
        assert sample.keys.tobytes() == first.keys.tobytes()
        assert ring_differences(sample.Z, sample.keys).tobytes() == (
            ring_differences(first.Z, first.keys).tobytes()
        )


@pytest.mark.parametrize("n", [0, 1, 2, 6, 7, 8])
@pytest.mark.parametrize("block_rows", BLOCKS)
def test_every_row_is_in_one_block(n, block_rows):
    X = np.arange(2.0 * n).reshape(n, 2)
    rows = ArrayRows(X, block_rows=block_rows)
    assert len(rows) == n and rows.n_features == 2
    starts = [start for start, _ in rows.blocks()]
    assert starts == list(range(0, n, rows.block_rows))
    seen = map_merge(rows, lambda start, block: [(start, block.tolist())], list.__add__)
    assert [row for _, block in seen for row in block] == X.tolist()
    assert rows.take(np.arange(n)[::2]).tolist() == X[::2].tolist()


def test_a_table_without_rows_has_statistics():
    rows = ArrayRows(np.empty((0, 5)))
    count, kept, norms, *values = statistics(rows)
    assert count == kept == sum(norms) == 0
    assert not any(np.any(value) for value in values)
    sample = draw_sample(rows, RowKeys(make_entropy(0)), 2.0, 1000)
    assert sample.Z.shape == (0, 5) and sample.keys.shape == (0,)


def test_blocks_are_views_and_about_16_megabytes():
    X = np.zeros((10, 3))
    (_, block), *rest = ArrayRows(X).blocks()
    assert not rest and np.shares_memory(block, X)
    assert ArrayRows(np.empty((1, 1000))).block_rows == 2**24 // 8000
    assert ArrayRows(np.empty((1, 2**22))).block_rows == 1


class Doubled(MappedRows):
    def __init__(self, rows):
        super().__init__(rows)
        self.seen = []

    def _mapped(self, block):
        self.seen.append(block.nbytes)
        return 2.0 * block


@pytest.mark.parametrize("n_rows", [0, 5, VIEW_BYTES // 8, VIEW_BYTES // 8 + 1])
def test_a_view_is_copied_part_by_part_for_a_sum(n_rows):
    X = np.arange(float(n_rows))[:, None]
    rows = Doubled(ArrayRows(X))
    total = weighed_sum(rows, lambda start, block: [block.sum(axis=0).astype(np.int64)])
    assert total[0].tolist() == [n_rows * (n_rows - 1)]
    assert sum(rows.seen) == X.nbytes and max(rows.seen) <= VIEW_BYTES
