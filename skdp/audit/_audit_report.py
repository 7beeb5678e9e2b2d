"""What an audit has found, as text, JSON, HTML and a picture."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from skdp.accounting import PrivacyReport, pure_to_gdp, pure_to_zcdp
from skdp.audit._events import AuditEvidence
from skdp.show._display import pyplot
from skdp.show._page import AsJson, row, table

__all__ = ["AuditReport"]

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
