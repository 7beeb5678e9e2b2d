"""Where the rows lie: by public knowledge, or by a released count, scale and centre."""

import math
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Real

import numpy as np
from scipy.special import ndtri

from skdp.accounting import Step
from skdp.cluster._synopsis import ReleaseRequest
from skdp.kernel._bins import LogBins
from skdp.kernel._cluster_sums import LocatedGram
from skdp.kernel._lattice import (
    DROP,
    FARTHEST_REACH,
    LARGEST,
    SMALLEST,
    InBox,
    LocatedBall,
    Subspace,
    bounded,
    lengths,
)
from skdp.kernel._sums import BallSum, Count, Distances
from skdp.scales._column_noise import CLUSTER_REACH, CLUSTER_SCALE
from skdp.utils._compat import Interval
from skdp.utils._numbers import bounds_vectors, column_vector, public_words

LOCATE_SHARE, ROUNDS = 0.16, 12
SCALE_SHARES, CENTRE_SHARES = (0.0075, 0.08), (0.0075, 0.03)
FEW = 150.0  # noise sds of all rows, below which to know where they lie is worth much
FEW_LOCATE, FEW_CENTRE = 0.38, 0.12  # shares of few rows; the friendly road takes .6
SHRUNK, FEW_SHRUNK = 0.6, 0.25  # of the radius: a ball so much smaller is worth another round
HOPELESS = 10.0  # noise sds of all rows, below which no search inside a public ball can succeed
BINS = LogBins(2)
ABOVE = 0.01  # part of the rows that may lie beyond the radius
WIDE_GAP = 8.0  # octaves between components that may belong together
ROW_COUNT = Step("row count", at_most=0.01, of=(Count,))
SCALE = Step("scale", at_most=SCALE_SHARES[1], times=ROUNDS, of=(Distances,))
LOCATION = Step("location", at_most=FEW_CENTRE, times=ROUNDS, of=(BallSum,))
LOCATE_STEPS = ROW_COUNT, SCALE, LOCATION
UNSEEN = (
    "the scale of the rows is not known: its likeliest value was taken. Use a larger epsilon, "
    "more rows or bounds"
)

WIDEST = 64  # beyond, rows are first mapped to 64 public random directions
CLIP = 0.7
BOX = 2.0


def locate(table):
    """Find a ball that holds the bulk of the rows, wherever on the axis of floats it lies.

    The radius is read off a histogram of the logarithms of all distances from the present centre,
    the centre moves by the mean of the rows clipped to that ball, and again, as long as the radius
    shrinks.

    Notes
    -----
    **Privacy**: of the statistics. At most ROUNDS rounds; shares and the number of rounds depend on
    released values only (user guide "Accounting", theorem 2).
    """
    return release_located_ball(table, gap=WIDE_GAP)[0]


@dataclass(frozen=True)
class Profile:
    """A released histogram of the distances from ``center``, with noise of ``sd``."""

    center: np.ndarray
    counts: np.ndarray
    sd: float


def release_located_ball(table, *, place=None, gap, careful=True):
    """Locate the bulk; return the LocatedBall and the last Profile.

    As :func:`locate`, but components ``gap`` octaves beyond the heaviest are not of the bulk.
    ``careful`` spends more on where few rows lie. In a public ball, ``place``, that holds the rows
    the search begins, and ends if nothing smaller is seen: bounds can be far wider than the rows,
    and to find that out costs little.
    """
    release = table.ask(Count(), ROW_COUNT)
    n, n_sd = max(float(release.value[0]), 1.0), release.scale
    start, public = (np.zeros(table.n_features), math.inf), place is not None
    if public:
        start = place.center, place.radius
    need = n * table.budget.mu
    few = careful and need < FEW
    most = FEW_CENTRE if few else CENTRE_SHARES[1]
    scale_share = float(np.clip((30 / need) ** 2, *SCALE_SHARES))
    centre_share = float(np.clip(table.n_features * (20 / need) ** 2, CENTRE_SHARES[0], most))
    left = FEW_LOCATE if few else LOCATE_SHARE
    if public and need < HOPELESS:
        left = 0.0
    located, distances = release_refined_ball(
        table, n, *start, shares=(scale_share, centre_share), left=left, gap=gap,
        n_sd=n_sd, shrinking=FEW_SHRUNK if few else SHRUNK, keeping=few and public, moving=public,
    )  # fmt: skip
    if not located.seen:
        table.doubt(UNSEEN)
    return replace(located, n_sd=n_sd, box=place.box if public else None), distances


