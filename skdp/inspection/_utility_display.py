"""What epsilon buys: repeated fits on public rows."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from skdp.exceptions import SeededNoiseWarning, UselessReleaseWarning

__all__ = ["UtilityDisplay"]


@dataclass(frozen=True)
class UtilityDisplay:
    """Plot of a figure of merit against epsilon, over repeated fits on public or synthetic rows.

    Make one with :meth:`from_estimator`.

    Parameters
    ----------
    epsilons : ndarray of shape (n_epsilons,)
    utilities : ndarray of shape (n_epsilons, n_repeats)
        Of every fit.
    name : str, default="estimator"
        Of the estimator.
    metric_name : str, default="score"
        Of what is measured.
    figure_ : matplotlib Figure or None, default=None
        Set by :meth:`plot`.
    ax_ : matplotlib Axes or None, default=None
        Set by :meth:`plot`.

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
    figure_: Any = None
    ax_: Any = None

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
                measure(_fitted(estimator, X_public, y, param_name, epsilon, seed), X_public)
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
        import matplotlib.pyplot as plt

        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        low, high = np.quantile(self.utilities, quantiles, axis=1)
        label = f"{quantiles[0]:.0%} to {quantiles[1]:.0%} of {self.utilities.shape[1]} fits"
        ax.fill_between(self.epsilons, low, high, alpha=0.25, label=label)
        ax.plot(self.epsilons, np.median(self.utilities, axis=1), marker="o", label="median")
        ax.set(xscale="log", xlabel="epsilon", ylabel=self.metric_name)
        ax.set_xticks(self.epsilons, [f"{epsilon:g}" for epsilon in self.epsilons], minor=False)
        ax.minorticks_off()
        ax.set_title(f"{self.name} on rows that must be public or synthetic", fontsize="medium")
        ax.legend()
        return replace(self, ax_=ax, figure_=ax.figure)


def _seeds(random_state, i, n_repeats):
    if random_state is None:
        return [None] * n_repeats
    return [random_state + i * n_repeats + j for j in range(n_repeats)]


def _fitted(estimator, X, y, param_name, epsilon, seed):
    """Return a fitted clone with this epsilon and seed, and without a ledger."""
    copy = clone(estimator)
    names = [(name, name.rpartition("__")[2]) for name in copy.get_params()]
    given = {name: None for name, last in names if last == "ledger"}
    if seed is not None:
        given |= {name: seed for name, last in names if last == "random_state"}
    copy.set_params(**given | {param_name: epsilon})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        warnings.simplefilter("ignore", UselessReleaseWarning)
        return copy.fit(X, y)
