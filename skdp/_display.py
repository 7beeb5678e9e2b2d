"""What displays have in common: they are drawn on given axes, or on those of a new figure."""

from dataclasses import replace

__all__ = ["Display", "pyplot"]


def pyplot():
    """Return ``matplotlib.pyplot``, which is imported when something is drawn.

    Raises
    ------
    ImportError
        If matplotlib is not installed, with the command that installs it.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "pictures need matplotlib, which is not installed. Run pip install 'skdp[plot]'."
        ) from None
    return plt


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
        plt = pyplot()
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
