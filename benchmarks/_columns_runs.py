"""Fit estimators to one sample of a column, or of a table, and measure them.

Every function takes a ``Sample`` and returns a flat dict. A fit that raises counts as an infinite
error that covers nothing. Estimators without a ``bounds`` parameter, or that take one quantile at a
time, are measured without these; entries of what is not there are missing.
"""

import inspect
import math
import sys
import types
import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np
from _columns_yardstick import (
    absurd,
    bounded_floor,
    contains_quantile,
    frontier,
    oracle,
    rank_error,
    ratio,
    rms,
    share_of_unequal_pairs,
)
from _harness import _stream
from _mean_cells import MeanBudget

import skdp

__all__ = ["Sample", "means", "peer", "quantiles", "scales", "spreads", "together"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
DECILES = tuple(k / 10 for k in range(1, 10))
CONFIDENCE = 0.95
NEARBY = 1e-6  # of a standard deviation: as good as a value
ROUNDING = 1e-12  # of the largest entry: an interval of a constant may miss it by its last bits


@dataclass(frozen=True)
class Sample:
    """Rows, a budget and the seed of everything that is drawn.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n, d)
    epsilon, delta : float
    reps : int
        Fits of one estimator.
    """

    name: str
    X: np.ndarray
    epsilon: float
    delta: float
    reps: int

    @property
    def x(self):
        """The only column."""
        return self.X[:, 0]

    @property
    def mu(self):
        """The whole budget as Gaussian differential privacy."""
        return MeanBudget.approximate(self.epsilon, self.delta).mu

    def fits(self, estimator, reps=None, **params):
        """Fit ``reps`` times; return (fitted or None if it raised, whether it warned) of each."""
        for rep in range(reps or self.reps):
            label = f"{estimator.__name__} {params}"
            seed = int(_stream(0, self.name, len(self.X), rep, label).integers(2**31))
            budget = {"epsilon": self.epsilon, "delta": self.delta}
            made = estimator(random_state=seed, **{**budget, **params})
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                try:
                    made = made.fit(self.X)
                except Exception:  # a crash is a result of the benchmark too
                    made = None
            names = {warning.category.__name__ for warning in told}
            yield made, "LowAccuracyWarning" in names


@cache
def _takes(estimator, parameter):
    return parameter in inspect.signature(estimator).parameters


@cache
def _takes_many_quantiles():
    try:
        X = np.arange(1000.0)[:, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = skdp.PrivateQuantile([0.25, 0.75], random_state=0).fit(X)
    except (TypeError, ValueError):
        return False
    return np.size(fitted.location_) == 2


def means(sample):
    """Return the errors of PrivateMean in units of the oracle, and its intervals."""
    x = sample.x
    unit = oracle(x, sample.mu)
    found = {"oracle": unit, "reps": sample.reps, **_mean(sample, unit)}
    if _takes(skdp.PrivateMean, "bounds"):
        low, high = float(x.min()), float(x.max())
        if low < high:
            floor = bounded_floor(x, low, high, sample.mu)
            given = _mean(sample, unit, bounds=(low, high))
            found |= {
                "R bounds": given["R"],
                "R bounds, pure": _mean(sample, unit, bounds=(low, high), delta=0.0)["R"],
                "bounds / floor": _times(given["rmse"], floor),
                "covered bounds": given["covered"],
            }
    return found


def _mean(sample, unit, **params):
    values, lows, highs, told = [], [], [], []
    for fitted, warned in sample.fits(skdp.PrivateMean, **params):
        interval = (math.nan, math.nan) if fitted is None else fitted.interval(CONFIDENCE)
        values.append(math.inf if fitted is None else float(fitted.location_[0]))
        lows.append(float(np.ravel(interval[0])[0]))
        highs.append(float(np.ravel(interval[1])[0]))
        told.append(warned)
    truth = _mean_of(sample.x)
    errors = np.abs(np.array(values) - truth)
    half = _half_widths(lows, highs)
    return {
        "R": ratio(errors, unit),
        "rmse": rms(errors),
        "bias": float(np.mean(values) - truth),
        "covered": float(np.mean(_contain(lows, highs, truth, sample.x))),
        "half": float(np.median(half)),
        "unequal pairs": share_of_unequal_pairs(half),
        "infinite": float(np.mean(np.isinf(half))),
        "warned": float(np.mean(told)),
    }


def _mean_of(x):
    return math.fsum(x) / len(x)


def _half_widths(lows, highs):
    lows, highs = np.array(lows), np.array(highs)
    return np.nan_to_num((highs / 2 - lows / 2), nan=math.inf, posinf=math.inf)


def _contain(lows, highs, truth, x):
    slack = ROUNDING * np.abs(x).max()
    return (np.array(lows) - slack <= truth) & (truth <= np.array(highs) + slack)


def _times(value, unit):
    return value / unit if unit else None


def scales(sample):
    """Return what the scalers divide by, over the truth; absurd ones if nothing warned of them."""
    x = sample.x
    quarters = np.quantile(x, (0.25, 0.75))
    spread = float(x.std()) if x.min() < x.max() else 0.0
    truths = {"standard": spread, "robust": float(quarters[1] - quarters[0])}
    found = {}
    for name, estimator in (
        ("standard", skdp.PrivateStandardScaler),
        ("robust", skdp.PrivateRobustScaler),
    ):
        truth, off, flagged, over = truths[name], 0, 0, []
        for fitted, warned in sample.fits(estimator):
            scale = math.nan if fitted is None else float(fitted.scale_[0])
            flag = warned or scale == 1.0
            flagged += flag
            off += not flag and absurd(scale, truth, spread)
            if truth and not flag:
                over.append(scale / truth)
        found |= {
            f"{name} absurd": off,
            f"{name} flagged": flagged,
            f"{name} low": min(over, default=None),
            f"{name} median": float(np.median(over)) if over else None,
            f"{name} high": max(over, default=None),
        }
    return {"scales": sample.reps, **found}


def spreads(sample):
    """Return the relative error of PrivateVariance's root, the median of the fits."""
    low, high = float(sample.x.min()), float(sample.x.max())
    if low == high:
        return {}
    found = {"std error": _spread(sample)}
    if _takes(skdp.PrivateVariance, "bounds"):
        found["std error bounds"] = _spread(sample, bounds=(low, high))
        found["std error bounds, pure"] = _spread(sample, bounds=(low, high), delta=0.0)
    return found


def _spread(sample, **params):
    runs = [fitted for fitted, _ in sample.fits(skdp.PrivateVariance, **params)]
    variances = np.array([math.inf if run is None else float(run.var_[0]) for run in runs])
    stds = np.sqrt(np.maximum(variances, 0.0))
    return float(np.median(np.abs(stds / sample.x.std() - 1)))


def quantiles(sample):
    """Return errors in rank, over n, and coverages of quantiles; deciles of one fit, in rows."""
    single = [_quantile(sample, (q,), q=q) for q in QUANTILES]
    errors, near, covered = (np.array([run[k] for run in single]) for k in range(3))
    found = {
        "rank": float(errors.mean(axis=(1, 2)).max()),
        "rank near": float(near.mean(axis=(1, 2)).max()),
        "rank worst": float(near.max()),
        "rank covered": float(covered.mean()),
        "ranks": [float(e.mean()) for e in errors],
    }
    errors, near, covered = _quantile(sample, (0.5,), skdp.PrivateMedian)
    found |= {"rank median": float(errors.mean()), "median covered": float(covered.mean())}
    if _takes_many_quantiles():
        errors, near, covered = _quantile(sample, DECILES, q=list(DECILES))
        found |= {
            "deciles": float(errors.max(axis=1).mean()) * len(sample.X),
            "deciles near": float(near.max(axis=1).mean()) * len(sample.X),
            "deciles covered": float(covered.mean()),
        }
    low, high = float(sample.x.min()), float(sample.x.max())
    if _takes(skdp.PrivateQuantile, "bounds") and low < high:
        given = [_quantile(sample, (q,), q=q, bounds=(low, high))[1] for q in QUANTILES]
        found["rank bounds"] = float(np.mean(given, axis=(1, 2)).max())
    return found


def _quantile(sample, qs, estimator=None, **params):
    """Return rank errors, those of the values nearby, and whether the intervals cover.

    Arrays of shape (n_fits, n_quantiles).
    """
    x = np.sort(sample.x)
    slack = _slack(x)
    errors, near, covered = [], [], []
    for fitted, _ in sample.fits(estimator or skdp.PrivateQuantile, **params):
        values = lows = highs = np.full(len(qs), math.nan)
        if fitted is not None:
            values = np.ravel(fitted.location_)
            lows, highs = (np.ravel(end) for end in fitted.interval(CONFIDENCE))
        pairs = list(zip(values, qs, strict=True))
        errors.append([rank_error(x, value, q) for value, q in pairs])
        near.append([rank_error(x, value, q, slack) for value, q in pairs])
        ends = zip(lows, highs, qs, strict=True)
        covered.append([bool(a <= b) and contains_quantile(x, a, b, q) for a, b, q in ends])
    return np.array(errors), np.array(near), np.array(covered, float)


def _slack(x):
    """Return how far from an atom a value may lie and still stand for it."""
    return NEARBY * float(x.std()) + ROUNDING * float(np.abs(x).max())


@cache
def _diffprivlib():
    """Return diffprivlib's tools, or None; its models need private parts of scikit-learn."""
    sys.modules.setdefault("diffprivlib.models", types.ModuleType("diffprivlib.models"))
    try:
        from diffprivlib import tools
    except ImportError:
        return None
    return tools


def peer(sample):
    """Return the figures of diffprivlib, which is given the exact bounds, n, and pure privacy."""
    tools, x = _diffprivlib(), sample.x
    if tools is None or x.min() == x.max():
        return {}
    ordered = np.sort(x)
    bounds = (float(x.min()), float(x.max()))
    errors, stds, ranks = [], [], []
    for rep in range(sample.reps):
        seed = int(_stream(0, sample.name, len(x), rep, "diffprivlib").integers(2**31))
        given = {"epsilon": sample.epsilon, "bounds": bounds, "random_state": seed}
        errors.append(tools.mean(x, **given) - _mean_of(x))
        stds.append(abs(float(tools.std(x, **given)) / float(x.std()) - 1))
        found = [_peer_quantile(tools, x, q, given) for q in QUANTILES]
        pairs = zip(found, QUANTILES, strict=True)
        ranks.append([rank_error(ordered, v, q, _slack(x)) for v, q in pairs])
    return {
        "R diffprivlib": ratio(errors, oracle(x, sample.mu)),
        "std error diffprivlib": float(np.median(stds)),
        "rank diffprivlib": float(np.mean(ranks, axis=0).max()),
    }


def _peer_quantile(tools, x, q, given):
    try:
        with np.errstate(invalid="ignore"):
            return float(tools.quantile(x, q, **given))
    except RuntimeError:  # two values only: no interval between them has a width
        return math.nan


def together(sample, columns):
    """Return one dict per column of a joint PrivateMean, beside fits of each column alone.

    The oracle has the whole budget for every column alone: d columns must cost about sqrt d.
    """
    d = sample.X.shape[1]
    joint = list(sample.fits(skdp.PrivateMean))
    moving = np.flatnonzero(sample.X.min(axis=0) < sample.X.max(axis=0))
    least = dict(zip(moving, frontier(sample.X[:, moving], sample.mu), strict=True))
    found = []
    for j, column in enumerate(columns):
        x = sample.X[:, j]
        truth, unit = _mean_of(x), oracle(x, sample.mu)
        values = np.array([math.inf if f is None else f.location_[j] for f, _ in joint])
        ends = [(math.nan,) * 2 if f is None else f.interval(CONFIDENCE) for f, _ in joint]
        lows, highs = ([np.broadcast_to(e[k], d)[j] for e in ends] for k in (0, 1))
        rmse = rms(values - truth)
        one = Sample(
            f"{sample.name}/{column}", x[:, None], sample.epsilon, sample.delta, sample.reps
        )
        alone = _mean(one, unit)
        half = _half_widths(lows, highs)
        found.append(
            {
                "column": column,
                "oracle": unit,
                "R": _times(rmse, unit),
                "frontier": least.get(j),
                "R alone": alone["R"],
                "of alone": _times(rmse, alone["rmse"]),
                "covered": float(np.mean(_contain(lows, highs, truth, x))),
                "unequal pairs": share_of_unequal_pairs(half),
                "infinite": float(np.mean(np.isinf(half))),
            }
        )
    return found
