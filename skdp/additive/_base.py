"""What additive models of classes and of numbers share: features as cells, terms, and plots."""

from numbers import Integral

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted, validate_data

from skdp.accounting import Step
from skdp.additive._cycles import CYCLE_STEPS
from skdp.additive._rules import BINS_OF_FEW, ROW_COUNT, rule_of_terms, share_of_labels
from skdp.additive._terms_display import TermsDisplay
from skdp.estimator._estimator import PrivateEstimator
from skdp.estimator._mixins import MixedColumns, WeightsMixin
from skdp.kernel._cells import Held, cell_numbers
from skdp.kernel._lattice import Targets
from skdp.kernel._sums import Count
from skdp.readers._calendar import Dated
from skdp.readers._columns import has_text, read_columns
from skdp.scales._bins import bin_steps, find_bins
from skdp.scales._column_noise import check_confidence
from skdp.table._levels import Coding, Selection, coded_columns
from skdp.table._schema import numbers_of_dates
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._renamed import Renamed

TEXT = (
    "a column that had numbers in fit has text, which would count as missing. Convert it, for "
    "instance X.astype({'age': float})."
)
COUNT = Step("row count", at_most=ROW_COUNT, of=(Count,))
HELD = (
    "memory: of a table in memory numbers and cells are held during the fit, ten bytes for each "
    "entry, each of the two if it takes at most 256 MB; else, and of sources, rows are read anew "
    "for every feature and cycle"
)


