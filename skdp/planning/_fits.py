"""Fits on public rows: of copies, without a ledger."""

import warnings

from sklearn.base import clone

from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning, WeakGuaranteeWarning

__all__ = ["fitted_copy"]


def fitted_copy(estimator, X, y, seed, groups=None, **parameters):
    """Return a fitted clone with these parameters and this seed, and without a ledger."""
    copy = clone(estimator)
    names = [(name, name.rpartition("__")[2]) for name in copy.get_params()]
    given = {name: None for name, last in names if last == "ledger"}
    if seed is not None:
        given |= {name: seed for name, last in names if last == "random_state"}
    copy.set_params(**given | parameters)
    with warnings.catch_warnings():
        for expected in (SeededNoiseWarning, LowAccuracyWarning, WeakGuaranteeWarning):
            warnings.simplefilter("ignore", expected)
        return copy.fit(X, y) if groups is None else copy.fit(X, y, groups=groups)