def release_refined_ball(
    table,
    n,
    center,
    radius,
    *,
    shares,
    left,
    gap,
    n_sd=0.0,
    enough=0.0,
    shrinking=SHRUNK,
    keeping=False,
    moving=False,
    steps=(SCALE, LOCATION),
):
    """Move a ball to the bulk of n rows and shrink it, for ``left`` of the budget at most.

    ``shares`` are those of a histogram of distances and of a move; a radius of ``enough`` ends it,
    and one that is not smaller by a factor of ``shrinking``: a ball that is worth ``keeping`` is
    then kept as it was, and one whose center may be far from the mean wants ``moving`` once.
    ``n_sd`` is the noise of n.
    """
    scale_share, centre_share = shares
    all_seen, distances, before, reach = True, None, center, 1.0
    typical = radius / 2 if radius < math.inf else 1.0
    for _ in range(ROUNDS):
        if scale_share > left:
            break
        left -= scale_share
        question = Distances(center, BINS)
        release = table.ask(question, steps[0], share=scale_share)
        distances = Profile(center, release.value, release.scale)
        bulk, half, seen = read_scale(release.value, release.scale, n, gap=gap)
        if not seen and radius < math.inf:
            break
        shrunk, all_seen, typical = bulk <= shrinking * radius, seen, half
        if keeping and not shrunk:
            break
        shrunk, moving = shrunk or moving, False
        with np.errstate(over="ignore"):  # the earlier ball, seen from the present centre
            radius = min(bulk, radius + float(lengths(center - before)))
        before = center
        reach = tail_radius(release.value, release.scale, radius) if radius else 1.0
        if radius <= enough or not shrunk or centre_share > left:
            break
        radius = min(max(radius, SMALLEST), LARGEST)
        left -= centre_share
        question = BallSum(center, radius, drop=DROP)
        told = table.ask(question, steps[1], share=centre_share)
        with np.errstate(over="ignore"):
            center = bounded(center + told.real * (n / (n * n + n_sd * n_sd)))
    smallest = max(SMALLEST, 1e-9 * float(np.abs(center).max()))
    radius = min(max(radius, smallest if radius == 0 else SMALLEST), LARGEST)
    typical = min(max(typical, radius / 64), radius)
    return LocatedBall(n, 0.0, center, radius, typical, all_seen, reach), distances


