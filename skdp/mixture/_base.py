"""What a released mixture says of given rows: scikit-learn's manners."""

import math

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.accounting import Step
from skdp.cluster._synopsis import inside, to_data
from skdp.kernel._coordinates import LARGEST
from skdp.kernel._friends import RingColumns
from skdp.kernel._sums import Count
from skdp.kernel._totals import RING_SQUARED
from skdp.scales import LogBins, read_scale
from skdp.table._batched import MeanScoreMixin, apply_batched, fit_then, row_method, source_for
from skdp.table._schema import look_at, numbers_of_dates

FLATTEST = 1e-10  # smallest eigenvalue of a covariance, of its largest
LEAST, MOST = 1e-150, 1e146  # lengths whose squares are floats
SMALLEST_SD, LARGEST_SD = 1e-153, 1e6  # in units of the table; of the radius
BELOW = 64  # part of reg_covar that is the smallest variance while EM runs
THINNEST = 2.0**-20  # of the radius: lattice points are not told apart below


def _lengths(located, units):
    """Return the length of a radius in every column of the table, shape (d,)."""
    with np.errstate(over="ignore", under="ignore"):
        return np.clip(located.radius * units, LEAST, MOST)


def floors(located, units, reg_covar):
    """Return the smallest variances of the columns while EM runs, in squared radii, shape (d,).

    They lie well below ``reg_covar``, which is added at the end.
    """
    with np.errstate(over="ignore"):
        least = np.sqrt(reg_covar / BELOW) / _lengths(located, units)
    return np.square(np.clip(least, THINNEST, 1.0))


def parameters(mixture, located, units, reg_covar):
    """Return ``weights_``, ``means_``, ``covariances_``, ``precisions_`` and their roots.

    A dict.
    """
    kind, lengths = mixture.kind, _lengths(located, units)
    added = np.minimum(np.sqrt(reg_covar) / lengths, MOST)  # in units of the radius
    shape = _matrices if mixture.roots.ndim == 3 else _variances
    covariances, precisions, roots = shape(mixture.roots, lengths, np.square(added))
    pick = {"tied": (0,), "spherical": (slice(None), 0)}.get(kind, ())
    with np.errstate(over="ignore"):
        means = np.nan_to_num(inside(located, to_data(located, mixture.means)) * units)
    return {
        "weights_": mixture.weights,
        "means_": means,
        "covariances_": covariances[pick],
        "precisions_": precisions[pick],
        "precisions_cholesky_": roots[pick],
    }


def _matrices(roots, lengths, added):
    values, vectors = np.linalg.eigh(roots @ roots.transpose(0, 2, 1))
    most = np.minimum(values[:, -1:], LARGEST_SD**2)
    values = np.clip(values, np.maximum(FLATTEST * most, np.square(LEAST / lengths.min())), most)
    matrices = (vectors * values[:, None]) @ vectors.transpose(0, 2, 1)
    matrices = (matrices + matrices.transpose(0, 2, 1)) / 2
    scale = np.sqrt(np.einsum("kii->ki", matrices) + added)  # columns of variance one
    alike = matrices / (scale[:, :, None] * scale[:, None])
    np.einsum("kii->ki", alike)[:] = 1.0
    lower = np.linalg.cholesky(alike)
    inverse = np.stack([solve_triangular(root, np.eye(len(root)), lower=True).T for root in lower])
    scale = np.maximum(scale * lengths, SMALLEST_SD)
    lower = lower * scale[:, :, None]
    with np.errstate(over="ignore"):
        inverse = _finite(inverse / scale[:, :, None])
        precisions = inverse @ inverse.transpose(0, 2, 1)
    return lower @ lower.transpose(0, 2, 1), _finite(precisions), inverse


def _variances(roots, lengths, added):
    sds = np.hypot(np.minimum(roots, LARGEST_SD), np.sqrt(added)) * lengths
    sds = np.clip(sds, SMALLEST_SD, MOST * LARGEST_SD)
    return np.square(sds), _finite(1 / np.square(sds)), 1 / sds


def _finite(x):
    return np.nan_to_num(x)


def as_mixture(estimator, origin):
    """Return a scikit-learn mixture with the released parameters, seen from ``origin``."""
    from sklearn.mixture import GaussianMixture

    mixture = GaussianMixture(
        estimator.n_components,
        covariance_type=estimator.covariance_type,
        random_state=estimator.random_state,
    )
    names = ("weights_", "covariances_", "precisions_", "precisions_cholesky_")
    vars(mixture).update(
        {name: getattr(estimator, name) for name in names},
        means_=estimator.means_ - origin,
        n_features_in_=estimator.means_.shape[1],
    )
    return mixture


def _by_mixture(estimator, X, name):
    X, mixture = estimator._local(X)
    return getattr(mixture, name)(X)


