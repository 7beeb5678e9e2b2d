"""Examples of what a proportional hazards model asks: rows of columns, times and events."""

import numpy as np

from skdp.kernel.applied._hazards import HazardStep
from tests.kernel._examples import EXTREMES, hostile
from tests.kernel._examples_linear import N, design, offer

__all__ = ["EXAMPLES"]


def _hazard_step(rng):
    at = design(rng, int(rng.integers(1, 4)))
    B = rng.normal(size=(at.dims, 1)) * float(rng.choice([0.0, 1.0, 1e300]))
    times = np.append(0.0, np.cumsum(rng.uniform(0.1, 1, size=int(rng.integers(1, 9)))))
    hazard = np.cumsum(rng.uniform(0, float(rng.choice([0.2, 2.0, 1e300])), size=len(times)))
    hazard[-1] += 1e9
    rows = hostile(rng, at.edges.shape[1])
    n = len(rows)
    block = np.column_stack([rows, np.zeros((n, 2))])
    block[:, -2] = rng.choice([*times, *rng.uniform(-1, 9, size=9), *EXTREMES], size=n)
    block[:, -1] = rng.choice([0.0, 1.0, 1.0, 0.5, 2.0, np.nan], size=n)
    block[:9, -2:] = [[1e9, 0.0], [1e9, 1.0], [0.0, 1.0]] * 3  # late or early, events or not
    return HazardStep(at, float(rng.choice([0.5, 2.0])), B, times, hazard, N).at(offer(rng)), block


EXAMPLES = {HazardStep: _hazard_step}
