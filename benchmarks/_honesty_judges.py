"""What is told of an answer of ``honesty.py``: functions of released and true values alone.

Each returns ``error``, in the unit of the judge; ``disaster``, whether nobody should have been given
the answer without a doubt; ``close``, whether a doubt had no cause; ``covered``, the share of its
intervals that hold, None without any; and ``known``, False where the answer is NaN or infinite.
"""

import math

import numpy as np
from _columns_yardstick import contains_quantile, rank_error

__all__ = ["clusters", "correlations", "labels", "mean", "mixture", "numbers", "quantile"]
__all__ += ["shares", "subspace", "variance"]

CLOSE = 0.05
FAR, FAR_RANK = 0.5, 0.02  # standard deviations; ranks over n
HALF = 0.5  # of a variance
FAR_CORRELATION = 0.3
MARGIN = 0.05  # below the trivial model by more than that: in R2, AUC, entropies, nats a column
SHARE, LOST = 0.1, 0.25  # a share as large as that, of which less than that is left, is lost
CUTS = (0.1, 0.25, 0.5, 0.75, 0.9)
ROUNDING = 1e-12  # of the largest entry: an interval of a constant may miss it by its last bits


def _judged(error, disaster, covered=None):
    error = float(error)
    if not math.isfinite(error):
        return {"error": None, "disaster": False, "close": False, "covered": None, "known": False}
    covered = None if covered is None else float(covered)
    close = bool(error <= CLOSE)
    return {"error": error, "disaster": bool(disaster), "close": close, "covered": covered} | {
        "known": True
    }


def _holds(low, high, truth, size):
    slack = ROUNDING * size
    return low - slack <= truth <= high + slack


def mean(x, value, low, high):
    """Judge a mean: the error is in standard deviations."""
    truth, sd, size = math.fsum(x) / len(x), x.std(), np.abs(x).max()
    error = abs(value - truth) / (sd or size or 1.0)
    return _judged(error, error > FAR, _holds(low, high, truth, size))


def quantile(x, value, low, high, q):
    """Judge a quantile: the error is in standard deviations."""
    x = np.sort(x)
    ends = np.quantile(x, q, method="inverted_cdf"), np.quantile(x, q, method="higher")
    error = max(ends[0] - value, value - ends[1], 0.0) / (x.std() or np.abs(x).max() or 1.0)
    slack = 1e-6 * x.std()
    far = error > FAR and rank_error(x, value, q, slack) > FAR_RANK
    return _judged(error, far, contains_quantile(x, low - slack, high + slack, q))


def variance(x, value, low=None, high=None):
    """Judge a variance: the error is relative."""
    truth = x.var()
    error = abs(value - truth) / truth if truth else abs(value)
    covered = None if low is None else _holds(low, high, truth, truth)
    return _judged(error, error > HALF, covered)


def correlations(X, covariance, noise_scale, correlation):
    """Judge a covariance by the largest error of a correlation that is told."""
    errors = np.abs(correlation - np.corrcoef(X.T))
    told = np.isfinite(errors)
    np.fill_diagonal(told, False)
    error = errors[told].max() if told.any() else math.nan
    held = np.abs(covariance - np.cov(X.T, ddof=0)) <= 1.96 * noise_scale
    return _judged(error, error > FAR_CORRELATION, held.mean())


def subspace(X, components):
    """Judge leading directions by the share of the variance that they miss and others have."""
    total = np.cov(X.T, ddof=0)
    best = np.linalg.eigvalsh(total)[::-1][: len(components)].sum() / np.trace(total)
    share = np.trace(components @ total @ components.T) / np.trace(total)
    return _judged(max(best - share, 0), share < len(components) / len(total))


def numbers(y, predicted, line, covered=None):
    """Judge a regression by R2, beside that of the mean (0) and of a line without privacy."""
    score, best = (1 - np.mean((y - p) ** 2) / y.var() for p in (predicted, line))
    return _judged(max(best - score, 0), score < -MARGIN, covered)


def labels(y, probability, line, covered=None):
    """Judge probabilities of 0/1 labels by AUC and log-loss, beside the rate and a line."""
    from sklearn.metrics import log_loss, roc_auc_score

    if not np.isfinite(probability).all():
        return _judged(math.nan, False)
    areas = [roc_auc_score(y, p) for p in (probability, line)]
    losses = [log_loss(y, p, labels=[0, 1]) for p in (probability, line)]
    entropy = log_loss(y, np.full(len(y), y.mean()), labels=[0, 1])
    worse = areas[0] < 0.5 - MARGIN or losses[0] > entropy * (1 + MARGIN)
    return _judged(max(areas[1] - areas[0], losses[0] - losses[1], 0), worse, covered)


def clusters(X, centers, best):
    """Judge centres by their cost, beside one centre and k-means without privacy."""
    cost, least = (_cost(X, c) for c in (centers, best))
    one = _cost(X, X.mean(axis=0)[None])
    return _judged(max((cost - least) / one, 0), cost > one)


def _cost(X, centers):
    return np.mean(np.min([((X - c) ** 2).sum(axis=1) for c in centers], axis=0))


def mixture(score, one, best, d):
    """Judge a mixture by its log-likelihood of a row and column, beside one Gaussian's."""
    return _judged(max(best - score, 0) / d, score < one - MARGIN * d)


def shares(real, made):
    """Judge synthetic entries of a column, numbers or text, by the shares that they have lost."""
    if real.dtype.kind == "f":
        cuts = np.quantile(real, CUTS, method="inverted_cdf")
        real, made = ([np.mean(x <= cut) for cut in cuts] for x in (real, made.astype(float)))
        pairs = [pair for p, s in zip(real, made, strict=True) for pair in ((p, s), (1 - p, 1 - s))]
    else:
        made = made.astype(str)
        pairs = [(np.mean(real == v), np.mean(made == str(v))) for v in np.unique(real)]
    lost = any(p >= SHARE and s < LOST * p for p, s in pairs)
    return _judged(max(abs(p - s) for p, s in pairs), lost)
