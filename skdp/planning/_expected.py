"""What error to expect before any private row is read: real fits on public rows."""

import warnings
from dataclasses import dataclass
from functools import partial
from math import sqrt
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.special import bdtr
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning, WeakGuaranteeWarning
from skdp.planning._families import PublicRows, bounds_of, family_of
from skdp.planning._measures import in_rows, inner, kind_of, predictor, seen_by_last, units
from skdp.utils._config import config_context, get_config
from skdp.utils._numbers import describe_parameter
from skdp.utils._progress import counts
from skdp.utils._threads import one_thread

NO_PRIVACY = 1e4  # an epsilon whose noise is none
N_DRAWS = 4000  # of noise whose law is known
SD_IS_KNOWN = ("PrivateCount", "PrivateSum", "PrivateHistogram", "MarginalReleaser")
LAW_IS_KNOWN = ("PrivateCount", "PrivateSum")
FITS, DRAWS = "simulated fits", "draws of the noise, whose law is known"
MANY_GROUPS = (
    "a PrivateGroupBy has an error for each group. Plan the estimator of one of them, with its "
    "number of rows and the epsilon and delta of all, or nine tenths of epsilon if levels are not "
    "given; or pass error=, a function of the fitted PrivateGroupBy, X and y, with like=."
)


@dataclass(frozen=True)
class ExpectedError:
    """Errors that fits on public rows have made: what to expect of one on private rows.

    Methods ``expected_error`` of estimators and pipelines return it.

    Parameters
    ----------
    errors : ndarray of shape (n_sims,)
        Of every simulated fit, or of every draw of noise whose law is known exactly.
    measure : str
        What the error is, and in which unit.
    epsilon : float
        Privacy parameter of the fits.
    n_rows : int
        Number of rows of the public tables.
    rows : str
        What they are.
    noise_scale : float or ndarray, default=None
        Standard deviation of the noise of every released number, if it does not depend on rows:
        then it is exact. It is that of counts and sums, and of cells of tables before any
        post-processing.
    useless : float, default=0.0
        Part of the simulated fits that warn of low accuracy.
    made_by : str, default="simulated fits"
        What the errors are of.

    See Also
    --------
    skdp.inspection.UtilityDisplay, skdp.accounting.Plan

    Notes
    -----
    **Privacy**: computed from parameters and from rows that are made up or public, so it costs
    nothing; rows that need protection must not be used for it.

    Examples
    --------
    >>> from skdp import PrivateMean
    >>> expected = PrivateMean().expected_error(n_rows=1000, n_sims=10)
    >>> 0 < expected.low <= expected.median <= expected.high < 1
    True
    """

    errors: np.ndarray
    measure: str
    epsilon: float
    n_rows: int
    rows: str
    noise_scale: Any = None
    useless: float = 0.0
    made_by: str = FITS

    @property
    def n_sims(self):
        """Number of errors: of simulated fits, or of draws of noise."""
        return len(self.errors)

    @property
    def median_range(self):
        """How well the median is known: a pair that it lies between with probability 0.9.

        From order statistics, whatever the law of errors; at least five of them are needed, and of
        fewer it is the smallest and the largest.
        """
        n = self.n_sims
        first = max(np.count_nonzero(bdtr(np.arange(n), n, 0.5) < 0.05), 1)
        ordered = np.sort(self.errors)
        return float(ordered[first - 1]), float(ordered[n - first])

    @property
    def median(self):
        """The error that half of the fits stay below."""
        return self.quantile(0.5)

    @property
    def low(self):
        """The error that a tenth of the fits stay below."""
        return self.quantile(0.1)

    @property
    def high(self):
        """The error that nine tenths of the fits stay below."""
        return self.quantile(0.9)

    def quantile(self, q):
        """Return the error that a part of the fits stays below.

        Parameters
        ----------
        q : float
            In [0, 1].

        Returns
        -------
        error : float
            Infinite, if fits that released nothing decide.
        """
        with np.errstate(invalid="ignore"):
            value = float(np.quantile(self.errors, q))
        return np.inf if np.isnan(value) else value

    def __str__(self):
        low, high = self.median_range
        told = [
            f"{self.measure}: {self.median:.3g}, in 80 % of fits {self.low:.3g} to {self.high:.3g}",
            f"epsilon {self.epsilon:g}, {self.n_rows} rows, {self.rows}",
            f"{self.n_sims} {self.made_by}: the median is known to {low:.3g} to {high:.3g}",
        ]
        if self.noise_scale is not None:
            sds = np.unique(np.round(self.noise_scale, 12))
            shown = f"{sds[0]:.4g}" if sds.size == 1 else f"{sds[0]:.4g} to {sds[-1]:.4g}"
            told.append(f"standard deviation of the noise, exactly: {shown}")
        if self.useless:
            told.append(f"{self.useless:.0%} of fits would warn of low accuracy")
        return "\n".join(told)


