"""Empirical Bayes: the prior of greatest likelihood on a grid, and posterior means under it."""

from dataclasses import dataclass

import numpy as np

from skdp.denoising._rules import Rule

__all__ = ["Prior", "npmle", "npmle_rule"]

SWEEPS = 300
BLOCK = 2**22  # likelihoods worked on together
FINE = 16  # points per noise scale that like coordinates are gathered on
GATHERED = 2000


@dataclass(frozen=True)
class Prior:
    """Atoms and their weights."""

    atoms: np.ndarray
    weights: np.ndarray

    def posterior(self, y, noise):
        """Return posterior means and variances, shape (d,) each."""
        mean, variance = np.empty_like(y), np.empty_like(y)
        step = max(1, BLOCK // self.atoms.size)
        for start in range(0, y.size, step):
            part = slice(start, start + step)
            p = _likelihood(y[part], noise.scale[part], noise.law, self.atoms) * self.weights
            p /= p.sum(axis=1, keepdims=True)
            mean[part] = p @ self.atoms
            variance[part] = p @ np.square(self.atoms) - np.square(mean[part])
        return mean, np.maximum(variance, 0.0)


def npmle(y, noise, *, support=None, n_atoms=300):
    """Fit the prior: EM on a grid of atoms.

    Parameters
    ----------
    y : ndarray of shape (d,)
    noise : Noise
    support : {None, "nonnegative"}, default=None
        Where the prior lives: for counts the nonnegative numbers.
    n_atoms : int, default=300

    Returns
    -------
    prior : Prior

    Notes
    -----
    The nonparametric maximum likelihood estimate (Kiefer & Wolfowitz 1956; Jiang & Zhang 2009). The
    problem is convex, and a fixed number of sweeps gets close: ``w_j <- w_j mean_i L_ij / f_i``.
    """
    atoms = _atoms(y, noise, support, n_atoms)[0]
    y, scale, times = _gathered(y, noise)
    L = _likelihood(y, scale, noise.law, atoms)
    weights = np.full(atoms.size, 1 / atoms.size)
    for _ in range(SWEEPS):
        weights = weights * (L.T @ (times / (L @ weights))) / times.sum()
    return Prior(atoms, weights / weights.sum())


def npmle_rule(y, noise, *, support=None, n_atoms=300):
    """Return posterior means under the fitted prior.

    Parameters
    ----------
    y : ndarray of shape (d,)
    noise : Noise
    support : {None, "nonnegative"}, default=None
    n_atoms : int, default=300

    Returns
    -------
    rule : Rule

    Notes
    -----
    Slope: ``posterior variance / v`` (Gaussian noise) for a fixed prior, plus what the prior moves
    with y. Linearised at its end, a sweep of EM maps ``dw`` to ``(I - W H) dw + W r_i dy_i / d``,
    with ``l_i = L_i / f_i``, ``H = mean l_i l_i'``, ``r_i = D_i l_i``. So s sweeps move w by
    ``W^1/2 U phi(lambda) U' W^1/2 r_i / d``, where ``phi(x) = (1 - (1 - x)^s) / x`` and U, lambda
    are the eigenvectors and eigenvalues of ``W^1/2 H W^1/2``, and the value by that times
    ``l_i (atoms - g_i)``. The atom ``a`` that y_i shares with m - 1 others moves by 1 / m, and the
    value by ``p_ia (1 + (a - g_i) D_a log L_ia) / m``, p the posterior.
    """
    prior = npmle(y, noise, support=support, n_atoms=n_atoms)
    mean, variance = prior.posterior(y, noise)
    _, own, sharing = _atoms(y, noise, support, n_atoms)
    moves = _weights_move(y, noise, prior, mean, own, sharing)
    moves += _atoms_move(y, noise, prior, mean, own, sharing)

    def along(z):
        return prior.posterior(y + z, noise)[0] + moves * z

    return Rule(mean, variance / noise.variance + moves, along, "empirical Bayes")


def _atoms(y, noise, support, n_atoms):
    """Return atoms near every coordinate, some more at quantiles, and zero; for counts none below.

    Coordinates closer together than a quarter of the noise share an atom at their mean; if that
    makes too many atoms, the distance is doubled until it does not. Also returns the atom of
    every coordinate and how many share it, infinitely many where it cannot move.
    """
    unit = float(np.median(noise.scale))
    width, number = unit / 4, n_atoms + 1
    while number > n_atoms:
        _, cell, times = np.unique(np.rint(y / width), return_inverse=True, return_counts=True)
        number, width = times.size, 2 * width
    means = np.bincount(cell, weights=y) / times
    atoms = [[0.0], means, np.quantile(y, np.linspace(0, 1, n_atoms // 3))]
    sharing = times.astype(float)
    if support == "nonnegative":
        atoms.append(np.geomspace(unit / 20, 2 * unit, 20))
        atoms = [np.maximum(part, 0.0) for part in atoms]
        sharing = np.where(means > 0, sharing, np.inf)
        means = atoms[1]
    atoms = np.unique(np.concatenate(atoms))
    return atoms, np.searchsorted(atoms, means)[cell], sharing[cell]


def _gathered(y, noise):
    """Return values, scales, multiplicities: many like coordinates are counted on a fine grid."""
    if y.size <= GATHERED or not noise.alike:
        return y, noise.scale, np.ones(y.size)
    step = noise.scale[0] / FINE
    at, times = np.unique(np.rint(y / step), return_counts=True)
    return at * step, np.full(at.size, noise.scale[0]), times.astype(float)


def _likelihood(y, scale, law, atoms):
    """Return the likelihoods L_ij, every row in units of its largest."""
    x = (y[:, None] - atoms) / scale[:, None]
    x = -0.5 * np.square(x) if law == "gaussian" else -np.abs(x)
    return np.exp(x - x.max(axis=1, keepdims=True))


def _weights_move(y, noise, prior, mean, own, sharing):
    """Return per coordinate what the change of the weights adds to the slope.

    The weights follow l_i, which moves with y_i, and all l_k, which move with the atom of y_i:
    ``D_a l_kj = l_kj ([j = a] - w_a l_ka) D_a log L_ka``, summed over k in ``pulled``.
    """
    atoms, d, parts = prior.atoms, y.size, range(0, y.size, max(1, BLOCK // prior.atoms.size))

    def shapes(start):
        part = slice(start, start + parts.step)
        L = _likelihood(y[part], noise.scale[part], noise.law, atoms)
        gap, scale = y[part][:, None] - atoms, noise.scale[part][:, None]
        pull = gap / np.square(scale) if noise.gaussian else np.sign(gap) / scale
        return part, L / (L @ prior.weights)[:, None], pull

    H, pulled = np.zeros((2, atoms.size, atoms.size))
    total = np.zeros(atoms.size)
    for start in parts:
        _, ratio, pull = shapes(start)
        H += ratio.T @ ratio
        pulled -= (ratio * pull).T @ ratio
        total += (ratio * pull).sum(axis=0)
    pulled = prior.weights[:, None] * pulled + np.diag(total)
    root = np.sqrt(prior.weights)
    eigenvalue, U = np.linalg.eigh(root[:, None] * H * root / d)
    x = np.clip(eigenvalue, 1e-12, 1 - 1e-12)
    phi = -np.expm1(SWEEPS * np.log1p(-x)) / x
    U = root[:, None] * U
    pulled, moves = pulled @ U, np.empty_like(y)
    for start in parts:
        part, ratio, pull = shapes(start)
        own_pull = ((ratio * pull) @ prior.weights)[:, None] - pull
        change = (ratio * own_pull) @ U + pulled[own[part]] / sharing[part][:, None]
        value = (ratio * (atoms - mean[part][:, None])) @ U
        moves[part] = np.einsum("ik,k,ik->i", value, phi, change)
    return moves / d


def _atoms_move(y, noise, prior, mean, own, sharing):
    """Return per coordinate what the motion of its own atom adds to the slope."""
    atom, share = prior.atoms[own], np.empty_like(y)
    step = max(1, BLOCK // prior.atoms.size)
    for start in range(0, y.size, step):
        part = slice(start, start + step)
        p = _likelihood(y[part], noise.scale[part], noise.law, prior.atoms) * prior.weights
        share[part] = p[np.arange(len(p)), own[part]] / p.sum(axis=1)
    gap = y - atom
    pull = gap / np.square(noise.scale) if noise.gaussian else np.sign(gap) / noise.scale
    return share * (1 + (atom - mean) * pull) / sharing
