"""Audit from one fit: many canaries, each of them in the table or not."""

import json
import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc
from sklearn.utils.validation import check_array

from skdp.accounting import PrivacyReport, gaussian_delta
from skdp.audit._empirical import check_estimator_for_audit, claim_of, fresh_clone, seed
from skdp.audit._observe import ignore_expected_warnings
from skdp.mechanisms import make_entropy

_EPSILONS = np.concatenate([np.linspace(0, 1, 101), np.linspace(1, 20, 381)[1:]])
_PARTS = (8, 4, 2, 1)  # a guess is made on every 8th, 4th, 2nd or every canary


def one_run_p_value(correct, guesses, canaries, epsilon, delta=0.0):
    """Return a bound on the probability of so many correct guesses under (epsilon, delta)-DP.

    Parameters
    ----------
    correct, guesses, canaries : int
        Of ``canaries`` rows, each one in the table with probability 1/2, the presence of
        ``guesses`` was guessed from the output and ``correct`` of these guesses were right. Which
        rows are guessed on may depend on the output, how many may not.
    epsilon, delta : float or array-like

    Returns
    -------
    p_value : float or ndarray

    See Also
    --------
    one_run_audit, clopper_pearson

    Notes
    -----
    ``P(Bin(r, c) >= v) + m delta / (1 + e^epsilon)``, ``c = e^epsilon / (1 + e^epsilon)``.

    *Proof.* Fix canary i and the presence of the canaries before it. Let P and Q be the laws of the
    output with and without i, averaged over the later canaries; by joint convexity they are
    (epsilon, delta)-close. Given the output y, canary i is present with probability
    ``p = P / (P + Q)(y)``, so a guess on it is right with probability at most ``c + e(y)``,
    ``e = (p - c)_+ + (1 - p - c)_+``. As ``c / (1 - c) = e^epsilon``, the mean over y of the first
    part is ``(1/2) int ((1 - c) P - c Q)_+ = (1 - c)/2 int (P - e^epsilon Q)_+ <= (1 - c) delta/2``
    and so for the second: the mean of e is at most ``(1 - c) delta = delta / (1 + e^epsilon)``.
    Given y, draw a uniform U_i for every guess: it is right only if ``U_i <= c`` or
    ``c < U_i <= c + e``. The former are r independent events of probability c, whatever y is; one
    of the latter happens for some i with probability at most ``m delta / (1 + e^epsilon)``. QED

    For ``delta = 0`` this is Theorem 5.2 of Steinke, Nasr and Jagielski, "Privacy auditing with one
    (1) training run", 2023. For ``delta > 0`` their Corollary 5.4 has a smaller second term,
    ``2 m delta max_i P(v > Bin(r, c) >= v - i) / i``; the simpler one above is used because the
    proof is here, and delta can be chosen small.

    **Privacy**: computes from counts of runs on tables made for the audit: none is needed.

    Examples
    --------
    >>> from skdp.audit import one_run_p_value
    >>> bool(one_run_p_value(correct=90, guesses=100, canaries=1000, epsilon=1.0) < 1e-3)
    True
    """
    c = 1 / (1 + np.exp(-np.asarray(epsilon, dtype=np.float64)))
    tail = betainc(correct, guesses - correct + 1, c) if correct > 0 else np.ones_like(c)
    return np.minimum(tail + canaries * np.asarray(delta) * (1 - c), 1.0)[()]


