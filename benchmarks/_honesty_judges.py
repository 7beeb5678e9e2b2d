"""What is told of an answer of ``honesty.py``: functions of released and true values alone.

Each returns ``error``, in a unit of its own, None where nothing finite is told; ``disaster``,
whether the answer should have come with a doubt; ``close``, whether a doubt would be without cause;
and ``covered``, the share of its intervals that hold, None without any.
"""

import math

import numpy as np
from _columns_yardstick import contains_quantile, rank_error
from sklearn.metrics import log_loss, r2_score, roc_auc_score

CLOSE = 0.05
FAR, FAR_RANK = 0.5, 0.02  # standard deviations; ranks over n
HALF = 0.5  # of a variance
FAR_CORRELATION = 0.3
MARGIN = 0.05  # below the trivial model: in R2, AUC, entropies, nats a column, shares of variance
SHARE, LOST = 0.1, 0.25  # a share that is as large, and of which less than that is left, is lost
CUTS = (0.1, 0.25, 0.5, 0.75, 0.9)
ROUNDING = 1e-12  # of the largest entry: an interval of a constant may miss it by its last bits


def _judged(error, disaster, covered=None):
    if not np.isfinite(error):
        return {"error": None, "disaster": False, "close": False, "covered": None}
    covered = None if covered is None else float(covered)
    told = {"error": float(error), "disaster": bool(disaster), "covered": covered}
    return {**told, "close": bool(error <= CLOSE and not disaster)}


def _holds(low, high, truth, size):
    return low - ROUNDING * size <= truth <= high + ROUNDING * size


def judged_twice(judge, few, apart, *rows_and_more, n_of_rows=1):
    """Judge; of a disaster tell whether it is none without the ``few`` rows farthest ``apart``.

    By group privacy, answers that are right on the table without k rows are as likely here, but for
    exp(k epsilon): no private answer tells the two tables apart.
    """
    told = judge(*rows_and_more)
    if told["disaster"]:
        kept = np.sort(np.argsort(apart)[: max(len(apart) - few, 2)])
        rows = [x[kept] for x in rows_and_more[:n_of_rows]]
        told["few"] = not judge(*rows, *rows_and_more[n_of_rows:])["disaster"]
    return told


def mean(x, value, low, high):
    """Judge a mean: the error is in standard deviations."""
    truth = math.fsum(x) / len(x)
    error = abs(value - truth) / x.std()
    return _judged(error, error > FAR, _holds(low, high, truth, np.abs(x).max()))


def quantile(x, value, low, high, q=0.5):
    """Judge a quantile: the error is in standard deviations."""
    x, slack = np.sort(x), 1e-6 * x.std()
    least, most = (np.quantile(x, q, method=end) for end in ("inverted_cdf", "higher"))
    error = max(least - value, value - most, 0.0) / x.std()
    far = error > FAR and rank_error(x, value, q, slack) > FAR_RANK
    return _judged(error, far, contains_quantile(x, low - slack, high + slack, q))


def variance(x, value, low=None, high=None):
    """Judge a variance: the error is relative."""
    error, covered = abs(value / x.var() - 1), None
    if low is not None:
        covered = _holds(low, high, x.var(), x.var())
    return _judged(error, error > HALF, covered)


def correlations(X, covariance, noise_scale, correlation):
    """Judge a covariance: the error is the largest one of a correlation that is told."""
    told = np.isfinite(correlation) & ~np.eye(len(correlation), dtype=bool)
    error = np.abs(correlation - np.corrcoef(X.T))[told].max() if told.any() else math.nan
    held = np.abs(covariance - np.cov(X.T, ddof=0)) <= 1.96 * noise_scale
    return _judged(error, error > FAR_CORRELATION, held.mean())


def subspace(X, components):
    """Judge directions: the error is the share of the variance that better ones have besides."""
    truth, k = np.cov(X.T), len(components)
    share = np.trace(components @ truth @ components.T) / np.trace(truth)
    best = np.linalg.eigvalsh(truth)[-k:].sum() / np.trace(truth)
    return _judged(best - share, share < k / len(truth) - MARGIN)


def line(y, predicted, best, covered=None):
    """Judge a regression: the error is R2 below that of a line without privacy."""
    score = r2_score(y, predicted) if np.isfinite(predicted).all() else math.nan
    return _judged(max(r2_score(y, best) - score, 0), score < -MARGIN, covered)


def labels(y, chance, best):
    """Judge chances of 1: the error is AUC or log-loss worse than that of a line."""
    if not np.isfinite(chance).all() or y.min() == y.max():
        return _judged(math.nan, False)
    area, loss = roc_auc_score(y, chance), log_loss(y, chance)
    entropy = log_loss(y, np.full(len(y), y.mean()))
    error = max(roc_auc_score(y, best) - area, loss - log_loss(y, best), 0)
    return _judged(error, area < 0.5 - MARGIN or loss > (1 + MARGIN) * entropy)


def clusters(X, centers, best):
    """Judge centres: the error is their cost beyond k-means, in costs of one centre."""
    one, cost, least = (
        np.mean(np.min([((X - c) ** 2).sum(axis=1) for c in some], axis=0))
        for some in ([X.mean(axis=0)], centers, best)
    )
    return _judged(max(cost - least, 0) / one, cost > one)


def mixture(score, one, best, d):
    """Judge a mixture: the error is in nats a row and column, below one without privacy."""
    return _judged(max(best - score, 0) / d, score < one - MARGIN * d)


def shares(real, made, covered=None):
    """Judge synthetic entries, numbers or text: the error is the largest one of a share."""
    if real.dtype.kind == "f":
        cuts, made = np.quantile(real, CUTS, method="inverted_cdf"), made.astype(float)
        sides = [pair for c in cuts for pair in ((real <= c, made <= c), (real > c, made > c))]
    else:
        sides = [(real == v, made.astype(str) == str(v)) for v in np.unique(real)]
    pairs = [(is_real.mean(), is_made.mean()) for is_real, is_made in sides]
    lost = any(share >= SHARE and left < LOST * share for share, left in pairs)
    return _judged(max(abs(share - left) for share, left in pairs), lost, covered)
