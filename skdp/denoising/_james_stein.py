"""James-Stein shrinkage towards a point or a subspace."""

import numpy as np

from skdp.denoising._rules import Rule

__all__ = ["james_stein"]


def james_stein(y, noise, *, basis=None, positive_part=True, constant=None):
    """Shrink y towards the span of ``basis``, or towards zero.

    Shapes: basis (d, q).

    Notes
    -----
    With V the diagonal of the variances, P the projection in the metric of V^-1, ``r = y - P y``,
    ``Q = r' V^-1 r`` and ``T = sum v_i (1 - P_ii)``, the rule is ``P y + (1 - c / Q) r``. As
    ``D_i Q = 2 r_i / v_i``, Stein's identity gives the change of risk against y::

        E (c^2 + 4 c) |r|^2 / Q^2 - 2 c T / Q  <=  (c / Q) ((c + 4) max v - 2 T)

    by ``|r|^2 <= max v Q``. It is negative for ``0 < c < 2 (T / max v - 2)``; here
    ``c = T / max v - 2``, which for equal variances is d - q - 2, James and Stein's choice (Bock
    1975 for unequal ones). For ``c <= 0`` the rule is y. The positive part is better still.
    """
    v = noise.variance
    fitted, leverage = _project(y, v, basis)
    r, free = y - fitted, 1 - leverage
    c = max(float(v @ free) / v.max() - 2, 0.0) if constant is None else constant
    Q = float(np.square(r) @ (1 / v))

    def factor(q):
        with np.errstate(divide="ignore", invalid="ignore"):
            kept = np.where(q > 0, 1 - c / q, 0.0 if c > 0 else 1.0)
        return np.maximum(kept, 0.0) if positive_part else kept

    def along(z):
        moved = factor(Q + (2 * z * r + z * z * free) / v)
        return fitted + leverage * z + moved * (r + z * free)

    B = factor(np.float64(Q))
    moving = 2 * c * np.square(r / Q) / v if Q > 0 and (B > 0 or not positive_part) else 0.0
    return Rule(fitted + B * r, leverage + B * free + moving, along, "James-Stein")


def _project(y, v, basis):
    """Return P y and the diagonal of P, in the metric of the inverse variances."""
    if basis is None:
        return np.zeros_like(y), np.zeros_like(y)
    sd = np.sqrt(v)
    left, singular, _ = np.linalg.svd(basis / sd[:, None], full_matrices=False)
    left = left[:, singular > 1e-12 * singular.max(initial=0.0)]
    return sd * (left @ (left.T @ (y / sd))), np.square(left).sum(axis=1)
