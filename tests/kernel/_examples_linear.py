"""Examples of what linear models ask: distances of columns, gradients, steps of a logit."""

import numpy as np

from skdp.accounting import Budget
from skdp.kernel._bins import LogBins
from skdp.kernel._columns import ColumnBins
from skdp.kernel._coordinates import Design, Frame
from skdp.kernel._gradients import LogitCalibration, LogitIntercepts, LogitStep
from skdp.kernel._statistic import Offer
from tests.kernel._examples import hostile, wild

OFFERS = Offer(Budget.gaussian(1.0, 1e-6), 0.5, 1), Offer(Budget.gaussian(0.1, 1e-9), 0.01, 3000)
N = 1000.0


def offer(rng):
    return OFFERS[int(rng.random() < 0.3)]


def finite(rng, d, n=None):
    """Return public numbers of all magnitudes."""
    rows = np.nan_to_num(hostile(rng, d, 3), posinf=1e308, neginf=-1e308)
    return rows[0] if n is None else np.resize(rows, (n, d))


def bins(rng):
    low = int(rng.choice([-1074, -5, 0]))
    return LogBins(int(rng.choice([1, 2, 8])), low, low + int(rng.choice([1, 40])))


def columns(rng):
    d = int(rng.integers(1, 5))
    sides = str(rng.choice(["together", "apart", "in line"]))
    starts = np.sort(rng.integers(0, 40, size=4)) if rng.random() < 0.5 else None
    return ColumnBins(finite(rng, d), wild(rng, d), bins(rng), sides, starts), hostile(rng, d)


def design(rng, d):
    """Return coordinates of d features, of ordinary magnitudes or of all."""
    if rng.random() < 0.5:
        A = rng.normal(size=(d, d))
        frame = Frame(rng.normal(size=d), np.ones(d), A, np.linalg.inv(A))
        edges = np.array([np.full(d, -30.0), np.full(d, 30.0)])
    else:
        frame = Frame(finite(rng, d), wild(rng, d), finite(rng, d, d), finite(rng, d, d))
        edges = np.array([np.full(d, -np.inf), finite(rng, d)])
    return Design(frame, edges, bool(rng.random() < 0.8))


def model(rng):
    """Return a design, a radius, coefficients and rows (x, code)."""
    d, c = int(rng.integers(1, 4)), int(rng.choice([1, 3]))
    at = design(rng, d)
    ordinary = rng.random() < 0.6
    B = rng.normal(size=(at.dims, c)) * 30 if ordinary else finite(rng, c, at.dims)
    block = hostile(rng, d + 1)
    n = len(block)
    block[:, -1] = np.where(rng.random(n) < 0.8, rng.integers(0, c + 1, size=n), block[:, -1])
    return at, float(0.5 if ordinary else wild(rng)), B, block


def logit_step(rng):
    *fields, block = model(rng)
    return LogitStep(*fields, float(rng.choice([0.01, 0.4, 1.0])), N).at(offer(rng)), block


def logit_intercepts(rng):
    *fields, block = model(rng)
    return LogitIntercepts(*fields, int(rng.integers(1, 16))), block


def logit_calibration(rng):
    at, radius, B, block = model(rng)
    start, width = finite(rng, B.shape[1]), float(wild(rng))
    return LogitCalibration(at, radius, B, int(rng.integers(1, 16)), start, width), block


EXAMPLES = {
    ColumnBins: columns,
    LogitStep: logit_step,
    LogitIntercepts: logit_intercepts,
    LogitCalibration: logit_calibration,
}
