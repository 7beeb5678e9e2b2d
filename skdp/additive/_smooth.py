"""Smoothing of what was released cell by cell, by the known law of its noise: post-processing."""

import numpy as np

VARIANCES = 4.0 ** np.arange(-6, 3)  # of a term, in squares of its unit
LENGTHS = 0.05, 0.3, 2.0  # over which a term varies, as a part of all rows
JITTER = 1e-9  # of the mean of a diagonal
ROUGH = 0.0, 0.1, 0.5  # parts of its variance that have no length


class TermPrior:
    """What a term may look like before anything is known of it: a mixture of Gaussian priors.

    Entries of cells in an order are correlated, ``exp(-r / l)`` for cells between whose middles a
    part r of all rows lies, but for a part of their variance; other entries are independent.
    Variances and lengths have few values each, all of them equally likely.
    """

    def __init__(self, counts, *, ordered):
        alone = np.eye(len(counts))
        self._shapes = [alone]
        if ordered and len(counts) > 3:
            parts = counts[:-1] / counts[:-1].sum()
            middles = np.append(np.cumsum(parts) - parts / 2, np.inf)
            with np.errstate(invalid="ignore"):
                apart = np.nan_to_num(np.abs(middles[:, None] - middles), nan=0.0, posinf=np.inf)
            self._shapes += [
                (1 - rough) * np.exp(-apart / length) + rough * alone
                for length in LENGTHS
                for rough in ROUGH
            ]

    def means(self, values, variances, unit=1.0):
        """Return the posterior means of terms of several outputs, shape (n_outputs, n_cells)."""
        each = zip(values, variances, strict=True)
        found = [posterior(*one, self._shapes, VARIANCES, unit) for one in each]
        self.moves = np.array([moves for _, _, moves in found])
        return [mean for mean, _, _ in found]


def term_priors(counts, ordered):
    """Return the prior of the term of every feature."""
    return [TermPrior(n, ordered=o) for n, o in zip(counts, ordered, strict=True)]


def posterior(values, variances, shapes, of_term, unit=1.0):
    """Return the posterior mean under a mixture of Gaussian priors, its evidence, and its moves.

    Shapes are correlations of entries, None for independent ones, and ``of_term`` their variances.
    The evidence is the log of that of the mixture over that of zeros. Of noise with variances that
    are a little less, posterior variances are less by that part of as many entries as it has moves.
    """
    root = np.sqrt(variances) / unit
    scaled, shrunk, evidence, moves = values / np.sqrt(variances), [], [], []
    for shape in shapes:
        along, prior, back = _along(scaled, shape, root, of_term)
        shrunk.append(back(along * prior / (1 + prior)))
        moves.append(np.square(prior / (1 + prior)).sum(axis=1))
        evidence.append(-0.5 * (along**2 / (1 + prior) + np.log1p(prior)).sum(axis=1))
    top = np.max(evidence)
    weights = np.exp(np.array(evidence) - top)
    told = top + np.log(weights.mean()) + 0.5 * np.square(scaled).sum()
    weights /= weights.sum()
    mean = np.einsum("st,stc->c", weights, np.array(shrunk))
    return mean * np.sqrt(variances), float(told), float((weights * np.array(moves)).sum())


def _along(scaled, shape, root, of_term):
    """Return values along the axes of a shape, their prior variances, and the way back."""
    if shape is None:
        return scaled, of_term[:, None] / np.square(root), lambda rows: rows
    scaled_shape = shape / root[:, None] / root
    try:
        spread, vectors = np.linalg.eigh(scaled_shape)
    except np.linalg.LinAlgError:  # of a kernel of low rank and tiny noise
        size = len(root)
        jitter = JITTER * np.trace(scaled_shape) / size
        spread, vectors = np.linalg.eigh(scaled_shape + jitter * np.eye(size))
    prior = of_term[:, None] * np.maximum(spread, 0.0)
    return vectors.T @ scaled, prior, lambda rows: rows @ vectors.T
