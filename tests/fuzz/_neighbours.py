"""Random neighbours: an estimator, a table, a row or a person more, and the memory they lie in."""

import os
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
from sklearn.base import clone
from sklearn.utils import get_tags

from skdp import (
    FriendlyCoreFilter,
    PrivateGroupBy,
    PrivateSearchCV,
    PrivateStandardScaler,
    RowMap,
    make_private_pipeline,
)
from skdp.audit._draw import Sample
from tests._estimators import COMPOSED, ESTIMATORS

UNNAMED = ("array", "fortran", "float32", "int64", "memory map", "batches")
NAMED = ("pandas", "polars", "lazy", "arrow", "batches of pandas", "batches of arrow", "parquet")
LIBRARY = {kind: kind.split()[-1] for kind in NAMED} | {"lazy": "polars", "parquet": "arrow"}
FLAVOURS = ("normal", "constant", "twins", "integers", "sentinels", "binary", "mostly equal")
FLAVOURS += ("levels", "heavy", "tiny", "huge", "beyond 2^53", "powers", "gaps")
HOSTILE = (0.0, -0.0, 1e300, -1e300, 1e-300, 5e-324, 2.0**53, -999.0, np.nan, np.inf, -np.inf)
BOXES = (None, (-3.0, 3.0), (-50.0, 50.0), (0.0, 1.0), (5.0, 5.5), (-1e300, 1e300))
SWITCH, DENOISERS = (False, True), (None, "auto")
OPTIONS = {
    "bounds": BOXES,
    "feature_range": BOXES,
    "target_range": BOXES,
    "rows_per_group": ("auto", 1, 3, 17, 1000),
    "method": ("auto", "friendly", "density", "ranks", "bounded", "exponential"),
    "radius": (1.0, 100.0, 1e-300, 1e300),
    "covariance_type": ("full", "tied", "spherical", "diag"),
    "sensitivity": (None, 0.5, 1e9),
    "classes": (None, [0, 1], [0, 1, 2]),
    "workload": ("all", "prefixes", "ranges"),
    "noise": ("laplace", "gaussian", "auto"),
    "init": ("spread", "random"),
    "error": ("mean", "worst"),
    "scale": ("none", "auto"),
    "denoiser": DENOISERS,
    "quantile_range": ((25.0, 75.0), (1.0, 99.0)),
    "level": (0.5, 0.1),
    "alpha": (0.0, 0.1, 0.45),
    "n_bins": ("auto", 2, 5),
    "bins": ("auto", 1, 4),
    "k": (1, 2),
    "n_cycles": ("auto", 1),
    "q": (0.0, 0.5, [0.1, 0.9]),
    **dict.fromkeys(("trim", "whiten", "linear", "extrapolate", "assume_centered"), SWITCH),
    **dict.fromkeys(("fit_intercept", "unit_variance", "nonnegative", "with_std"), SWITCH),
}
FILTERS = (
    lambda: FriendlyCoreFilter(radius=3.0),
    FriendlyCoreFilter,
    lambda: PrivateStandardScaler(bounds=(-50.0, 50.0)),
    lambda: RowMap(np.arctan),
    lambda: RowMap(np.negative),
)
SLOW = {"PrivateSearchCV": 0.1, "FriendlyCoreKMeans": 0.3, "PrivateGMM": 0.4}
FRAMES = ("PrivateAdditiveClassifier", "PrivateAdditiveRegressor", "MarginalReleaser")
MADE_OF_FRAMES = [name for name, (_, make) in COMPOSED.items() if hasattr(make(), "columns")]


