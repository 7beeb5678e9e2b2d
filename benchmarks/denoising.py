"""Optimal denoising: the tables of Balle and Wang (2018), section 5, and more, as text and JSON.

W1  calibration: the analytic Gaussian mechanism against the classical one.
W2  means of n = 500 rows in d columns, l2 error; delta = 1e-4, number of rows public.
W3  histograms of N items with sparse probabilities in d cells, l2 error; delta = 1e-4.
W4  counts on a graph of 3784 street corners, root mean square error; sensitivity 5, delta = 1e-6.
W5  unequal noise; coverage of intervals.

The heights in W4 are ours: those of the prototype are not known. They were tried until the root
mean square of the counts (20 smooth, 25 boxes) and the errors of order 0 came near its table, so
ratios in W4 compare the methods with one another rather than with the prototype.

After each table: the errors over those of an independent prototype, and ``auto`` over the best.

Columns: cGM and aGM are raw, with classical and analytic noise; all denoisers but the last two
columns of W3 work on aGM. "law" is PrivateHistogram's raw choice, "private" the same with
``denoiser="auto"``.

Usage: ``python benchmarks/denoising.py [--reps N] [--only W3] [--json PATH]``
"""

import argparse
import math
import warnings
from pathlib import Path

import numpy as np
from _denoising_targets import best_ratios, target_ratios
from _harness import print_table, write_json
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from skdp.accounting import gaussian_sigma
from skdp.denoising import (
    AutoDenoiser,
    BayesDenoiser,
    GraphWaveletDenoiser,
    JamesSteinDenoiser,
    PrivateHistogram,
    SoftThresholdDenoiser,
    TrendFilterDenoiser,
    confidence_ball,
    coordinate_interval,
    linear_interval,
)
from skdp.exceptions import SeededNoiseWarning

CALIBRATION = ((0, 1e-5), (0.01, 1e-4), (0.1, 1e-6), (0.5, 1e-5), (1, 1e-6), (8, 1e-5), (100, 1e-6))
MEANS = ((0.01, 100), (0.01, 1000), (0.01, 5000), (0.1, 100), (0.1, 1000), (0.1, 5000))
MEANS += ((1, 1000), (1, 5000))
HISTOGRAMS = tuple((10**4, 1000, a, e) for a in (0.01, 0.1, 1) for e in (0.1, 1))
HISTOGRAMS += ((10**5, 1000, 0.1, 1), (10**4, 10**4, 0.01, 0.1), (10**4, 10**4, 0.01, 1))
GRAPHS = (("smooth", 0.1), ("smooth", 0.5), ("smooth", 1), ("boxes", 0.5), ("boxes", 1))
HEIGHT, WIDTH, STREETS = 88, 43, 7070
SPOTS, BOXES = (1, 1, 2, 4, 7, 12), (1, 1, 2, 4, 10)  # heights


def classical(epsilon, delta, sensitivity=1.0):
    """Return the classical noise, beyond epsilon = 1 too, where it is not proved."""
    return (
        math.inf if epsilon == 0 else sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    )


def shrinkers():
    return {
        "JS": JamesSteinDenoiser(positive_part=False),
        "JS+": JamesSteinDenoiser(),
        "soft": SoftThresholdDenoiser(threshold="universal"),
        "SureShr": SoftThresholdDenoiser(),
        "NPMLE": BayesDenoiser(),
        "auto": AutoDenoiser(),
    }


def applied(denoiser, y, scale, law="gaussian"):
    return denoiser.set_params(noise_scale=scale, law=law).fit_transform(y[None])[0]


def averaged(head, draw, error, reps, seed):
    """Return one row of a table: mean errors of the methods of ``draw(rng)`` over repetitions."""
    errors = {}
    for rep in range(reps):
        truth, answers = draw(np.random.default_rng([seed, rep]))
        for name, answer in answers.items():
            errors.setdefault(name, []).append(error(answer, truth))
    return {**head, **{name: float(np.mean(values)) for name, values in errors.items()}}


def l2(answer, truth):
    return np.linalg.norm(answer - truth)


def w1(reps):
    for epsilon, delta in CALIBRATION:
        sigma = gaussian_sigma(epsilon, delta)
        ratio = classical(epsilon, delta) / sigma
        yield {"epsilon": epsilon, "delta": delta, "sigma": sigma, "classical/sigma": ratio}


