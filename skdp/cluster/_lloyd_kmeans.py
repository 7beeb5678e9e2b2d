"""LloydKMeans, the estimator."""

import math
from fractions import Fraction
from numbers import Integral

import numpy as np

from skdp.accounting import Budget, Plan, Step
from skdp.cluster._base import CentersMixin, LocalLabels, public_centers, rule_of_clusters
from skdp.cluster._locate import BINS, LOCATE_STEPS, UNSEEN, PublicBoundsMixin, locate, read_scale
from skdp.cluster._refine import equal_step, lloyd_run
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._lattice import DROP, LARGEST, SMALLEST, LocatedBall
from skdp.kernel._sums import BallSum, Count, Distances
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import public_seed, stores_parameters
from skdp.utils._renamed import Renamed

FAINTEST = Fraction(1, 2**30)  # of epsilon, for every step and column

# where the rows lie, with Laplace noise: for budgets without delta
ROUNDS = 3
ROW_COUNT = Step("row count", "laplace", Fraction(1, 50), of=(Count,))
SCALE = Step("scale", "laplace", Fraction(1, 20), ROUNDS, of=(Distances,))
LOCATION = Step("location", "laplace", Fraction(3, 100), ROUNDS, of=(BallSum,))
LOCATE_PURE_STEPS = ROW_COUNT, SCALE, LOCATION  # shares of at most .26 together
TAILS = 3.1  # a Laplace scale has the tails of so many normal standard deviations, to 1e-8


