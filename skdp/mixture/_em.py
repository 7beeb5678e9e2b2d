"""Private EM: rounds of released moments, every one in the frames of the mixture before it."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.mixture._design import design
from skdp.mixture._moments import release_moments
from skdp.mixture._normal import quantile
from skdp.mixture._start import release_spread, spread_step
from skdp.mixture._update import Estimate, updated

__all__ = ["MixtureRelease", "em_steps", "private_em"]

SPREAD_SHARE = 0.04
GROWTH, GROWING = 1.2, 20  # of the shares from round to round, at the end


@dataclass(frozen=True)
class MixtureRelease:
    """A released mixture in units of the located ball.

    ``kind`` of the covariances, ``weights`` (k,), ``means`` (k, d), ``numbers`` (k,) of rows;
    ``roots``: lower triangular roots of the covariances, (k, d, d) or (1, d, d) for "tied", their
    diagonals (k, d) for "diag" and "spherical".
    """

    kind: str
    weights: np.ndarray
    means: np.ndarray
    roots: np.ndarray
    numbers: np.ndarray


def em_steps(n_rounds):
    """Return the planned steps of :func:`private_em`."""
    return (spread_step(SPREAD_SHARE), Step("moments", times=n_rounds))


def private_em(rows, curator, located, centers, *, covariance_type="full", n_rounds=6, share=None):
    """Fit a Gaussian mixture by a public number of noisy EM rounds.

    Parameters
    ----------
    rows : ArrayRows of length d
    curator : Curator
        With the steps of :func:`em_steps`.
    located : Located
    centers : ndarray of shape (k, d)
        Public or released, in units of the table.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
    n_rounds : int, default=6
    share : float or Fraction, default=None
        Everything that may be spent here; None is all that remains.

    Returns
    -------
    mixture : MixtureRelease

    Notes
    -----
    **Privacy** (add or remove one row): of :func:`release_spread` and :func:`release_moments`; the
    rest is post-processing.
    """
    left = curator.remaining if share is None else min(Fraction(share), curator.remaining)
    d = rows.n_features
    y = located.to_units(centers)
    first = Fraction(SPREAD_SHARE) * left
    spread = release_spread(rows, curator, located, y, share=first)
    estimate = Estimate.start(covariance_type, y, spread.sd, located.n_rows)
    signal = located.n_rows * curator.budget.mu * math.sqrt(left - first) / len(y)
    reach, weight = design(covariance_type, len(y), d, signal)
    far = min(max(spread.far / spread.sd, reach), 2 * math.sqrt(quantile(d, 0.95)))
    for i, part in enumerate(_parts(n_rounds)):
        clip = reach if i else far
        moments = release_moments(
            rows, curator, located, estimate.frame,
            reach=clip, weight=weight, share=part * (left - first), label="moments",
        )  # fmt: skip
        estimate = updated(estimate, moments, clip)
    frame = estimate.frame
    return MixtureRelease(frame.kind, frame.weights, frame.means, frame.roots, estimate.numbers)


def _parts(n_rounds):
    """Return shares that sum to one and grow over the last rounds, up to 32 times the first."""
    parts = [Fraction(GROWTH) ** max(0, t - n_rounds + GROWING) for t in range(n_rounds)]
    return [part / sum(parts) for part in parts]
