"""Independent computations, in processes of joblib where these are asked for."""

import warnings
from functools import partial

from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from skdp.exceptions import LowAccuracyWarning, SeededNoiseWarning, WeakGuaranteeWarning
from skdp.utils._config import config_context, get_config
from skdp.utils._progress import counts
from skdp.utils._threads import one_thread

__all__ = ["computed_apart", "fitted_copy"]


def computed_apart(name, function, tasks, n_jobs=None):
    """Return ``function(*task)`` of every task, a list in their order.

    ``n_jobs`` processes share the tasks, as :class:`joblib.Parallel` takes it. Each runs on one
    thread of BLAS, so that results do not hang on their number. The progress is told as of one
    computation, and what runs inside is silent.
    """
    work, found = partial(_alone, get_config() | {"progress": False}, function), []
    with counts(name, len(tasks)) as done:
        if effective_n_jobs(n_jobs) == 1:
            results = (work(*task) for task in tasks)
        else:
            parallel = Parallel(n_jobs=n_jobs, return_as="generator")
            results = parallel(delayed(work)(*task) for task in tasks)
        for result in results:
            found.append(result)
            done()
    return found


def _alone(config, function, *task):
    with config_context(**config), one_thread():
        return function(*task)


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
