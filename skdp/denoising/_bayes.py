"""Posterior means under a normal prior or one that is estimated, as a transformer."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from skdp.denoising._base import Denoiser, Noise, Rule, nonnegative, slope_of
from skdp.utils._compat import Interval, StrOptions
from skdp.utils._numbers import stores_parameters

SWEEPS = 300
BLOCK = 2**22  # likelihoods worked on together
FINE = 16  # points per noise scale that like coordinates are gathered on
GATHERED = 2000
REACH = {
    "gaussian": 6.0,
    "laplace": 20.0,
}  # noise scales beyond which likelihoods are of no account


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


def npmle_rule(y, noise, *, support=None, n_atoms=300):
    """Return posterior means under the prior of greatest likelihood.

    Notes
    -----
    The nonparametric maximum likelihood estimate (Kiefer & Wolfowitz 1956; Jiang & Zhang 2009) on
    atoms near all coordinates. The problem is convex, and a fixed number of sweeps of EM gets
    close: ``w_j <- w_j mean_i L_ij / f_i``. Coordinates do not touch if they are further apart than
    the noise reaches: where there are more than ``n_atoms`` atoms, they are fitted in stretches,
    each with all that is near enough to its ends. Coordinates without others nearby, and stretches
    whose estimated risk is not below that of the released ones, stay what they are.
    """
    stretches = _stretches(y, noise, n_atoms)
    if stretches[:1] and stretches[0][0].size == y.size:
        return _fitted(y, noise, support)
    value, slope, parts = y.copy(), np.ones_like(y), []
    for core, near in stretches:
        inner = np.searchsorted(near, core)
        rule = _fitted(y[near], _part(noise, near), support)
        if _lowers_risk(y[near], _part(noise, near), rule, inner):
            value[core], slope[core] = rule.value[inner], rule.slope[inner]
            parts.append((core, near, inner, rule))

    def along(z):
        moved = y + z
        for core, near, inner, rule in parts:
            moved[core] = rule.along(z[near])[inner]
        return moved

    rule = Rule(value, slope, along, "empirical Bayes")
    return nonnegative(rule) if support == "nonnegative" else rule


def _part(noise, chosen):
    return Noise(noise.scale[chosen], noise.law)


def _lowers_risk(y, noise, rule, chosen):
    """Return whether the estimated risk of some coordinates is below that of the released ones."""
    gain = 2 * noise.variance * (1 - slope_of(noise, rule)) - np.square(rule.value - y)
    return bool(gain[chosen].sum() > 0)


def _fitted(y, noise, support):
    """Return the rule of coordinates that are fitted together.

    Slope: ``posterior variance / v`` (Gaussian noise) for a fixed prior, plus what the prior moves
    with y. Linearised at its end, a sweep of EM maps ``dw`` to ``(I - W H) dw + W r_i dy_i / d``,
    with ``l_i = L_i / f_i``, ``H = mean l_i l_i'``, ``r_i = D_i l_i``. So s sweeps move w by
    ``W^1/2 U phi(lambda) U' W^1/2 r_i / d``, where ``phi(x) = (1 - (1 - x)^s) / x`` and U, lambda
    are the eigenvectors and eigenvalues of ``W^1/2 H W^1/2``, and the value by that times
    ``l_i (atoms - g_i)``. The atom ``a`` that y_i shares with m - 1 others moves by 1 / m, and the
    value by ``p_ia (1 + (a - g_i) D_a log L_ia) / m``, p the posterior.
    """
    atoms, own, sharing = _atoms(y, noise, support)
    prior = _prior(y, noise, atoms)
    mean, variance = prior.posterior(y, noise)
    moves = _weights_move(y, noise, prior, mean, own, sharing)
    moves += _atoms_move(y, noise, prior, mean, own, sharing)

    def along(z):
        return prior.posterior(y + z, noise)[0] + moves * z

    return Rule(mean, variance / noise.variance + moves, along, "empirical Bayes")


def _prior(y, noise, atoms):
    y, scale, times = _gathered(y, noise)
    L = _likelihood(y, scale, noise.law, atoms)
    weights = np.full(atoms.size, 1 / atoms.size)
    for _ in range(SWEEPS):
        weights = weights * (L.T @ (times / (L @ weights))) / times.sum()
    return Prior(atoms, weights / weights.sum())


def _cells(y, noise):
    """Return the cell of every coordinate, and the means and sizes of the cells.

    Coordinates of one cell have noise of one octave and lie within a quarter of it.
    """
    unit = float(np.median(noise.scale))
    octave = np.floor(np.log2(noise.scale / unit))
    width = unit / 4 * np.exp2(octave)
    pairs = np.stack([octave, np.rint(y / width)])
    _, cell, times = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
    cell = cell.reshape(-1)
    return cell, np.bincount(cell, weights=y) / times, times


def _stretches(y, noise, n_atoms):
    """Return the coordinates of stretches of cells, and the same with all that is near.

    Both come in increasing order. Lone coordinates, out of reach of all others, are in none.
    """
    cell, means, times = _cells(y, noise)
    if means.size <= n_atoms:
        return [(np.arange(y.size), np.arange(y.size))]
    reach = REACH[noise.law] * noise.scale.max()
    order = np.argsort(means)
    far = np.diff(means[order], prepend=-np.inf, append=np.inf) > reach
    kept = order[~(far[:-1] & far[1:] & (times[order] == 1))]
    means, place = means[kept], np.full(order.size, -1)
    place[kept] = np.arange(kept.size)
    at, stretches = place[cell], []
    for first in range(0, kept.size, n_atoms // 2):
        last = min(first + n_atoms // 2, kept.size) - 1
        left = max(first - n_atoms // 4, np.searchsorted(means, means[first] - reach))
        right = min(last + n_atoms // 4, np.searchsorted(means, means[last] + reach))
        near = np.flatnonzero((at >= left) & (at <= right))
        stretches.append((near[(at[near] >= first) & (at[near] <= last)], near))
    return stretches


def _atoms(y, noise, support):
    """Return the mean of every cell and zero as atoms; for counts some near zero, none below.

    Also returns the atom of every coordinate and how many share it, infinitely many where it
    cannot move. Other atoms that move with the coordinates would make slopes too small.
    """
    cell, means, times = _cells(y, noise)
    atoms, sharing = [np.zeros(1), means], times.astype(float)
    if support == "nonnegative":
        atoms.append(np.median(noise.scale) * np.geomspace(0.05, 2, 20))
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


GRID = 100


class BayesDenoiser(Denoiser):
    """Replace every coordinate by its posterior mean under one prior for all of them.

    Parameters
    ----------
    noise_scale : float or array-like of shape (n_features,), default=None
        Standard deviation of the noise, or scale b of Laplace noise. None needs a Release.
    prior : {"npmle", "normal"}, default="npmle"
        ``"npmle"`` fits any distribution to the released coordinates by maximum likelihood;
        ``"normal"`` is a normal distribution around ``center``.
    prior_scale : float, default=None
        Standard deviation of the normal prior; None takes the one with the least estimated risk.
    center : float or "mean", default=0.0
        Mean of the normal prior; ``"mean"`` is the mean of the released coordinates.
    support : {"nonnegative"} or None, default=None
        Where the fitted prior lives: ``"nonnegative"`` for counts.
    n_atoms : int, default=300
        Points of the fitted prior that are fitted together, at most. They lie within a quarter of
        the noise of every coordinate; where that takes more, coordinates are fitted in stretches.
    noise_distribution : {"gaussian", "laplace"}, default="gaussian"

    Attributes
    ----------
    risk_estimate_ : ndarray of shape (n_releases,)
        Estimate of the summed squared error of every row that was fitted. It counts what the
        choice of the prior costs, to first order.
    noise_scale_ : float or ndarray of shape (n_features,)
    noise_distribution_ : str
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X has names that are strings.

    See Also
    --------
    AutoDenoiser : Chooses a denoiser.

    Notes
    -----
    Assumes that coordinates are alike: that a common distribution, whatever it is, describes how
    their true values spread. No coordinate need be random. The normal prior with a scale
    chosen by risk never does much worse than the released vector whatever the truth [1]_, also for
    unequal noise and for Laplace noise, where it is the best linear rule; the fitted prior comes
    close to the best rule that treats coordinates alike [2]_ as their number grows.

    **Privacy**: post-processing of releases; free.

    References
    ----------
    .. [1] Xie, Kou, Brown. "SURE estimates for a heteroscedastic hierarchical model". JASA 2012.
    .. [2] Jiang, Zhang. "General maximum likelihood empirical Bayes estimation of normal means".
       Annals of Statistics 2009.
    .. [3] Balle, Wang. "Improving the Gaussian mechanism for differential privacy: analytical
       calibration and optimal denoising". ICML 2018, Theorem 10.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.denoising import BayesDenoiser
    >>> truth = np.repeat([0.0, 30.0], 100)
    >>> noisy = truth + np.random.default_rng(0).normal(scale=5.0, size=200)
    >>> better = BayesDenoiser(noise_scale=5.0).fit_transform(noisy[None])[0]
    >>> bool(np.abs(better - truth).mean() < 0.3 * np.abs(noisy - truth).mean())
    True
    """

    assumes = "one distribution describes how the true coordinates spread"

    _parameter_constraints: dict = {
        **Denoiser._parameter_constraints,
        "prior": [StrOptions({"npmle", "normal"})],
        "prior_scale": [Interval(Real, 0, None, closed="left"), None],
        "center": [Real, StrOptions({"mean"})],
        "support": [StrOptions({"nonnegative"}), None],
        "n_atoms": [Interval(Integral, 10, None, closed="left")],
    }

    @stores_parameters
    def __init__(
        self,
        *,
        noise_scale=None,
        prior="npmle",
        prior_scale=None,
        center=0.0,
        support=None,
        n_atoms=300,
        noise_distribution="gaussian",
    ): ...

    def _rule(self, y, noise):
        if self.prior == "npmle":
            return npmle_rule(y, noise, support=self.support, n_atoms=self.n_atoms)
        if self.center == "mean":
            return normal_prior(y, noise, prior_scale=self.prior_scale, to_mean=True)
        rule = normal_prior(y - self.center, noise, prior_scale=self.prior_scale)
        return rule.moved(self.center)


def normal_prior(y, noise, *, prior_scale=None, to_mean=False):
    """Return ``m + (w^2 / (w^2 + v_i)) (y_i - m)``.

    Notes
    -----
    With w known and a normal prior it is the posterior mean (Balle & Wang 2018, Theorem 10). With
    w^2 chosen by SURE it is, as d grows, as good as the best w^2 for this theta, whatever theta
    (Xie, Kou, Brown 2012). The rule is linear, so its risk depends on the variances of the noise
    alone and everything holds for Laplace noise.

    With ``B_i = v_i / (w^2 + v_i)`` and ``r = y - m``, ``S = sum B_i^2 r_i^2 - 2 v_i B_i (1 - h)``,
    h = 1/d or 0, is SURE up to a constant. At its minimum w^2 moves with y by ``-(D_i S') / S'' =
    -4 B_i B_i' r_i / S''``, which adds ``4 B_i (B_i' r_i)^2 / S''`` to the slope.
    """
    d, v = y.size, noise.variance
    m, h = (y.mean(), 1 / d) if to_mean else (0.0, 0.0)
    r = y - m

    def rise(w2):
        B, slope = v / (w2 + v), -v / np.square(w2 + v)
        return float(np.sum(2 * slope * (B * np.square(r) - v * (1 - h))))

    def risk(w2):
        B = v / (w2 + v)
        return float(np.sum(np.square(B * r) - 2 * v * B * (1 - h)))

    correction = 0.0
    if prior_scale is None:
        w2, inside = _least(risk, rise, v, r)
        if inside:
            B, slope = v / (w2 + v), -v / np.square(w2 + v)
            bend = -2 * slope / (w2 + v)
            S2 = np.sum(2 * np.square(r) * (slope**2 + B * bend) - 2 * v * bend * (1 - h))
            correction = 4 * B * np.square(slope * r) / S2 if S2 > 0 else 0.0
    else:
        w2 = prior_scale**2
    kept = w2 / (w2 + v)
    slope = kept + (1 - kept) * h + correction
    return Rule(m + kept * r, slope, lambda z: m + kept * r + slope * z, "normal prior")


def _least(risk, rise, v, r):
    """Return the prior variance of least risk, and whether it lies inside the grid."""
    low, high = 1e-6 * v.min(), 100 * (np.square(r).max() + v.max())
    grid = np.append(0.0, np.geomspace(low, high, GRID))
    k = int(np.argmin([risk(w2) for w2 in grid]))
    if k in (0, GRID):
        return grid[k], False
    left, right = grid[k - 1], grid[k + 1]
    for _ in range(60):
        middle = (left + right) / 2
        left, right = (left, middle) if rise(middle) > 0 else (middle, right)
    return middle, True
