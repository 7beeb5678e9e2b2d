"""What displays have in common: they are drawn on given axes, or on those of a new figure."""

from dataclasses import replace

__all__ = ["Display"]


class Display:
    """Base of frozen dataclasses with ``figure_`` and ``ax_`` that write ``_draw(ax)``."""

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
        import matplotlib.pyplot as plt

        size = self._size()
        if ax is None:
            ax = plt.subplots(figsize=size, layout="constrained")[1]
        self._draw(ax)
        return replace(self, ax_=ax, figure_=ax.figure)

    def _size(self):
        """Return width and height of a new figure, None for the usual ones.

        Raises
        ------
        ValueError
            For what cannot be drawn.
        """
