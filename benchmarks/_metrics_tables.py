"""Scores of five models on ten real tables, which populations are drawn from."""

from functools import cache

import numpy as np
from _boosting_tables import missing as missing_of_boosting
from _boosting_tables import table as table_of_boosting
from _supervised_tables import missing as missing_of_supervised
from _supervised_tables import table as table_of_supervised
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

__all__ = ["MODELS", "TABLES", "missing", "scores"]

TABLES = {
    "breast_cancer": lambda y: y == 1,
    "digits": lambda y: y >= 5,
    "diabetes": lambda y: y > 140,
    "diamonds": None,
    "churn": None,
    "credit": None,
    "lending": None,
    "nass": None,
    "insured": None,
    "youth": None,
    "vote": None,
    "children": None,
    "late": None,
    "adult": None,
}
OF_SKLEARN = "breast_cancer", "digits", "diabetes"
MOST = 40000  # rows of a table that are used
MODELS = {
    "line": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
    "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": lambda: RandomForestClassifier(50, min_samples_leaf=5, random_state=0),
    "bayes": GaussianNB,
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=50, random_state=0),
}


def missing(name):
    """Return the packages that have a table and are not installed."""
    return (missing_of_supervised if name in OF_SKLEARN else missing_of_boosting)(name)


@cache
def scores(name, model):
    """Return labels and scores of the half of a table that a model has not seen."""
    table = (table_of_supervised if name in OF_SKLEARN else table_of_boosting)(name)
    order = np.random.default_rng(0).permutation(len(table.y))[:MOST]
    positive = TABLES[name] or (lambda y: y > 0)
    X, y = np.nan_to_num(table.matrix()[order]), positive(table.y[order]).astype(int)
    half = len(y) // 2
    fitted = MODELS[model]().fit(X[:half], y[:half])
    return y[half:], fitted.predict_proba(X[half:])[:, 1]
