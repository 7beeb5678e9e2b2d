"""Plots of private histograms."""

from dataclasses import dataclass

import numpy as np

from skdp.show._display import Display

__all__ = ["HistogramDisplay"]

DAY = np.timedelta64(1, "D")


@dataclass(frozen=True, repr=False)
class HistogramDisplay(Display):
    """Plot of a histogram over one or two columns.

    Make one with :meth:`from_estimator` or ``PrivateHistogram.plot``.

    Parameters
    ----------
    counts : ndarray of shape (n_bins,) or (n_bins_0, n_bins_1)
    edges : list of ndarray
        Edges, or categories where there are as many as counts.
    names : list of str
        Names of the columns.
    lower, upper : ndarray or None, default=None
        Ends of the intervals that are shown.
    figure_ : matplotlib Figure or None, default=None
        Set by :meth:`plot`.
    ax_ : matplotlib Axes or None, default=None
        Set by :meth:`plot`.

    See Also
    --------
    skdp.PrivateHistogram

    Notes
    -----
    **Privacy**: it shows released values only, so looking costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateHistogram
    >>> from skdp.denoising import HistogramDisplay
    >>> X = np.random.default_rng(0).uniform(size=(1000, 1))
    >>> histogram = PrivateHistogram(bins=4, range=[(0, 1)]).fit(X)
    >>> display = HistogramDisplay.from_estimator(histogram)
    >>> display.counts.shape
    (4,)
    """

    counts: np.ndarray
    edges: list
    names: list
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, confidence=None):
        """Plot a fitted PrivateHistogram.

        Parameters
        ----------
        estimator : PrivateHistogram
        ax : matplotlib Axes, default=None
        confidence : float, default=None
            Show intervals of this level (one column only).

        Returns
        -------
        display : HistogramDisplay
        """
        columns = [c for c in range(estimator.n_features_in_) if c != estimator.user]
        names = getattr(estimator, "feature_names_in_", None)
        names = [f"column {c}" if names is None else str(names[c]) for c in columns]
        lower, upper = (None, None) if confidence is None else estimator.interval(confidence)
        edges = [np.asarray(own) for own in estimator.edges_]
        names = [
            f"{name} (days)" if own.dtype.kind == "m" else name
            for name, own in zip(names, edges, strict=True)
        ]
        edges = [own / DAY if own.dtype.kind == "m" else own for own in edges]
        return cls(estimator.counts_, edges, names, lower, upper).plot(ax)

    def _size(self):
        if self.counts.ndim > 2:
            raise ValueError(
                f"histograms over one or two columns can be plotted, this one has "
                f"{self.counts.ndim}. Plot counts_.sum(axis=...) instead."
            )

    def _draw(self, ax):
        if self.counts.ndim == 1:
            self._bars(ax)
        else:
            self._map(ax)

    def _bars(self, ax):
        edges = _edges(self.edges[0], self.counts.size)
        ax.stairs(self.counts, edges, fill=True, alpha=0.6)
        if self.lower is not None:
            middle = edges[:-1] + np.diff(edges) / 2
            ax.vlines(middle, self.lower, self.upper, color="black", lw=1)
        ax.set_xlabel(self.names[0])
        ax.set_ylabel("count")

    def _map(self, ax):
        x, y = (_edges(e, n) for e, n in zip(self.edges, self.counts.shape, strict=True))
        image = ax.pcolormesh(x, y, self.counts.T)
        ax.figure.colorbar(image, ax=ax, label="count")
        ax.set_xlabel(self.names[0])
        ax.set_ylabel(self.names[1])


def _edges(values, n):
    """Return edges; categories are drawn one unit apart."""
    return np.arange(n + 1) - 0.5 if len(values) == n else values
