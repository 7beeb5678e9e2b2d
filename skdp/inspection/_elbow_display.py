"""What any number of clusters would cost, from released values."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.show._display import Display

__all__ = ["ElbowDisplay"]


@dataclass(frozen=True, repr=False)
class ElbowDisplay(Display):
    """Plot of the cost of k-means against the number of clusters, and the number that was chosen.

    Make one with :meth:`from_estimator`. It shows released values only: looking costs no budget,
    and the picture may be published.

    Parameters
    ----------
    costs : ndarray of shape (max_clusters,)
        Estimated costs of 1, 2, ... clusters.
    n_clusters : int
        The number that was chosen.
    name : str, default="estimator"
        Of the estimator.
    figure_ : matplotlib Figure or None, default=None
        Set by :meth:`plot`.
    ax_ : matplotlib Axes or None, default=None
        Set by :meth:`plot`.

    See Also
    --------
    skdp.FriendlyCoreKMeans

    Notes
    -----
    **Privacy**: it shows released values only, so looking costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.inspection import ElbowDisplay
    >>> display = ElbowDisplay(costs=np.array([9.0, 2.0, 1.8]), n_clusters=2).plot()
    >>> display.ax_.get_xlabel()
    'number of clusters'
    """

    costs: np.ndarray
    n_clusters: int
    name: str = "estimator"

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Plot the cost curve of a clustering that was fitted with ``n_clusters="auto"``.

        Parameters
        ----------
        estimator : fitted estimator with ``cost_curve_``
        ax : matplotlib Axes, default=None
            A new figure by default.

        Returns
        -------
        display : ElbowDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "cost_curve_"):
            raise ValueError(
                f"this {type(estimator).__name__} has no cost_curve_. Fit a FriendlyCoreKMeans "
                'with n_clusters="auto".'
            )
        name = type(estimator).__name__
        return cls(estimator.cost_curve_, estimator.n_clusters_, name).plot(ax)

    def _draw(self, ax):
        from matplotlib.ticker import MaxNLocator

        numbers = np.arange(1, len(self.costs) + 1)
        ax.plot(numbers, self.costs, marker="o", ms=4, label="estimated cost")
        chosen = f"chosen: {self.n_clusters}"
        ax.axvline(self.n_clusters, color="C1", ls="--", label=chosen)
        ax.set(yscale="log", xlabel="number of clusters", ylabel="cost (inertia)")
        ax.set_title(f"{self.name}: what more clusters would save", fontsize="medium")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend()