class MixtureMixin(MeanScoreMixin, DensityMixin):
    """Methods that compare rows with ``weights_``, ``means_`` and ``covariances_``.

    Their results, but for :meth:`sample`, are local: as private as the rows that are passed.
    """

    def _local(self, X):
        """Return given rows and the mixture, both seen from the middle of the means."""
        check_is_fitted(self)
        X = validate_data(self, numbers_of_dates(X), dtype=[np.float64, np.float32], reset=False)
        origin = (self.means_ / len(self.means_)).sum(axis=0)
        return X - origin, as_mixture(self, origin)

    predict = apply_batched(
        row_method(
            "predict",
            _by_mixture,
            "Return the likeliest component of every row",
            "labels : ndarray of shape (n_samples,)",
        )
    )

    fit_predict = fit_then("predict", "labels : ndarray of shape (n_samples,)")

    predict_proba = apply_batched(
        row_method(
            "predict_proba",
            _by_mixture,
            "Return the probabilities of all components for every row",
            "probabilities : ndarray of shape (n_samples, n_components)",
        )
    )

    score_samples = apply_batched(
        row_method(
            "score_samples",
            _by_mixture,
            "Return the log-density of every row",
            "log_density : ndarray of shape (n_samples,)",
        )
    )

    def bic(self, X):
        """Return the Bayesian information criterion on the given rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        bic : float
            **Local, not private**: it tells the sum of the log-densities of X, and their number.
        """
        n_rows = self._count(X)
        return self._criterion(X, n_rows, np.log(n_rows))

    def aic(self, X):
        """Return the Akaike information criterion on the given rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        aic : float
            **Local, not private**: it tells the sum of the log-densities of X.
        """
        return self._criterion(X, self._count(X), 2)

    def _count(self, X):
        source = source_for(self, X)
        if source is None:
            return len(self._local(X)[0])
        look_at(source, entries=False)
        return len(source)

    def _criterion(self, X, n_rows, price):
        return -2 * self.score(X) * n_rows + as_mixture(self, 0.0)._n_parameters() * price

    def sample(self, n_samples=1):
        """Draw rows from the released mixture: as public as the mixture itself.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Ordered by component.
        components : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        origin = (self.means_ / len(self.means_)).sum(axis=0)
        X, components = as_mixture(self, origin).sample(n_samples)
        return X + origin, components


ROWS = Step("rows", at_most=0.005, of=(Count,))
SHARES = 0.01, 0.05  # of the histograms of all columns
COLUMN_SCALES = Step("column scales", at_most=SHARES[1], of=(RingColumns,))
CLEAR = 26.0  # noise standard deviations that all rows together should have in a bin
FEWEST = 16.0  # below, too little would be seen
BINS = LogBins(1)
TAIL = 0.25  # part of the differences that may be larger than the scale
ALIKE = 4  # octaves between the units of columns that are left as they are
MOST_ENTRIES = 2**22  # of a sample in memory
UNLIKE = "columns of unlike scales were measured in units of their own"
SKIPPED = "too few rows to tell the units of columns: they are those of the bounds"
BLIND = (
    "too few rows to tell the units of columns: they count as alike. Divide columns by public "
    "scales, or pass bounds"
)
UNSEEN = (
    "the scale of columns does not exceed the noise: their units are guesses. Divide columns by"
    " public scales, or pass bounds"
)


def unit_steps():
    """Return the planned steps of :func:`column_units`."""
    return ROWS, COLUMN_SCALES


def column_units(table, *, box=None):
    """Release the units in which columns of unlike scales are alike.

    Notes
    -----
    **Privacy**: of :class:`skdp.kernel._friends.RingColumns`; the rest is post-processing.
    """
    d, mu = table.n_features, table.budget.mu
    count = table.ask(Count(), ROWS)
    n = max(float(count.value[0]), 1.0)
    ring = math.sqrt(RING_SQUARED * d) / mu
    size = max(1000.0, min(2500 * ring, MOST_ENTRIES / d))
    share = max((CLEAR * ring / min(n, size)) ** 2, SHARES[0])
    known = np.full(d, np.nan) if box is None else _width(*box)
    if share > SHARES[1] * (CLEAR / FEWEST) ** 2:
        if box is None:
            table.doubt(BLIND)
            return None
        table.decide(SKIPPED)
        return _unequal_scales(known, table)
    sample = table.sample(size, n)
    release = sample.ask(RingColumns(BINS, d), COLUMN_SCALES, share=min(share, SHARES[1]))
    found = [read_scale(row, release.scale, sample.n, BINS, tail=TAIL) for row in release.value]
    scales = np.array([np.nan if one.nothing else one.scale / 2 for one in found])
    if np.isnan(scales).all():
        return None if box is None else _unequal_scales(known, table)
    unseen = np.isnan(scales)
    if unseen.any():
        table.doubt(UNSEEN, unseen)
        scales[unseen] = known[unseen] if box is not None else np.nanmax(scales)
    return _unequal_scales(scales, table)


def _width(low, high):
    return high / 8 - low / 8


def _unequal_scales(scales, table):
    """Return powers of two for scales, 1 for a scale of 0; None if they are alike."""
    octaves = np.frexp(np.where(scales > 0, scales, 1.0))[1] - 1
    if np.ptp(octaves[scales > 0] if (scales > 0).any() else octaves) <= ALIKE:
        return None
    table.decide(UNLIKE)
    return np.ldexp(1.0, np.clip(octaves, -500, 500))


def rescaled(x, units):
    """Return entries divided by units, within 2^1000, float64."""
    with np.errstate(all="ignore"):
        y = np.divide(x, units, dtype=np.float64)
        return np.clip(y, -LARGEST, LARGEST, out=y)
