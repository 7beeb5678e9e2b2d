"""The questions before a fit: which error, how much epsilon, how many rows."""

from decimal import ROUND_CEILING, Context
from math import exp, inf, isfinite, log
from numbers import Real

import numpy as np
from sklearn.isotonic import IsotonicRegression

from skdp.utils._numbers import describe_parameter

EPSILONS = 1e-3, 100.0
FEWEST, START = 10, 1000

# of the search for the least budget, or the smallest table
CLOSE = 0.05  # in the logarithm of the error
NARROW = 0.05  # in the logarithm of what is sought
CLIFF = 1.0  # a drop of the logarithm of the error that nothing is read off
MOST = 12


class PlanningMixin:
    """Mixin of what an estimator answers from parameters and public rows alone.

    Nothing of a private table is read, no ledger is charged, and the estimator is not changed.
    """

    def expected_error(
        self,
        n_rows,
        n_features=None,
        *,
        epsilon=None,
        family=None,
        like=None,
        error=None,
        n_sims=30,
        random_state=0,
        group_size=None,
        n_jobs=None,
    ):
        """Return which error to expect of a fit: simulated on public rows, before any data.

        Copies of this estimator are fitted on made-up tables of that size with the real noise, and
        their error is measured: what the noise costs, against the same without privacy. No private
        row is read and no ledger charged.

        Parameters
        ----------
        n_rows : int
            Number of rows of the private table, about; a public guess.
        n_features : int, default=None
            Number of its columns. None is what the parameters tell (``bounds`` of columns, a
            ``domain``), else 1 for statistics of columns, 2 for clusters, 5 for models and
            covariances, 10 for tables of counts.
        epsilon : float, default=None
            Another one than that of the estimator.
        family : str, list of dict, dict or callable, default=None
            What the rows are like. A name: "normal", "uniform", "heavy" (Student's t with 3
            degrees of freedom), "lognormal", "correlated", "clusters" (as many as the estimator
            looks for) or "binary"; every column somewhere and in a unit of its own, lognormal ones
            from 0, and between public ``bounds`` if there are some. Or public quantiles of each
            column, a list of dicts: ``[{0: 17, 0.05: 19, 0.5: 37, 0.95: 63, 1: 90}, ...]``, as in
            a published table, of which 0 and 1 are the least and the largest entry; if all are
            ints the column has whole numbers, equal ones are an atom, and one dict stands for all
            columns. Or a function ``family(rng, n_rows, n_features)``, which returns X or a pair
            (X, y). None is clusters for clusterings, correlated for covariances, binary for tables
            of counts, normal else. Levels of a ``domain`` are used as they are.
        like : array-like or tuple (X, y), default=None
            Public rows that the private ones are like, for instance of last year: tables are
            drawn from them, with replacement if they are fewer. Must be public.
        error : callable, default=None
            ``error(fitted, X, y)`` returns a number, less for better. None is: for locations the
            root mean square over columns, in standard deviations; for scales, variances and counts
            the relative error; for tables of counts the total variation; for k-means the cost
            above that of :class:`sklearn.cluster.KMeans`, as a fraction; for mixtures nats per row;
            for covariances the operator norm, relative, of columns of variance 1; for components
            the part of the variance lost; for predictors the R2, AUC or accuracy lost to the same
            model without privacy, on other rows.
        n_sims : int, default=30
            Number of fits. The median of n is off by about 1.2 / sqrt(n) of itself for one column.
        random_state : int, default=0
            Seed of tables and noise. Plans may be published: nothing private is in them.
        group_size : int, default=None
            Number of rows of each group, a public guess: the error is that of a fit with
            ``groups``, which protects groups of that size, n_rows / group_size of them. Rows of a
            group are made no more alike than others. Counts of tables are compared as fractions.
        n_jobs : int, default=None
            Number of processes that share the fits; the result is the same for any number. None is
            1 unless within :func:`joblib.parallel_config`, -1 all cores.

        Returns
        -------
        expected : ExpectedError
            ``median``, ``low``, ``high``, ``errors``; ``median_range``, how well the simulation
            knows the median; ``noise_scale`` where it is known exactly.

        Raises
        ------
        ValueError
            If it is not known what the error is, or parameters do not fit each other.
        """
        simulation = self._simulation(
            n_features, family, like, error, n_sims, random_state, group_size, n_jobs
        )
        return simulation.expected(epsilon, n_rows)

    def epsilon_for(
        self,
        target,
        n_rows,
        n_features=None,
        *,
        quantile=0.5,
        family=None,
        like=None,
        error=None,
        n_sims=30,
        random_state=0,
        group_size=None,
        n_jobs=None,
    ):
        """Return the least epsilon for which the error is at most ``target``, before any data.

        Parameters
        ----------
        target : float
            Largest error, in the unit of :meth:`expected_error`.
        n_rows : int
            Number of rows of the private table, about; a public guess.
        n_features : int, default=None
            As in :meth:`expected_error`.
        quantile : float, default=0.5
            Part of the fits that shall be as good as that; 0.9 plans for bad luck.
        family, like, error, n_sims, random_state, group_size, n_jobs
            As in :meth:`expected_error`.

        Returns
        -------
        epsilon : float
            Of this estimator or of the whole pipeline, with its ``delta``; three digits, rounded
            up.

        Raises
        ------
        ValueError
            If epsilon would be above 100, which protects nobody.
        """
        simulation = self._simulation(
            n_features, family, like, error, n_sims, random_state, group_size, n_jobs
        )
        return epsilon_for(simulation, target, n_rows, quantile, float(self.epsilon))

    def n_rows_for(
        self,
        target,
        epsilon=None,
        n_features=None,
        *,
        quantile=0.5,
        max_rows=1_000_000,
        family=None,
        like=None,
        error=None,
        n_sims=30,
        random_state=0,
        group_size=None,
        n_jobs=None,
    ):
        """Return the least number of rows for which the error is at most ``target``.

        Parameters
        ----------
        target : float
            Largest error, in the unit of :meth:`expected_error`.
        epsilon : float, default=None
            Another one than that of the estimator.
        n_features : int, default=None
            As in :meth:`expected_error`.
        quantile : float, default=0.5
            Part of the fits that shall be as good as that; 0.9 plans for bad luck.
        max_rows : int, default=1000000
            Largest table to try. Large ones take their time: all fits are real.
        family, like, error, n_sims, random_state, group_size, n_jobs
            As in :meth:`expected_error`.

        Returns
        -------
        n_rows : int
            Three digits, rounded up.

        Raises
        ------
        ValueError
            If ``max_rows`` are too few.
        """
        simulation = self._simulation(
            n_features, family, like, error, n_sims, random_state, group_size, n_jobs
        )
        return n_rows_for(simulation, target, epsilon, quantile, max_rows)

    def _simulation(self, *given):
        from skdp.planning._expected import Simulation

        return Simulation(self, *given)


