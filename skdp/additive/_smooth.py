"""Smoothing of what was released cell by cell, by the known law of its noise: post-processing."""

import numpy as np

__all__ = ["TermPrior"]

VARIANCES = 4.0 ** np.arange(-6, 3)  # of a term, in squares of its unit
LENGTHS = 0.05, 0.3, 2.0  # over which a term varies, as a part of all rows
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

    def mean(self, values, variances, unit=1.0):
        """Return the posterior mean of the entries of a term."""
        root = np.sqrt(variances) / unit
        scaled, shrunk, evidence = values / np.sqrt(variances), [], []
        for shape in self._shapes:
            spread, vectors = np.linalg.eigh(shape / root[:, None] / root)
            prior = VARIANCES[:, None] * np.maximum(spread, 0.0)
            along = vectors.T @ scaled
            shrunk.append((along * prior / (1 + prior)) @ vectors.T)
            evidence.append(-0.5 * (along**2 / (1 + prior) + np.log1p(prior)).sum(axis=1))
        weights = np.exp(np.array(evidence) - np.max(evidence))
        mean = np.einsum("st,stc->c", weights / weights.sum(), np.array(shrunk))
        return mean * np.sqrt(variances)