class Simulation:
    """Fits of copies of an estimator on public tables, the same tables and seeds for every budget.

    Notes
    -----
    Rows of a person are drawn as those of others are, no more alike. That is on the careful side:
    where a fit reads one row of each person, rows that are alike would lose less by it.
    """

    def __init__(
        self,
        estimator,
        n_features,
        family,
        like,
        error,
        n_sims,
        random_state,
        group_size=None,
        n_jobs=None,
    ):
        self.estimator, self.n_sims, self.n_jobs = estimator, _positive("n_sims", n_sims), n_jobs
        self.group_size = None if group_size is None else _positive("group_size", group_size)
        if error is None and hasattr(estimator, "by"):
            raise ValueError(MANY_GROUPS)
        step = inner(estimator)
        kind, target = kind_of(step), getattr(step, "_target", None)
        self.target, self.given, self.kind = target, error, kind
        if error is None and kind is None and target is None:
            raise ValueError(
                f"it is not known what the error of a {type(step).__name__} is. Pass error=, a "
                "function of the fitted estimator, X and y that returns a number, less for better."
            )
        default = ("normal", 5) if kind is None else (kind.family, kind.n_features)
        family = default[0] if family is None else family
        self.score = None
        if error is not None:
            self.measure = getattr(error, "__name__", "error")
        elif kind is not None:
            self.measure = kind.name
        else:
            self.measure, self.score = predictor(step, target)
        first = _first(estimator)
        listed = len(family) if isinstance(family, list | tuple) else None
        if n_features is None:
            n_features = listed or _width(first, default[1])
        if listed not in (None, n_features):
            raise ValueError(
                f"family must have one dict of quantiles for each of {n_features} columns. Got "
                f"{listed}."
            )
        n_features = _positive("n_features", n_features)
        self.rows = PublicRows(
            step=step,
            first=first,
            family=family_of(family, n_features),
            n_features=n_features,
            like=_pair(like),
            seed=_seed(random_state),
        )
        self._references = {}

    def expected(self, epsilon, n_rows):
        """Return the ExpectedError of fits with this epsilon on tables of so many rows."""
        n_rows = _positive("n_rows", n_rows)
        epsilon = self.estimator.epsilon if epsilon is None else epsilon
        name = type(self.estimator).__name__
        one_each = self.group_size is None
        drawn = one_each and name in LAW_IS_KNOWN and self.given is None
        if drawn:
            errors, scale, useless = *self._drawn(epsilon, n_rows), 0.0
        else:
            errors, scale, useless = self._simulated(epsilon, n_rows)
        known = one_each and name in SD_IS_KNOWN
        of = "" if one_each else f", {self.group_size} of each group"
        return ExpectedError(
            errors=errors,
            measure=self.measure,
            epsilon=float(epsilon),
            n_rows=n_rows,
            rows=str(self.rows) + of,
            noise_scale=scale if known else None,
            useless=useless,
            made_by=DRAWS if drawn else FITS,
        )

    def _simulated(self, epsilon, n_rows):
        name = f"{type(self.estimator).__name__}, {n_rows} rows, epsilon {epsilon:.3g}: fits"
        known = [self._references.get((i, n_rows)) for i in range(self.n_sims)]
        one = partial(self._one, epsilon, n_rows)
        found = computed_apart(name, one, list(enumerate(known)), self.n_jobs)
        errors, references, doubts, scales = zip(*found, strict=True)
        self._references |= {(i, n_rows): one for i, one in enumerate(references)}
        errors = np.nan_to_num(np.array(errors), nan=np.inf, posinf=np.inf)
        return errors, scales[-1], sum(doubts) / self.n_sims

    def _one(self, epsilon, n_rows, i, reference):
        """Return the error of fit i, the score without privacy, its doubt, and its noise."""
        X, y = self.rows.draw(i, n_rows)
        groups = None if self.group_size is None else np.arange(n_rows) // self.group_size
        seed, scale = self.rows.noise_seed(i), None
        fitted = fitted_copy(self.estimator, X, y, seed, groups, epsilon=epsilon)
        if self.given is not None:
            error = float(self.given(fitted, X, y))
        elif self.score is None:
            last, seen = seen_by_last(fitted, X)
            error = self.kind.error(in_rows(last, self.group_size), seen)
        else:
            if reference is None:
                free = fitted_copy(self.estimator, X, y, seed, epsilon=NO_PRIVACY)
                reference = self.score(free, *self.rows.test(i, n_rows))
            error = reference - self.score(fitted, *self.rows.test(i, n_rows))
        if hasattr(fitted, "noise_scale_"):
            pure = getattr(fitted, "noise_distribution_", "") == "laplace"
            scale = fitted.noise_scale_ * (sqrt(2) if pure else 1)
        return error, reference, bool(fitted._accuracy_warnings()), scale

    def _drawn(self, epsilon, n_rows):
        """Return errors and the standard deviation of noise of a known law, for a count or sums.

        The noise of both is drawn with a scale that parameters fix, and added to the exact number.
        """
        X, _ = self.rows.draw(0, max(n_rows, 2) if n_rows < 10**5 else 10**5)
        fitted = fitted_copy(self.estimator, X[:2], None, 0, epsilon=epsilon)
        sd = np.ravel(fitted.noise_scale_)
        in_rows = hasattr(fitted, "count_")
        unit = n_rows * (1.0 if in_rows else units(np.asarray(X, dtype=float)))
        draws, shape = self.rows.stream(4), (N_DRAWS, sd.size)
        pure = fitted.privacy_report_.budget.measure == "pure"
        noise = draws.laplace(scale=sqrt(0.5), size=shape) if pure else draws.normal(size=shape)
        return np.sqrt(np.square(noise * sd / unit).mean(axis=1)), fitted.noise_scale_


