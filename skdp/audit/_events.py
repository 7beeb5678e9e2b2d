"""Events that tell two tables apart: learned on some of the runs, counted on the others."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from skdp.accounting import PrivacyReport, pure_to_gdp, pure_to_zcdp
from skdp.audit._bounds import clopper_pearson, epsilon_between, mu_between, rho_between
from skdp.show._display import AsJson, pyplot, row, table

TRAIN = 0.3
FAR = 30.0  # robust standard deviations at which a statistic is cut off
MOST_THRESHOLDS = 200
FISHER, FEATURES = 0, 2  # columns of the scores; 1 is a distance
_TRAIN_ERROR = 0.01  # makes the training intervals about as wide as those of the other runs


@dataclass(frozen=True)
class AuditEvidence:
    """What the runs that were not learned from say.

    ``mu``, ``rho`` and ``epsilons`` (one per delta) are lower bounds that hold together with the
    confidence asked for. ``first`` and ``second`` are the values of the score whose event bounds mu
    best, ``threshold`` its threshold.
    """

    mu: float
    rho: float
    epsilons: tuple
    first: np.ndarray
    second: np.ndarray
    threshold: float


def find_evidence(first, second, *, deltas, failure=0.0, confidence=0.999):
    """Bound mu, rho and the epsilons at ``deltas`` from below.

    Shapes: first, second (n_runs, n_features).

    Notes
    -----
    The first 30 % of the runs choose, for every parameter, events "score > threshold": the best for
    Fisher's discriminant, and the best for the distance from the median or a single feature. The
    other runs are independent of that choice: K events take 4 K one-sided Clopper-Pearson
    bounds, each wrong with probability ``(1 - confidence) / 4 K``, and everything else follows
    from these (see :mod:`skdp.audit._bounds`).
    """
    cut = max(2, int(TRAIN * len(first)))
    scores = _Scores(first[:cut], second[:cut])
    bounds = _bounds(deltas, failure)
    events = _learn(scores, first[:cut], second[:cut], bounds)
    error = (1 - confidence) / (4 * len(events))  # Bonferroni
    results, values = [], []
    for column, threshold in events:
        pair = scores(first[cut:], column), scores(second[cut:], column)
        results.append([b(*_intervals(*pair, np.array([threshold]), error))[0] for b in bounds])
        values.append((*pair, threshold))
    best = np.max(results, axis=0)
    winner = values[int(np.argmax([row[0] for row in results]))]
    return AuditEvidence(float(best[0]), float(best[1]), tuple(map(float, best[2:])), *winner)


def _bounds(deltas, failure):
    """Return functions of two intervals: the bounds on mu, on rho, and on epsilon at each delta."""
    return [
        lambda p, q: mu_between(p, q, failure),
        lambda p, q: rho_between(p, q, failure),
        *(lambda p, q, delta=delta: epsilon_between(p, q, delta) for delta in deltas),
    ]


def _learn(scores, first, second, bounds):
    """Return the distinct events (column of the scores, threshold) that bound something best.

    Fisher's discriminant fits itself to the runs that it is learned from, so it competes with
    nobody: the best of the other scores is kept beside it.
    """
    best = {}
    for column in range(scores.n_columns):
        pair = scores(first, column), scores(second, column)
        thresholds = _thresholds(np.concatenate(pair))
        intervals = _intervals(*pair, thresholds, _TRAIN_ERROR)
        for i, bound in enumerate(bounds):
            values = bound(*intervals)
            top, kind = int(np.argmax(values)), (i, column == FISHER)
            if kind not in best or values[top] > best[kind][0]:
                best[kind] = (values[top], (column, thresholds[top]))
    return sorted({event for _, event in best.values()})


def _thresholds(values):
    levels = np.unique(values)
    if len(levels) <= MOST_THRESHOLDS:
        return levels
    return levels[np.linspace(0, len(levels) - 1, MOST_THRESHOLDS).astype(int)]


def _intervals(first, second, thresholds, error):
    """Return Clopper-Pearson intervals of "score > threshold" under both tables."""
    hits = (
        (len(x) - np.searchsorted(np.sort(x), thresholds, side="right"), len(x))
        for x in (first, second)
    )
    return tuple(clopper_pearson(*count, error) for count in hits)


class _Scores:
    """Functions of a run: Fisher's discriminant, distance from the median, every feature."""

    def __init__(self, first, second):
        both = np.concatenate([first, second])
        with np.errstate(all="ignore"):
            self._middle, self._scale = _robust(both)
        self._fisher = _discriminant(self._standard(first), self._standard(second))
        self.n_columns = FEATURES + first.shape[1]

    def __call__(self, runs, column):
        if column >= FEATURES:
            feature = [column - FEATURES]
            return self._standard(runs[:, feature], feature)[:, 0]
        Z = self._standard(runs)
        return Z @ self._fisher if column == FISHER else np.sqrt(np.sum(Z * Z, axis=1))

    def _standard(self, runs, columns=slice(None)):
        with np.errstate(all="ignore"):
            Z = (runs - self._middle[columns]) / self._scale[columns]
        return np.nan_to_num(np.clip(Z, -FAR, FAR), nan=FAR + 1)


