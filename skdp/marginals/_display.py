"""Plots of private tables."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skdp.show._display import Display

MOST_NUMBERS = 150
LUMINANCE = (0.299, 0.587, 0.114)


@dataclass(frozen=True, repr=False)
class MarginalDisplay(Display):
    """Plot of the table of one or two columns.

    Make one with :meth:`from_estimator` or ``MarginalReleaser.plot``.

    Parameters
    ----------
    table : ndarray of shape (L_0,) or (L_0, L_1)
        Estimated counts.
    labels : list of tuple
        What the levels of every column are called.
    names : list of str
        Names of the columns.
    noise_scale : float or ndarray of shape (n_levels,), default=None
        Standard deviation of a count, drawn as error bars of a single column.
    figure_ : matplotlib Figure or None, default=None
        Set by :meth:`plot`.
    ax_ : matplotlib Axes or None, default=None
        Set by :meth:`plot`.
    im_ : matplotlib QuadMesh or None, default=None
        Set by :meth:`plot` for two columns.

    See Also
    --------
    skdp.MarginalReleaser

    Notes
    -----
    **Privacy**: it shows released values only, so looking costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.marginals import MarginalDisplay
    >>> display = MarginalDisplay(np.array([30.0, 70.0]), [("no", "yes")], ["smokes"]).plot()
    >>> len(display.ax_.patches)
    2
    """

    table: np.ndarray
    labels: list
    names: list
    noise_scale: float | np.ndarray | None = None
    im_: Any = field(default=None, kw_only=True)

    @classmethod
    def from_estimator(cls, estimator, columns, *, ax=None, **plot_params):
        """Plot a table of a fitted MarginalReleaser.

        Parameters
        ----------
        estimator : MarginalReleaser
        columns : str, int or list of them
            One or two columns of a table of the workload.
        ax : matplotlib Axes, default=None
            A new figure by default.
        **plot_params : dict
            Further arguments of :meth:`plot`.

        Returns
        -------
        display : MarginalDisplay
        """
        places = estimator.domain_.place(columns)
        names = [str(estimator.domain_.names[place]) for place in places]
        labels = [estimator.domain_.labels[place] for place in places]
        table = estimator.marginal(columns, as_frame=False)
        return cls(table, labels, names, estimator.cell_scale(columns)).plot(ax, **plot_params)

    def plot(self, ax=None, *, numbers=None, colorbar=True, cmap="viridis", **map_params):
        """Draw on ``ax`` or a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        numbers : bool, default=None
            Whether to write the counts into the cells of a map. None: if there are few of them.
        colorbar : bool, default=True
            Whether a map has a colour bar.
        cmap : str or matplotlib Colormap, default="viridis"
            Colours of a map.
        **map_params : dict
            Further arguments of ``pcolormesh``, such as ``norm``.

        Returns
        -------
        display : MarginalDisplay
            With ``ax_``, ``figure_`` and ``im_``.
        """
        return self._plot(ax, numbers=numbers, colorbar=colorbar, cmap=cmap, **map_params)

    def _size(self):
        if self.table.ndim > 2:
            raise ValueError(
                f"tables of one or two columns can be plotted, this one has {self.table.ndim}. "
                "Name two of its columns: their table is released too."
            )

    def _draw(self, ax, numbers, colorbar, **map_params):
        if self.table.ndim == 1:
            return self._bars(ax)
        few = self.table.size <= MOST_NUMBERS
        im = self._map(ax, few if numbers is None else numbers, **map_params)
        if colorbar:
            ax.figure.colorbar(im, ax=ax, label="count")
        return {"im_": im}

    def _bars(self, ax):
        places = np.arange(self.table.size)
        ax.bar(places, self.table, yerr=self.noise_scale, color="C0", alpha=0.7, ecolor="black")
        _ticks(ax.xaxis, self.labels[0])
        ax.set(xlabel=self.names[0], ylabel="count")

    def _map(self, ax, numbers, **map_params):
        im = ax.pcolormesh(self.table, **map_params)
        for (i, j), count in np.ndenumerate(self.table) if numbers else ():
            bright = np.dot(im.cmap(im.norm(count))[:3], LUMINANCE) > 0.5
            style = {"ha": "center", "va": "center", "color": "black" if bright else "white"}
            ax.text(j + 0.5, i + 0.5, f"{count:,.0f}", size=7, **style)
        _ticks(ax.yaxis, self.labels[0], 0.5)
        _ticks(ax.xaxis, self.labels[1], 0.5)
        ax.invert_yaxis()
        ax.set(xlabel=self.names[1], ylabel=self.names[0])
        return im


def _ticks(axis, labels, offset=0.0):
    axis.set_ticks(np.arange(len(labels)) + offset, [str(label) for label in labels])
    if axis.axis_name == "x" and sum(len(str(label)) for label in labels) > 30:
        axis.set_tick_params(labelrotation=90)
