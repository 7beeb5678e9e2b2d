"""Views of predictions and targets: one loss, or one number, of each row."""

import numpy as np

from skdp.kernel._plain import public, refuse
from skdp.kernel._statistic import RowMap

MOST = 1e300
KINDS = "residual", "absolute", "squared", "pinball", "target", "target squared", "covered"


@public
class LossColumn(RowMap):
    """One column: a loss of the prediction in the first column, for the target in the last one.

    Of "target" the target less ``at``, of "pinball" the loss of a prediction of the quantile
    ``at``, of "covered" whether the target is between the second and the third column.

    **Privacy**: a row of the view is a function of that row alone. NaN and infinity become NaN, and
    the row stays absent.
    """

    what: str
    at: float = 0.0
    dims = 1
    kind = "numbers"

    def check(self, shape):
        super().check(shape)
        refuse(self.what not in KINDS, "no such loss")
        fits = shape.n_features == 4 or (shape.n_features == 2 and self.what != "covered")
        refuse(not fits, "a prediction, maybe an interval, and a target")

    def __call__(self, block):
        """Return the column of a block, shape (n, 1)."""
        block = np.asarray(block, dtype=np.float64)
        y, there = block[:, -1], np.isfinite(block).all(axis=1)
        with np.errstate(all="ignore"):
            e = np.clip(y - block[:, 0], -MOST, MOST)
            x = np.clip(y - self.at, -MOST, MOST)
            value = {
                "residual": lambda: e,
                "absolute": lambda: np.abs(e),
                "squared": lambda: np.minimum(e * e, MOST),
                "pinball": lambda: np.clip(np.maximum(self.at * e, (self.at - 1) * e), 0, MOST),
                "target": lambda: x,
                "target squared": lambda: np.minimum(x * x, MOST),
                "covered": lambda: (block[:, 1] <= y) & (y <= block[:, -2]),
            }[self.what]()
        return np.where(there, value, np.nan)[:, None]
