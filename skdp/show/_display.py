"""What displays have in common: they are drawn on given axes, or on those of a new figure."""

from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["Display", "pyplot"]


def pyplot():
    """Return ``matplotlib.pyplot``, which is imported when something is drawn."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "pictures need matplotlib, which is not installed. Run pip install 'skdp[plot]'."
        ) from None
    return plt


@dataclass(frozen=True, repr=False)
class Display:
    """Base of frozen dataclasses that write ``_draw(ax, **parameters)``."""

    figure_: Any = field(default=None, kw_only=True)
    ax_: Any = field(default=None, kw_only=True)

    def plot(self, ax=None):
        """Draw on ``ax`` or a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : object
            This one with ``ax_`` and ``figure_``.
        """
        return self._plot(ax)

    def _plot(self, ax, **parameters):
        plt = pyplot()
        size = self._size()
        if ax is None:
            ax = plt.subplots(figsize=size, layout="constrained")[1]
        more = self._draw(ax, **parameters) or {}
        return replace(self, ax_=ax, figure_=ax.figure, **more)

    def _size(self):
        """Return width and height of a new figure, None for the usual; refuse what is too much."""
