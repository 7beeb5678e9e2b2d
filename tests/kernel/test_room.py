"""A number of rows that is too small lets no sum of rows with weights pass 64 bits."""

from dataclasses import replace

import numpy as np
import pytest

from skdp.accounting import Budget, Plan, Step
from skdp.audit import CannedCurator
from skdp.kernel._cluster_sums import LineMoments, LocatedGram, SecondMoments
from skdp.kernel._gradients import LogitStep
from skdp.kernel._mixtures import MixtureMoments
from skdp.kernel._statistic import Offer
from skdp.kernel._sums import BallProducts, BallTotal, BoxProducts
from skdp.kernel._table import Table
from skdp.readers import ArrayRows
from skdp.readers._persons import NoisyUnitCount, WeighedRows
from tests.kernel._examples import all_examples

UNIT, HEADS = 2**14, 2.0**20
OFFER = Offer(Budget.gaussian(60.0, 1e-6), 1, UNIT)
ASKED = [LocatedGram, SecondMoments, MixtureMoments, BallProducts, BallTotal, BoxProducts]


def told(statistic, n):
    """Return the statistic with another number of rows in its field."""
    if hasattr(statistic, "n"):
        return replace(statistic, n=n)
    held = "rule" if hasattr(statistic, "rule") else "located"
    inner = getattr(statistic, held)
    inner = told(inner, n) if held == "rule" else replace(inner, n_rows=n)
    return replace(statistic, **{held: inner})


@pytest.mark.parametrize("cls", [*ASKED, LineMoments, LogitStep])
def test_sums_of_persons_have_room_whatever_a_field_says(cls):
    asked, _ = all_examples()[cls](np.random.default_rng(0))
    known = replace(OFFER, heads=HEADS)
    small, honest = told(asked, 1.0), told(asked, HEADS)
    assert 4 ** small.at(known).bits * UNIT * HEADS <= 2**62
    assert honest.at(known).bits == honest.at(OFFER).bits, "the room of honest numbers is theirs"
    assert small.at(OFFER).bits >= small.at(known).bits


def test_a_table_offers_the_number_of_its_persons():
    rows = WeighedRows(
        ArrayRows(np.zeros((3, 1))), None, np.ones(3, int), 8, NoisyUnitCount(1000.0, 2.0)
    )
    curator = CannedCurator(Plan(Budget.gaussian(1.0, 1e-6), (Step("x"),)), "exact")
    offer = Table(rows, curator)._offer(0.5)
    assert (offer.unit, offer.heads) == (8, 1000.0)
    assert (offer.room(1.0), offer.room(400.0)) == (250.0, 400.0)
    assert Table(ArrayRows(np.zeros((3, 1))), curator)._offer(0.5).heads == 0
