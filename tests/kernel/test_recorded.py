"""The kernel answers what it has answered, whatever its text becomes; see :mod:`._recorded`."""

import numpy as np
import pytest

from skdp.audit._statistics import attained, shape_of
from skdp.mechanisms import _compiled
from tests.kernel._examples import all_examples
from tests.kernel._recorded import (
    CHOSEN,
    DISTORTIONS,
    OFFERS,
    answers_of,
    asked,
    distorted,
    makers,
    recorded,
)
from tests.kernel._recorded import fields as fields_of

MAKERS, EXAMPLES, KEPT = makers(), all_examples(), recorded()


def test_what_is_recorded_is_there():
    assert set(KEPT) <= set(MAKERS)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", KEPT)
def test_answers_are_those_recorded(name, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(_compiled, "loops", None)
    told = answers_of(MAKERS[name])
    assert told.get("refused") == KEPT[name].get("refused")
    assert [len(one) for one in told["answers"]] == [len(one) for one in KEPT[name]["answers"]]
    for one, kept in zip(told["answers"], KEPT[name]["answers"], strict=True):
        # an exponential function of another library may round a few rows to the next integer
        size = np.abs(kept[-1]) if kept and np.isfinite(kept[-1]) else 0.0
        np.testing.assert_allclose(one, kept, rtol=1e-9, atol=1e-9 * size)


@pytest.mark.slow
@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
def test_distorted_fields_are_refused_or_their_bound_holds(cls):
    for seed in range(2):
        statistic, block = EXAMPLES[cls](np.random.default_rng(seed))
        shape = shape_of(statistic, block)
        for field in fields_of(statistic):
            for distort in DISTORTIONS if field.name not in CHOSEN else ():
                other = distorted(statistic, field.name, distort, shape)
                if other is None or other is statistic:
                    continue
                other = asked(other, OFFERS[seed], block)
                if other is not None:
                    attained(other, block)
