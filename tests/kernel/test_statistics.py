"""Every statistic bounds what one row adds, with hostile rows and hostile public fields."""

import inspect
import json
import pickle
from fractions import Fraction
from functools import reduce
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pytest

import skdp
from skdp.kernel._codec import decoded, encoded
from skdp.kernel._statistic import TYPES, Shape, Statistic
from tests.kernel._examples import all_examples

for module in walk_packages(skdp.__path__, "skdp."):
    if ".kernel" in module.name:
        import_module(module.name)
EXAMPLES = all_examples()
SEEDS = range(24)


def classes():
    return [one for one in TYPES.values() if issubclass(one, Statistic)]


def test_every_statistic_has_examples():
    wanted = {one for one in classes() if not inspect.isabstract(one)}
    assert wanted == set(EXAMPLES)


def made(cls):
    for seed in SEEDS:
        statistic, block = EXAMPLES[cls](np.random.default_rng(seed))
        with np.errstate(all="ignore"):
            yield statistic, block


def shape_of(statistic, block):
    if isinstance(block, np.ndarray):
        return Shape(block.shape[1], statistic.kind)
    return Shape(block.n_features, statistic.kind, getattr(block, "sizes", None))


def flat(contributions):
    return np.asarray(contributions).reshape(len(contributions), -1)


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
def test_no_row_adds_more_than_the_bound_and_some_row_adds_it(cls):
    longest = Fraction(0)
    for statistic, block in made(cls):
        statistic.check(shape_of(statistic, block))
        rows = flat(statistic.contributions(block))
        assert rows.dtype.kind in "iu"
        for row in rows.tolist():
            squared, l1 = sum(v * v for v in row), sum(map(abs, row))
            assert squared <= statistic.squared_l2 <= Fraction(statistic.l2) ** 2
            assert statistic.l1 is None or l1 <= statistic.l1
            longest = max(longest, Fraction(squared) / Fraction(statistic.squared_l2))
    assert longest >= Fraction(getattr(EXAMPLES[cls], "attains", 0.98))


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
def test_a_total_is_the_sum_of_its_rows_in_any_order_and_any_blocks(cls):
    for (statistic, block), seed in zip(made(cls), SEEDS, strict=True):
        rng = np.random.default_rng(seed)
        total = np.asarray(statistic.total(block))
        assert total.dtype.kind in "iu"
        rows = flat(statistic.contributions(block))
        np.testing.assert_array_equal(total.ravel(), rows.sum(axis=0, dtype=np.int64))
        order = rng.permutation(len(block))
        np.testing.assert_array_equal(total, statistic.total(block[order]))
        cuts = [block[a : a + 7] for a in range(0, len(block), 7)]
        np.testing.assert_array_equal(total, reduce(np.add, map(statistic.total, cuts)))
        assert np.shape(statistic.total(block[:0])) == total.shape
        if hasattr(statistic, "weighed_total"):
            weights = rng.integers(0, 1000, size=len(block)).astype(np.int16)
            told = np.asarray(statistic.weighed_total(block, weights)).ravel()
            assert told.dtype.kind in "iu"
            np.testing.assert_array_equal(told, weights.astype(np.int64) @ rows)


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
def test_a_question_is_plain_data(cls):
    for statistic, block in made(cls):
        again = decoded(json.loads(json.dumps(encoded(statistic))))
        np.testing.assert_array_equal(again.total(block), statistic.total(block))
        assert again.squared_l2 == statistic.squared_l2
        again = pickle.loads(pickle.dumps(statistic))
        np.testing.assert_array_equal(again.total(block), statistic.total(block))


def test_no_field_is_a_bound():
    for cls in classes():
        names = set(inspect.signature(cls).parameters)
        assert not names & {"squared_l2", "l1", "l2", "sensitivity", "bound", "bounds"}