class LloydKMeans(CentersMixin, PublicBoundsMixin, PrivateEstimator):
    """K-means by noisy steps of Lloyd: the classical private algorithm.

    Every step assigns rows to centres and releases noisy counts and sums of all clusters. Simple,
    and the only clustering here with a pure guarantee (``delta=0``); other estimators of skdp find
    centres with far less noise.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centres.
    epsilon : float, default=1.0
        Privacy parameter, > 0.
    delta : float, default=1e-6
        Privacy parameter in [0, 1). With 0 the noise is Laplace and the guarantee pure.
    bounds : tuple (low, high), default=None
        Public bounds of the entries, numbers or one per column: entries beyond are clipped to
        them, and the centres lie between them. The budget of the search for the rows goes to the
        steps. Must not be computed from X.
    init : {"spread", "random"} or array-like of shape (n_clusters, n_features), default="spread"
        Centres to start from, never computed from X: spread evenly over the ball of the rows,
        uniform points of that ball, or public points.
    max_iter : int, default=6
        Number of steps: fixed, as the budget is divided among them. Few rows want few.
    center : float or array-like of shape (n_features,), default=None
        A public point; together with ``radius`` only. None takes 0.
    radius : float, default=None
        Instead of ``bounds``, a public radius: rows farther than twice that from ``center`` are
        left out. Without either a ball is found privately, which takes 2 to 26 % of the budget.
        Must not be computed from X.
    store_labels : bool, default=False
        Keep ``labels_`` of the training rows in memory. They are not private, and are lost when
        the estimator is pickled or copied.
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
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The released centres, always finite; dates of columns of dates.
    inertia_ : float
        Released estimate of the sum of squared distances of the rows to their centres. Distances
        beyond the radius of a cell of the ball count as that. With ``groups`` a row counts as its
        part of a group, which is one at most.
    inertia_noise_scale_ : float
        Standard deviation of the noise of ``inertia_``.
    labels_ : ndarray of shape (n_samples,), int32
        **Local, not private.** The nearest centre of every training row, -1 for a row with NaN
        that counts as absent. Only with ``store_labels=True``.
    n_iter_ : int
        ``max_iter``.
    privacy_report_ : PrivacyReport
        The bill and the guarantee.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    FriendlyCoreKMeans, PrivateGMM

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row; the number
    of rows is private. A row belongs to one cluster, so the counts and sums of all clusters cost
    one row together, whatever ``n_clusters`` is. Pure budgets add up in epsilon, others in mu^2.
    Not private: labels, distances and scores of the training rows, and parameters that were chosen
    by looking at the data.

    The noise around a centre is that of its present cluster, as sums are taken of differences to
    the centre [2]_. A start that does not depend on the rows finds poor optima: runs differ.

    References
    ----------
    .. [1] Blum, Dwork, McSherry, Nissim. "Practical privacy: the SuLQ framework". PODS 2005.
    .. [2] Su, Cao, Li, Bertino, Jin. "Differentially private k-means clustering". CODASPY 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.cluster import LloydKMeans
    >>> X = np.random.default_rng(0).normal(size=(3000, 2)) + np.array([[9.0], [-9.0]])[:, :, None]
    >>> kmeans = LloydKMeans(2, epsilon=1.0).fit(X.reshape(-1, 2))
    >>> bool(np.abs(np.sort(kmeans.cluster_centers_[:, 0]) - [-9, 9]).max() < 0.5)
    True
    """

    _weighs_groups = True
    inertia_noise_ = Renamed("inertia_noise_scale_")
    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        **PublicBoundsMixin._place_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"spread", "random"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "store_labels": ["boolean"],
    }

    @stores_parameters
    def __init__(
        self,
        n_clusters=8,
        *,
        epsilon=1.0,
        delta=1e-6,
        bounds=None,
        init="spread",
        max_iter=6,
        center=None,
        radius=None,
        store_labels=False,
        n_jobs=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        pure = self.delta == 0
        budget = self._budget(_pure if pure else Budget.gaussian)
        step = equal_step(budget, self.max_iter)
        if self._is_placed():
            return Plan(budget, (step,))
        return Plan(budget, (*(LOCATE_PURE_STEPS if pure else LOCATE_STEPS), step))

    def _group_rule(self, n_features):
        return rule_of_clusters(self.n_clusters, n_features)

    def _release(self, table):
        place, inner = self._placed(table)
        if place is not None:
            located = place.located()
        else:
            located = (locate_pure if table.budget.measure == "pure" else locate)(inner)
        init = self.init
        if not isinstance(init, str):
            init = public_centers("init", init, (self.n_clusters, table.n_features))
        centers, inertia, noise = lloyd_run(
            inner,
            located,
            self.n_clusters,
            init,
            n_steps=self.max_iter,
            seed=public_seed(self.random_state),
        )
        fitted = {
            "cluster_centers_": centers,
            "inertia_": inertia,
            "inertia_noise_scale_": noise,
            "n_iter_": self.max_iter,
        }
        if self.store_labels:
            fitted["_labels"] = LocalLabels.of(table, centers)
        return fitted

    def _check_public(self, n_features):
        self._place(n_features)
        if not isinstance(self.init, str):
            public_centers("init", self.init, (self.n_clusters, n_features))
        if self.delta == 0 and self._budget(_pure).amount < FAINTEST * self.max_iter * n_features:
            raise ValueError(
                "epsilon is too small to answer anything: the noise in every step would exceed "
                "2^30 times a row. Pass a larger epsilon, or a smaller max_iter."
            )


def _pure(epsilon, delta):
    return Budget.pure(epsilon)


def locate_pure(table):
    """Find a ball that holds the bulk of the rows, as :func:`locate` does, with pure noise.

    Notes
    -----
    **Privacy**: of the statistics, in l1.
    """
    table, d = table, table.n_features
    count = table.ask(Count(), ROW_COUNT)
    n, center, radius, found = max(float(count.value[0]), 1.0), np.zeros(d), math.inf, False
    shift = 0.0
    for _ in range(ROUNDS):
        release = table.ask(Distances(center, BINS), SCALE)
        reach, typical, seen = read_scale(release.value, TAILS * release.scale, n)
        if not seen and radius < math.inf:
            break
        shrunk, found = reach <= 0.6 * radius, seen
        radius = min(reach, radius + shift)  # the earlier ball, seen from the present centre
        if radius == 0 or not shrunk:
            break
        radius = min(max(radius, SMALLEST), LARGEST)
        question = BallSum(center, radius, drop=DROP)
        step = table.ask(question, LOCATION).real / n
        with np.errstate(over="ignore"):
            step = np.clip(step, -radius, radius)
            center = np.nan_to_num(center + step)
            shift = float(np.sqrt(np.square(step).sum()))
    if not found:
        table.doubt(UNSEEN)
    smallest = max(SMALLEST, 1e-9 * float(np.abs(center).max()))
    radius = min(max(radius, smallest if radius == 0 else SMALLEST), LARGEST)
    typical = min(max(typical, radius / 64), radius)
    return LocatedBall(n, count.scale * math.sqrt(2), center, radius, typical, found)
