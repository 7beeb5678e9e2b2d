"""Projection onto an intersection of convex cones, each of which is easy by itself."""

from dataclasses import dataclass

import numpy as np

__all__ = ["State", "nearest_in_cones"]

EVERY, APART, RELAX = 10, 3.0, 1.6


@dataclass
class State:
    """Where a search ended, for a search nearby to start from."""

    images: list
    duals: list
    rho: float


def nearest_in_cones(y, weight, blocks, state=None, *, tol=1e-4, max_steps=150):
    """Return x with ``A_b x`` in the cone of every block and least ``sum weight (x - y)^2``.

    Parameters
    ----------
    y : ndarray of shape (n_coordinates,)
        The first coordinate is 1 and stays.
    weight : ndarray of shape (n_coordinates,)
        At least 0; positive somewhere.
    blocks : list
        Objects with methods ``forward(x) -> Z``, affine, ``adjoint(Z) -> vector`` of its linear
        part, ``onto(Z) -> Z``, and ``gram``: the diagonal of ``A_b' A_b``, which has to be diagonal
        but for the first coordinate.
    state : State, default=None
    tol : float, default=1e-4
        Ends the search when primal and dual residuals are below it, relative to their terms.
    max_steps : int, default=150

    Returns
    -------
    x : ndarray of shape (n_coordinates,)
        In the cones but for the tolerance.
    state : State

    Notes
    -----
    The alternating direction method of multipliers, over-relaxed: as all Gram matrices are
    diagonal, the step in x is a division. The penalty follows the ratio of the residuals.
    """
    gram = sum(block.gram for block in blocks)
    x = y
    if state is None:
        images = [block.onto(block.forward(x)) for block in blocks]
        state = State(images, [np.zeros_like(Z) for Z in images], _penalty(weight, gram))
    Zs, Us, rho = list(state.images), list(state.duals), state.rho
    origin = np.zeros_like(y)
    origin[0] = 1.0
    fixed = [block.forward(origin) for block in blocks]
    for step in range(1, max_steps + 1):
        pull = sum(b.adjoint(Z - U - c) for b, Z, U, c in zip(blocks, Zs, Us, fixed, strict=True))
        x = (weight * y + rho * pull) / (weight + rho * gram)
        x[0] = 1.0
        look = step % EVERY == 0
        primal = dual = size = force = 0.0
        for number, block in enumerate(blocks):
            image, Z = block.forward(x), Zs[number]
            W = RELAX * image + (1 - RELAX) * Z + Us[number]
            Zs[number] = block.onto(W)
            Us[number] = W - Zs[number]
            if look:
                primal += np.sum(np.square(image - Zs[number]))
                dual = dual + block.adjoint(Zs[number] - Z)
                size += np.sum(np.square(image))
                force = force + block.adjoint(Us[number])
        if look:
            primal = np.sqrt(primal / size)
            dual = np.linalg.norm(dual) / (np.linalg.norm(force) + 1e-30)
            if max(primal, dual) < tol or not np.isfinite(dual):
                break
            if primal > APART * dual or dual > APART * primal:
                factor = 2.0 if primal > dual else 0.5
                rho, Us = rho * factor, [U / factor for U in Us]
    return x, State(Zs, Us, rho)


def _penalty(weight, gram):
    here = (weight > 0) & (gram > 0)
    return float(np.median(weight[here] / gram[here]))
