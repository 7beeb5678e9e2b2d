"""What the kernel has answered: ``python -m tests.kernel._recorded`` writes it anew, on purpose.

Every class is asked with the hostile rows and fields of its examples, and with fields that are
distorted one at a time. Kept are its bounds, its grid, projections of its integers, which distorted
fields it refuses, and what it answers with others. Views of rows and samples are kept as well.
"""

import json
import math
import sys
import zlib
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from skdp.accounting import Budget
from skdp.audit._statistics import shape_of
from skdp.kernel._coordinates import Frame
from skdp.kernel._plain import own
from skdp.kernel._sampled import Sample
from skdp.kernel._statistic import Offer
from tests.kernel._examples import all_examples, hostile
from tests.kernel._examples_samples import OF_SAMPLES
from tests.kernel.test_maps import MAPS

__all__ = ["answers_of", "makers", "recorded"]

KEPT = Path(__file__).parent / "recorded.json"
SEEDS, DISTORTED = range(6), range(3)
OFFERS = (
    Offer(Budget.gaussian(1.0, 1e-6), 0.5, 1),
    Offer(Budget.gaussian(8.0, 1e-6), 1, 9, 300.0),
    Offer(Budget.gaussian(0.01, 1e-6), 0.01, 2**20, 1e9),
    Offer(Budget.zcdp(2.0, 1e-6), 0.3, 1),
    Offer(Budget.pure(0.3), 0.7, 1),
    Offer(Budget.pure(2.0), 1, 5, 10.0),
)
MOST = 2**12  # numbers of an answer
CHOSEN = "bits", "pure"  # fields that the kernel sets itself
DISTORTIONS = (
    *(lambda x, k=k: x * k for k in (-1, 0, 0.5, 1.25, 2, 3, 1e6, 1e-6, 1e300)),
    *(lambda x, k=k: x + k for k in (-1, 1, 2)),
    *(lambda x, k=k: k for k in (None, True, "x", math.nan, math.inf, 2**24, 2**24 + 1, 2**63)),
    lambda x: x[:0],
    lambda x: x[1:],
    lambda x: x[::-1],
    lambda x: np.append(x, x[-1:], axis=0),
    lambda x: np.where(np.arange(len(x)) == 0, np.inf, np.swapaxes(x, 0, -1)),
    lambda x: x.astype(np.float32),
    lambda x: (*x, x[0]),
)


def projected(integers):
    """Return a few numbers that tell an array of integers from others."""
    x = np.asarray(integers, dtype=np.float64).ravel()
    signs = np.random.default_rng(len(x)).normal(size=(3, len(x))) if len(x) < 10**6 else 1.0
    return [*(np.atleast_1d(signs @ x if len(x) < 10**6 else x.sum())), np.abs(x).sum()]


def answer(statistic, block):
    """Return bounds, grid and projections of what a statistic says of a block."""
    with np.errstate(all="ignore"):
        l1 = statistic.l1
        told = [statistic.squared_l2, statistic.step, statistic.bits or 0, -1 if l1 is None else l1]
        total = statistic.total(block)
        told += [*np.shape(total), *projected(total)]
        if hasattr(statistic, "weighed_total"):
            weights = (np.arange(len(block)) * 7 % 11).astype(np.int64)
            told += projected(statistic.weighed_total(block, weights))
    return [float(x) for x in told]


