"""FriendlyCoreKMeans, the estimator."""

from dataclasses import replace
from fractions import Fraction
from numbers import Integral

from skdp._compat import Interval, StrOptions
from skdp._estimator import PrivateEstimator
from skdp._public import public_seed
from skdp.accounting import Budget, Plan
from skdp.cluster._base import CentersMixin, LocalLabels
from skdp.cluster._density import density_centers, density_steps
from skdp.cluster._friendly_road import friendly_centers, friendly_road_steps, parts_for
from skdp.cluster._peel import find_places
from skdp.cluster._place import PublicPlace
from skdp.cluster._refine import refine

__all__ = ["FriendlyCoreKMeans"]

FRIENDLY = Fraction(3, 5)  # share of the road of FriendlyCore
TAKEN = "road: friendly (random parts of the table agreed on the centres)"
FAILED = "road: density, after the random parts of the table did not agree"
DENSITY = "road: density (a noisy tree of counts)"
PARTS = 400  # for a friendly road that is forced although nothing speaks for it


class FriendlyCoreKMeans(CentersMixin, PublicPlace, PrivateEstimator):
    """K-means clustering under differential privacy, without bounds on the data.

    A drop-in for :class:`sklearn.cluster.KMeans`. It finds where the rows lie, finds clusters by
    one of two roads, and ends in noisy Lloyd steps in which every cluster has a clip radius of its
    own: noise is in proportion to the cluster, not to the space.

    - *Density*: a noisy tree of counts, in the leading directions if there are more than three
      columns, and k-means on its cells. For ordinary sizes and budgets.
    - *Friendly* [1]_: k-means on hundreds of random parts of the table, and one tuple of centres on
      which most of them agree. It takes hundreds of thousands of rows.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters and of centres, k.
    epsilon : float, default=1.0
        Privacy parameter, > 0: adding or removing one row changes the probability of no outcome
        by more than a factor e^epsilon, up to ``delta``.
    delta : float, default=1e-6
        Privacy parameter in (0, 1); choose it well below one over the number of rows.
    bounds : tuple (low, high), default=None
        Public bounds of the entries, numbers or one per column: entries beyond are clipped to
        them, and the centres lie between them. The search for the rows begins there, so that fewer
        of them do. Must not be computed from X.
    method : {"auto", "density", "friendly"}, default="auto"
        The road to the centres. ``"auto"`` decides from the released number of rows and public
        parameters. If the parts do not agree, the friendly road ends on the density road with
        what is left of the budget; ``privacy_report_`` tells.
    n_parts : "auto" or int, default="auto"
        Parts for the friendly road, from 2 on; ``"auto"`` takes as many as the budget asks for.
    n_init : int, default=30
        Starts of k-means on released cells. Costs time, and no budget.
    store_labels : bool, default=False
        Keep ``labels_`` of the training rows in memory. They are not private, and are lost when
        the estimator is pickled or copied.
    n_jobs : int, default=None
        Threads for the parts of the friendly road.
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
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The released centres. Always finite.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Released estimates of the numbers of rows, at least 1.
    noise_scale_ : ndarray of shape (n_clusters,)
        Standard deviation of the privacy noise in each entry of a centre; infinite for a centre
        that was never more than a guess.
    cluster_radii_ : ndarray of shape (n_clusters,)
        Radii to which rows were clipped around their centre in the last step.
    labels_ : ndarray of shape (n_samples,), int32
        **Local, not private.** The nearest centre of every training row, -1 for a row with NaN
        that counts as absent. Only with ``store_labels=True``.
    n_iter_ : int
        Number of noisy Lloyd steps, a function of released values.
    privacy_report_ : PrivacyReport
        The bill and the guarantee, and the road that was taken.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    skdp.LloydKMeans : The classical noisy Lloyd algorithm.

    Notes
    -----
    **Privacy**: (epsilon, delta)-differential privacy for adding or removing one row; the number
    of rows is private. Every release is Gaussian, so the costs add up in mu^2 exactly. Not private:
    labels, distances and scores of the training rows, and parameters that were chosen by looking at
    the data. Proofs: user guide "Accounting" and "Clustering".

    Centres take no ``denoiser``: they are noisy sums over noisy counts, whose noise has no exact
    law, and clusters that were told apart are far from one another in units of that noise, so that
    shrinking them to each other gains next to nothing. User guide "Denoising".

    References
    ----------
    .. [1] Tsfadia, Cohen, Kaplan, Mansour, Stemmer. "FriendlyCore: Practical differentially
       private aggregation". ICML 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import FriendlyCoreKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2)) + rng.choice([-1e3, 0.0, 1e3], size=(6000, 1))
    >>> kmeans = FriendlyCoreKMeans(3, epsilon=1.0, delta=1e-6).fit(X)
    >>> centers = np.sort(kmeans.cluster_centers_[:, 0])
    >>> bool(np.abs(centers - [-1e3, 0.0, 1e3]).max() < 1)
    True
    """

    _parameter_constraints: dict = {
        **PrivateEstimator._parameter_constraints,
        **PublicPlace._place_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"auto", "density", "friendly"})],
        "n_parts": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "store_labels": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        epsilon=1.0,
        delta=1e-6,
        bounds=None,
        method="auto",
        n_parts="auto",
        n_init=30,
        store_labels=False,
        n_jobs=None,
        center=None,
        radius=None,
        random_state=None,
        ledger=None,
    ):
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.method = method
        self.n_parts = n_parts
        self.n_init = n_init
        self.store_labels = store_labels
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
        if self.method == "density":
            return Plan(budget, density_steps())
        steps, events = friendly_road_steps(
            budget, self.n_clusters, label="friendly", at_most=FRIENDLY
        )
        return Plan(budget, (*density_steps(), *steps), events)

    def _check_public(self, n_features):
        self._place(n_features)
        if self.method == "density" and self.n_parts != "auto":
            raise ValueError(
                'n_parts is for the friendly road, which method="density" does not take. Leave it '
                'out, or use method="friendly".'
            )

    def _release(self, rows, curator):
        given, seed = rows, public_seed(self.random_state)
        place, rows = self._placed(given)
        located = find_places(rows, curator, self.n_clusters, place=place)
        centers, known = self._friendly(rows, curator, located, seed), {}
        if centers is None:
            start = density_centers(
                rows, curator, located, self.n_clusters, n_init=self.n_init, seed=seed
            )
            located, centers, known = start.places, start.centers, start.known
        done = refine(rows, curator, located, centers, **known)
        fitted = {
            "cluster_centers_": done.centers,
            "cluster_sizes_": done.counts,
            "noise_scale_": done.noise_scale,
            "cluster_radii_": done.radii,
            "n_iter_": done.n_steps,
        }
        if self.store_labels:
            fitted["_labels"] = LocalLabels.of(given, done.centers)
        return fitted

    def _friendly(self, rows, curator, located, seed):
        """Return the centres of the friendly road, or None where it was not taken or failed."""
        if self.method == "density":
            return None
        road = replace(curator.budget, amount=curator.budget.amount * FRIENDLY)
        choice = parts_for(located.n_rows, road, self.n_clusters, rows.n_features)
        if choice is None and self.method == "auto":
            curator.decide(DENSITY)
            return None
        n_parts, gamma = choice or (PARTS, 1 / 7)
        centers = friendly_centers(
            rows,
            curator.child("friendly", FRIENDLY),
            self.n_clusters,
            n_parts=n_parts if self.n_parts == "auto" else self.n_parts,
            center=located.center,
            radius=located.radius,
            gamma=gamma,
            seed=seed,
            n_jobs=self.n_jobs,
        )
        curator.decide(FAILED if centers is None else TAKEN)
        return centers