@dataclass(frozen=True)
class Case:
    """A fit on a table and one on its neighbour, which has the rows ``stay``."""

    name: str
    estimator: object
    sample: Sample
    stay: np.ndarray
    kinds: tuple
    answers: str
    by_name: bool
    block: int | None
    ledger: bool
    remove: bool
    seed: int

    def sides(self, folder):
        """Return (X, y, groups, keys) of the first fit, and of the replay."""
        keys = np.random.default_rng([self.seed, 7]).integers(2**63, size=len(self.sample))
        sides = []
        for rows in (np.flatnonzero(self.stay), np.arange(len(self.sample))):
            some = self.sample.take(rows)
            kind, path = self.kinds[len(sides)], os.path.join(folder, f"{len(sides)}.parquet")
            y, groups, X = some.y, some.groups, some.X
            if self.by_name:  # targets and owners as columns
                beside = {"the y": y, "the ids": groups}
                X = X.assign(**{name: z for name, z in beside.items() if z is not None})
                y, groups = (name if z is not None else None for name, z in beside.items())
            sides.append((dressed(X, kind, path, self.seed), y, groups, keys[rows]))
        return sides[::-1] if self.remove else sides

    def __str__(self):
        d, gone = self.sample.n_features, np.flatnonzero(~self.stay)
        way = "less" if self.remove else "more"
        return (
            f"{self.estimator!r}\n{len(self.stay)} x {d}, {len(gone)} rows {way} from "
            f"{gone[:1]} on, {self.kinds}, answers {self.answers!r}, block {self.block}\n"
            f"{str(self.sample.take(gone[:2]).X)[:300]}"
        )


def dressed(X, kind, path, seed):
    """Return a table in some kind of memory."""
    cuts = np.sort(np.random.default_rng([seed, len(X)]).integers(0, len(X) + 1, size=2))
    if kind in UNNAMED:
        types = {"float32": np.float32, "int64": np.int64}
        X = np.array(X, dtype=types.get(kind, X.dtype), order="F" if kind == "fortran" else "C")
        if kind == "memory map" and X.size:
            X.tofile(path)
            return np.memmap(path, dtype=X.dtype, mode="r", shape=X.shape)
        return np.split(X, cuts) if kind == "batches" else X
    if kind == "pandas" or not hasattr(X, "iloc"):
        return X
    if kind == "batches of pandas":
        return [X.iloc[a:b] for a, b in zip([0, *cuts], [*cuts, len(X)], strict=True)]
    columns = {name: arrow_column(X[name]) for name in X.columns}
    table = pa.table(columns)
    if kind in ("polars", "lazy"):
        frame = pl.from_arrow(table)
        return frame if kind == "polars" else frame.lazy()
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=max(1, len(X) // 3))
        return path
    if kind == "arrow":
        return table
    return [table.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, len(X)], strict=True)]


def arrow_column(column):
    """Return a column of pandas as one of Arrow, whose type is that of the column."""
    if column.dtype.kind in "fiub":
        return pa.array(column.to_numpy())
    return pa.array([None if x is None or x != x else x for x in column.tolist()], pa.string())