def read_scale(counts, sd, n_rows, *, gap=WIDE_GAP):
    """Read off a noisy log histogram the radius beyond which hardly any bulk lies.

    Windows of 1, 2 and 4 bins that noise alone rarely passes, the more rarely the farther their
    scale is from 1, are seen. The bins in them form components, separated by ``gap`` octaves; the
    heaviest is the bulk, and others belong to it if they hold 5 % of the rows, and, with a gap
    below 8 octaves, do not lie beyond it.
    """
    counts, octave = np.asarray(counts, dtype=np.float64), _octaves()
    kept = np.flatnonzero(significant_bins(counts, sd, np.abs(octave)))
    if not kept.size:
        sums = np.convolve(counts, np.ones(4), "valid") / (2 * sd)
        score = sums * (0.4 * n_rows / sd) - 3 * np.log1p(np.abs(octave[: sums.size]))
        edge = BINS.upper_edge(int(np.argmax(score[1:])) + 4)
        return edge, edge / 2, False
    gaps = np.diff(kept) >= gap * BINS.per_octave
    gaps[: int(kept[0] == 0)] = False  # the zeros belong to what comes next
    parts = np.split(kept, np.flatnonzero(gaps) + 1)
    mass = [counts[part].sum() for part in parts]
    last = len(parts) if gap >= WIDE_GAP else int(np.argmax(mass)) + 1
    bulk = [
        part
        for part, m in zip(parts[:last], mass[:last], strict=True)
        if m == max(mass) or m > max(0.05 * n_rows, 6 * sd * math.sqrt(len(part)))
    ]
    down = np.concatenate(bulk)[::-1]
    above = np.cumsum(counts[down])
    middle = int(np.argmax(above > 0.5 * above[-1]))
    inside = (above[middle] - 0.5 * above[-1]) / counts[down[middle]]  # part of the bin below
    typical = BINS.upper_edge(int(down[middle])) * 2.0 ** ((inside - 1) / BINS.per_octave)
    return BINS.upper_edge(int(down[np.argmax(above > ABOVE * above[-1])])), typical, True


def significant_bins(counts, sd, octaves):
    """Return which bins hold more than noise, alone or in a window of 2 or 4.

    Noise alone passes the more rarely the more ``octaves`` a bin is from where rows are likely.
    """
    level = -ndtri(CLUSTER_SCALE / (1 + octaves) ** 1.5)
    marked = np.zeros(counts.size, dtype=bool)
    for width in (1, 2, 4):
        sums = np.convolve(counts, np.ones(width), "valid")
        hits = np.flatnonzero(sums > level[: sums.size] * math.sqrt(width) * sd)
        for shift in range(width):
            marked[hits + shift] = True
    return marked & (counts > 1.5 * sd)


def tail_radius(counts, sd, radius):
    """Read off a noisy log histogram how far out rows still stand out, in radii.

    One part in a hundred of the rows may lie beyond the radius, and in a large table these may be
    clusters. The reach is the upper edge of the last bin, up to 8 radii, that passes for more than
    noise, by itself or with all that lies farther out.
    """
    first = int(BINS.index(np.array([radius * (1 - 1e-9)]))[0]) + 1
    beyond = counts[first : first + int(BINS.per_octave * math.log2(FARTHEST_REACH))]
    bins = np.arange(len(beyond))
    level = -sd * ndtri(np.where(bins < BINS.per_octave, *CLUSTER_REACH))
    tails = np.cumsum(beyond[::-1])[::-1] / np.sqrt(len(bins) - bins)
    hits = np.flatnonzero(np.maximum(beyond, tails) > level)
    if not hits.size:
        return 1.0
    return min(BINS.upper_edge(first + int(hits[-1])) / radius, FARTHEST_REACH)


def _octaves():
    octave = BINS.low + np.maximum(np.arange(BINS.n_bins) - 1, 0) / BINS.per_octave
    octave[0] = 0.0
    return octave


# --- the few directions in which the rows spread most: top eigenvectors of a noisy Gram matrix


def whole_space(half):
    """Return the coordinates themselves with the box [-half, half]: no release."""
    return Subspace(None, np.asarray(half, dtype=np.float64))


def find_subspace(located, *, most, share, step):
    """Release the directions of the largest second moments around the centre.

    A search for :func:`skdp.cluster._synopsis.run_parallel`, which asks for ``step``.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._cluster_sums.LocatedGram`. Both halves of the matrix are
    released and averaged. Random directions are public.
    """
    d = len(located.center)
    J = _random_directions(d) if d > WIDEST else None
    m = d if J is None else WIDEST
    clip = located.typical / located.radius * CLIP
    release = yield ReleaseRequest(LocatedGram(located, clip, J), share, step)
    noise = release.scale / 4.0**release.bits
    values, vectors = np.linalg.eigh((release.value + release.value.T) / (2 * 4.0**release.bits))
    edge = math.sqrt(2 * m) * noise  # spectral norm of the noise
    p = min(max(2, min(int(np.count_nonzero(values > 3 * edge)), most)), m)
    V, top = vectors[:, : -p - 1 : -1], values[: -p - 1 : -1]
    half = np.minimum(1.0, BOX * np.sqrt(np.maximum(top, edge) / located.n_rows))
    return Subspace(V if J is None else J @ V, half, J is not None)


