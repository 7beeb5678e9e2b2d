"""A private tree of binary attributes (Chow and Liu), and the moments of its distribution.

The mechanism of McKenna, Miklau and Sheldon ("Winning the NIST contest", 2021), for comparison:
floating-point noise, a model that need not be true.
"""

import math
from itertools import combinations

import numpy as np
from scipy.sparse.csgraph import shortest_path

from skdp.accounting import zcdp_rho

__all__ = ["private_tree"]


def private_tree(truth, layout, epsilon, delta, rng):
    """Return residuals of a tree that is chosen and measured with (epsilon, delta)-privacy.

    A tenth of the zCDP budget goes to the number of rows and single attributes, three to the
    choice of d - 1 edges by the exponential mechanism, six to their parities.
    """
    rho, d = zcdp_rho(epsilon, delta), len(layout.levels)
    exact = truth * 2 ** (layout.orders / 2)
    first = exact[: d + 1] + math.sqrt((d + 1) / (0.2 * rho)) * rng.normal(size=d + 1)
    n = max(float(first[0]), 10.0)
    m = np.clip(first[1:] / n, -0.999, 0.999)
    i, j = layout.subsets[2].T
    pairs = exact[d + 1 : d + 1 + len(i)]
    scores = np.abs(pairs - n * m[i] * m[j])
    part, edges = np.arange(d), []
    for _ in range(d - 1):  # eps-DP choices are (eps^2 / 8)-zCDP
        eps = math.sqrt(8 * 0.3 * rho / (d - 1))
        score = np.where(part[i] == part[j], -np.inf, eps / 2 * scores)
        edges.append(int(np.argmax(score + rng.gumbel(size=len(score)))))
        part[part == part[j[edges[-1]]]] = part[i[edges[-1]]]
    i, j = i[edges], j[edges]
    q = (pairs[edges] + math.sqrt((d - 1) / (1.2 * rho)) * rng.normal(size=d - 1)) / n
    q = np.clip(q, np.abs(m[i] + m[j]) - 1, 1 - np.abs(m[i] - m[j]))
    s = np.sqrt(1 - m * m)
    return n * _moments(m, s, i, j, (q - m[i] * m[j]) / (s[i] * s[j]), layout)


def _moments(m, s, i, j, correlation, layout):
    """Return the residuals of the tree: along a path correlations multiply."""
    d = len(m)
    graph = np.zeros((d, d))
    graph[i, j] = graph[j, i] = 1
    distance, before = shortest_path(graph, unweighted=True, return_predecessors=True)
    edge, R = np.eye(d), np.eye(d)
    edge[i, j] = edge[j, i] = correlation
    rows = np.arange(d)
    for column in np.argsort(distance, axis=1).T[1:]:  # nearest first
        last = before[rows, column]
        R[rows, column] = R[rows, last] * edge[last, column]
    found = [[1.0], m]
    for sets in layout.subsets[2:]:
        a, b, *c = sets.T
        if c:
            found.append(_triples(m, s, R, distance, (a, b, c[0])))
        else:
            found.append(m[a] * m[b] + R[a, b] * s[a] * s[b])
    return np.concatenate(found) / 2 ** (layout.orders / 2)


def _triples(m, s, R, distance, triple):
    """Return E x_a x_b x_c: the three are independent given the node where their paths meet."""
    values = np.empty(len(triple[0]))
    for start in range(0, len(values), 20_000):
        here = [column[start : start + 20_000] for column in triple]
        node = np.argmin(sum(distance[:, column] for column in here), axis=0)
        slope = [R[column, node] * s[column] / s[node] for column in here]
        level = [m[column] - b * m[node] for column, b in zip(here, slope, strict=True)]
        total = level[0] * level[1] * level[2] + m[node] * slope[0] * slope[1] * slope[2]
        for x, y in combinations(range(3), 2):
            z = 3 - x - y
            total += slope[x] * slope[y] * level[z] + m[node] * level[x] * level[y] * slope[z]
        values[start : start + 20_000] = total
    return values