def w2(reps):
    n, delta = 500, 1e-4
    for epsilon, d in MEANS:
        l2_sensitivity, l1 = math.sqrt(d) / n, d / n
        sigma = gaussian_sigma(epsilon, delta, l2_sensitivity)

        def draw(rng, d=d, l1=l1, sigma=sigma, epsilon=epsilon, wide=l2_sensitivity):
            truth = rng.normal(size=d) + rng.uniform(-0.5, 0.5, size=(n, d)).mean(axis=0)
            z = rng.normal(size=d)
            y = truth + sigma * z
            answers = {
                "cGM": truth + classical(epsilon, delta, wide) * z,
                "Lap": truth + rng.laplace(scale=l1 / epsilon, size=d),
                "aGM": y,
            }
            return truth, answers | {k: applied(m, y, sigma) for k, m in shrinkers().items()}

        yield averaged({"epsilon": epsilon, "d": d}, draw, l2, reps or 20, 2)


def w3(reps):
    delta = 1e-4
    for N, d, alpha, epsilon in HISTOGRAMS:
        sigma = gaussian_sigma(epsilon, delta)

        def draw(rng, N=N, d=d, alpha=alpha, epsilon=epsilon, sigma=sigma):
            truth = rng.multinomial(N, rng.dirichlet(np.full(d, alpha))).astype(float)
            z = rng.normal(size=d)
            y = truth + sigma * z
            methods = shrinkers()
            methods["NPMLE>=0"] = BayesDenoiser(support="nonnegative")
            methods["auto"] = AutoDenoiser(support="nonnegative")
            answers = {"cGM": truth + classical(epsilon, delta) * z, "aGM": y}
            answers |= {"clip0": np.maximum(y, 0)}
            answers |= {k: applied(m, y, sigma) for k, m in methods.items()}
            histogram = PrivateHistogram(
                categories={0: range(d)},
                denoiser="auto",
                epsilon=epsilon,
                delta=delta,
                random_state=int(rng.integers(2**31)),
            ).fit(np.repeat(np.arange(d, dtype=float), truth.astype(int))[:, None])
            answers |= {"law": histogram.noisy_counts_, "private": histogram.counts_}
            return truth, answers

        head = {"N": N, "d": d, "alpha": alpha, "epsilon": epsilon}
        yield averaged(head, draw, l2, reps or (10 if d == 1000 else 4), 3)


def city(rng):
    """Return the adjacency of a street grid with gaps: 3784 nodes, 7070 edges."""
    nodes = np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH)
    across = np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()])
    down = np.stack([nodes[:-1].ravel(), nodes[1:].ravel()])
    i, j = np.concatenate([across, down], axis=1)
    order = rng.permutation(i.size) + 1.0
    tree = minimum_spanning_tree(sparse.csr_array((order, (i, j)), shape=(nodes.size,) * 2))
    order[np.isin(order, tree.data)] = 0.0
    kept = np.argsort(order)[:STREETS]
    return sparse.csr_array((np.ones(STREETS), (i[kept], j[kept])), shape=(nodes.size,) * 2)


