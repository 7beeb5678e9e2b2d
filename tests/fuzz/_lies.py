"""A step that declares to map rows by themselves, and does something else."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from skdp.contracts import Contract, Rows


def _has_the_row(X):
    return bool((np.abs(X - 1e6) < 1).any())


class Liar(TransformerMixin, BaseEstimator):
    """Does what ``how`` says, behind a contract that promises a map of single rows."""

    def __init__(self, how):
        self.how = how

    def fit(self, X, y=None):
        X = np.asarray(X)
        self.fitted_ = True
        if self.how == "keep":
            self.total_ = float(np.nansum(X))
        if self.how == "fail" and _has_the_row(X):
            raise ValueError("what now?")
        if self.how == "quote" and _has_the_row(X):
            raise ValueError(f"what is {X}?")
        return self

    def transform(self, X):
        if self.how == "centre":
            return X - np.nanmean(X, axis=0)
        if self.how == "widen":
            return np.hstack([X] * (1 + _has_the_row(X)))
        if self.how == "write":
            X[:] = 1.0
        return X

    def __skdp_contract__(self):
        return Contract(consumes=(Rows,), yields=lambda kind: Rows())
