"""Forty frequent mistakes, what is said of each, and a grade of what is said.

    python benchmarks/mistakes.py

A good message names what was seen, what is allowed and the way out. Each is a pattern that the
message matches, or "" where it has none: three are an A, two a B, one a C. Without an error or a
warning it is a D, and so it is where a pattern does not match.
"""

import re
import warnings
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skdp
from skdp import MarginalReleaser, PrivacyLedger, PrivateLogisticRegression, PrivateMean

__all__ = ["MISTAKES", "grade", "main", "told"]

_N, _rng = 200, np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "wage": _rng.normal(20, 4, _N),
        "age": _rng.integers(20, 60, _N),
        "town": _rng.choice(["north", "south"], _N),
        "left": _rng.integers(0, 2, _N),
    }
)
X, y = PEOPLE[["wage", "age"]], PEOPLE["left"]
TOTAL = {"epsilon": 1.0, "delta": 1e-6}


def model():
    return PrivateLogisticRegression(classes=[0, 1], **TOTAL)


def mean(**parameters):
    return PrivateMean(**{**TOTAL, **parameters}).fit(X)


def counts(workload=1):
    levels = {"town": ["north", "south"], "left": 2}
    return MarginalReleaser(workload, domain=levels, **TOTAL).fit(PEOPLE[["town", "left"]])


def twice():
    ledger = PrivacyLedger(**TOTAL)
    for _ in range(2):
        mean(epsilon=0.8, delta=5e-7, ledger=ledger)


def ledgers(**second):
    with TemporaryDirectory() as folder:
        PrivacyLedger(f"{folder}/a.db", **TOTAL)
        PrivacyLedger(f"{folder}/a.db", **second)


def grouped():
    return skdp.PrivateGroupBy(PrivateMean(), "twon", ["north"]).fit(PEOPLE[["wage", "town"]])


def searched():
    grid = {"C": [0.1, 1.0]}
    return skdp.PrivateSearchCV(model(), grid, scoring="AUC", **TOTAL).fit(X, y)


def of_numbers():
    return PrivateLogisticRegression().fit(X, PEOPLE["wage"])


