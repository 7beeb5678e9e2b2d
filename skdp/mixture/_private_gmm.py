"""PrivateGMM, the estimator."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_array

from skdp.accounting import Budget, Plan
from skdp.cluster._base import rule_of_clusters
from skdp.cluster._density import DENSITY_STEPS, density_centers
from skdp.cluster._locate import PublicBall, PublicBoundsMixin
from skdp.cluster._outlying_groups import release_ball_cover
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._coordinates import InUnits
from skdp.kernel._table import annex
from skdp.mixture._base import MixtureMixin, column_units, floors, parameters, rescaled, unit_steps
from skdp.mixture._em import em_steps, private_em
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import public_seed, stores_parameters

OF_KMEANS = "second moments", "radii", "clusters"  # steps that no mixture takes
DENSITY, FRIENDLY = Fraction(1, 4), Fraction(2, 5)  # shares of the roads to a start
TAKEN = "start: friendly (random parts of the table agreed on the means)"
FAILED = "start: density, after the random parts of the table did not agree"
GIVEN = "start: the means that were given"
COUNTS = "start: density (a noisy tree of counts)"
STARTS = 30  # of k-means on released cells
FEWEST_PARTS = 100


class PrivateGMM(MixtureMixin, PublicBoundsMixin, PrivateEstimator):
    """Gaussian mixture under differential privacy, without bounds on the data.

    A drop-in for :class:`sklearn.mixture.GaussianMixture`. It finds where the rows lie and where
    they are dense; then every round of EM releases the noisy number, mean and covariance of all
    components at once, in the frames in which the components of the round before are standard
    normal, so that noise is in proportion to each component and each of its axes. Columns of unlike
    scales are measured in units of their own, powers of two that a small release tells (not for
    "spherical", whose one variance needs one unit, and not with ``radius``). Where noise is loud,
    the components share one covariance at first; and what was found is compared with one Gaussian,
    by a released number, so that it is hardly ever worse.

    Parameters
    ----------
    n_components : int, default=1
        Number of components, k.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        One covariance matrix per component, one for all, one variance per column, or one. Fewer
        numbers need fewer rows; entries of "full" that do not stand out of the noise are shrunk, so
        that components of few rows are nearly diagonal or round.
    epsilon : float, default=1.0
        Privacy parameter, > 0: adding or removing one row changes the probability of no outcome
        by more than a factor e^epsilon, up to ``delta``.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    bounds : tuple (low, high), default=None
        Public bounds of the entries, numbers or one per column: entries beyond are clipped to
        them, and the means lie between them. The search for the rows begins there, so that fewer
        of them do. Must not be computed from X.
    method : {"auto", "density", "friendly"}, default="auto"
        Where EM starts. ``"density"``, which ``"auto"`` takes: a noisy tree of counts.
        ``"friendly"`` [1]_: means on which most of many random parts of the table agree; for well
        separated components, and several hundred thousand rows. If they do not agree, the density
        start follows.
    max_iter : int, default=5
        Number of EM rounds; all are made. Up to eight short ones come between them while released
        variances fall as fast as they may: of columns that are constant in a component.
    tol : None
        There is no tolerance: the number of rounds depends on released values only, and what a
        likelihood gains from round to round is not released. Anything else is refused.
    reg_covar : float, default=1e-6
        Added to the variances, in the units of X, as in scikit-learn: it bounds the density of
        components that are constant in a column.
    n_init : "auto" or int, default="auto"
        Starts of k-means on released cells; "auto" is 30. Costs time, and no budget.
    means_init : array-like of shape (n_components, n_features), default=None
        Public means to start from, instead of a search that costs a quarter of the budget. Must not
        be computed from X.
    n_jobs : int, default=None
        Threads that share the rows; the result is the same for any number. None is 1 unless within
        :func:`joblib.parallel_config`, -1 all cores.
    center : float or array-like of shape (n_features,), default=None
        A public point; together with ``radius`` only. None takes 0.
    radius : float, default=None
        Instead of ``bounds``, a public radius: rows farther than twice that from ``center`` are
        left out. Must not be computed from X.
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
    weights_ : ndarray of shape (n_components,)
        Released parts of the rows; positive, with sum 1.
    means_ : ndarray of shape (n_components, n_features)
        Released means. Always finite.
    covariances_ : ndarray
        Released covariances, always positive definite: of shape (n_components, n_features,
        n_features) for "full", (n_features, n_features) for "tied", (n_components, n_features) for
        "diag", (n_components,) for "spherical".
    precisions_, precisions_cholesky_ : ndarray
        Inverses of the covariances and their roots, as in scikit-learn.
    n_iter_ : int
        Number of EM rounds that were made, a function of released values.
    privacy_report_ : PrivacyReport
        The bill and the guarantee, the start that was taken, and what is worth little: of that a
        :class:`skdp.exceptions.LowAccuracyWarning` tells as well.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    skdp.FriendlyCoreKMeans : Centres alone.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row; the number
    of rows is private. Every release is Gaussian, so the costs add up in mu^2 exactly. The
    responsibilities of a row sum to one, so the moments of all components cost one row together,
    whatever ``n_components`` is: the proof is with
    :class:`skdp.kernel._mixtures.MixtureMoments`.

    Not private: what is computed from given rows (predictions, ``score_samples``, ``score``,
    ``bic`` and ``aic`` are local, as sensitive as these rows), and parameters that were chosen by
    looking at the data. There is no ``lower_bound_`` and no ``converged_``: both are computed from
    the rows.

    Components whose number of rows does not stand out of the noise, and the lightest one where all
    are constant in some direction (columns of zeros and ones), become the Gaussian of all rows:
    rows like which there are few cannot be seen, and would have no density. Where no mixture is
    better than one Gaussian, all components are that one.

    References
    ----------
    .. [1] Tsfadia, Cohen, Kaplan, Mansour, Stemmer. "FriendlyCore: Practical differentially
       private aggregation". ICML 2022.
    .. [2] Park, Foulds, Chaudhuri, Welling. "DP-EM: Differentially private expectation
       maximization". AISTATS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.mixture import PrivateGMM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(8000, 2)) + rng.choice([-50.0, 50.0], size=(8000, 1))
    >>> mixture = PrivateGMM(2, epsilon=3.0, delta=1e-6).fit(X)
    >>> bool(np.abs(np.sort(mixture.means_[:, 0]) - [-50, 50]).max() < 0.5)
    True
    """

    _weighs_groups = property(lambda self: self.method != "friendly")
    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        **PublicBoundsMixin._place_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions({"full", "tied", "diag", "spherical"})],
        "method": [StrOptions({"auto", "density", "friendly"})],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": "no_validation",
        "n_init": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "means_init": ["array-like", None],
    }

    @stores_parameters
    def __init__(
        self,
        n_components=1,
        *,
        covariance_type="full",
        epsilon=1.0,
        delta=1e-6,
        bounds=None,
        method="auto",
        max_iter=5,
        tol=None,
        reg_covar=1e-6,
        n_init="auto",
        means_init=None,
        n_jobs=None,
        center=None,
        radius=None,
        rows_per_group=1,
        random_state=None,
        ledger=None,
    ): ...

    def plan(self):
        """Return the :class:`skdp.accounting.Plan` of a fit: what it may release, at what price."""
        budget = self._budget(Budget.gaussian)
        start = (step for step in DENSITY_STEPS if step.label not in OF_KMEANS)
        steps = (*start, *em_steps(self.max_iter))
        if self.covariance_type != "spherical" and self.radius is None:
            steps = (*unit_steps(), *steps)
        if self.method != "friendly":
            return Plan(budget, steps)
        from skdp.cluster.friendly import friendly_road_steps

        friendly, events = friendly_road_steps(
            budget, self.n_components, label="friendly", at_most=FRIENDLY
        )
        return Plan(budget, (*steps, *friendly), events)

    def _check_public(self, n_features):
        self._place(n_features)
        self._means(n_features)
        if self.tol is not None:
            raise ValueError(
                "tol has no meaning here: how the likelihood grows is not released, so it ends no "
                "fit. Leave tol=None, and set max_iter."
            )

    def _means(self, n_features):
        """Return the public means to start from, or None."""
        if self.means_init is None:
            return None
        means = check_array(self.means_init, dtype=np.float64, input_name="means_init")
        if means.shape != (self.n_components, n_features):
            raise ValueError(
                f"means_init must have shape ({self.n_components}, {n_features}): one row per "
                f"component, one column per column of X. Got {means.shape} instead."
            )
        return means

    def _group_rule(self, n_features):
        return rule_of_clusters(self.n_components, n_features)

    def _release(self, table):
        place, table = self._placed(table)
        units = self._units(table, place)
        if units is not None:
            table = table.map(InUnits(units))
            place = (
                None
                if place is None
                else PublicBall.of_box(*(rescaled(x, units) for x in place.box))
            )
        units = np.ones(table.n_features) if units is None else units
        located = release_ball_cover(table, self.n_components, place=place, careful=False)
        located, centers = self._start(table, located, units)
        mixture = private_em(
            table, located, centers,
            covariance_type=self.covariance_type, n_rounds=self.max_iter,
            floor=floors(located, units, self.reg_covar),
        )  # fmt: skip
        released = parameters(mixture, located, units, self.reg_covar)
        return {**released, "n_iter_": mixture.n_rounds}

    def _units(self, table, place):
        """Return the units of the columns, or None where all are alike or the model needs one."""
        if self.covariance_type == "spherical" or self.radius is not None or table.n_features == 1:
            return None
        return column_units(table, box=None if place is None else place.box)

    def _start(self, table, located, units):
        """Return where the rows lie and the means to start from, given, friendly or by counts."""
        given, seed = self._means(table.n_features), public_seed(self.random_state)
        if given is not None:
            table.decide(GIVEN)
            return located, rescaled(given, units)
        centers = self._friendly(table, located, seed)
        if centers is not None:
            return located, centers
        start = density_centers(
            table, located, self.n_components,
            n_init=STARTS if self.n_init == "auto" else self.n_init, seed=seed,
            share=DENSITY * table.remaining,
        )  # fmt: skip
        return start.places, start.centers

    def _friendly(self, table, located, seed):
        """Return the means of the friendly start, or None where it was not taken or failed."""
        if self.method != "friendly":
            table.decide(COUNTS)
            return None
        from skdp.cluster._locate import whole
        from skdp.cluster.friendly import friendly_centers, pca_oracle
        from skdp.cluster.friendly._strategy import parts_for

        rows, curator = annex(table)  # parts are made by keys, and asked by an oracle
        road = replace(curator.budget, amount=curator.budget.amount * FRIENDLY)
        enough = partial(
            parts_for, budget=road, n_clusters=self.n_components, n_features=rows.n_features
        )
        n_parts, gamma = enough(located.n_rows) or enough(math.inf) or (FEWEST_PARTS, 1 / 7)
        centers = friendly_centers(
            rows,
            curator.child("friendly", FRIENDLY),
            self.n_components,
            n_parts=n_parts,
            center=whole(located).center,
            radius=whole(located).radius,
            gamma=gamma,
            oracle=pca_oracle,
            seed=seed,
            n_jobs=self.n_jobs,
        )
        curator.decide(FAILED if centers is None else TAKEN)
        return centers
