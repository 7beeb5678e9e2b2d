"""Plots of the terms of an additive model."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from skdp.scales._column_noise import check_confidence
from skdp.show._display import pyplot

COLUMNS = 3
MOST_EDGES, MOST_LEVELS = 5, 18  # that are written below a term
LONG = 12  # letters of a level
SAME = 1e-12  # parts of the largest edge: edges that are written alike
CROWDED = 3  # levels for each one that is written, beyond which the last two share a place
PLAIN = 1e6  # numbers below are written without exponents
ROOM = 0.15  # beyond the terms: bands of cells that hold few rows end there


@dataclass(frozen=True, repr=False)
class TermsDisplay:
    """Plots of the terms of an additive model, side by side, with bands for the noise.

    Make one with :meth:`from_estimator`, or with the method ``plot`` of an additive model. The
    cells of a feature are drawn equally wide: about as many rows lie in each. Cells of a numeric
    feature make steps, and the numbers between them are written below; categories, and missing
    entries, are points. What a line adds to the steps is drawn beside them, dashed. All share one
    scale, that of the terms and lines: bands that reach further are cut off.

    Parameters
    ----------
    terms : list of ndarrays of shape (n_cells,) or (n_cells, n_classes)
        What a feature adds to the score of a row in each of its cells.
    half_widths : list of ndarrays of the same shapes
        Of the bands.
    cells : list
        Of each feature the edges of its bins, an array of floats, or the names of its categories, a
        list of str.
    names : list of str
        Of the features.
    classes : list of str, default=()
        Names of the classes if there are several terms for each feature.
    ylabel : str, default=""
        What is added up.
    lines : list of ndarrays, default=()
        Of each feature what a line adds at the edges of its bins; empty where there is none.
    figure_ : matplotlib Figure or None, default=None
        Set by :meth:`plot`.
    axes_ : ndarray of matplotlib Axes or None, default=None
        Set by :meth:`plot`: one for each feature.

    See Also
    --------
    skdp.PrivateAdditiveClassifier, skdp.PrivateAdditiveRegressor

    Notes
    -----
    **Privacy**: it shows released values only, so looking costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.additive import TermsDisplay
    >>> term = np.array([-1.0, 0.5, 1.0, 0.0])  # of three bins, and of missing entries
    >>> display = TermsDisplay([term], [term * 0 + 0.1], [np.array([20.0, 40.0])], ["age"]).plot()
    >>> display.axes_[0].get_title()
    'age'
    """

    terms: list
    half_widths: list
    cells: list
    names: list
    classes: tuple = ()
    ylabel: str = ""
    lines: tuple = ()
    figure_: Any = None
    axes_: Any = None

    @classmethod
    def from_estimator(cls, estimator, *, features=None, confidence=0.95, axes=None):
        """Plot the terms of a fitted additive model.

        Parameters
        ----------
        estimator : PrivateAdditiveClassifier or PrivateAdditiveRegressor
        features : list of int or str, default=None
            Which features, by number or name. None: all.
        confidence : float, default=0.95
            Probability with which a band covers what a cell would have without noise.
        axes : sequence of matplotlib Axes, default=None
            One for each feature; a new figure by default.

        Returns
        -------
        display : TermsDisplay
        """
        check_confidence(confidence)
        names = names_of(estimator)
        at = range(len(names)) if features is None else [place_of(f, names) for f in features]
        return cls._of(estimator, at, float(ndtri((1 + confidence) / 2))).plot(axes)

    @classmethod
    def _of(cls, estimator, at, width):
        """Return the display of features ``at``, whose bands are ``width`` sd of the noise wide."""
        names, terms = names_of(estimator), [estimator.terms_[j] for j in at]
        several = any(term.ndim == 2 for term in terms)
        return cls(
            terms=terms,
            half_widths=[width * estimator.term_noise_scale_[j] for j in at],
            cells=[cells_of(estimator, j) for j in at],
            names=[names[j] for j in at],
            classes=tuple(map(str, estimator.classes_)) if several else (),
            ylabel=estimator._term_unit(),
            lines=tuple(_line_of(estimator, j) for j in at),
        )

    def plot(self, axes=None):
        """Draw on ``axes`` or a new figure.

        Parameters
        ----------
        axes : sequence of matplotlib Axes, default=None
            One for each feature.

        Returns
        -------
        display : TermsDisplay
            This one with ``axes_`` and ``figure_``.
        """
        plt = pyplot()

        n = len(self.terms)
        if not n:
            raise ValueError("there are no terms to draw. Name at least one feature.")
        if axes is None:
            columns = min(n, COLUMNS)
            rows = -(-n // columns)
            _, grid = plt.subplots(
                rows,
                columns,
                figsize=(3.4 * columns, 2.6 * rows),
                sharey=True,
                squeeze=False,
                layout="constrained",
            )
            for ax in grid.ravel()[n:]:
                ax.set_visible(False)
            axes = grid.ravel()[:n]
            for ax in grid[:, 0]:
                ax.set_ylabel(self.ylabel)
        axes = np.ravel(np.asarray(axes, dtype=object))
        if len(axes) != n:
            raise ValueError(f"axes must hold one for each of {n} features.")
        drawn = [*self.terms, *(line for line in self.lines if len(line))]
        low, high = (end(list(map(end, drawn))) for end in (np.min, np.max))
        room = ROOM * max(high - low, np.finfo(float).tiny)
        for j, ax in enumerate(axes):
            self._draw(ax, j)
            ax.set_ylim(low - room, high + room)
        if self.classes:
            axes[0].legend(title="class", fontsize="small")
        return replace(self, axes_=axes, figure_=axes[0].figure)

    def _draw(self, ax, j):
        term, half = np.atleast_2d(self.terms[j].T), np.atleast_2d(self.half_widths[j].T)
        half = np.where(np.isfinite(half), half, 0.0)
        named = isinstance(self.cells[j], list)
        line = 0 if named else term.shape[1] - 1  # cells that lie in an order
        for k, (value, band) in enumerate(zip(term, half, strict=True)):
            style = {"color": f"C{k % 10}"}
            label = self.classes[k] if self.classes else None
            if line:
                edges = np.arange(line + 1)
                low, high = (value - band)[:line], (value + band)[:line]
                ax.stairs(high, edges, baseline=low, fill=True, alpha=0.2, **style)
                ax.stairs(value[:line], edges, baseline=None, lw=1.5, label=label, **style)
                label = None
            shift = (k - (len(term) - 1) / 2) * 0.5 / len(term)
            places = np.arange(line, len(value)) + 0.5 + shift + 0.5 * bool(line)
            ax.vlines(places, *(value + [[-1], [1]] * band)[:, line:], lw=3, alpha=0.2, **style)
            ax.plot(places, value[line:], "o", ms=4, label=label, **style)
        if self.lines and len(self.lines[j]):
            places = np.arange(1, len(self.lines[j]) + 1)
            ax.plot(places, self.lines[j], "--", color="black", lw=1, label="line")
        ax.axhline(0, color="black", lw=0.5)
        ax.set_title(self.names[j], fontsize="medium")
        if named:
            _level_ticks(ax, self.cells[j])
        else:
            _edge_ticks(ax, self.cells[j], line)


def _level_ticks(ax, levels):
    places, texts = level_ticks(levels)
    rotation = 90 if sum(map(len, texts)) > 20 else 0
    ax.set_xticks(places, texts, rotation=rotation, fontsize="small")


def level_ticks(levels):
    """Return where names of categories are written, and how; the last are of all others."""
    n, step = len(levels) - 2, -(-len(levels) // MOST_LEVELS)  # "other" and "missing" are last
    shown = np.append(np.arange(0, max(n - step // 2, 1), step), [n, n + 1]) if n else np.arange(2)
    names = [levels[i] for i in shown]
    texts = [x if len(x) <= LONG else x[: LONG - 1] + "…" for x in names]
    if len(set(texts)) < len(texts):  # the ends may differ where the starts do not
        half = LONG // 2
        texts = [x if len(x) <= LONG else f"{x[: half - 1]}…{x[-half:]}" for x in names]
    if step > CROWDED:
        shown, texts = shown[:-1], [*texts[:-2], "other, missing"]
    return shown + 0.5, texts


def _edge_ticks(ax, edges, line):
    places, texts = edge_ticks(edges)
    turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len(texts) > 2 else {}
    ax.set_xticks([*places, line + 1], [*texts, "missing"], fontsize="small", **turned)


def edge_ticks(edges):
    """Return where edges of bins are written, and how."""
    shown = np.unique(np.linspace(0, len(edges) - 1, min(len(edges), MOST_EDGES)).astype(int))
    return (list(shown + 1), _short(edges[shown])) if len(edges) else ([], [])


def _short(numbers):
    """Return texts of rising numbers, or of dates, as short as those that differ may be."""
    if numbers.dtype.kind in "mM":
        days = numbers.astype(f"{numbers.dtype.kind}8[D]")
        return list(map(str, days if len(set(days)) == len(days) else numbers))
    size = np.abs(numbers).max()
    fewest = max(3, len(f"{size:.0f}")) if size < PLAIN else 3
    same = np.diff(numbers) <= SAME * size  # the last float before a number, and that number
    for digits in range(fewest, 18):
        texts = [f"{x:.{digits}g}" for x in numbers]
        if all(
            one != other or alike for one, other, alike in zip(texts, texts[1:], same, strict=False)
        ):
            break
    return texts


def names_of(estimator):
    """Return the names of the columns."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"feature {j}" for j in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def place_of(feature, names):
    """Return the number of a column, by number or name."""
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, int | np.integer) and -len(names) <= feature < len(names):
        return int(feature) % len(names)
    raise ValueError(f"features must be numbers or names of columns of X. Got {feature!r}.")


def _line_of(estimator, j):
    """Return what a line adds at the edges of the bins of a feature."""
    edges, slope = vars(estimator)["bin_edges_"][j], getattr(estimator, "coef_", np.zeros(j + 1))[j]
    if not slope:
        return np.empty(0)
    centre, (low, high) = estimator.line_center_[j], estimator.feature_range_[:, j]
    return (np.clip(edges, low, high) - centre) * slope


def cells_of(estimator, j):
    """Return the edges of the bins of a column, or the names of its categories."""
    levels = estimator.categories_[j]
    if levels is None:
        return estimator.bin_edges_[j]
    return [*map(str, levels), "other", "missing"]
