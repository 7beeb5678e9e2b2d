"""Every statistic bounds what one row adds, with hostile rows and hostile public fields."""

import inspect
import pickle
import sys
from fractions import Fraction
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pytest

import skdp
from skdp.audit._draw import AuditRandom
from skdp.audit._statistics import (
    BOUNDS,
    attained,
    check_plain_data,
    check_statistic,
    check_sums,
    shape_of,
)
from skdp.kernel._plain import TYPES
from skdp.kernel._statistic import Statistic
from tests._supervised import BoxMoments, ClassSums
from tests.kernel._examples import all_examples
from tests.privacy._ball_mean import UnitBallSum

for module in walk_packages(skdp.__path__, "skdp."):
    if ".kernel" in module.name:
        import_module(module.name)
EXAMPLES = all_examples()
SEEDS = range(24)


def classes():
    """Return the sums of rows of the house, without those of tests and examples."""
    found = [one for one in TYPES.values() if issubclass(one, Statistic) and one.kind != "sample"]
    return [
        one
        for one in found
        if getattr(sys.modules[one.__module__], one.__name__, 0) is one
        and one.__module__.startswith("skdp.")
    ]


def test_every_statistic_has_examples():
    wanted = {one for one in classes() if not inspect.isabstract(one)}
    assert wanted == set(EXAMPLES)


def made(cls):
    for seed in SEEDS:
        statistic, block = EXAMPLES[cls](np.random.default_rng(seed))
        with np.errstate(all="ignore"):
            yield statistic, block


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
def test_no_row_adds_more_than_the_bound_and_some_row_adds_it(cls):
    enough, longest = Fraction(getattr(EXAMPLES[cls], "attains", 0.98)), {}
    for statistic, block in made(cls):
        statistic.check(shape_of(statistic, block))
        bound = statistic.squared_l2
        longest[bound] = max(longest.get(bound, 0), attained(statistic, block))
    # a formula that is right for one column alone, say, is attained by few of the fields
    assert 2 * sum(part >= enough for part in longest.values()) >= len(longest)


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
def test_a_total_is_the_sum_of_its_rows_in_any_order_and_any_blocks(cls):
    for (statistic, block), seed in zip(made(cls), SEEDS, strict=True):
        check_sums(statistic, block, AuditRandom(seed))


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
def test_a_question_is_plain_data(cls):
    for statistic, block in made(cls):
        check_plain_data(statistic, block)
        again = pickle.loads(pickle.dumps(statistic))
        np.testing.assert_array_equal(again.total(block), statistic.total(block))


def test_no_field_is_a_bound():
    for cls in classes():
        assert not BOUNDS & set(inspect.signature(cls).parameters)


@pytest.mark.parametrize(
    "statistic", [BoxMoments(2, 3.0, (-1.0, 1.0)), ClassSums(2, 3, 5.0), UnitBallSum()]
)
def test_statistics_of_small_estimators_hold(statistic):
    block = np.random.default_rng(0).normal(size=(30, 3)) * [9, 9, 2]
    assert check_statistic(statistic, block) > 0.99
