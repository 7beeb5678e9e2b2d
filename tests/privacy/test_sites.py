"""Less and less of the source outside the kernel touches rows or states a bound."""

import pytest

from tests.privacy._sites import CEILINGS, KINDS, counted, sites

COUNTS = counted()


@pytest.mark.parametrize("name", sorted({*COUNTS, *CEILINGS}))
def test_a_room_does_not_touch_rows_more_often(name):
    found = dict(zip(KINDS, COUNTS.get(name, (0,) * len(KINDS)), strict=True))
    most = dict(zip(KINDS, CEILINGS.get(name, (0,) * len(KINDS)), strict=True))
    assert not {kind: (n, most[kind]) for kind, n in found.items() if n > most[kind]}


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("curator.gaussian(x, sensitivity=1, share=1, label='x')", ["sensitivity="]),
        ("total = weighed_sum(rows, lambda start, block: block.sum())", ["weighed_sum"]),
        ("chunks.map_merge(rows, one, two)", ["map_merge"]),
        ("rows.take(places)", [".take("]),
        ("np.take(table, places)", []),
        ("keys = self._curator.coins.keys(0, 3)", [".coins"]),
        ("coins = 3", []),
        ("drawn, keys = representatives_of(rows, coins)", ["representatives_of"]),
        ("from skdp.readers import map_merge", []),
        ("def gaussian(self, *, sensitivity): '''weighed_sum'''", []),
    ],
)
def test_sites_are_found(source, kinds):
    assert list(sites(source)) == kinds