class AdditiveModel(MixedColumns, WeightsMixin, PrivateEstimator):
    """Base of additive models.

    A subclass has the parameters ``categories``, ``n_bins`` and ``n_cycles``.
    """

    _weighs_groups = True

    bin_edges_ = Dated()
    term_noise_ = Renamed("term_noise_scale_")
    n_cycles_ = Renamed("n_iter_")
    _parameter_constraints: dict = {
        **PrivateEstimator._row_constraints,
        "categories": [dict, list, tuple, None],
        "n_bins": [Interval(Integral, 2, 4096, closed="both"), StrOptions({"auto"})],
        "n_cycles": [Interval(Integral, 1, 100, closed="both"), StrOptions({"auto"})],
    }

    def _group_rule(self, n_features):
        return rule_of_terms(n_features - 1)

    def _common_steps(self):
        """Return the steps of a plan that all additive models have."""
        return (*Selection("levels").steps(), *bin_steps(BINS_OF_FEW), *CYCLE_STEPS)

    def _coded(self, table, strength):
        """Return the Coding of the columns, and a Table of numbers and codes."""
        coding, coded = coded_columns(table, share=share_of_labels(strength))
        return coding, coded.map(Held()) if any(coding.n_cells) else coded

    def _edges(self, coding, table, *, n, n_bins, share, ranges=None, **told):
        """Return the edges of numeric features, bought for a share, and the codes of others."""
        edges = [size or None for size in coding.n_cells]
        numeric = [j for j, edge in enumerate(edges) if edge is None]
        found = find_bins(
            table,
            numeric,
            n_rows=n,
            n_bins=n_bins,
            share=share,
            ranges=None if ranges is None else [ranges[j] for j in numeric],
            **told,
        )
        for j, edge in zip(numeric, found, strict=True):
            edges[j] = edge
        return edges

    def _fitted(self, coding, edges, model, counts, link):
        """Return the attributes of all additive models."""
        shown, intercept = self._shown(model, counts, link.step)
        return shown | {
            "bin_edges_": [np.empty(0) if np.ndim(e) == 0 else e for e in edges],
            "categories_": [None if level is None else tuple(level) for level in coding.levels],
        }, intercept

    def _shown(self, model, counts, step):
        """Return the attributes of terms, and the intercepts."""
        values = [table * step for table in model.tables]
        terms, intercept = centred_terms(values, counts, model.intercept[:, 0] * step)
        noise = [plain(noise.T) for noise in model.noise]
        return {"terms_": terms, "term_noise_scale_": noise}, intercept

    def _codes(self, X):
        """Return numbers and codes of rows in memory, shape (n, n_features)."""
        check_is_fitted(self)
        coding = Coding(tuple(self.categories_))
        if (isinstance(X, np.ndarray) and X.dtype.kind in "fiub") or not any(coding.n_cells):
            options = {"dtype": np.float64, "ensure_all_finite": "allow-nan", "reset": False}
            X = validate_data(self, numbers_of_dates(X), **options)
        else:
            validate_data(self, X, reset=False, skip_check_array=True)
            columns = read_columns(X)
            numbers = [j for j, level in enumerate(self.categories_) if level is None]
            if any(has_text(columns.read(j)) for j in numbers):
                raise ValueError(TEXT)
        return coding.codes(X)

    def _scores(self, codes):
        """Return the scores of numbers and codes, shape (n,) or (n, n_outputs): row by row."""
        edges = [
            edge if levels is None else len(levels) + 2
            for edge, levels in zip(vars(self)["bin_edges_"], self.categories_, strict=True)
        ]
        cells = cell_numbers(codes, edges)
        scores = np.zeros((len(cells), *np.shape(self.intercept_)[-1:])) + self.intercept_
        if scores.ndim == 2 and scores.shape[1] == 1:
            scores = scores[:, 0]
        for features, term in zip(self._term_features(), self.terms_, strict=True):
            scores = scores + term[tuple(cells[:, j] for j in features)]
        return scores

    def _term_features(self):
        """Return the numbers of the features of every term."""
        return [(j,) for j in range(len(self.terms_))]

    def interval(self, confidence=0.95):
        """Return intervals for the terms, of the privacy noise alone.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability of the privacy noise to stay within, of each interval by itself.

        Returns
        -------
        lower, upper : lists of ndarrays, of the shapes of ``terms_``
            Where the steps of a cell would have led without noise, and without smoothing, which as
            a rule brings a term closer to that. They contain neither sampling error, nor what the
            noise of cell counts and of the other features has done, nor what clipping and smoothing
            move: of the means of six categories among 3,000 rows, intervals of 95 % held some 85 %.
            Infinite where nothing was looked at.
        """
        check_is_fitted(self)
        check_confidence(confidence)
        width = float(ndtri((1 + confidence) / 2))
        pairs = list(zip(self.terms_, self.term_noise_scale_, strict=True))
        return [t - width * sd for t, sd in pairs], [t + width * sd for t, sd in pairs]

    def plot(self, *, features=None, confidence=0.95, axes=None):
        """Plot the terms with bands for the noise, see :class:`skdp.additive.TermsDisplay`.

        Parameters
        ----------
        features : list of int or str, default=None
            Which features, by number or name. None: all.
        confidence : float, default=0.95
            Probability with which a band covers.
        axes : sequence of matplotlib Axes, default=None
            One for each feature; a new figure by default.

        Returns
        -------
        display : TermsDisplay
        """
        check_is_fitted(self)
        return TermsDisplay.from_estimator(
            self, features=features, confidence=confidence, axes=axes
        )


def release_count(table):
    """Release the number of rows that are there, at least two sd."""
    there = table.map(Targets(ones=True))
    told = there.ask(Count(), COUNT)
    return max(float(told.value[0]), 2 * told.scale, 2.0)


def centred_terms(values, counts, intercept):
    """Return terms of mean zero under released counts, and the intercept that takes the means.

    Shapes: values (n_outputs, n_cells); counts (n_cells,); intercept (n_outputs,).
    """
    terms = []
    for value, number in zip(values, counts, strict=True):
        mean = value @ (number / number.sum())
        terms.append(plain((value - mean[:, None]).T))
        intercept = intercept + mean
    return terms, intercept


def plain(values):
    """Return values of cells without the axis of outputs, the last, if it has one entry."""
    return np.ascontiguousarray(values[..., 0] if values.shape[-1] == 1 else values)
