"""How many centres go to which place: the least cost of all released cells together."""

import numpy as np

from skdp.cluster._synopsis import weighted_kmeans

__all__ = ["allocate"]

STARTS = 3


def allocate(places, found, n_clusters, *, seed):
    """Return how many centres the cells of every place get, a list of integers with sum k.

    Beginning with one for every place and the rest for the first, a centre moves to where it lowers
    the sum of squared distances most from where it is missed least, as long as that pays: what
    exact k-means does, as no centre serves two places that lie far apart. The rows of a place
    without a centre would go to one of the first place.
    """
    curves = [_Curve(places, p, f, seed) for p, f in enumerate(found)]
    numbers = [n_clusters - len(found) + 1, *([1] * (len(found) - 1))]
    for _ in range(n_clusters * len(found)):
        gains = [curve(n) - curve(n + 1) for curve, n in zip(curves, numbers, strict=True)]
        to = int(np.argmax(gains))
        losses = [
            curve(n - 1) - curve(n) if p != to and n > (p == 0) else np.inf
            for p, (curve, n) in enumerate(zip(curves, numbers, strict=True))
        ]
        giver = int(np.argmin(losses))
        if not gains[to] > losses[giver]:
            break
        numbers[giver] -= 1
        numbers[to] += 1
    return numbers


class _Curve:
    """The cost of a place for every number of centres, in common units."""

    def __init__(self, places, p, found, seed):
        center, radius = places.view(p)
        self._found, self._seed, self._unit = found, seed, radius**2
        ball = places.balls[p]
        spread = (ball.typical / ball.radius * radius) ** 2
        self._known = {0: ball.n_rows * (float(np.square(center).sum()) + spread)}

    def __call__(self, n):
        if n not in self._known:
            cells, box = self._found.synopsis, self._found.subspace.half
            cost = weighted_kmeans(cells, n, n_init=STARTS, seed=self._seed, box=box)[1]
            self._known[n] = cost * self._unit
        return self._known[n]
