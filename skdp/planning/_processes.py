"""Independent computations, in processes of joblib where these are asked for."""

from functools import partial

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from skdp.utils._config import config_context, get_config
from skdp.utils._progress import counts
from skdp.utils._threads import one_thread

__all__ = ["computed_apart"]


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
