"""The ``denoiser`` parameter of estimators: what it may be, what it does, what a plan says."""

from dataclasses import replace

import numpy as np
from sklearn.base import clone

from skdp.denoising._auto import AutoDenoiser
from skdp.denoising._base import Denoiser
from skdp.utils._compat import StrOptions

__all__ = ["DENOISER", "check_denoiser", "denoised", "resolve_denoiser", "with_denoiser"]

DENOISER = [Denoiser, StrOptions({"auto"}), None]  # the constraint of the parameter
SMALL, LARGE = 1e-150, 1e150  # squares between which denoisers compute


def resolve_denoiser(denoiser, *, support=None):
    """Return what a ``denoiser`` parameter stands for: a Denoiser or None; ``"auto"`` chooses."""
    if isinstance(denoiser, str):
        return AutoDenoiser(support=support)
    return denoiser


def check_denoiser(denoiser, n_features, law="gaussian"):
    """Raise ValueError unless released vectors of this length and law can be denoised."""
    denoiser = resolve_denoiser(denoiser)
    if denoiser is not None:
        worker = clone(denoiser).set_params(noise_scale=1.0, noise_distribution=law)
        worker.check(n_features, law)
        worker._validate_params()


def with_denoiser(plan, denoiser):
    """Return a plan that lists the denoiser as what it is: free, with an assumption."""
    denoiser = resolve_denoiser(denoiser)
    if denoiser is None:
        return plan
    note = f"{type(denoiser).__name__}: free post-processing; assumes {denoiser.assumes}"
    return replace(plan, assumptions=(*plan.assumptions, note))


def denoised(value, noise_scale, denoiser, *, law="gaussian", support=None):
    """Denoise one released vector or array: what estimators do with their ``denoiser`` parameter.

    Parameters
    ----------
    value : ndarray
        Released values, of any shape.
    noise_scale : float or ndarray of the shape of ``value``
        Standard deviations of the noise, or scales b of Laplace noise.
    denoiser : Denoiser, "auto" or None
        Its own ``noise_scale`` and ``noise_distribution`` are replaced.
    law : {"gaussian", "laplace"}, default="gaussian"
    support : {"nonnegative"} or None, default=None
        What ``"auto"`` may know of the truth.

    Returns
    -------
    value : ndarray
        Of the shape of ``value``.
    risk : float
        Estimated summed squared error; without a denoiser the known one. A value whose noise is
        infinite, or so large or small that its square is no ordinary number, stays as it is.

    See Also
    --------
    skdp.AutoDenoiser, Noise

    Notes
    -----
    **Privacy**: computes from released and public values alone, so it costs nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.denoising import denoised
    >>> value, risk = denoised(np.array([3.0, 2.0, 4.0, 3.0, 2.5]), 1.0, "auto")
    >>> value.shape, bool(risk < 5)
    ((5,), True)
    """
    worker = resolve_denoiser(denoiser, support=support)
    worker = None if worker is None else clone(worker)
    return fit_denoiser(value, noise_scale, worker, law=law)


def fit_denoiser(value, noise_scale, worker, *, law="gaussian"):
    """Fit ``worker``, a denoiser or None, on one released vector; as :func:`denoised`."""
    value = np.asarray(value, dtype=np.float64)
    scale = np.broadcast_to(np.asarray(noise_scale, dtype=np.float64), value.shape).reshape(-1)
    with np.errstate(over="ignore", under="ignore"):
        variance = np.square(scale) * (1 if law == "gaussian" else 2)
        known = float(np.sum(variance))
        ordinary = np.all(variance > SMALL) and known < LARGE and np.all(np.square(value) < LARGE)
    if worker is None or not ordinary:
        return value, known
    worker.set_params(noise_scale=scale, noise_distribution=law)
    row = worker.fit_transform(value.reshape(1, -1))[0]
    return row.reshape(value.shape), float(worker.risk_estimate_[0])