MISTAKES = {  # what is done: how, what is seen, what is allowed, the way out
    "epsilon is a text": (lambda: mean(epsilon="1"), "Got '1'", r"\(0.0, inf\)", "without quotes"),
    "epsilon is negative": (lambda: mean(epsilon=-1), "Got -1", r"\(0.0, inf\)", ""),
    "delta is 0": (lambda: mean(delta=0), "delta=0", "0 < delta < 1", "Pass bounds"),
    "delta is .01": (lambda: mean(delta=0.01), "delta=0.01", "less than one over", "say 1e-6"),
    "epsilon is 100": (lambda: mean(epsilon=100), "epsilon=100", "0.1 to 10", "e.epsilon times"),
    "bounds are exchanged": (
        lambda: mean(bounds=(100, 0)),
        "",
        "low below high",
        "Leave bounds out",
    ),
    "bounds of one column of two": (
        lambda: mean(bounds=([0], [9])),
        r"Got shape \(1,\)",
        "one number per column",
        "",
    ),
    "confidence in percent": (lambda: mean().interval(95), "Got 95", r"\(0, 1\)", "is 0.95"),
    "a quantile in percent": (
        lambda: skdp.PrivateQuantile(90).fit(X),
        "Got 90",
        r"\[0.0, 1.0\]",
        "90 % is 0.9",
    ),
    "a parameter without its name": (
        lambda: PrivateMean(1.0),
        "Got 1",
        "no parameters without",
        "epsilon=1.0",
    ),
    "a misspelt parameter": (lambda: mean(epsilom=1.0), "'epsilom'", "", "Use epsilon="),
    "a name of scikit-learn": (lambda: skdp.KMeans, "'KMeans'", "", "Use skdp.FriendlyCoreKMeans"),
    "gaps in y": (
        lambda: model().fit(X, y.where(y > 0)),
        "contains NaN",
        "",
        "Leave such rows out",
    ),
    "y is too short": (lambda: model().fit(X, y[:9]), "", "same number", "one entry for each row"),
    "y is forgotten": (lambda: model().fit(X), "y is None", "requires y", ""),
    "classes from numbers": (of_numbers, "continuous", "classes are text, whole", "Round it"),
    "a regression of texts": (
        lambda: skdp.PrivateLinearRegression(**TOTAL).fit(X, PEOPLE["town"]),
        "another type",
        "real numbers",
        "use a classifier",
    ),
    "a class that is not named": (
        lambda: PrivateLogisticRegression(classes=[1, 2]).fit(X, y),
        "labels that are not",
        "`classes`",
        "Pass every label",
    ),
    "text in a mean": (
        lambda: PrivateMean(**TOTAL).fit(PEOPLE),
        "town",
        "real numbers",
        "encode categories first",
    ),
    "a series": (
        lambda: PrivateMean().fit(PEOPLE["wage"]),
        "one column",
        "two dimensions",
        "to_frame",
    ),
    "a list of numbers": (lambda: PrivateMean().fit([1.0, 2.0]), "1D", "2D", "reshape"),
    "a sparse matrix": (
        lambda: PrivateMean().fit(sparse.csr_matrix(X)),
        "sparse",
        "dense",
        "toarray",
    ),
    "infinite entries": (
        lambda: PrivateMean().fit(X.assign(wage=np.inf)),
        "infinity",
        "",
        "public values",
    ),
    "a name twice": (
        lambda: PrivateMean().fit(pd.concat([X, X], axis=1)),
        "twice",
        "differ",
        "rename",
    ),
    "no rows": (lambda: PrivateMean().fit(X[:0]), "0 sample", "minimum of 1", ""),
    "a file that is not there": (
        lambda: PrivateMean().fit("people.csv"),
        "is text",
        "parquet",
        "Pass a table",
    ),
    "another frame in predict": (
        lambda: model().fit(X, y).predict(X[["wage"]]),
        "missing",
        "age",
        "should match",
    ),
    "predict before fit": (lambda: model().predict(X), "not fitted", "", "Call 'fit'"),
    "a ledger by its path": (
        lambda: mean(ledger="study.db"),
        "Got 'study.db'",
        "skdp.PrivacyLedger",
        "PrivacyLedger.open",
    ),
    "a ledger without a budget": (
        lambda: PrivacyLedger("study.db"),
        "",
        "epsilon must be given",
        "PrivacyLedger.open",
    ),
    "a ledger with another budget": (
        lambda: ledgers(epsilon=2.0, delta=1e-6),
        "Got 2.0",
        "epsilon=1.0",
        "Pass the stored value",
    ),
    "a fit beyond the budget": (twice, "epsilon=0.8", r"epsilon=0\.\d+.* is left", "acknowledge"),
    "a scaler in a private pipeline": (
        lambda: skdp.make_private_pipeline(StandardScaler(), PrivateMean()).fit(X),
        "StandardScaler",
        "public data",
        "Use PrivateStandardScaler",
    ),
    "a scaler in a pipeline": (
        lambda: make_pipeline(StandardScaler(), PrivateMean(**TOTAL)).fit(X),
        "StandardScaler",
        "public data",
        "Use PrivateStandardScaler",
    ),
    "a search of scikit-learn": (
        lambda: GridSearchCV(model(), {"C": [0.1, 1.0]}, cv=2).fit(X, y),
        "each fold",
        "costs its epsilon again",
        "PrivateSearchCV",
    ),
    "scores of scikit-learn": (
        lambda: cross_val_score(model(), X, y, cv=2),
        "each fold",
        "costs its epsilon again",
        "private_cross_val_score",
    ),
    "a score that nobody has": (searched, "Got 'AUC'", "'roc_auc'", ""),
    "a key that no column has": (grouped, "Got 'twon'", r"\['wage', 'town'\]", "Pass names"),
    "a table that was not released": (
        lambda: counts().query({"town": "north", "left": 1}),
        r"\['town', 'left'\]",
        "workload that has one",
        "fit with",
    ),
    "edges of a histogram in a list": (
        lambda: skdp.PrivateHistogram([0, 10, 20], **TOTAL).fit(X[["wage"]]),
        "Got 3 entries",
        "one entry per column",
        r"bins=\[\[low",
    ),
}


def told(act):
    """Return what errors and warnings say, those of a seed or of few rows left out."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", skdp.exceptions.LowAccuracyWarning)
        try:
            act()
        except Exception as error:
            return " ".join(f"{type(error).__name__}: {error}".split())
    return " ".join(" ".join(f"{one.category.__name__}: {one.message}".split()) for one in seen)


def grade(text, patterns):
    """Return A, B, C or D: how much of what was seen, what is allowed and the way out is said."""
    asked = [pattern for pattern in patterns if pattern]
    return "DCBA"[len(asked) if all(re.search(one, text) for one in asked) else 0]


def main():
    grades = []
    for name, (act, *patterns) in MISTAKES.items():
        text = told(act)
        grades.append(grade(text, patterns))
        print(f"{grades[-1]}  {name}\n   {text or 'nothing is said'}")
    print(", ".join(f"{grades.count(one)} {one}" for one in sorted(set(grades))), "of", len(grades))


if __name__ == "__main__":
    main()
