"""What epsilon and rows buy: repeated fits on public rows."""

from dataclasses import dataclass

import numpy as np

from skdp.planning._expected import fitted_copy
from skdp.show._display import Display


@dataclass(frozen=True, repr=False)
class UtilityDisplay(Display):
    """Plot of a figure of merit against epsilon, over repeated fits on public or synthetic rows.

    Make one with :meth:`from_estimator`, of rows that you have, or with :meth:`from_plan`, of
    made-up tables of several sizes.

    Parameters
    ----------
    epsilons : ndarray of shape (n_epsilons,)
    utilities : ndarray of shape (n_epsilons, n_repeats) or (n_sizes, n_epsilons, n_repeats)
        Of every fit.
    name : str, default="estimator"
        Of the estimator.
    metric_name : str, default="score"
        Of what is measured.
    n_rows : tuple of int, default=()
        Numbers of rows of the tables, if there are several.
    rows : str, default="rows that must be public or synthetic"
        What the rows are.
    figure_ : matplotlib Figure or None, default=None
        Set by :meth:`plot`.
    ax_ : matplotlib Axes or None, default=None
        Set by :meth:`plot`.

    See Also
    --------
    skdp.planning.ExpectedError

    Notes
    -----
    **Privacy**: none. The metric is computed without noise, and nothing is charged. Rows that need
    protection must not be used; an epsilon that was chosen on them is not private either.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateMean
    >>> from skdp.inspection import UtilityDisplay
    >>> X = np.random.default_rng(0).normal(size=(500, 2))  # public
    >>> display = UtilityDisplay.from_estimator(
    ...     PrivateMean(delta=1e-6),
    ...     X,
    ...     epsilons=(0.5, 2.0),
    ...     metric=lambda est, X: -np.abs(est.location_ - X.mean(axis=0)).max(),
    ...     n_repeats=2,
    ...     random_state=0,
    ... )
    >>> display.utilities.shape
    (2, 2)
    """

    epsilons: np.ndarray
    utilities: np.ndarray
    name: str = "estimator"
    metric_name: str = "score"
    n_rows: tuple = ()
    rows: str = "rows that must be public or synthetic"

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X_public,
        y=None,
        *,
        epsilons=(0.1, 0.3, 1.0, 3.0, 10.0),
        metric=None,
        metric_name=None,
        n_repeats=20,
        param_name="epsilon",
        random_state=None,
        ax=None,
    ):
        """Fit clones on public rows, ``n_repeats`` times per epsilon, and plot their utility.

        Parameters
        ----------
        estimator : private estimator, or pipeline that holds some
            Not fitted itself; its ledger, if any, is left out.
        X_public : array-like of shape (n_samples, n_features)
            Public or synthetic rows, of about the number and kind of the private ones.
        y : array-like of shape (n_samples,), default=None
            Passed to ``fit``.
        epsilons : sequence of float, default=(0.1, 0.3, 1.0, 3.0, 10.0)
        metric : callable, default=None
            ``metric(fitted, X_public)`` returns a number. None is ``fitted.score(X_public, y)``.
        metric_name : str, default=None
            For the axis; by default the name of the callable.
        n_repeats : int, default=20
            Fits per epsilon, each with fresh noise.
        param_name : str, default="epsilon"
            Parameter to vary, for instance ``"kmeans__epsilon"`` in a pipeline.
        random_state : int, default=None
            Seed for the noise of all fits, for figures that can be made again.
        ax : matplotlib Axes, default=None
            A new figure by default.

        Returns
        -------
        display : UtilityDisplay
        """
        if metric is None and not hasattr(estimator, "score"):
            raise ValueError(
                f"{type(estimator).__name__} has no score. Pass metric, a function of the fitted "
                "estimator and X_public that returns a number."
            )
        measure = metric or (lambda fitted, X: fitted.score(X, y))
        utilities = [
            [
                measure(
                    fitted_copy(estimator, X_public, y, seed, **{param_name: epsilon}), X_public
                )
                for seed in _seeds(random_state, i, n_repeats)
            ]
            for i, epsilon in enumerate(epsilons)
        ]
        return cls(
            epsilons=np.array(epsilons, dtype=float),
            utilities=np.array(utilities, dtype=float),
            name=type(estimator).__name__,
            metric_name=metric_name or getattr(metric, "__name__", "score"),
        ).plot(ax)

    @classmethod
    def from_plan(
        cls,
        estimator,
        n_rows,
        n_features=None,
        *,
        epsilons=(0.1, 0.3, 1.0, 3.0, 10.0),
        ax=None,
        **parameters,
    ):
        """Plot the error to expect against epsilon, before any data: a curve for each table size.

        Parameters
        ----------
        estimator : PrivateEstimator or PrivatePipeline
            Not fitted itself; its ledger, if any, is left out.
        n_rows : int or sequence of int
            Numbers of rows of the made-up tables.
        n_features : int, default=None
            As in ``expected_error``.
        epsilons : sequence of float, default=(0.1, 0.3, 1.0, 3.0, 10.0)
        ax : matplotlib Axes, default=None
            A new figure by default.
        **parameters : dict
            Further parameters of ``expected_error``: ``family``, ``like``, ``error``, ``n_sims``,
            ``random_state`` and ``group_size``.

        Returns
        -------
        display : UtilityDisplay
        """
        sizes = tuple(np.atleast_1d(n_rows).tolist())
        plans = [
            [estimator.expected_error(n, n_features, epsilon=e, **parameters) for e in epsilons]
            for n in sizes
        ]
        return cls(
            epsilons=np.array(epsilons, dtype=float),
            utilities=np.array([[plan.errors for plan in line] for line in plans]),
            name=type(estimator).__name__,
            metric_name=plans[0][0].measure,
            n_rows=sizes,
            rows=plans[0][0].rows,
        ).plot(ax)

    def plot(self, ax=None, *, quantiles=(0.1, 0.9)):
        """Draw on ``ax`` or a new figure: the median, and a band between two quantiles.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        quantiles : pair of float, default=(0.1, 0.9)

        Returns
        -------
        display : UtilityDisplay
            With ``ax_`` and ``figure_``.
        """
        return self._plot(ax, quantiles=quantiles)

    def _draw(self, ax, quantiles):
        band = f"{quantiles[0]:.0%} to {quantiles[1]:.0%} of {self.utilities.shape[-1]} fits"
        curves = self.utilities if self.n_rows else self.utilities[None]
        names = [f"{n:,} rows" for n in self.n_rows] or ["median"]
        for i, (curve, name) in enumerate(zip(curves, names, strict=True)):
            with np.errstate(invalid="ignore"):  # fits without an error are infinitely wrong
                low, middle, high = np.quantile(curve, [quantiles[0], 0.5, quantiles[1]], axis=1)
            ax.fill_between(self.epsilons, low, high, alpha=0.2, color=f"C{i}", linewidth=0)
            ax.plot(self.epsilons, middle, marker="o", color=f"C{i}", label=name)
        ax.fill_between([], [], alpha=0.2, color="black", linewidth=0, label=band)
        ax.set(xscale="log", xlabel="epsilon", ylabel=self.metric_name)
        if self.n_rows and np.all(self.utilities > 0):
            ax.set_yscale("log")
        ax.set_xticks(self.epsilons, [f"{epsilon:g}" for epsilon in self.epsilons], minor=False)
        ax.set_xticks([], minor=True)
        ax.grid(alpha=0.3)
        ax.set_title(f"{self.name} on {self.rows}", fontsize="medium")
        ax.legend()


def _seeds(random_state, i, n_repeats):
    if random_state is None:
        return [None] * n_repeats
    return [random_state + i * n_repeats + j for j in range(n_repeats)]
