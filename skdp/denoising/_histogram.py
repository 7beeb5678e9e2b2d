"""PrivateHistogram, the estimator."""

import math
import warnings
from fractions import Fraction
from numbers import Integral

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.accounting import Budget, Plan, Step
from skdp.denoising._auto import DENOISER, check_denoiser, denoised, resolve_denoiser, with_denoiser
from skdp.denoising._axes import (
    RANGE_SHARE,
    RANGE_STEPS,
    TOO_LOUD,
    grid,
    is_too_loud,
    private_ranges,
    quieter_law,
    range_is_public,
    read_axes,
)
from skdp.denoising._user_ids import with_exact_users
from skdp.denoising._vector import HistogramDisplay, VectorMixin, count_interval
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._histograms import (
    MOST_ROWS,
    HistogramCounts,
    OfUsers,
    UserCounts,
    capped_sensitivity,
)
from skdp.readers._calendar import Dated
from skdp.scales._column_noise import with_law
from skdp.table._groups import GroupRule
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import stores_parameters
from skdp.utils._renamed import Renamed
from skdp.utils._warnings import stack_level

MEMORY = "memory: three numbers for each of at most rows_per_user rows of every user"
COUNTS = Step("counts", of=(HistogramCounts, UserCounts))
TV, LEAST = 0.8, 40.0  # noise of all cells, for a cap half as large: norms are; persons
ALIAS = (
    "user and rows_per_user are deprecated: pass fit(X, groups=...) whose row each row is, as an "
    "array or as the name of a column, and rows_per_group. A limit for single cells needs "
    "rows_per_cell, with which user stays."
)
USERS = (
    "the guarantee holds for adding or removing all rows of one user, and for one row: rows of a "
    "user beyond the cap are left out"
)


