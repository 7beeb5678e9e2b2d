"""FriendlyCore's covariance: a frame on which random parts of the table agree."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from scipy.special import ndtri_exp

from skdp.accounting import Plan, Step
from skdp.accounting._matrix_noise import gdp_to_pure, noise_delta
from skdp.cluster.friendly._parts import part_order
from skdp.covariance._engine import covariance_plan, private_covariance
from skdp.friendly import replace_one_filter
from skdp.friendly._filters import certain_count
from skdp.friendly.published import CovarianceDistance
from skdp.kernel._sums import Count
from skdp.kernel._table import Table
from skdp.location._release import ROW_COUNT
from skdp.mechanisms import finite_rows
from skdp.mechanisms._exact import log_of
from skdp.mechanisms._noise import LEAST_LOG
from skdp.readers._some_rows import takes

__all__ = ["friendly_covariance", "friendly_covariance_plan"]

ROAD = Fraction(3, 4)  # of the whole
SHARES = {
    "part filter": Fraction(70, 100),
    "part count": Fraction(2, 100),
    "part noise": Fraction(28, 100),
}
ROWS_PER_COLUMN = {1.0: 20, 2.0: 11}  # of a part, by gamma: nearly all parts are friends then
MOST_PARTS, MOST_WORK, MOST_ENTRIES = 16_000, 2.0**41, 2**25
AGREEING = 0.95  # part of the pairs that are expected to be friends
TAKEN = "road: friendly (random parts of the table agreed on the covariance)"
FAILED = "road: auto, after the random parts of the table did not agree"
TOO_FEW = "road: auto (too few rows for parts that could agree)"

# of one covariance matrix for every random part of a table
ROWS = 256  # whose products are added together
LEAST, MOST, TINY = 2.0**-900, 2.0**900, 2.0**-1000


def friendly_covariance_plan(budget, *, assume_centered=False):
    """Return the plan of :func:`friendly_covariance`.

    Parameters
    ----------
    budget : Budget
        Gaussian. Half of its failure probability is that of the parts.
    assume_centered : bool, default=False

    Returns
    -------
    plan : Plan

    See Also
    --------
    friendly_covariance

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp.base import Budget
    >>> from skdp.covariance.published import friendly_covariance_plan
    >>> plan = friendly_covariance_plan(Budget.gaussian(2.0, 1e-6))
    >>> plan.problems, len(plan.steps) > 2
    ((), True)
    """
    main = covariance_plan(budget.with_failure(budget.failure / 2), assume_centered=assume_centered)
    law = {"part noise": "matrix"}
    steps = [ROW_COUNT, Step("friendly", "child", ROAD)]
    steps += [Step(f"friendly/{name}", law.get(name, "gaussian"), SHARES[name]) for name in SHARES]
    steps += [Step("main", "child")]
    steps += [replace(step, label=f"main/{step.label}") for step in main.steps]
    events = [(f"friendly/{name}", budget.failure / 6) for name in SHARES]
    events += [(f"main/{name}", p) for name, p in main.failure_events]
    return Plan(budget, tuple(steps), tuple(events))


def friendly_covariance(rows, curator, *, assume_centered=False, denoise=True):
    """Release the covariance matrix of the rows, in coordinates on which random parts agree.

    Parameters
    ----------
    rows : ArrayRows of n rows of length d
    curator : Curator
        With the plan of :func:`friendly_covariance_plan`.
    assume_centered : bool, default=False
    denoise : bool, default=True

    Returns
    -------
    release : CovarianceRelease

    See Also
    --------
    friendly_covariance_plan, skdp.PrivateCovariance

    Notes
    -----
    **Privacy** (add or remove one row): a count, :func:`friendly_factor`, and
    :func:`private_covariance` in a child with what is left; shares and roads are functions of
    releases.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.audit import CannedCurator
    >>> from skdp.base import ArrayRows, Budget
    >>> from skdp.covariance.published import friendly_covariance, friendly_covariance_plan
    >>> curator = CannedCurator(friendly_covariance_plan(Budget.gaussian(2.0, 1e-6)), "noise")
    >>> rows = ArrayRows(np.random.default_rng(0).normal(size=(20_000, 2)))
    >>> release = friendly_covariance(rows, curator)
    >>> bool(np.abs(release.covariance - np.eye(2)).max() < 0.2)
    True
    """
    count = Table(rows, curator).ask(Count(), ROW_COUNT)
    factor, choice = None, parts_for(float(count.value[0]), curator.budget, rows.n_features)
    if choice is None:
        curator.decide(TOO_FEW)
    else:
        n_parts, gamma = choice
        child = curator.child("friendly", ROAD)
        factor = friendly_factor(
            rows, child, n_parts=n_parts, gamma=gamma, assume_centered=assume_centered
        )
        curator.decide(FAILED if factor is None else TAKEN)
    main = curator.child("main", curator.remaining)
    return private_covariance(
        Table(rows, main), assume_centered=assume_centered, denoise=denoise, start=factor
    )


def friendly_factor(rows, curator, *, n_parts, gamma, assume_centered=False):
    """Release a factor of a covariance matrix that most random parts of the table are near.

    Shapes: factor (d, d) or.

    Notes
    -----
    **Privacy** (add or remove one row). One of a public number of matrices is replaced
    (:func:`part_matrices`). The filter keeps matrices of which any two share a friend
    (:func:`skdp.friendly.replace_one_filter`); those that are not their own friends are left out,
    a decision of each about itself. Given the noise of the others, the cores of two runs have
    m and m' matrices, all but one of them in common. M, the larger number, is less than
    low = count - margin with at most the planned probability, one bad set for both runs as
    m, m' <= M. Outside, either low <= 1 and nothing follows, or M >= 2 and the averages are within
    ``average_distance(gamma, M) <= average_distance(gamma, low)``, exactly: they are computed in
    rational numbers of the very floats that the predicate saw. What the predicate subtracts for
    rounding errors exceeds their bound by 220 2^-53 of the largest entry: a matrix A that is
    its own friend has gamma A >= 2^-46 diag(A), so A >= 2^-48 diag(A), as averages have then and
    the noise asks for (:func:`skdp.mechanisms._noise.noisy_factor`).
    """
    predicate = CovarianceDistance(gamma)
    matrices = part_matrices(
        rows, curator.coins, n_parts, predicate, assume_centered=assume_centered
    )
    own = np.isfinite(matrices[:, 0, 0])
    counts = np.zeros(n_parts, dtype=np.int64)
    counts[own] = predicate.friends(matrices[own])
    names = {name: {"label": name, "share": SHARES[name]} for name in SHARES}
    core = own & replace_one_filter(
        counts, size=n_parts, curator=curator, event="part filter", **names["part filter"]
    )
    kept = np.count_nonzero(core)
    low = certain_count(curator, kept, event="part count", **names["part count"])
    if low <= 1:
        return None
    release = curator.matrix(
        exact_average(matrices[core]),
        distance=average_distance(gamma, low),
        largest=_largest(rows.n_features),
        event="part noise",
        **names["part noise"],
    )
    return None if release is None else release.value


def _largest(d):
    return 0.5 / math.sqrt(d)


def parts_for(n_rows, budget, d):
    """Return (n_parts, gamma) with which the parts of a table may agree, or None.

    Notes
    -----
    A part with g t friends among t parts is kept if (2 g - 1) t exceeds the quantile of failure / t
    and two sds of the noise 2 sqrt(t) / mu: t = O(1 / mu^2). The noise for the average of what is
    certainly kept must be bearable. The time grows as t^2 d^3, the memory as t d^2.
    """
    mu = math.sqrt(budget.amount * ROAD)
    log_p = log_of(budget.failure / 6)
    if log_p < LEAST_LOG + 1e-6:
        return None
    for n_parts in np.unique(np.geomspace(40, MOST_PARTS, 120).astype(int)).tolist():
        if n_parts**2 * d**3 > MOST_WORK or n_parts * d**2 > MOST_ENTRIES:
            return None
        quantile = -float(ndtri_exp(log_p - math.log(n_parts)))
        noise = 2 * math.sqrt(n_parts) / (mu * math.sqrt(SHARES["part filter"]))
        if (2 * AGREEING - 1) * n_parts < (quantile + 2) * noise:
            continue
        for gamma in ROWS_PER_COLUMN:
            if n_rows >= n_parts * (ROWS_PER_COLUMN[gamma] * d + 20) and _noise_is_acceptable(
                n_parts, gamma, mu, log_p, d
            ):
                return n_parts, gamma
    return None


def _noise_is_acceptable(n_parts, gamma, mu, log_p, d):
    margin = 2 - float(ndtri_exp(log_p))
    low = AGREEING * n_parts - margin / (mu * math.sqrt(SHARES["part count"])) - 2
    if low < 2 or average_distance(gamma, low) >= 1:
        return False
    epsilon = gdp_to_pure(mu * math.sqrt(SHARES["part noise"]))
    law = {"distance": average_distance(gamma, low), "eta": _largest(d), "d": d}
    return math.log(max(noise_delta(epsilon, **law), 1e-300)) < log_p - 1e-3


def part_matrices(rows, coins, n_parts, predicate, *, assume_centered=False):
    """Return the covariance matrix of every part of a table.

    Shapes: matrices (n_parts, d, d).

    Notes
    -----
    **Privacy** (add or remove one row; common rows keep their keys). A row belongs to the part that
    its key tells (:func:`skdp.cluster.friendly._parts.part_order`): one matrix is replaced. A
    matrix is a function of the finite rows of its part, in the order of their keys: products are
    added in that order, entry by entry. BLAS takes no part, so no bit depends on where the rows
    lie.

    The paper pairs the rows of a part, (x - x') / sqrt(2), to be rid of their mean. The average
    over all pairings is the sample covariance, with twice the information of one pairing. It is
    computed from differences to the first row.
    """
    order, stops = part_order(rows, coins, n_parts)
    matrices = np.empty((n_parts, rows.n_features, rows.n_features))
    with np.errstate(all="ignore"):
        for part, block in enumerate(takes(rows, np.split(order, stops[:-1]))):
            M = _covariance(block[finite_rows(block)], assume_centered)
            matrices[part] = M if _usable(M, predicate) else np.nan
    return matrices


def _covariance(X, assume_centered):
    """Return the second moments of rows, around their mean; NaN if they are too few."""
    m, d = X.shape
    freedom = m if assume_centered else m - 1
    if freedom < d:
        return np.full((d, d), np.nan)
    if not assume_centered:
        X = X - X[0]
        X -= np.add.reduce(X, axis=0) / m
    total = np.zeros((d, d))
    for start in range(0, m, ROWS):
        block = X[start : start + ROWS]
        total += np.add.reduce(block[:, :, None] * block[:, None, :], axis=0)
    total /= freedom
    return np.where(np.abs(total) < TINY, 0.0, total)


def _usable(M, predicate):
    diagonal = np.diag(M)
    ordinary = np.all((diagonal > LEAST) & (diagonal < MOST))
    return bool(ordinary and predicate.matrix(M[None], M[None])[0, 0])


def exact_average(matrices):
    """Return the average of symmetric float matrices, exact: an object array of Fractions.

    The identity if there are none.
    """
    if len(matrices) == 0:
        return np.vectorize(Fraction, otypes=[object])(np.eye(matrices.shape[1], dtype=int))
    fraction, exponent = np.frexp(matrices)
    lowest = exponent.min(axis=0)
    shifts = (exponent - lowest).astype(object)
    total = (np.ldexp(fraction, 53).astype(np.int64).astype(object) << shifts).sum(axis=0)
    units = [[Fraction(2) ** (int(e) - 53) / len(matrices) for e in row] for row in lowest]
    return total * np.array(units, dtype=object)


def average_distance(gamma, n):
    """Return the largest distance of two averages of n matrices that differ in one of them.

    Notes
    -----
    Let g = (1 + gamma)^2: any two satisfy M <= g M'. Let S be the average of the n - 1 in common,
    A and A' the two others; A <= g A' and, averaged, A <= g S. For s = (g - 1) / n

        A - (1 + s) A' <= (1 - (1 + s) / g) A <= (g - 1 - s) S = s (n - 1) S,

    which says that the average with A is at most 1 + s times the one with A'; and the other way
    round. If one set has no A', its average is S, which stands for A' as well.
    """
    return ((1 + gamma) ** 2 - 1) / n * (1 + 1e-12)
