"""What a row becomes in a view depends on that row alone, to the last bit."""

import numpy as np
import pytest

from skdp.kernel._coordinates import BesideLine, Design, FeatureBox, Frame, InUnits, SomeColumns
from skdp.kernel._gradients import LineGradients, LogitGradients
from skdp.kernel._lattice import Boxed, InBox, TheseColumns
from skdp.kernel._plain import TYPES
from skdp.kernel._statistic import RowMap
from skdp.kernel.applied._scores import KINDS, LossColumn
from skdp.mechanisms import _compiled
from tests.kernel._examples import hostile, wild
from tests.kernel._examples_linear import design, finite


def frame(rng):
    return design(rng, 3).frame


def beside_line(rng):
    at = design(rng, 2)
    return BesideLine(np.array([0, 2]), at, rng.normal(size=at.dims), 0.5, 2.0)


def line_gradients(rng):
    at = design(rng, 3)
    radius = float(rng.choice([0.5, 100.0])) if rng.random() < 0.7 else None
    return LineGradients(at, rng.normal(size=at.dims), 1.0, 2.0, np.array([-9.0, 9.0]), radius)


def logit_gradients(rng):
    at = design(rng, 3)
    return LogitGradients(at, rng.normal(size=at.dims))


# Class -> function of a generator that returns a map of rows of three columns and a target.
MAPS = {
    Boxed: lambda rng: Boxed(finite(rng, 4), wild(rng, 4)),
    TheseColumns: lambda rng: TheseColumns(rng.permutation(4)[: int(rng.integers(1, 5))]),
    InBox: lambda rng: InBox(np.full(4, -1.0), np.full(4, float(rng.choice([1.0, 1e300])))),
    InUnits: lambda rng: InUnits(2.0 ** rng.integers(-900, 900, size=4)),
    SomeColumns: lambda rng: SomeColumns(np.array([0, 2])),
    FeatureBox: lambda rng: FeatureBox(np.array([np.full(3, -2.0), np.full(3, np.inf)])),
    Frame: frame,
    Design: lambda rng: design(rng, 3),
    BesideLine: beside_line,
    LineGradients: line_gradients,
    LogitGradients: logit_gradients,
    LossColumn: lambda rng: LossColumn(str(rng.choice(KINDS)), float(rng.choice([0.3, 1e300]))),
}


def test_every_map_of_numbers_has_examples():
    maps = [one for one in TYPES.values() if issubclass(one, RowMap) and "__call__" in dir(one)]
    numbers = {one for one in maps if one.kind == "numbers"}
    assert {one for one in numbers if one.__module__.startswith("skdp.")} <= set(MAPS)


@pytest.mark.parametrize("cls", MAPS, ids=lambda cls: cls.__name__)
def test_a_row_is_mapped_by_itself(cls):
    shown = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        view = MAPS[cls](rng)
        block = hostile(rng, 3 if cls is Frame else 4)
        block[::2] = rng.normal(size=block[::2].shape)  # rows whose neighbours are no outliers
        with np.errstate(all="ignore"):
            mapped = view(block.copy())
            alone = np.concatenate([view(block[i : i + 1].copy()) for i in range(len(block))])
            few = np.concatenate([view(block[i : i + 2].copy()) for i in range(0, len(block), 2)])
            turned = view(np.asfortranarray(block[::-1]))[::-1]
        shown += np.isfinite(mapped).any()
        for other in (alone, few, turned):
            np.testing.assert_array_equal(mapped, other)
    assert shown > 3  # public fields of all magnitudes may leave nothing finite


@pytest.mark.skipif(_compiled.loops is None, reason="no compiled loops")
@pytest.mark.parametrize("power", [-901, -900, -899, -1, 899, 900])
@pytest.mark.parametrize("seed", range(4))
def test_coordinates_are_those_of_compiled_loops(monkeypatch, power, seed):
    rng = np.random.default_rng(seed)
    view, signs = frame(rng), rng.choice([-1.0, 0.5, 1.0, 2.0], size=(60, 3))
    with np.errstate(all="ignore"):
        rows = view.center + view.unit * rng.uniform(1, 2, size=(60, 3)) * signs * 2.0**power
        told = view(rows)
        monkeypatch.setattr(_compiled, "loops", None)
        np.testing.assert_array_equal(told, view(rows))
