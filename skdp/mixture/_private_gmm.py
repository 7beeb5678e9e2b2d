"""PrivateGMM, the estimator."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from numbers import Integral, Real

import numpy as np

from skdp._compat import Interval, StrOptions
from skdp._estimator import PrivateEstimator
from skdp.accounting import Budget, Plan
from skdp.cluster._density import density_centers, density_steps
from skdp.cluster._friendly_road import friendly_centers, friendly_road_steps, parts_for
from skdp.cluster._oracles import pca_oracle
from skdp.cluster._peel import find_places
from skdp.cluster._place import Place, PublicPlace
from skdp.mixture._base import MixtureMixin
from skdp.mixture._em import em_steps, private_em
from skdp.mixture._parameters import floors, parameters
from skdp.mixture._units import UnitRows, column_units, unit_steps

__all__ = ["PrivateGMM"]

DENSITY, FRIENDLY = Fraction(1, 4), Fraction(2, 5)  # shares of the roads to a start
WIDE = 64  # columns beyond which "auto" prefers the friendly road
TAKEN = "start: friendly (random parts of the table agreed on the means)"
FAILED = "start: density, after the random parts of the table did not agree"
COUNTS = "start: density (a noisy tree of counts)"
FEWEST_PARTS = 100


class PrivateGMM(MixtureMixin, PublicPlace, PrivateEstimator):
    """Gaussian mixture under differential privacy, without bounds on the data.

    A drop-in for :class:`sklearn.mixture.GaussianMixture`. It finds where the rows lie and where
    they are dense; then every round of EM releases the noisy number, mean and covariance of all
    components at once, in the frames in which the components of the round before are standard
    normal, so that noise is in proportion to each component and each of its axes.

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
        Where EM starts. ``"density"``: a noisy tree of counts. ``"friendly"`` [1]_: means on which
        most of many random parts of the table agree; for well separated components, and several
        hundred thousand rows. If they do not agree, the density start follows. ``"auto"`` takes
        the friendly start beyond 64 columns if the released number of rows allows it.
    max_iter : int, default=5
        Number of EM rounds. They are public and all are made: a stop would tell about the rows.
    n_init : int, default=30
        Starts of k-means on released cells. Costs time, and no budget.
    n_jobs : int, default=None
        Threads for the parts of the friendly start.
    center : float or array-like of shape (n_features,), default=None
        A public point; together with ``radius`` only. None takes 0.
    radius : float, default=None
        Instead of ``bounds``, a public radius: rows farther than twice that from ``center`` are
        left out. Must not be computed from X.
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
        ``max_iter``.
    privacy_report_ : PrivacyReport
        The bill and the guarantee, and the start that was taken.
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
    whatever ``n_components`` is: the proof is with :func:`skdp.mixture._moments.release_moments`.

    Not private: what is computed from given rows (predictions, ``score_samples``, ``score``,
    ``bic`` and ``aic`` are local, as sensitive as these rows), and parameters that were chosen by
    looking at the data. There is no ``lower_bound_``.

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
    >>> mixture = PrivateGMM(2, epsilon=1.0, delta=1e-6).fit(X)
    >>> bool(np.abs(np.sort(mixture.means_[:, 0]) - [-50, 50]).max() < 0.5)
    True
    """

    _parameter_constraints: dict = {
        **PrivateEstimator._parameter_constraints,
        **PublicPlace._place_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions({"full", "tied", "diag", "spherical"})],
        "method": [StrOptions({"auto", "density", "friendly"})],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

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
        reg_covar=1e-6,
        n_init=30,
        n_jobs=None,
        center=None,
        radius=None,
        random_state=None,
        ledger=None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.method = method
        self.max_iter = max_iter
        self.reg_covar = reg_covar
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.center = center
        self.radius = radius
        self.random_state = random_state
        self.ledger = ledger

    def plan(self):
        """Return what a fit may release and what it costs, without any data.

        Returns
        -------
        plan : Plan
        """
        budget = self._budget(Budget.gaussian)
        start = (step for step in density_steps() if step.label not in ("radii", "clusters"))
        steps = (*start, *em_steps(self.max_iter))
        if self.covariance_type != "spherical" and self.radius is None:
            steps = (*unit_steps(), *steps)
        if self.method == "density":
            return Plan(budget, steps)
        friendly, events = friendly_road_steps(
            budget, self.n_components, label="friendly", at_most=FRIENDLY
        )
        return Plan(budget, (*steps, *friendly), events)

    def _check_public(self, n_features):
        self._place(n_features)

    def _release(self, rows, curator):
        seed = int(self.random_state) if isinstance(self.random_state, Integral) else 0
        place, rows = self._placed(rows)
        units = self._units(rows, curator, place)
        if units is not None:
            rows = UnitRows(rows, units)
            place = None if place is None else Place.of_box(*(end / units for end in place.box))
        units = np.ones(rows.n_features) if units is None else units
        located = find_places(rows, curator, self.n_components, place=place)
        centers = self._friendly(rows, curator, located, seed)
        if centers is None:
            start = density_centers(
                rows, curator, located, self.n_components,
                n_init=self.n_init, seed=seed, share=DENSITY * curator.remaining,
            )  # fmt: skip
            located, centers = start.places, start.centers
        mixture = private_em(
            rows, curator, located, centers,
            covariance_type=self.covariance_type, n_rounds=self.max_iter,
            floor=floors(located, units, self.reg_covar),
        )  # fmt: skip
        released = parameters(mixture, located, units, self.reg_covar)
        return {**released, "n_iter_": mixture.n_rounds}

    def _units(self, rows, curator, place):
        """Return the units of the columns, or None where all are alike or the model needs one."""
        if self.covariance_type == "spherical" or self.radius is not None or rows.n_features == 1:
            return None
        return column_units(rows, curator, box=None if place is None else place.box)

    def _friendly(self, rows, curator, located, seed):
        """Return the means of the friendly start, or None where it was not taken or failed."""
        forced = self.method == "friendly"
        choice = None
        if forced or (self.method == "auto" and rows.n_features > WIDE):
            road = replace(curator.budget, amount=curator.budget.amount * FRIENDLY)
            enough = partial(
                parts_for, budget=road, n_clusters=self.n_components, n_features=rows.n_features
            )
            choice = enough(located.n_rows) or (forced and enough(math.inf))
        if not (choice or forced):
            curator.decide(COUNTS)
            return None
        n_parts, gamma = choice or (FEWEST_PARTS, 1 / 7)
        centers = friendly_centers(
            rows,
            curator.child("friendly", FRIENDLY),
            self.n_components,
            n_parts=n_parts,
            center=located.center,
            radius=located.radius,
            gamma=gamma,
            oracle=pca_oracle,
            seed=seed,
            n_jobs=self.n_jobs,
        )
        curator.decide(FAILED if centers is None else TAKEN)
        return centers
