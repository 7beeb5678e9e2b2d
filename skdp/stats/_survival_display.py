"""SurvivalDisplay: curves of survival with bands that know the noise."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skdp.show._display import Display

__all__ = ["SurvivalDisplay"]


@dataclass(frozen=True, repr=False)
class SurvivalDisplay(Display):
    """Picture of a :class:`PrivateSurvival`: a curve for each group, and its band.

    Parameters
    ----------
    estimator : PrivateSurvival
        Fitted.
    confidence : float, default=0.95
        Of bands, for the population.
    simultaneous : bool, default=True
        Whether a band covers the whole curve, or each time by itself.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    PrivateSurvival

    Notes
    -----
    **Privacy**: draws released numbers alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.stats import PrivateSurvival, SurvivalDisplay
    >>> life = np.random.default_rng(0).exponential(10, size=3000)
    >>> curve = PrivateSurvival(horizon=24.0).fit(life, np.ones(3000))
    >>> display = SurvivalDisplay(curve).plot()
    >>> display.ax_.get_ylabel()
    'Without event'
    """

    estimator: Any
    confidence: float = 0.95
    simultaneous: bool = True

    def _draw(self, ax):
        of = self.estimator
        check_is_fitted(of)
        ends = of.interval(self.confidence, simultaneous=self.simultaneous)
        rows = (np.atleast_2d(x) for x in (of.survival_function_, *ends))
        for label, S, low, high in zip(of.levels_ or ("all rows",), *rows, strict=True):
            seen = np.isfinite(S)
            times = np.where(np.isfinite(of.times_), of.times_, 1.0)
            (line,) = ax.plot(times[seen], S[seen], label=str(label))
            ax.fill_between(times, low, high, alpha=0.2, linewidth=0, color=line.get_color())
        ax.set(xlabel="Time", ylabel="Without event", ylim=(0, 1.02))
        ax.legend(loc="best")