def _random_directions(d):
    """Return a d x 64 matrix of independent normal entries of variance 1/64."""
    words = public_words(d * WIDEST, "random directions", d)
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return ndtri(uniform).reshape(d, WIDEST) / math.sqrt(WIDEST)


# --- where the rows lie by public knowledge: a box to which they are clipped, or a ball


@dataclass(frozen=True)
class PublicBall:
    """A public ball, and the ``box`` (low, high) that it is drawn around, if there is one."""

    center: np.ndarray
    radius: float
    box: tuple | None = None

    @classmethod
    def of_box(cls, low, high):
        """Return a box with the ball through its corners."""
        half = high / 2 - low / 2
        longest = half.max()
        radius = longest * float(np.sqrt(np.square(half / longest).sum()))
        return cls(low + half, min(max(radius, SMALLEST), LARGEST), (low, high))

    def located(self):
        """Return the LocatedBall of this place.

        Half the radius is taken for the median distance.
        """
        return LocatedBall(1.0, 0.0, self.center, self.radius, self.radius / 2, box=self.box)

    def clipped(self, table):
        """Return the Table of rows clipped to the box: each by itself."""
        return table if self.box is None else table.map(InBox(*self.box))


class PublicBoundsMixin:
    """Parameters of estimators of clusters: ``bounds``, or ``center`` and ``radius``."""

    _place_constraints: dict = {
        "bounds": ["array-like", None],
        "center": [Real, "array-like", None],
        "radius": [Interval(Real, 0, None, closed="neither"), None],
    }

    def _is_placed(self):
        return self.bounds is not None or self.radius is not None

    def _place(self, n_features):
        """Return the public PublicBall, or None."""
        box = bounds_vectors(self.bounds, n_features)
        center = column_vector("center", self.center, n_features)
        if box is not None:
            if self.radius is not None or center is not None:
                raise ValueError(
                    "bounds and a ball were given. Pass bounds, or center and radius, or neither "
                    "to find where the rows lie privately."
                )
            return PublicBall.of_box(*box)
        if self.radius is None:
            if center is not None:
                raise ValueError(
                    "center was given without radius. Pass both, or neither to find a ball "
                    "privately."
                )
            return None
        center = np.zeros(n_features) if center is None else center
        return PublicBall(center, min(max(float(self.radius), SMALLEST), LARGEST))

    def _placed(self, table):
        """Return the public PublicBall or None, and the Table that is asked."""
        place = self._place(table.n_features)
        return place, table if place is None else place.clipped(table)


def whole(located):
    """Return one ball around all places."""
    return reduce(merged, located.balls)


def merged(one, two):
    """Return a ball around two: for groups that one centre has to serve."""
    n = one.n_rows + two.n_rows
    center = one.center + (two.center - one.center) * (two.n_rows / n)
    radius = min(max(_distance(center, ball) + ball.radius for ball in (one, two)), LARGEST)
    return replace(
        one, n_rows=n, n_sd=math.hypot(one.n_sd, two.n_sd), center=center, radius=radius,
        typical=radius / 2, seen=True, reach=1.0,
    )  # fmt: skip


def _distance(point, ball):
    with np.errstate(over="ignore"):
        return min(math.hypot(*(point / 4 - ball.center / 4)), LARGEST / 4) * 4


def joining_cost(one: LocatedBall, two: LocatedBall):
    """Return how much the sum of squares grows where one centre serves two balls (Ward)."""
    parts = one.n_rows * two.n_rows / (one.n_rows + two.n_rows)
    return float(np.square(_distance(one.center, two) / 2.0**501) * parts)