def _robust(runs):
    """Return median and spread of every feature, from its finite values."""
    finite = np.where(np.isfinite(runs), runs, np.nan)
    finite[:, np.all(np.isnan(finite), axis=0)] = 0.0
    middle = np.nanmedian(finite, axis=0)
    spread = np.abs(finite - middle)
    scale = 1.4826 * np.nanmedian(spread, axis=0)
    scale = np.where(scale > 0, scale, np.nanmean(spread, axis=0))
    return middle, np.where((scale > 0) & np.isfinite(scale), scale, 1.0)


def _discriminant(first, second):
    """Return Fisher's direction; a ridge keeps it from chasing noise in wide releases."""
    n, d = len(first) + len(second), first.shape[1]
    step = first.mean(axis=0) - second.mean(axis=0)
    within = np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)])
    scatter = within.T @ within / n
    ridge = (1e-3 + d / n) * np.trace(scatter) / d + 1e-12
    return np.linalg.solve(scatter + ridge * np.eye(d), step)


TITLES = ("parameter", "at least", "claimed")
_HINTS = (
    "A pass proves nothing: an audit finds gross faults, see the figures of `audit`.",
    "Not private: the runs have spent their budgets many times. Audit on made-up tables.",
)


@dataclass(frozen=True)
class AuditReport(AsJson):
    """Lower bounds on what an estimator leaks, beside what it claims.

    Notes
    -----
    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.
    """

    claim: PrivacyReport  # the report of one of the fits
    n_runs: int  # fits per table
    confidence: float  # all bounds hold together with this probability
    deltas: tuple  # tuple of float: where epsilon is bounded; the first is the claimed one
    evidence: AuditEvidence  # the bounds and the scores that the picture shows

    @property
    def passed(self):
        """Whether no bound exceeds the claim."""
        return all(low <= most * (1 + 1e-9) for _, low, most in self.rows())

    @property
    def epsilon_lower(self):
        """Lower bound on epsilon at the claimed delta."""
        return self.evidence.epsilons[0]

    @property
    def claimed_epsilon(self):
        """The claimed epsilon."""
        return float(self.claim.budget.epsilon)

    @property
    def claimed_delta(self):
        """The claimed delta."""
        return float(self.claim.budget.delta)

    @property
    def mu_lower(self):
        """Lower bound on mu, outside the declared failure probability."""
        return self.evidence.mu

    @property
    def claimed_mu(self):
        """The mu that the claim implies; infinity if none."""
        budget = self.claim.budget
        if budget.measure == "gdp":
            return budget.mu
        return pure_to_gdp(float(budget.amount)) if budget.measure == "pure" else math.inf

    @property
    def rho_lower(self):
        """Lower bound on rho, outside the declared failure probability."""
        return self.evidence.rho

    @property
    def claimed_rho(self):
        """The rho that the claim implies; infinity if none."""
        budget = self.claim.budget
        amount = float(budget.amount)
        implied = {"gdp": amount / 2, "zcdp": amount, "approx": math.inf}
        return pure_to_zcdp(amount) if budget.measure == "pure" else implied[budget.measure]

    @property
    def curve(self):
        """Tuples (delta, lower bound on epsilon, claimed epsilon)."""
        return tuple(
            (delta, low, self.claim.epsilon(delta) if i else self.claimed_epsilon)
            for i, (delta, low) in enumerate(zip(self.deltas, self.evidence.epsilons, strict=True))
        )

    def rows(self):
        """Return (name, lower bound, claim) for every parameter that was audited."""
        return [
            ("mu", self.mu_lower, self.claimed_mu),
            ("rho", self.rho_lower, self.claimed_rho),
            *((f"epsilon at delta = {delta:g}", low, most) for delta, low, most in self.curve),
        ]

    def to_dict(self):
        """Return the report as plain numbers and text; what is not claimed is None."""
        return {
            "estimator": self.claim.estimator,
            "passed": self.passed,
            "n_runs": self.n_runs,
            "confidence": self.confidence,
            "bounds": [
                {"parameter": name, "lower": low, "claimed": most if most < math.inf else None}
                for name, low, most in self.rows()
            ],
        }

    def _verdict(self):
        verdict = "passed" if self.passed else "FAILED: the claim is false"
        return (
            f"Audit of {self.claim.estimator} {verdict} "
            f"({self.n_runs} fits per table, confidence {self.confidence:.6g})"
        )

    def __str__(self):
        rows = [f"  {name:<24} {low:>8.4g}  {most:>8.4g}" for name, low, most in self.rows()]
        head = "  {:<24} {:>8}  {:>8}".format(*TITLES)
        return "\n".join([self._verdict(), head, *rows, *(f"  {hint}" for hint in _HINTS)])

    def _repr_html_(self):
        body = [row((name, f"{low:.4g}", f"{most:.4g}")) for name, low, most in self.rows()]
        return f"<div><b>{self._verdict()}</b>{table(TITLES, body)}</div>"

    def plot(self, axes=None):
        """Draw the learned score under both tables, and the trade-off of the two errors."""
        if axes is None:
            plt = pyplot()

            axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")[1]
        self._draw_scores(axes[0])
        self._draw_trade_off(axes[1])
        return np.asarray(axes)

    def _draw_scores(self, ax):
        first, second, cut = self.evidence.first, self.evidence.second, self.evidence.threshold
        low, high = np.quantile(np.concatenate([first, second]), [0.002, 0.998])
        bins = np.linspace(low, high + 1e-9, 60)
        for values, name in ((first, "first table"), (second, "second table")):
            ax.hist(np.clip(values, low, high), bins, alpha=0.55, label=name)
        ax.axvline(cut, color="k", linestyle="--", label="best threshold")
        ax.set(xlabel="learned score", ylabel="fits", title=f"{len(first)} fits per table")
        ax.legend(frameon=False)

    def _draw_trade_off(self, ax):
        first, second = self.evidence.first, self.evidence.second
        if np.median(first) < np.median(second):
            first, second = second, first
        cuts = np.unique(np.concatenate([first, second]))
        share = lambda x: np.searchsorted(np.sort(x), cuts, side="right") / len(x)  # noqa: E731
        errors = np.linspace(0, 1, 501)
        claimed = self._trade_off(errors)
        ax.fill_between(errors, claimed, color="C3", alpha=0.15, label="excluded by the claim")
        ax.plot(errors, claimed, color="C3")
        ax.step(1 - share(second), share(first), color="k", label="observed")
        ax.plot([0, 1], [1, 0], color="0.6", linestyle=":", label="no information")
        ax.set(xlabel="false positive rate", ylabel="false negative rate", aspect="equal")
        ax.set(title=f"mu at least {self.mu_lower:.3g}, claimed {self.claimed_mu:.3g}")
        ax.legend(frameon=False, loc="upper right")

    def _trade_off(self, errors):
        """Return the smallest false negative rate that the claim allows."""
        budget = self.claim.budget
        if budget.measure == "gdp":
            failure = float(budget.failure)
            ideal = ndtr(-ndtri(np.minimum(errors + failure, 1)) - budget.mu)
            return np.maximum(ideal - failure, 0)
        grow, delta = math.exp(min(self.claimed_epsilon, 700)), self.claimed_delta
        return np.maximum.reduce(
            [0 * errors, 1 - delta - grow * errors, (1 - delta - errors) / grow]
        )