def answers_of(make):
    """Return the answers of a class, one list for each seed, and what it refuses, as text."""
    if not hasattr(make(np.random.default_rng(0)), "__len__"):
        return {"answers": [_plain(make(np.random.default_rng(seed))) for seed in SEEDS]}
    answers, refused = [], []
    for seed in SEEDS:
        statistic, block = make(np.random.default_rng(seed))
        answers.append(answer(statistic, block))
        for offer in OFFERS:
            try:
                with np.errstate(all="ignore"):
                    own = statistic.at(offer)
                    told = [own.bits or 0, own.squared_l2, own.step]
            except (TypeError, ValueError, ArithmeticError) as error:
                told = [zlib.crc32(type(error).__name__.encode())]
            answers.append([float(x) for x in told])
    for seed in DISTORTED:
        statistic, block = make(np.random.default_rng(seed))
        told, shape = "", shape_of(statistic, block)
        for field in fields(statistic):
            for distort in DISTORTIONS:
                other = distorted(statistic, field.name, distort, shape)
                told += "r" if other is None else "-" if other is statistic else "a"
                if seed == 0 and told[-1] == "a" and field.name not in CHOSEN:
                    other = asked(other, OFFERS[0], block)
                    answers.append([] if other is None else answer(other, block)[:6])
        refused.append(told)
    return {"answers": answers, "refused": refused}


def distorted(statistic, name, distort, shape):
    """Return a statistic with a distorted field; None if it is refused, itself if nothing is."""
    try:
        with np.errstate(all="ignore"):
            value = distort(getattr(statistic, name))
    except (TypeError, ValueError, IndexError, KeyError, AttributeError, OverflowError):
        return statistic
    try:
        with np.errstate(all="ignore"):
            other = own(replace(statistic, **{name: value}))
            other.check(shape)
    except (TypeError, ValueError, AttributeError):
        return None
    return other


def asked(statistic, offer, block):
    """Return an accepted statistic on its grid; None if its answer is large, for speed."""
    with np.errstate(all="ignore"):
        statistic = statistic.at(offer)
        size = getattr(statistic, "size", 0)
        if (np.ndim(size) == 0 and size > MOST) or np.size(statistic.total(block[:0])) > MOST:
            return None
    return statistic if statistic.squared_l2 > 0 else None


def _plain(view):
    """Return projections of an array of numbers of all magnitudes."""
    x = np.asarray(view(), dtype=np.float64)
    with np.errstate(all="ignore"):
        x = np.where(np.isnan(x), -7.0, np.sign(x) * np.log1p(np.abs(np.nan_to_num(x))))
    return [float(n) for n in (*x.shape, *projected(x))]


def _of_map(make, cls):
    def view(rng):
        mapped, block = make(rng), hostile(rng, 3 if cls is Frame else 4)
        block[::2] = rng.normal(size=block[::2].shape)

        def shown():
            with np.errstate(all="ignore"):
                return mapped(block)

        return shown

    return view


def _of_sample(make):
    def view(rng):
        d = int(rng.integers(1, 4))
        rows, keys = rng.normal(size=(30, d)) * 2.0, rng.permutation(30).astype(np.uint64)
        rows[::5] = rng.choice([0.0, np.inf, 1e308, 1.0], size=rows[::5].shape)
        sample = Sample(rows, keys, 1.0, 30.0)

        def told():
            with np.errstate(all="ignore"):
                found = [np.ravel(one.total(sample)) for one in make(d)]
                bounds = [float(one.squared_l2) for one in make(d)]
            return np.concatenate([*found, bounds])

        return told

    return view


def makers():
    """Return {name: function of a generator}: statistics, maps of rows and sums over samples.

    Those of ``kernel/applied`` belong to their rooms, and change with them.
    """
    maps = {cls: _of_map(make, cls) for cls, make in MAPS.items()}
    samples = {cls: _of_sample(make) for cls, make in OF_SAMPLES.items()}
    named = [("", all_examples()), ("map ", maps), ("sample ", samples)]
    pairs = [(kind, cls, make) for kind, of in named for cls, make in of.items()]
    own = [pair for pair in pairs if ".applied." not in pair[1].__module__]
    return {f"{kind}{cls.__name__}": make for kind, cls, make in own}


def recorded():
    """Return what is kept: {class: its answers}."""
    return json.loads(KEPT.read_text())


if __name__ == "__main__":
    told = {name: answers_of(make) for name, make in makers().items()}
    lines = [f"{json.dumps(name)}: {json.dumps(told[name])}" for name in sorted(told)]
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.exit()