@dataclass(frozen=True)
class OneRunReport:
    """Lower bounds from one fit, beside the claim.

    Notes
    -----
    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.
    """

    claim: PrivacyReport
    n_canaries: int
    # guesses, correct: tuple of int: for every number of guesses that was tried, how many of them
    # were right
    guesses: tuple
    correct: tuple
    confidence: float  # both bounds hold together with this probability
    delta: float  # the delta at which epsilon is bounded
    epsilon_lower: float
    mu_lower: float

    @property
    def claimed_epsilon(self):
        """The epsilon that is claimed at ``delta``."""
        return self.claim.epsilon(self.delta)

    @property
    def claimed_mu(self):
        """The claimed mu; infinity if none."""
        return self.claim.budget.mu if self.claim.budget.measure == "gdp" else math.inf

    @property
    def passed(self):
        """Whether neither bound exceeds the claim."""
        return self.epsilon_lower <= self.claimed_epsilon and self.mu_lower <= self.claimed_mu

    def to_dict(self):
        """Return the report as plain numbers and text; what is not claimed is None."""
        finite = lambda x: x if x < math.inf else None  # noqa: E731
        return {
            "estimator": self.claim.estimator,
            "passed": self.passed,
            "n_canaries": self.n_canaries,
            "guesses": list(self.guesses),
            "correct": list(self.correct),
            "confidence": self.confidence,
            "delta": self.delta,
            "epsilon_lower": self.epsilon_lower,
            "claimed_epsilon": finite(self.claimed_epsilon),
            "mu_lower": self.mu_lower,
            "claimed_mu": finite(self.claimed_mu),
        }

    def to_json(self):
        """Return the report as a JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self):
        verdict = "passed" if self.passed else "FAILED: the claim is false"
        tried = ", ".join(f"{v} of {r}" for v, r in zip(self.correct, self.guesses, strict=True))
        return (
            f"One-run audit of {self.claim.estimator} {verdict} ({self.n_canaries} canaries, "
            f"confidence {self.confidence:.6g})\n"
            f"  correct guesses: {tried}\n"
            f"  epsilon at delta = {self.delta:.3g}: at least {self.epsilon_lower:.4g}, "
            f"claimed {self.claimed_epsilon:.4g}\n"
            f"  mu: at least {self.mu_lower:.4g}, claimed {self.claimed_mu:.4g}"
        )


def one_run_audit(
    estimator, X, canaries, *, score, delta=None, confidence=0.999, random_state=None
):
    """Bound the privacy loss of an estimator from below with a single fit.

    Every canary enters the table with probability 1/2. Large scores are then guessed to be in,
    small ones out; more correct guesses than differential privacy allows refute the claim.

    Parameters
    ----------
    estimator : estimator
        Unfitted, without a ledger; its fit sets ``privacy_report_``. It is cloned, never changed.
    X : array-like of shape (n_samples, n_features)
        Rows that are in the table anyway; may be empty.
    canaries : array-like of shape (n_canaries, n_features)
        Rows whose traces in the output do not mix, such as orthogonal ones. Hundreds are needed,
        hence an output with as many numbers: wide means, covariances, histograms. For a release of
        ten numbers use :func:`skdp.audit.audit`.
    score : callable
        ``score(fitted, canaries)`` returns one number per canary, computed from released
        attributes only; the larger, the more likely it was in.
    delta : float, default=None
        Where epsilon is bounded. By default the claimed delta, or for a Gaussian claim, which holds
        for all deltas, one so small that it costs half of the error probability.
    confidence : float, default=0.999
        Both bounds hold together with this probability.
    random_state : int or None, default=None
        None draws the noise and the canaries from the operating system.

    Returns
    -------
    report : OneRunReport

    See Also
    --------
    audit, one_run_p_value

    Notes
    -----
    The tails are those of :func:`one_run_p_value`. Guesses are made on an eighth, a quarter, half
    and all of the canaries, which divides the error probability by four. The bound on epsilon is
    the largest epsilon that is refuted at ``delta``: a smaller one would imply it. A mu is refuted
    if any of its points (epsilon, delta(epsilon)) is, which is sound because each of them bounds
    the same tail. One run is a weak witness: it finds noise that is too small by a factor of four
    or more (m = 1000 canaries, epsilon 1 to 2).

    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateMean
    >>> from skdp.audit import one_run_audit
    >>> mean = PrivateMean(epsilon=4.0, center=0.0, radius=1.0)
    >>> report = one_run_audit(
    ...     mean, np.zeros((50, 300)), np.eye(300), score=lambda fit, Z: Z @ fit.location_
    ... )
    >>> report.passed
    True
    """
    check_estimator_for_audit(estimator, confidence)
    X = check_array(X, ensure_min_samples=0)
    canaries = check_array(canaries, ensure_min_samples=max(_PARTS))
    m = len(canaries)
    words = make_entropy(seed(random_state, "canaries")).words(m)
    present = (words >> np.uint64(63)).astype(bool)
    with ignore_expected_warnings():
        fitted = fresh_clone(estimator, random_state).fit(np.vstack([X, canaries[present]]))
    claim = claim_of(fitted)
    scores = np.asarray(score(fitted, canaries), dtype=np.float64)
    if scores.shape != (m,):
        raise ValueError(f"score must return shape ({m},), one per canary. Got {scores.shape}.")
    order = np.argsort(np.nan_to_num(scores), kind="stable")
    guesses = tuple(2 * (m // (2 * part)) for part in _PARTS)
    correct = tuple(_correct(present[order], r // 2) for r in guesses)
    error = (1 - confidence) / len(_PARTS)  # Bonferroni
    if delta is None:
        delta = _default_delta(claim, error / (2 * m))
    pairs = list(zip(correct, guesses, strict=True))
    return OneRunReport(
        claim,
        m,
        guesses,
        correct,
        confidence,
        delta,
        max(_epsilon_lower(v, r, m, delta, error) for v, r in pairs),
        max(_mu_lower(v, r, m, float(claim.budget.failure), error) for v, r in pairs),
    )


def _default_delta(claim, cheap):
    """Return ``cheap``, which costs half of the error, if the claim says anything there."""
    return cheap if claim.epsilon(cheap) < math.inf else float(claim.budget.delta)


def _correct(present, half):
    """Count correct guesses: the first ``half`` of the ordered canaries are out, the last in."""
    return int(np.sum(~present[:half]) + np.sum(present[len(present) - half :]))


def _epsilon_lower(correct, guesses, canaries, delta, error):
    refuted = one_run_p_value(correct, guesses, canaries, _EPSILONS, delta) <= error
    return float(_EPSILONS[refuted].max(initial=0.0))


def _mu_lower(correct, guesses, canaries, failure, error):
    def refuted(mu):
        deltas = np.array([gaussian_delta(1 / mu, epsilon) for epsilon in _EPSILONS[::4]])
        deltas = deltas + (1 + np.exp(_EPSILONS[::4])) * failure
        p_values = one_run_p_value(correct, guesses, canaries, _EPSILONS[::4], deltas)
        return p_values.min() <= error

    low, high = 0.0, 20.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