class PrivateHistogram(VectorMixin, PrivateEstimator):
    """Counts of the rows of a table in the cells of a grid, under differential privacy.

    Every column is cut into bins, or has public categories; cells are their combinations. The noise
    is Laplace or Gaussian, whichever is smaller at (epsilon, delta), and a denoiser may take most
    of it away again, for free.

    Parameters
    ----------
    bins : "auto", int or sequence, default="auto"
        Number of bins of every column, or one entry per column of X: a number of bins, or an array
        of increasing edges, which must be public. ``"auto"`` makes about 4096 cells in all, with at
        most 64 bins in a column.
    range : (low, high), sequence or None, default=None
        Public range of all columns, or one entry per column of X: (low, high) or None. None finds a
        range privately, at a fifth of the budget. Rows outside are not counted.
    categories : dict, default=None
        ``{column index: values}``: columns that have public categories, encoded as numbers, in
        place of bins. Rows with other values are not counted.
    user : int, default=None
        Deprecated without ``rows_per_cell``: pass ``groups`` to ``fit``.
        Column that tells whose row it is. With it the guarantee holds for **all rows of one user**,
        every user counts with at most ``rows_per_user`` rows, and ranges must be public. Users are
        told apart exactly: in a frame the column may hold whole numbers, text, dates or categories;
        floats must be whole numbers below 2^53, since larger ones may have been rounded. Where rows
        are read in pieces, and in a Table of Arrow, whole numbers below 2^53 alone are ids. Rows
        whose user is missing, or no such id, are refused, or absent under
        ``skdp.config_context(invalid_rows="ignore")``. Two spellings of one user are two users.
    rows_per_user : int, default=1
        Rows of a user beyond this number are left out, at random.
    rows_per_cell : int, default=None
        Rows of a user in one cell beyond this number are left out too: 1 counts distinct users,
        with noise in proportion to the square root of ``rows_per_user`` if it is Gaussian. None
        is ``rows_per_user``.
    noise : {"auto", "laplace", "gaussian"}, default="auto"
        ``"auto"`` takes the law of less variance that the denoiser can treat; Gaussian with a
        ledger that composes Gaussian fits, where pure ones are dear.
    denoiser : Denoiser, "auto" or None, default=None
        Post-processing of the counts; its ``noise_scale`` and ``noise_distribution`` are replaced.
        Cells are coordinates in C order.
    nonnegative : bool, default=True
        Put negative counts to zero, and tell ``denoiser="auto"`` that counts have no sign.
    integer : bool, default=False
        Round counts to integers.
    epsilon : float, default=1.0
        Privacy parameter, > 0: adding or removing one row changes the probability of no outcome
        by more than a factor e^epsilon, up to ``delta``.
    delta : float, default=1e-6
        Privacy parameter in [0, 1); with Laplace noise none of it is used.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    rows_per_group : int or "auto", default=1
        With ``groups``: a person with more rows weighs no more than with so many, public; "auto"
        finds a number privately. Ignored without.
    random_state : int, RandomState instance or None, default=None
        None draws noise from the operating system. Anything else makes the result reproducible
        and not private: for tests and documentation.
    ledger : PrivacyLedger, default=None
        A budget that all fits share. The whole plan is charged before the rows are read.

    Attributes
    ----------
    counts_ : ndarray of shape (n_bins_0, n_bins_1, ...)
        Counts after denoising, with the options applied. With ``groups`` rows have weights, so that
        those of a group move the counts by one row at most.
    noisy_counts_ : ndarray of the shape of ``counts_``
        Counts as released.
    edges_ : list of ndarray
        Edges of the bins, or categories, of every column but that of users.
    noise_scale_ : float
        Standard deviation of the Gaussian noise of a count, or scale b of Laplace noise.
    noise_distribution_ : {"gaussian", "laplace"}
        Law of the noise.
    risk_estimate_ : float
        Estimated summed squared error of the denoised counts; options only lower the error.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    AutoDenoiser : What ``denoiser="auto"`` does.
    TrendFilterDenoiser : For cells that are nodes of a graph.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row; with Laplace
    noise delta is 0. A row is in one cell or none, so the counts have sensitivity 1, in l1 and in
    l2. With ``user`` the guarantee also holds for adding or removing all rows of one user: the cap
    is applied to the table, not assumed (proofs: ``skdp/kernel/_histograms.py``; ranges:
    ``skdp/denoising/_axes.py``). Everything after the counts is post-processing. Not private:
    parameters that were chosen by looking at the data.

    References
    ----------
    .. [1] Dwork, McSherry, Nissim, Smith. "Calibrating noise to sensitivity in private data
       analysis". TCC 2006.
    .. [2] Balle, Wang. "Improving the Gaussian mechanism for differential privacy: analytical
       calibration and optimal denoising". ICML 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.denoising import PrivateHistogram
    >>> X = np.random.default_rng(0).normal(size=(10000, 1))
    >>> histogram = PrivateHistogram(bins=20, range=(-4, 4), denoiser="auto").fit(X)
    >>> histogram.counts_.shape, abs(float(histogram.counts_.sum()) - 10000) < 200
    ((20,), True)
    """

    _weighs_groups = property(lambda self: self.user is None)
    edges_ = Dated(lambda self: [j for j in range(self.n_features_in_) if j != self.user])
    law_ = Renamed("noise_distribution_")
    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        "bins": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), "array-like"],
        "range": ["array-like", None],
        "categories": [dict, None],
        "user": [Interval(Integral, 0, None, closed="left"), None],
        "rows_per_user": [Interval(Integral, 1, None, closed="left")],
        "rows_per_cell": [Interval(Integral, 1, None, closed="left"), None],
        "noise": [StrOptions({"auto", "laplace", "gaussian"})],
        "denoiser": DENOISER,
        "nonnegative": ["boolean"],
        "integer": ["boolean"],
    }

    @stores_parameters
    def __init__(
        self,
        bins="auto",
        *,
        range=None,
        categories=None,
        user=None,
        rows_per_user=1,
        rows_per_cell=None,
        noise="auto",
        denoiser=None,
        nonnegative=True,
        integer=False,
        epsilon=1.0,
        delta=1e-6,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        law = self._law()
        pure = law == "laplace"
        budget = self._budget((lambda e, _: Budget.pure(e)) if pure else Budget.gaussian)
        steps = () if self._public() else RANGE_STEPS
        notes = () if self.user is None else (USERS, MEMORY)
        share = 1 - RANGE_SHARE if steps else Fraction(1)
        loud = is_too_loud(budget, law, *self._sensitivity(), share)
        steps = with_law(budget, *steps, COUNTS)
        plan = Plan(budget, steps, assumptions=notes, problems=(TOO_LOUD,) * loud)
        return with_denoiser(plan, self.denoiser)

    def _group_rule(self, n_features):
        axes = read_axes(self.bins, self.range, self.categories, self.user, n_features)
        return GroupRule(noise=TV * math.prod(axis.size for axis in axes.values()), least=LEAST)

    def _read(self, X, y):
        if self.user is not None and self.rows_per_cell is None:
            warnings.warn(ALIAS, FutureWarning, stacklevel=stack_level())
        return super()._read(X if self.user is None else with_exact_users(X, self.user), y)

    def _release(self, table):
        law = "laplace" if table.budget.measure == "pure" else "gaussian"
        axes = read_axes(self.bins, self.range, self.categories, self.user, table.n_features)
        search, low, high = [c for c, axis in axes.items() if axis.searched], (), ()
        if search:
            low, high = private_ranges(table, search, law)
        cells = grid(axes, dict(zip(search, zip(low, high, strict=True), strict=True)))
        share = 1 - RANGE_SHARE if search else Fraction(1)
        table, question = self._question(table, cells)
        told = table.ask(question, COUNTS, share=share)
        noisy, scale = told.real.reshape(cells.shape), told.sd
        support = "nonnegative" if self.nonnegative else None
        counts, risk = denoised(noisy, scale, self.denoiser, law=law, support=support)
        if self.nonnegative:
            counts = np.maximum(counts, 0.0)
        return {
            "counts_": np.rint(counts) + 0.0 if self.integer else counts,
            "noisy_counts_": noisy,
            "edges_": list(cells.values),
            "noise_scale_": scale,
            "noise_distribution_": law,
            "risk_estimate_": risk,
        }

    def _question(self, table, cells):
        """Return the Table that is counted, and the question."""
        if self.user is None:
            return table, HistogramCounts(**vars(cells))
        cap = {"per_user": min(int(self.rows_per_user), MOST_ROWS)}
        cap["per_cell"] = min(self._per_cell(), MOST_ROWS)
        users = table.map(OfUsers(**vars(cells), user=int(self.user), **cap))
        return users, UserCounts(cells.size, **cap)

    def _public(self):
        return self.user is not None or range_is_public(self.bins, self.range)

    def _per_cell(self):
        k = self.rows_per_user if self.rows_per_cell is None else self.rows_per_cell
        return int(min(k, self.rows_per_user))

    def _sensitivity(self):
        """Return the l1 and the squared l2 sensitivity of the counts."""
        if self.user is None:
            return Fraction(1), Fraction(1)
        return capped_sensitivity(int(self.rows_per_user), self._per_cell())

    def _law(self):
        """Return the law of less variance, a public choice."""
        denoiser = resolve_denoiser(self.denoiser)
        if self.noise != "auto":
            return self.noise
        if denoiser is not None and "laplace" not in denoiser.laws:
            return "gaussian"
        if self.ledger is not None and self.ledger.composition == "gaussian" and self.delta > 0:
            return "gaussian"  # where pure budgets are dear
        return quieter_law(self.epsilon, self.delta, *self._sensitivity())

    def _check_public(self, n_features):
        axes = read_axes(self.bins, self.range, self.categories, self.user, n_features)
        if self.user is not None and any(axis.searched for axis in axes.values()):
            raise ValueError(
                "with user the ranges of all other columns must be public: pass range, edges or "
                "categories."
            )
        self._check_range_noise(sum(axis.searched for axis in axes.values()))
        check_denoiser(self.denoiser, math.prod(axis.size for axis in axes.values()), self._law())

    def _check_range_noise(self, n_searched):
        plan = self.plan()
        for step in plan.steps[:-1]:
            if is_too_loud(plan.budget, step.mechanism, n_searched, n_searched, step.at_most):
                raise ValueError(TOO_LOUD)

    def interval(self, confidence=0.95, *, simultaneous=False):
        """Return intervals for the exact counts, cell by cell.

        They are made from the counts as released, whose noise is known exactly, not from denoised
        counts, which have no such intervals. With ``user`` they cover the counts of the rows kept.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability with which an interval covers.
        simultaneous : bool, default=False
            Whether all intervals together shall cover with this probability.

        Returns
        -------
        lower, upper : ndarrays of the shape of ``counts_``
        """
        check_is_fitted(self)
        return count_interval(
            self.noisy_counts_,
            self.noise_scale_,
            confidence,
            law=self.noise_distribution_,
            simultaneous=simultaneous,
            nonnegative=self.nonnegative,
            integer=self.integer,
        )

    def plot(self, ax=None, *, confidence=None):
        """Plot the counts: bars for one column, a map for two.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            A new figure by default.
        confidence : float, default=None
            Show intervals of this level (one column only).

        Returns
        -------
        display : HistogramDisplay
        """
        return HistogramDisplay.from_estimator(self, ax=ax, confidence=confidence)

    _vector = "noisy_counts_"

    def _law_scale(self, law):
        return self.noise_scale_
