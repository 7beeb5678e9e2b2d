"""Private EM: rounds of released moments, every one in the frames of the mixture before it."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from skdp.accounting import Step
from skdp.cluster._synopsis import to_units
from skdp.kernel._clusters import Nearest, Reaches
from skdp.kernel._mixtures import COARSER, MixtureMoments, second_shape
from skdp.mixture._normal import (
    RIVALS,
    design,
    isotropic_model,
    nearly_singular,
    noise_loss,
    one_gaussian,
    quantile,
    release_log_density_gain,
    rival_share,
    stray_cost,
)
from skdp.mixture._shrinkage_update import Estimate, updated
from skdp.scales import LogBins

# --- where the components begin: released centres, and how far the rows lie from them

BINS = LogBins(4, -12, 2)  # distances in units of the located radius, at most 4
SPREAD_SHARE = 0.04
SPREAD = Step("spread", at_most=SPREAD_SHARE, of=(Reaches,))
SMALLEST = 1e-6  # of the located radius: least standard deviation
# Of the rows: of 84 mixtures that were reliable otherwise 12 showed fewer, of these 5 were worse
# than one Gaussian, and 3 of the others (honesty.py).
SEEN = 0.9
HIDDEN = (
    "a tenth of the rows does not stand out around the centers, as of columns with heavy tails: "
    "these rows may spoil the mixture. Take logarithms, or use a larger epsilon or more rows"
)


@dataclass(frozen=True)
class ComponentSpread:
    """``sd`` of round components around the centres and ``far``, the .95 quantile, in radii."""

    sd: float
    far: float


def release_spread(table, located, centers, *, share):
    """Release how far the rows lie from their nearest centres.

    Shapes: centers (k, d).

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._clusters.Reaches`.
    """
    asked = Reaches(Nearest(located, centers), BINS, apart=False)
    release = table.ask(asked, SPREAD, share=share)
    counts = np.where(release.value > 2 * release.scale, release.value, 0).astype(np.float64)
    if counts.sum() < SEEN * located.n_rows:
        table.doubt(HIDDEN)
    if not counts.any():
        return ComponentSpread(1.0, 2.0)
    d = centers.shape[1]
    sd = max(_quantile(counts, 0.5) / math.sqrt(quantile(d, 0.5)), SMALLEST)
    return ComponentSpread(sd, max(_quantile(counts, 0.95), sd))


def _quantile(counts, p):
    above = np.cumsum(counts) - p * counts.sum()
    i = int(np.argmax(above >= 0))
    return BINS.upper_edge(i) * 2.0 ** (-above[i] / counts[i] / BINS.per_octave)


# --- released moments of every component of a mixture

MOMENTS = Step("moments", of=(MixtureMoments,))


@dataclass(frozen=True)
class Moments:
    """Released moments in units of one row, and the standard deviations of their noise.

    ``numbers`` (k,), ``vectors`` (k, d): sums of ``r u``; ``matrices``: sums of ``r u u^T``, of
    shape (k, d, d), (1, d, d) for "tied", (k, d) for "diag", (k, 1) for "spherical" (traces).
    The noise of entries beside the diagonal is smaller by sqrt(2).
    """

    numbers: np.ndarray
    vectors: np.ndarray
    matrices: np.ndarray
    number_sd: float
    vector_sd: float
    matrix_sd: float


def release_moments(table, located, frame, *, reach, weight, share):
    """Release the :class:`skdp.kernel._mixtures.MixtureMoments` of rows, in units of one."""
    k, d = frame.means.shape
    asked = MixtureMoments(located, frame, reach, weight)
    told = table.ask(asked, MOMENTS, share=share)
    asked, value = replace(asked, bits=told.bits), told.value.astype(np.float64)
    one = 2.0**told.bits
    units = np.array([asked.number, asked.vector * (one / 2**COARSER), one]) * one
    second = value[k + k * d :].reshape(second_shape(frame)) / units[2]
    if second.ndim == 3:
        second = (second + second.transpose(0, 2, 1)) / 2
    first = value[k : k + k * d].reshape(k, d) / units[1]
    return Moments(value[:k] / units[0], first, second, *(told.scale / units))


GROWTH, GROWING = 1.2, 20  # of the shares from round to round, at the end
LOUD, DROWNED = 0.06, 0.25  # nats that noise takes from the covariances of single components
MORE, EXPLORE = 8, 0.03  # rounds while variances fall as fast as they may, and the share of each
LATE = 3  # rounds for these, where noise is loud
HOPELESS = 1.0  # nats per row of noise in a comparison of mixtures
UNSEEN = 0.02  # nats per row; of 101 fits 12 were worse than one Gaussian, 10 of them cost more
CERTAIN = 3.0  # noise sds of the number of rows of a component that stands out
SHARED = "noise is loud: the components share one covariance, or one variance, at first"
ALONE = (
    "no better than one Gaussian: all components are copies of it. Use fewer components, a "
    "larger epsilon or more rows"
)
FEW = (
    "too few rows for a mixture: all components are one round Gaussian. Use a larger epsilon or"
    " more rows"
)
THIN = (
    "components are thin in some direction: few rows may spoil the mixture. Leave out nearly "
    "constant columns, take logarithms, or use fewer components"
)
STRAY = (
    "all components are constant in some direction: the lightest became one Gaussian of all "
    "rows. Use fewer components or a larger epsilon"
)
FAINT = (
    "components that do not exceed the noise became one Gaussian of all rows. Use fewer "
    "components or a larger epsilon"
)


@dataclass(frozen=True)
class MixtureRelease:
    """A released mixture in units of the located ball.

    ``kind`` of the covariances, ``weights`` (k,), ``means`` (k, d), ``numbers`` (k,) of rows;
    ``n_rounds``: how many were made;
    ``roots``: lower triangular roots of the covariances, (k, d, d) or (1, d, d) for "tied", their
    diagonals (k, d) for "diag" and "spherical".
    """

    kind: str
    weights: np.ndarray
    means: np.ndarray
    roots: np.ndarray
    numbers: np.ndarray
    n_rounds: int


def em_steps(n_rounds):
    """Return the planned steps of :func:`private_em`."""
    return SPREAD, RIVALS, replace(MOMENTS, times=n_rounds + MORE)


def private_em(
    table, located, centers, *, covariance_type="full", n_rounds=6, floor=None, share=None
):
    """Fit a Gaussian mixture by a public number of noisy EM rounds.

    Shapes: centers (k, d); floor (d,).

    Notes
    -----
    **Privacy** (add or remove one row): of :func:`release_spread`, :func:`release_moments` and
    :func:`release_log_density_gain`; the rest is post-processing.

    Where noise is loud, the first rounds are for a model of fewer numbers, and what they find and
    what comes after are compared with one Gaussian, the sum of all components.
    """
    left = table.remaining if share is None else min(Fraction(share), table.remaining)
    k, d, mu = *centers.shape, table.budget.mu
    floor = np.zeros(d) if floor is None else floor
    y = to_units(located, centers)
    first = Fraction(SPREAD_SHARE) * left
    compare = Fraction(rival_share(located.n_rows, mu)) * left if k > 1 else Fraction(0)
    spread = release_spread(table, located, y, share=first)
    left -= first + compare
    signal = located.n_rows * mu * math.sqrt(left) / k
    kinds = _kinds(covariance_type, k, d, signal, n_rounds)
    if kinds[0] != covariance_type:
        table.decide(SHARED)
    estimate = Estimate.start(kinds[0], y, spread.sd, located.n_rows)
    far = min(spread.far / spread.sd, 2 * math.sqrt(quantile(d, 0.95)))

    def step(estimate, share, farther=0.0):
        reach, weight = design(estimate.frame.kind, k, d, signal)
        reach = max(reach, farther)
        moments = release_moments(
            table, located, estimate.frame,
            reach=reach, weight=weight, share=share,
        )  # fmt: skip
        return updated(estimate, moments, reach, floor)

    found, more = [], MORE
    explore, parts = Fraction(EXPLORE) * left, _parts(n_rounds)
    for i, kind in enumerate(kinds):
        if kind != estimate.frame.kind:
            found.append(estimate)
            estimate = estimate.of_kind(kind)
        share = left * parts[i] / sum(parts[i:])
        estimate = step(estimate, share, 0.0 if i else far)
        left -= share
        while estimate.falling and more and left > MORE * explore and i + 1 < n_rounds:
            estimate = step(estimate, explore)
            left, more = left - explore, more - 1
    if k > 1:
        estimate = _best(
            table, located, [*found, estimate], share=compare, fell=more < MORE,
            quiet=noise_loss(covariance_type, k, d, signal) <= LOUD,
        )  # fmt: skip
    frame = estimate.of_kind(covariance_type).frame
    n_made = n_rounds + MORE - more
    return MixtureRelease(
        frame.kind, frame.weights, frame.means, frame.roots, estimate.numbers, n_made
    )


def _best(table, located, found, *, share, fell, quiet):
    """Return the best of what was found, or copies of the one Gaussian that is its sum.

    Where noise is ``quiet`` that is a finding, and no reason for doubt.
    """
    last = found[-1]
    k, kind = len(last.numbers), last.frame.kind
    one, known = one_gaussian(found[0].of_kind(kind).frame), isotropic_model(located, kind, k)
    frames = [one, *(estimate.of_kind(kind).frame for estimate in found)]
    leads, noise = release_log_density_gain(table, located, frames, known, share=share)
    best = int(np.argmax(leads))
    told = noise < HOPELESS and leads[best] > 0
    seen = located.n_rows * table.budget.mu
    if told and best > 0:
        answer = _covered(found[best - 1].of_kind(kind), one, table, fell, seen)
    else:
        if told and quiet:
            table.decide(ALONE)
        else:
            table.doubt(ALONE if told else FEW)
        numbers = np.full(k, located.n_rows / k)
        answer = replace(last, frame=one if told else known, numbers=numbers)
    if stray_cost(answer.frame, located, seen) > UNSEEN:
        table.doubt(THIN)
    return answer


def _covered(estimate, one, table, fell, rows):
    """Return the estimate with one Gaussian for components that may be noise, or leave rows out."""
    noise = np.where(np.isfinite(estimate.number_v), np.sqrt(estimate.number_v), np.inf)
    faint = estimate.numbers < CERTAIN * noise
    if faint.any():
        table.doubt(FAINT)
        return estimate.with_one(one, faint)
    if fell and nearly_singular(estimate.frame, one, rows).all():
        table.doubt(STRAY)
        return estimate.with_one(one, [int(np.argmin(estimate.numbers))])
    return estimate


def _kinds(kind, k, d, signal, n_rounds):
    """Return the kind of the covariances in every round: few numbers first where noise is loud."""
    loss = noise_loss(kind, k, d, signal)
    if loss <= LOUD or kind == "spherical":
        return [kind] * n_rounds
    shared = "spherical" if noise_loss("tied", k, d, signal) > DROWNED or kind == "tied" else "tied"
    late = min(LATE, n_rounds - 1) if loss <= DROWNED else 0
    return [shared] * (n_rounds - late) + [kind] * late


def _parts(n_rounds):
    """Return shares that sum to one and grow over the last rounds, up to 32 times the first."""
    parts = [Fraction(GROWTH) ** max(0, t - n_rounds + GROWING) for t in range(n_rounds)]
    return [part / sum(parts) for part in parts]
