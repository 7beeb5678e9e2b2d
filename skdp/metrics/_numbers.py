"""What reports have in common: named numbers with intervals."""

import numpy as np

from skdp.estimator._results import ResultsMixin
from skdp.scales._column_noise import check_confidence, check_sampling

__all__ = ["MetricNumbers"]


class MetricNumbers(ResultsMixin):
    """Mixin of reports, which write ``_rates()``: a dict of numbers with intervals, by name."""

    _noun = "metric"
    _reads_vectors = True  # scores of two classes, predictions, labels

    def _doubt_numbers(self, curator):
        if hasattr(curator, "column_names"):
            curator.column_names = np.array(self.metric_names_, dtype=object)
        for text, metric in self._doubts():
            curator.doubt(text, np.char.startswith(np.array(self.metric_names_), metric))
        self._report(curator)
        super()._doubt_numbers(curator)

    def _doubts(self):
        """Return what is doubted beside long intervals: texts, and how names of metrics begin."""
        return ()

    def _rate(self, metric):
        """Return a number by its name."""
        rates = self._rates()
        if metric not in rates:
            names = ", ".join(map(repr, rates))
            raise ValueError(f"metric must be one of {names}. Got {metric!r} instead.")
        return rates[metric]

    def interval(self, metric=None, *, confidence=0.95, sampling=False):
        """Return an interval of a metric.

        Parameters
        ----------
        metric : str, default=None
            One of ``metric_names_``; None returns those of all.
        confidence : float, default=0.95
            Of each metric by itself.
        sampling : bool, default=False
            Whether it is to cover the metric of the population that the rows are drawn from,
            instead of that of these rows.

        Returns
        -------
        low, high : floats, or ndarrays of shape (n_metrics,)
            Infinite where nothing is known.
        """
        check_confidence(confidence)
        check_sampling(sampling)
        if metric is not None:
            return tuple(map(float, self._rate(metric).interval(confidence, sampling)))
        ends = [rate.interval(confidence, sampling) for rate in self._rates().values()]
        return tuple(np.array(ends, dtype=float).reshape(-1, 2).T)