# --- the two questions before a fit: how much epsilon, and how many rows


def epsilon_for(simulation, target, n_rows, quantile, start):
    """Return least epsilon for which a fit of so many rows has an error of at most the target."""
    _check(target, quantile)
    error = _errors(lambda epsilon: simulation.expected(epsilon, n_rows), quantile, start)
    low, high = EPSILONS
    found, tried = smallest(error, target, start=start, low=low, high=high)
    if not isfinite(found):
        raise ValueError(
            f"no epsilon up to {high:g} is enough for {target:g} with {n_rows} rows: at {high:g} "
            f"the error ({simulation.measure}) is about {tried[max(tried)]:.3g}. Take more rows, "
            "fewer columns or another target."
        )
    return float(Context(prec=3, rounding=ROUND_CEILING).create_decimal(repr(found)))


def n_rows_for(simulation, target, epsilon, quantile, most):
    """Return the least number of rows for which a fit has an error of at most the target."""
    _check(target, quantile)
    error = _errors(lambda n: simulation.expected(epsilon, round(n)), quantile, START)
    found, tried = smallest(error, target, start=min(START, most), low=FEWEST, high=most)
    if not isfinite(found):
        raise ValueError(
            f"{most} rows are too few for {target:g}: with so many the error "
            f"({simulation.measure}) is about {tried[max(tried)]:.3g}. Take more epsilon, fewer "
            "columns or another target, or raise max_rows."
        )
    return int(Context(prec=3, rounding=ROUND_CEILING).create_decimal(repr(found)))


