"""FriendlyCoreKMeans, the estimator."""

from functools import partial
from numbers import Integral, Real

from skdp.accounting import Budget, Plan
from skdp.cluster._base import CentersMixin, LocalLabels, public_centers, rule_of_clusters
from skdp.cluster._density import DENSITY_STEPS, density_road
from skdp.cluster._locate import LOCATE_STEPS, PublicBoundsMixin
from skdp.cluster._outlying_groups import PLACES_STEPS, release_ball_cover
from skdp.cluster._refine import MOST_STEPS, REFINE_STEPS, refine
from skdp.cluster._synopsis import cost_curve, number_in_places
from skdp.estimator._estimator import PrivateEstimator
from skdp.kernel._table import annex
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import public_seed, stores_parameters
from skdp.utils._renamed import Renamed

STARTS = 30  # of k-means on released cells
MODERATE = 8  # clusters that the search is made for if their number is not known
CHOSEN = "number of clusters: read off the released cells"
FULL = "number of clusters: max_clusters, there may be more"
ONE = (
    "no gaps between groups were found: all rows are one cluster. To divide them pass a number,"
    " say n_clusters=4; cost_curve_ helps to choose"
)


class FriendlyCoreKMeans(CentersMixin, PublicBoundsMixin, PrivateEstimator):
    """K-means clustering under differential privacy, without bounds on the data.

    A drop-in for :class:`sklearn.cluster.KMeans`. It finds where the rows lie and where they are
    dense, by a noisy tree of counts, in the leading directions if there are more than three
    columns; k-means on the cells of the tree gives centres, and noisy Lloyd steps move them. In
    these every cluster has a clip radius of its own: noise is in proportion to the cluster, not to
    the space.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        The number of clusters and of centres, k. ``"auto"`` reads it off the released cells, which
        costs no budget: see Notes.
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
        The road to the centres. ``"auto"`` is ``"density"``, as above. ``"friendly"`` is that of
        the FriendlyCore paper [1]_: k-means on hundreds of random parts of the table, and one tuple
        of centres on which most of them agree. It takes hundreds of thousands of rows, and finds no
        better centres; if the parts do not agree it ends on the density road with what is left of
        the budget, and ``privacy_report_`` tells.
    n_parts : "auto" or int, default="auto"
        Parts for the friendly road, from 2 on; ``"auto"`` takes as many as the budget asks for.
    max_clusters : int, default=20
        The most clusters that ``n_clusters="auto"`` takes, and the length of ``cost_curve_``.
    init : {"k-means++"} or array-like of shape (n_clusters, n_features), default="k-means++"
        How k-means on released cells starts. Or public centres: then nothing is searched for but
        the ball that holds the rows, and the whole budget refines them. Must not be computed from
        X.
    n_init : "auto" or int, default="auto"
        Starts of k-means on released cells, 30 for ``"auto"``. Costs time, and no budget.
    max_iter : int, default=300
        Upper bound of the number of noisy Lloyd steps. As every step costs budget, one to twelve
        are taken; how many is decided from released values.
    tol : float, default=1e-4
        Ignored: steps end where centres move by no more than their noise.
    verbose : int, default=0
        Ignored: a fit prints nothing; ``privacy_report_`` has what may be told.
    copy_x : bool, default=True
        Ignored: X is never changed.
    algorithm : {"lloyd", "elkan"}, default="lloyd"
        Ignored: both are the same steps. This and the three parameters above are there for code
        that was written for KMeans.
    store_labels : bool, default=False
        Keep ``labels_`` of the training rows in memory. They are not private, and are lost when
        the estimator is pickled or copied.
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
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The released centres, always finite; dates of columns of dates.
    n_clusters_ : int
        The number of clusters: ``n_clusters``, or the number that was chosen.
    cost_curve_ : ndarray of shape (max_clusters,)
        Only with ``n_clusters="auto"``: estimates of the inertia that k-means with 1, 2, ...
        clusters would have, from released values. For an elbow plot,
        :class:`skdp.inspection.ElbowDisplay`.
    cluster_sizes_ : ndarray of shape (n_clusters,)
        Released estimates of the numbers of rows, at least 1. With ``groups`` a group counts as one
        at most, a row of it as its part, here and in ``inertia_``.
    noise_scale_ : ndarray of shape (n_clusters,)
        Standard deviation of the privacy noise in each entry of a centre, infinite for a centre
        that was never more than a guess. A column that is far narrower than others drowns in it:
        ``privacy_report_.decisions`` numbers it. Four and more centres are shrunk to their mean
        in each column, which makes less of the noise. It does not tell what clipping takes where
        many rows lie beyond ``cluster_radii_``, nor that another start might have found better
        clusters.
    cluster_radii_ : ndarray of shape (n_clusters,)
        Radii to which rows were clipped around their centre in the last step.
    inertia_ : float
        Released estimate of the sum of squared distances of the rows to their centres: what
        k-means minimises. Rows that were left out as outliers are not in it, and distances are
        clipped near ``cluster_radii_``. NaN where it is not known: it does not stand out of its
        noise, or rows far out that are too few to be seen may cost more than all others.
    inertia_noise_scale_ : float
        Standard deviation of the noise of ``inertia_``. Where centres are guesses, in
        ``noise_scale_``, the estimate is as rough as they are.
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

    **The number of clusters.** The released cells say roughly what k-means with any number of
    clusters would cost, and looking at them is free. ``n_clusters="auto"`` divides them into
    ``max_clusters`` groups, drops those that do not stand out of the noise, joins two groups as
    long as one normal law describes them nearly as well as two and the labels
    (:func:`skdp.cluster._synopsis.number_of_clusters`), and gives diffuse rows between clusters to
    the nearest. Equal clusters are told apart from about five standard deviations between their
    centres on; one normal or uniform cloud is one cluster. Cells are cubes in units of the table:
    clusters that are far thinner along one column than along others may count as one. The search
    is made for a moderate number of clusters, so many small ones are found more surely if
    their number is given. Where groups shade into one another the number is as much that of the
    noise as of the rows, and changes from fit to fit, with raw columns of long tails from 1 to 12:
    take logarithms or divide the columns by their scales first, look at ``cost_curve_``, and pass a
    number. Where no gaps are found and the number is 1, ``accuracy_warnings_`` says so.

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
    >>> FriendlyCoreKMeans("auto", epsilon=1.0, delta=1e-6).fit(X).n_clusters_ in (3, 4, 5)
    True
    """

    _weighs_groups = property(lambda self: self.method != "friendly")
    inertia_noise_ = Renamed("inertia_noise_scale_")
    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        **PublicBoundsMixin._place_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "method": [StrOptions({"auto", "density", "friendly"})],
        "n_parts": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"})],
        "max_clusters": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"k-means++"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"lloyd", "elkan"})],
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
        method="auto",
        n_parts="auto",
        max_clusters=20,
        init="k-means++",
        n_init="auto",
        max_iter=300,
        tol=1e-4,
        verbose=0,
        copy_x=True,
        algorithm="lloyd",
        store_labels=False,
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
        if self._is_started():
            return Plan(budget, (*LOCATE_STEPS, *PLACES_STEPS, *REFINE_STEPS))
        if self.method != "friendly":
            return Plan(budget, DENSITY_STEPS)
        from skdp.cluster.friendly._strategy import kmeans_road_steps

        self._check_road()
        steps, events = kmeans_road_steps(budget, self.n_clusters)
        return Plan(budget, (*DENSITY_STEPS, *steps), events)

    def _is_started(self):
        return not isinstance(self.init, str)

    def _check_public(self, n_features):
        self._place(n_features)
        self._check_road()
        if self._is_started():
            public_centers("init", self.init, (self.n_clusters, n_features))

    def _check_road(self):
        if self.method != "friendly" and self.n_parts != "auto":
            raise ValueError(
                f"n_parts is for the friendly road, which method={self.method!r} does not take. "
                'Leave it out, or use method="friendly".'
            )
        if self.n_clusters != "auto":
            return
        if self.method == "friendly":
            raise ValueError(
                'method="friendly" needs n_clusters: the parts of the table cannot agree on a '
                'number. Pass a number, or use method="auto".'
            )
        if self._is_started():
            raise ValueError(
                'init gives the centres, and n_clusters="auto" would choose their number. Pass '
                "n_clusters=len(init)."
            )

    def _group_rule(self, n_features):
        k = self.max_clusters if self.n_clusters == "auto" else self.n_clusters
        return rule_of_clusters(k, n_features)

    def _release(self, table):
        place, inner = self._placed(table)
        seed = public_seed(self.random_state)
        auto = self.n_clusters == "auto"
        k = self.max_clusters if auto else self.n_clusters
        careful = self.method != "friendly"  # whose road has a fixed share
        located = release_ball_cover(inner, k, place=place, careful=careful)
        steps = min(self.max_iter, MOST_STEPS)
        centers, curve = self._start(inner, located, seed), None
        if centers is not None:
            done = refine(inner, located, centers, max_steps=steps)
        else:
            n_init = STARTS if self.n_init == "auto" else self.n_init
            choose = partial(number_in_places, most=k, n_init=n_init, seed=seed) if auto else None
            done, start = density_road(
                inner, located, min(k, MODERATE) if auto else k,
                n_init=n_init, seed=seed, max_steps=steps, choose=choose,
            )  # fmt: skip
            if auto:
                table.decide(FULL if len(start.centers) == k else CHOSEN)
                curve = cost_curve(start.places, start.found, k, seed=seed)
                if len(done.centers) == 1 < k:
                    table.doubt(ONE)
        fitted = {
            "cluster_centers_": done.centers,
            "n_clusters_": len(done.centers),
            "cluster_sizes_": done.counts,
            "noise_scale_": done.noise_scale,
            "cluster_radii_": done.radii,
            "inertia_": done.inertia,
            "inertia_noise_scale_": done.inertia_noise,
            "n_iter_": done.n_steps,
        }
        if curve is not None:
            fitted["cost_curve_"] = curve
        if self.store_labels:
            fitted["_labels"] = LocalLabels.of(table, done.centers)
        return fitted

    def _start(self, table, located, seed):
        """Return public centres, or those of the friendly road; None if there are none."""
        k, d = self.n_clusters, table.n_features
        if self._is_started():
            return public_centers("init", self.init, (k, d))
        if self.method != "friendly":
            return None
        from skdp.cluster.friendly._strategy import friendly_kmeans

        rows, curator = annex(table)  # parts are made by keys, and asked by an oracle
        return friendly_kmeans(
            rows, curator, located, k, n_parts=self.n_parts, seed=seed, n_jobs=self.n_jobs
        )