def numbers(rng, n, d, flavour):
    """Return a table of numbers of some flavour."""
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, size=d) + rng.choice([0.0, 5.0, 1e6])
    few = rng.integers(-3, 4, size=(n, d))
    with np.errstate(all="ignore"):
        return {
            "normal": lambda: X,
            "constant": lambda: np.full((n, d), rng.choice([0.0, 2.0, -0.0, 1e300, 0.1])),
            "twins": lambda: X[np.arange(n) // 2],
            "integers": lambda: np.rint(X),
            "sentinels": lambda: np.where(rng.random((n, d)) < 0.2, -999.0, X),
            "binary": lambda: (rng.random((n, d)) < rng.choice([0.05, 0.5])).astype(float),
            "mostly equal": lambda: np.where(rng.random((n, d)) < 0.95, 3.0, X),
            "levels": lambda: few.astype(float),
            "heavy": lambda: np.exp(3 * rng.standard_t(2, size=(n, d)).clip(-200, 200)),
            "tiny": lambda: few * 5e-324,
            "huge": lambda: X * 1e250,
            "beyond 2^53": lambda: 2**53 + few * rng.integers(1, 2**60),
            "powers": lambda: np.nextafter(2.0**few, rng.choice([-9, 1, 9], size=(n, d))),
            "gaps": lambda: np.where(
                rng.random((n, d)) < 0.1, rng.choice([np.nan, np.inf], size=(n, d)), X
            ),
        }[flavour]()


def disturbed(rng, X, gone):
    """Let the rows that come or go be hostile, or like others."""
    kind, some = rng.integers(7), X[rng.integers(len(X), size=len(gone))]
    with np.errstate(all="ignore"):
        if kind == 0:
            X[gone] = some
        elif kind == 1:
            X[gone] = some * rng.choice([2, -1, 0, 3])
        elif kind == 2 and X.dtype.kind == "f":
            X[gone] = np.nextafter(some, rng.choice([-np.inf, np.inf]))
        elif kind in (3, 4) and X.dtype.kind == "f":
            X[gone] = rng.choice(HOSTILE, size=(len(gone), X.shape[1] if kind == 3 else 1))
        elif kind == 5 and X.dtype.kind == "f" and len(gone):
            X[gone, rng.integers(X.shape[1])] = rng.choice(HOSTILE)


def framed(rng, X, text):
    """Return a frame of numbers, some of whose columns are text with gaps."""
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    for j in range(X.shape[1]) if text else ():
        if rng.random() < 0.5:
            words = rng.choice(["red", "green", "blue", "", "missing", "other"], size=len(X))
            frame[f"c{j}"] = pd.Series(
                np.where(rng.random(len(X)) < 0.1, None, words), dtype=object
            )
    return frame


def varied(rng, estimator):
    """Return a clone with other parameters and another budget, if they have a plan."""
    budget = {
        "epsilon": float(rng.choice([10.0 ** rng.uniform(-4, 6), 1.0, 10.0, 100.0])),
        "delta": float(rng.choice([1e-6, 1e-6, 1e-12, 1e-300, 0.5, 0.0, 0.0])),
    }
    own = estimator.get_params()
    names = [n for n in own if n.rpartition("__")[2] in OPTIONS]
    values = dict(budget)
    for name in rng.permutation(names)[: rng.integers(3)]:
        path, _, last = name.rpartition("radius")
        options = OPTIONS[name.rpartition("__")[2]]
        values[name] = options[rng.integers(len(options))]
        if path + "center" in own and not last:  # a ball, in place of a box
            values |= {path + "center": 0.0, path + "bounds": None}
    for some in (values, budget, {"epsilon": budget["epsilon"]}):
        try:
            twin = clone(estimator).set_params(**some)
            twin._validate_params()
            if not twin.plan().problems:
                return twin
        except (ValueError, TypeError):
            continue
    return clone(estimator)


def models(rng):
    """Return (name, estimator, what its table is) of a random chain."""
    while True:
        estimator = ESTIMATORS[rng.integers(len(ESTIMATORS))]
        name = type(estimator).__name__
        if rng.random() < SLOW.get(name, 1.0):
            break
    if rng.random() < 0.07:
        name = list(COMPOSED)[rng.integers(len(COMPOSED))]
        if "search" not in name or rng.random() < 0.2:
            return name, COMPOSED[name][0], name
    estimator, way = varied(rng, estimator), rng.random()
    table = "frame" if name in FRAMES and rng.random() < 0.6 else "rows"
    alone = isinstance(estimator, PrivateSearchCV) or table == "frame"
    if way > 0.75 and not alone and name != "FriendlyCoreFilter":
        steps = [FILTERS[rng.integers(len(FILTERS))]() for _ in range(rng.integers(1, 3))]
        name, estimator = f"pipeline: {name}", make_private_pipeline(*steps, estimator)
    if 0.64 < way < 0.83 and not isinstance(estimator, PrivateSearchCV):
        levels = [0, 1, 2, 7] if rng.random() < 0.8 else None
        inner = rng.random() < 0.4
        if inner:
            estimator = PrivateGroupBy(estimator, "b", [0, 1])
        both = [(0, 0), (0, 1), (1, 1), (7, 7)]
        if inner or rng.random() < 0.7:
            estimator = PrivateGroupBy(estimator, "a", levels)
        else:
            estimator = PrivateGroupBy(estimator, ["a", "b"], levels and both)
        name, table = f"{'nested' if inner else 'by group'}: {name}", f"keys {table}"
        if rng.random() < 0.2 and table == "keys rows":
            filter_ = make_private_pipeline(FILTERS[rng.integers(2)](), estimator)
            name, estimator = f"filter, {name}", filter_
    if isinstance(estimator, PrivateGroupBy) or "pipeline" in name or "filter" in name:
        estimator = varied(rng, estimator)
    return name, estimator, table


def draw(seed, number, only=""):
    """Return the case of a number, whose name has ``only`` in it."""
    for attempt in range(10_000):
        rng = np.random.default_rng([seed, number, attempt])
        name, estimator, table = models(rng)
        persons = "keys" not in table and "by group" not in name and rng.random() < 0.3
        name = f"persons: {name}" if persons else name
        if only in name:
            return _drawn(rng, name, estimator, table, persons)
    raise ValueError(f"no kind of chain has {only!r} in its name.")


def _drawn(rng, name, estimator, table, persons):
    n = int(rng.choice([1, 2, 3, *rng.integers(4, 60, size=4), rng.integers(400)]))
    n = 2500 if rng.random() < 0.01 else max(n, 1)
    d = int(rng.choice([1, 2, 3, 3, 4])) if rng.random() < 0.95 else int(rng.integers(5, 21))
    d = 70 if rng.random() < 0.005 else d
    flavour, sizes = FLAVOURS[rng.integers(len(FLAVOURS))], rng.choice([1, 3, n])
    owners = rng.integers(0, max(1, n // sizes), size=n)
    gone = np.flatnonzero(owners == owners[rng.integers(n)]) if persons else rng.integers(n, size=1)
    if table in COMPOSED:
        base = COMPOSED[table][1]()
        sample = Sample.of(base).take(rng.integers(len(base), size=n))
        if sample.is_numeric:
            disturbed(rng, sample.X, gone)
        X = sample.X
    else:
        X = numbers(rng, n, d, flavour)
        disturbed(rng, X, gone)
    named = table.startswith("keys") or "frame" in table or rng.random() < 0.3
    kinds = NAMED if named else UNNAMED
    if table in COMPOSED:
        kinds = (
            ("pandas",)
            if hasattr(X, "iloc")
            else kinds[1:3]
            if table in MADE_OF_FRAMES
            else UNNAMED
        )
        kinds = ("polars",) if type(X).__module__.startswith("polars") else kinds
    kinds = (
        [k for k in kinds if k != "int64"] if flavour != "integers" or table in COMPOSED else kinds
    )
    if X.dtype.kind != "f" if hasattr(X, "dtype") else True:
        kinds = [k for k in kinds if k != "float32"]
    first = kinds[rng.integers(len(kinds))]
    typed = "frame" in table or table in COMPOSED or "MarginalReleaser" in name  # it shows types
    alike = [k for k in kinds if named <= (LIBRARY.get(k) == LIBRARY.get(first))]
    alike = [k for k in alike if "float32" not in (k, first) or k == first]
    # steps show libraries, and work in the type of their table
    alike = alike if "ipeline" in name or "filter" in name else kinds
    second = alike[rng.integers(len(alike))] if rng.random() < 0.4 and not typed else first
    if "float32" in (first, second) and X.dtype.kind == "f":
        with np.errstate(all="ignore"):
            X = X.astype(np.float32).astype(float)
    if "int64" in (first, second):
        first = second = "int64"
        X = np.clip(np.nan_to_num(X), -(2.0**62), 2.0**62)
    y = None
    if get_tags(estimator).target_tags.required:
        y = _target(rng, estimator, X, gone)
    if named and table not in COMPOSED:
        X = framed(rng, X, "frame" in table)
        if table.startswith("keys"):
            for key in ("a", "b"):
                X.insert(
                    int(rng.integers(X.shape[1] + 1)), key, rng.integers(0, 3, size=n).astype(float)
                )
    ids = owners if rng.random() < 0.5 else np.array([f"p{i}" for i in owners], dtype=object)
    stay = np.ones(n, dtype=bool)
    stay[gone] = False
    by_name = bool(first in NAMED and hasattr(X, "assign") and rng.random() < 0.3)
    return Case(
        name,
        estimator,
        Sample(X, y, ids if persons else None),
        stay,
        (first, second),
        str(rng.choice(["noise", "noise", "wild", "exact", "nothing"])),
        by_name and (y is not None or persons),
        int(rng.choice([2**8, 2**12])) if rng.random() < 0.3 else None,
        rng.random() < 0.02,
        rng.random() < 0.5,
        int(rng.integers(2**31)),
    )


def _target(rng, estimator, X, gone):
    """Return targets: classes, or numbers some of which are hostile."""
    n = len(X)
    if get_tags(estimator).classifier_tags is not None:
        y = rng.integers(0, 3, size=n)
        return y if rng.random() < 0.7 else y % 2
    with np.errstate(all="ignore"):
        y = np.nan_to_num(X[:, 0]) * rng.choice([0.0, 1.0, -3.0]) + rng.normal(size=n)
    if rng.random() < 0.5:
        y[gone] = rng.choice(HOSTILE)
    return y