def _errors(expected, quantile, start):
    """Return the error as a function of what is sought; infinite where no fit can be planned."""

    def error(x):
        try:
            return expected(x).quantile(quantile)
        except ValueError:
            if np.isclose(x, start):  # wrong whatever is sought
                raise
            return np.inf

    return error


def _check(target, quantile):
    if not isinstance(target, Real) or not 0 < target < np.inf:
        raise ValueError(
            f"target must be an error, a number > 0. Got {describe_parameter(target)}."
        )
    if not isinstance(quantile, Real) or not 0 < quantile < 1:
        raise ValueError(f"quantile must be in (0, 1). Got {describe_parameter(quantile)}.")


def smallest(error, target, *, start, low, high):
    """Return the least x in [low, high] with ``error(x) <= target``, and errors that were tried.

    Notes
    -----
    In logarithms: steps towards the target until it is between two tried points, then secants that
    keep a tenth away from their ends. The answer is read off the least-squares monotone curve
    through all points that were tried, so that no single one decides; at a cliff it is its foot.
    """
    floor, tried = log(target) - 5, {}

    def height(t):
        if t not in tried:
            value = error(exp(t))
            tried[t] = max(log(value), floor) if 0 < value < inf else (inf if value > 0 else floor)
        return tried[t] - log(target)

    a, b = _bracket(height, log(start), log(low), log(high))
    while a is not None and b is not None and len(tried) < MOST and b - a > NARROW:
        above, below = height(a), height(b)
        part = above / (above - below) if isfinite(above) else 0.5
        t = a + (b - a) * min(max(part, 0.1), 0.9)
        if height(t) > 0:
            a = t
        else:
            b = t
        if abs(height(t)) < CLOSE:
            break
    found = {exp(t): exp(h) for t, h in sorted(tried.items())}
    if b is None:
        return inf, found
    return (low if a is None else exp(_crossing(tried, log(target), a, b))), found


def _bracket(height, t, low, high):
    """Return the ends of an interval that the curve falls below 0 in; None for one beyond."""
    t, a, b = min(max(t, low), high), None, None
    while a is None or b is None:
        h = height(t)
        if h > 0:
            a = t
            if t >= high:
                return a, None
        else:
            b = t
            if t <= low:
                return None, b
        if a is None or b is None:
            step = min(max(abs(h) * 1.2, 0.2), 2.0)
            t = min(t + step, high) if h > 0 else max(t - step, low)
    return a, b


def _crossing(tried, target, a, b):
    """Return where the monotone curve through all points meets the target, within a and b."""
    ts = np.array(sorted(tried))
    heights = np.array([tried[t] for t in ts])
    finite = heights[np.isfinite(heights)]
    heights = np.where(np.isfinite(heights), heights, finite.max(initial=target) + 5)
    fitted = IsotonicRegression(increasing=False).fit_transform(ts, heights)
    above = np.flatnonzero(fitted > target)
    if not above.size or above[-1] == len(ts) - 1:
        return b
    i = above[-1]
    drop = fitted[i] - fitted[i + 1]
    if drop > CLIFF:
        return float(ts[i + 1])
    return float(ts[i] + (fitted[i] - target) / drop * (ts[i + 1] - ts[i]))
