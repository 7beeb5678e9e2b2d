"""Plots of the terms of boosting: curves of features, and heat maps of pairs."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from skdp.additive._terms_display import (
    TermsDisplay,
    cells_of,
    edge_ticks,
    level_ticks,
    names_of,
    place_of,
)
from skdp.scales._column_noise import check_confidence
from skdp.show._display import pyplot

COLUMNS = 3
CROWDED, LONG = 10, 16  # names beside an axis, and their letters
MOST_MAPS = 6  # that are drawn if nobody asks for others


@dataclass(frozen=True, repr=False)
class PairTermsDisplay:
    """Curves of features, and heat maps of pairs of them.

    Make one with :meth:`from_estimator`, or with the method ``plot`` of a boosting model. Cells of
    a feature are drawn equally wide, as in :class:`skdp.additive.TermsDisplay`: numbers between
    bins are written beside them. Red entries raise the score, blue ones lower it, and all heat maps
    have one scale. Entries are hatched where the noise of their own releases could be as large:
    smoothing, which hatches do not count, has made them more certain than that as a rule.

    Parameters
    ----------
    tables : list of ndarrays of shape (n_cells, n_cells)
        What a pair adds to the score of a row, with a row for each cell of its first feature.
    half_widths : list of ndarrays of the same shapes
        Entries that are closer to zero are hatched.
    cells : list of tuples
        Of the two features of each pair the edges of the bins, an array of floats, or the names of
        the categories, a list of str.
    names : list of tuples of str
        Of the two features, and of the class if there are several.
    unit : str, default=""
        What is added up.
    curves : TermsDisplay or None, default=None
        Of single features, drawn first.
    figure_ : matplotlib Figure or None, default=None
        Set by :meth:`plot`.
    axes_ : ndarray of matplotlib Axes or None, default=None
        Set by :meth:`plot`: one for each curve, then one for each heat map.

    See Also
    --------
    skdp.PrivateBoostingClassifier, skdp.PrivateBoostingRegressor

    Notes
    -----
    **Privacy**: it shows released values only, so looking costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.boosting import PairTermsDisplay
    >>> table = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    >>> cells = (np.array([20.0]), np.array([5.0]))  # two bins each, and missing entries
    >>> display = PairTermsDisplay([table], [table * 0 + 0.1], [cells], [("age", "size")]).plot()
    >>> display.axes_[0].get_title()
    'age × size'
    """

    tables: list
    half_widths: list
    cells: list
    names: list
    unit: str = ""
    curves: Any = None
    figure_: Any = None
    axes_: Any = None

    @classmethod
    def from_estimator(cls, estimator, *, features=None, confidence=0.95, axes=None):
        """Plot the terms of a fitted boosting model.

        Parameters
        ----------
        estimator : PrivateBoostingClassifier or PrivateBoostingRegressor
        features : list of int, str or tuple of two of them, default=None
            Which features and pairs, by number or name. None: all features, and the pairs that
            matter most, up to six heat maps.
        confidence : float, default=0.95
            Probability with which a band covers.
        axes : sequence of matplotlib Axes, default=None
            One for each curve, then one for each heat map; a new figure by default.

        Returns
        -------
        display : PairTermsDisplay
        """
        check_confidence(confidence)
        width, names = float(ndtri((1 + confidence) / 2)), names_of(estimator)
        singles, pairs = _chosen(estimator, features, names)
        classes = [()]
        if len(getattr(estimator, "classes_", ())) > 2:
            classes = [(str(label),) for label in estimator.classes_]
        shown = [(at, k) for at in pairs for k in range(len(classes))]
        shown = shown if features is not None else shown[:MOST_MAPS]
        curves = None
        if singles:
            curves = TermsDisplay._of(estimator, singles, width)
        return cls(
            tables=[_of_class(estimator.terms_[at], k) for at, k in shown],
            half_widths=[_of_class(width * estimator.term_noise_scale_[at], k) for at, k in shown],
            cells=[
                tuple(cells_of(estimator, j) for j in estimator.term_features_[at])
                for at, _ in shown
            ],
            names=[
                (*(names[j] for j in estimator.term_features_[at]), *classes[k]) for at, k in shown
            ],
            unit=estimator._term_unit(),
            curves=curves,
        ).plot(axes)

    def plot(self, axes=None):
        """Draw on ``axes`` or a new figure.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            One for each curve, then one for each heat map.

        Returns
        -------
        display : PairTermsDisplay
            This one with ``axes_`` and ``figure_``.
        """
        plt = pyplot()
        n_curves = 0 if self.curves is None else len(self.curves.terms)
        n = n_curves + len(self.tables)
        if not n:
            raise ValueError("there are no terms to draw. Name at least one feature or pair.")
        new = axes is None
        if new:
            columns = min(n, COLUMNS)
            rows = -(-n // columns)
            figsize = 3.6 * columns, 2.8 * rows
            _, grid = plt.subplots(
                rows, columns, figsize=figsize, squeeze=False, layout="constrained"
            )
            axes = grid.ravel()[:n]
            for ax in grid.ravel()[n:]:
                ax.set_visible(False)
        axes = np.ravel(np.asarray(axes, dtype=object))
        if len(axes) != n:
            raise ValueError(f"axes must hold one for each of {n} terms.")
        if n_curves:
            self.curves.plot(axes[:n_curves])
            for ax in axes[:n_curves:COLUMNS] if new else ():
                ax.set_ylabel(self.unit)
        most = max((float(np.abs(table).max()) for table in self.tables), default=1.0) or 1.0
        for at, ax in enumerate(axes[n_curves:]):
            picture = self._draw(ax, at, most)
        if self.tables:
            ax.figure.colorbar(picture, ax=list(axes[n_curves:]), label=self.unit)
        return replace(self, axes_=axes, figure_=axes[0].figure)

    def _draw(self, ax, at, most):
        values, half = self.tables[at].T, self.half_widths[at].T
        picture = ax.pcolormesh(values, cmap="RdBu_r", vmin=-most, vmax=most)
        ax.pcolor(
            np.ma.masked_where(np.abs(values) >= half, values),
            hatch="////",
            facecolor="none",
            edgecolor="0.6",
            linewidth=0,
        )
        (x, y), (first, second, *label) = self.cells[at], self.names[at]
        for set_ticks, cells in ((ax.set_xticks, x), (ax.set_yticks, y)):
            if isinstance(cells, list):
                places, texts = level_ticks(cells)
            else:
                places, texts = edge_ticks(cells)
                places, texts = [*places, len(cells) + 1.5], [*texts, "missing"]
            size = "small" if len(texts) < CROWDED else "xx-small"
            turned = set_ticks == ax.set_xticks and sum(map(len, texts)) > LONG
            set_ticks(places, texts, fontsize=size, rotation=90 if turned else 0)
        ax.set_xlabel(first, fontsize="small")
        ax.set_ylabel(second, fontsize="small")
        ax.set_title(": ".join([f"{first} × {second}", *label]), fontsize="medium")
        return picture


def _of_class(table, k):
    return table[..., k] if table.ndim == 3 else table


def _chosen(estimator, features, names):
    """Return the numbers of features, and the places of the terms of pairs."""
    told = estimator.term_features_
    if features is None:
        return list(range(len(names))), list(range(len(names), len(told)))
    singles, pairs = [], []
    for one in features:
        if isinstance(one, str) or np.ndim(one) == 0:
            singles.append(place_of(one, names))
            continue
        pair = tuple(sorted(place_of(j, names) for j in one))
        if pair not in told:
            raise ValueError(
                f"features has a pair {one!r} without a term. Pairs that have one are in "
                "term_features_."
            )
        pairs.append(told.index(pair))
    return singles, pairs