def _first(estimator):
    """Return the step of a chain that reads the rows, or the estimator itself."""
    if getattr(estimator, "estimator", None) is not None:
        return _first(estimator.estimator)
    steps = getattr(estimator, "steps", None)
    return _first(steps[0][1]) if steps else estimator


def _width(first, default):
    """Return the number of columns that public parameters tell, or the default."""
    domain = getattr(first, "domain", None)
    if isinstance(domain, dict):
        return len(domain)
    low, _ = bounds_of(first)
    return low.size if low is not None and low.ndim else default


def _pair(like):
    if like is None:
        return None
    X, y = like if isinstance(like, tuple) else (like, None)
    return X if hasattr(X, "shape") else np.asarray(X), y


def _positive(name, value):
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer >= 1. Got {describe_parameter(value)}.")
    return int(value)


def _seed(random_state):
    if isinstance(random_state, Integral) and random_state >= 0:
        return int(random_state)
    raise ValueError(
        f"random_state must be an integer >= 0 for plans. Got {describe_parameter(random_state)}."
    )


def computed_apart(name, function, tasks, n_jobs=None):
    """Return ``function(*task)`` of every task, a list in their order.

    ``n_jobs`` processes share the tasks, as :class:`joblib.Parallel` takes it. Each runs on one
    thread of BLAS, so that results do not depend on their number. The progress is told as of one
    computation, and what runs inside is silent.
    """
    work, found = partial(_alone, get_config() | {"progress": False}, function), []
    with counts(name, len(tasks)) as done:
        if effective_n_jobs(n_jobs) == 1:
            results = (work(*task) for task in tasks)
        else:
            parallel = Parallel(n_jobs=n_jobs, return_as="generator")
            results = parallel(delayed(work)(*task) for task in tasks)
        for result in results:
            found.append(result)
            done()
    return found


def _alone(config, function, *task):
    with config_context(**config), one_thread():
        return function(*task)


def fitted_copy(estimator, X, y, seed, groups=None, **parameters):
    """Return a fitted clone with these parameters and this seed, and without a ledger."""
    copy = clone(estimator)
    names = [(name, name.rpartition("__")[2]) for name in copy.get_params()]
    given = {name: None for name, last in names if last == "ledger"}
    if seed is not None:
        given |= {name: seed for name, last in names if last == "random_state"}
    copy.set_params(**given | parameters)
    with warnings.catch_warnings():
        for expected in (SeededNoiseWarning, LowAccuracyWarning, WeakGuaranteeWarning):
            warnings.simplefilter("ignore", expected)
        return copy.fit(X, y) if groups is None else copy.fit(X, y, groups=groups)