def intensities(kind, rng):
    """Return mean counts on the grid: 6 hot spots, or 5 boxes of constant value; 40000 in all."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    mean = np.full((HEIGHT, WIDTH), 0.2 if kind == "smooth" else 0.3)
    for height in SPOTS if kind == "smooth" else BOXES:
        row, column = rng.integers(HEIGHT), rng.integers(WIDTH)
        if kind == "smooth":
            width = rng.uniform(2, 8)
            mean += height * np.exp(-((y - row) ** 2 + (x - column) ** 2) / (2 * width**2))
        else:
            high, wide = rng.integers(5, 20, size=2)
            mean[row : row + high, column : column + wide] += height
    return (40000 * mean / mean.sum()).ravel()


def w4(reps):
    delta, sensitivity = 1e-6, 5.0
    for kind, epsilon in GRAPHS:
        sigma = gaussian_sigma(epsilon, delta, sensitivity)

        def draw(rng, kind=kind, epsilon=epsilon, sigma=sigma):
            graph, truth = city(rng), rng.poisson(intensities(kind, rng)).astype(float)
            z = rng.normal(size=truth.size)
            y = truth + sigma * z
            methods = {
                "JS-mean": JamesSteinDenoiser(target="mean"),
                "soft": SoftThresholdDenoiser(threshold="universal"),
                "SureShr": SoftThresholdDenoiser(),
                "wav-soft": GraphWaveletDenoiser(graph, threshold="universal"),
                "wav-SURE": GraphWaveletDenoiser(graph),
                "fused-SURE": TrendFilterDenoiser(graph),
                "trend1-SURE": TrendFilterDenoiser(graph, order=1),
                "NPMLE>=0": BayesDenoiser(support="nonnegative"),
                "auto": AutoDenoiser(graph, support="nonnegative"),
            }
            answers = {"cGM": truth + classical(epsilon, delta, sensitivity) * z, "aGM": y}
            return truth, answers | {k: applied(m, y, sigma) for k, m in methods.items()}

        def rmse(answer, truth):
            return l2(answer, truth) / math.sqrt(truth.size)

        yield averaged({"kind": kind, "epsilon": epsilon}, draw, rmse, reps or 6, 4)


def w5(reps):
    def draw(rng, d=200):
        variance = np.exp(rng.uniform(-3, 3, size=d))
        truth = rng.normal(size=d)
        scale = np.sqrt(variance)
        y = truth + scale * rng.normal(size=d)
        answers = {
            "raw": y,
            "Bock": applied(JamesSteinDenoiser(), y, scale),
            "XKB": applied(BayesDenoiser(prior="normal"), y, scale),
            "NPMLE": applied(BayesDenoiser(), y, scale),
            "auto": applied(AutoDenoiser(), y, scale),
            "oracle": y / (1 + variance),
        }
        return truth, answers

    yield averaged({"d": 200}, draw, lambda a, t: l2(a, t) ** 2, reps or 50, 5)


def coverage(reps):
    """Intervals of level 0.95 where one coordinate lies far out, and around the origin."""
    runs = reps or 10_000
    for law in ("gaussian", "laplace"):
        for d, far in ((5, 6.0), (20, 0.0), (100, 6.0)):
            rng = np.random.default_rng([6, d])
            truth = np.zeros(d)
            truth[0] = far
            c = rng.normal(size=d)
            hit = np.zeros(5)
            for _ in range(runs):
                z = rng.normal(size=d) if law == "gaussian" else rng.laplace(size=d)
                y = truth + z
                low, high = coordinate_interval(y, 1.0, law=law)
                all_low, all_high = coordinate_interval(y, 1.0, law=law, simultaneous=True)
                form = linear_interval(y, np.ones(d), c, law=law)
                hit[0] += low[0] <= truth[0] <= high[0]
                hit[1] += np.all((all_low <= truth) & (truth <= all_high))
                hit[2] += form[0] <= c @ truth <= form[1]
                if law == "gaussian":
                    centre, radius = confidence_ball(y, 1.0)
                    hit[3] += l2(centre, truth) <= radius
                    shrunk = applied(JamesSteinDenoiser(), y, 1.0)
                    hit[4] += abs(shrunk[0] - truth[0]) <= (high - low)[0] / 2
            names = ("coordinate", "simultaneous", "linear", "ball", "naive (wrong)")
            kept = names if law == "gaussian" else names[:3]
            row = {"law": law, "d": d, "outlier": far}
            yield row | dict(zip(kept, (hit / runs).tolist(), strict=False))


TABLES = {"W1": w1, "W2": w2, "W3": w3, "W4": w4, "W5": w5, "coverage": coverage}


def print_ratios(what, rows):
    if any(rows):
        print(f"{what}, row by row:")
        for ratios in rows:
            print("  " + "  ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--reps", type=int, help="repetitions in every cell")
    parser.add_argument("--only", choices=TABLES)
    default = Path(__file__).parent / "results" / "denoising.json"
    parser.add_argument("--json", type=Path, default=default)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SeededNoiseWarning)
    rows = []
    for name, table in TABLES.items():
        if options.only in (None, name):
            print(f"\n{name}")
            done = list(table(options.reps))
            print_table(done)
            for what, ratios in (("target", target_ratios), ("auto over best", best_ratios)):
                print_ratios(what, [ratios(name, row) for row in done])
            rows += [{"table": name, **row} for row in done]
    if options.only is None:
        write_json(options.json, rows)


if __name__ == "__main__":
    main()
