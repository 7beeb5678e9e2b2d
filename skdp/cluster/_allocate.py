"""How many centres go to which place: the least cost of all released cells together."""

import numpy as np

from skdp.cluster._synopsis import weighted_kmeans

__all__ = ["allocate"]

BULK = 0.05  # part of the rows from which a place gets centres, whatever its shape
EXPLAINED = 1 / 64  # of the squared distances from the bulk: less is left around centres of groups
STARTS = 3


def allocate(places, found, n_clusters, *, seed):
    """Return how many centres the cells of every place get, a list of integers with sum k.

    Every place gets one at least, and then each where it lowers the sum of squared distances most:
    what exact k-means does, as no centre serves two places that lie far apart. A place that holds
    less than 5 % of the rows must be made of groups: of few clusters that leave a 64th of the
    squared distances from the bulk at most. Else it is scatter, and gets no centre; k-means would
    waste its centres on that.

    Parameters
    ----------
    places : Places
    found : list of Found
        Of all its balls.
    n_clusters : int
        At least as many as places.
    seed : int

    Returns
    -------
    numbers : list of int
        At least 1 for the first.
    """
    curves = [_Curve(places, p, f, seed) for p, f in enumerate(found)]
    spare = n_clusters - len(found) + 1
    chosen = [
        p
        for p, curve in enumerate(curves)
        if p == 0
        or places.balls[p].n_rows > BULK * places.n_rows
        or any(curve(j) + curve.inside <= EXPLAINED * curve.whole for j in range(1, spare + 1))
    ]
    numbers = [int(p in chosen) for p in range(len(found))]
    numbers[0] += n_clusters - sum(numbers)
    if len(chosen) == 1:
        return numbers
    while True:
        gain = {p: curves[p](numbers[p]) - curves[p](numbers[p] + 1) for p in chosen}
        loss = {
            p: curves[p](numbers[p] - 1) - curves[p](numbers[p]) for p in chosen if numbers[p] > 1
        }
        to = max(gain, key=gain.get)
        givers = [p for p in loss if p != to]
        if not givers:
            return numbers
        giver = min(givers, key=loss.get)
        if not gain[to] > loss[giver]:
            return numbers
        numbers[giver] -= 1
        numbers[to] += 1


class _Curve:
    """The cost of a place for every number of centres, in common units."""

    def __init__(self, places, p, found, seed):
        center, radius = places.view(p)
        self._found, self._seed, self._unit, self._known = found, seed, radius**2, {}
        cells, ball = found.synopsis, places.balls[p]
        self.inside = self._unit * float(cells.weights @ np.square(2 * cells.halves).sum(axis=1))
        self.inside /= 12
        spread = ball.typical / places.radius
        self.whole = ball.n_rows * (float(np.square(center).sum()) + spread**2)

    def __call__(self, n):
        if n not in self._known:
            cells, box = self._found.synopsis, self._found.subspace.half
            cost = weighted_kmeans(cells, n, n_init=STARTS, seed=self._seed, box=box)[1]
            self._known[n] = cost * self._unit
        return self._known[n]
