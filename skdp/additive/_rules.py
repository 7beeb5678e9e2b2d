"""Public functions of releases: what a fit does with how many rows, and smoothing of its cells.

Everywhere ``strength`` is n mu, the number of rows in units of the noise of one sum over them.
"""

import math

import numpy as np

from skdp.table._groups import GroupRule

# shares of the budget
ROW_COUNT = 0.01
CLASS_COUNTS = 0.01, 0.1  # least and largest
BINS_OF_CLASSES, BINS_OF_NUMBER, BINS_OF_FEW = 0.05, 0.1, 0.3
CELL_COUNTS = 0.05
INTERCEPT = 0.004  # of what the cycles have, between two of them

CYCLES, GROWTH = 4, 1.3  # each takes so much more of the budget than the one before
BINS = 16  # of classes
CURVATURE = 1.25  # of that of the prior: what shrinks terms makes up for longer steps
FLOOR_OF_CLASSES, FLOOR_OF_NUMBERS = 0.5, 1.0  # of a count of a cell, in sd of its noise
# Chance that noise tells as much, above which terms are left out. Of 68 classifiers of 42 unseen
# tables that passed at .05, 3 were worse than chance; of 59 at .01 none.
UNLIKELY = 0.01
FEW, FEW_UNKNOWN = 60.0, 100.0  # strength below which features are not looked at
SMALL = 60.0  # strength per root of the number of features below which one cycle is all
CURVED = 115.0  # strength of the classes per feature above which cells have curvatures of their own
PERSONS = 150.0  # times mu, for each feature: below, terms are drowned more than caps bend them

VARIANCES = 4.0 ** np.arange(-6, 3)  # of a term, in squares of its unit
LENGTHS = 0.05, 0.3, 2.0  # over which a term varies, as a part of all rows
JITTER = 1e-9  # of the mean of a diagonal
ROUGH = 0.0, 0.1, 0.5  # parts of its variance that have no length


def rule_of_terms(n_features):
    """Return the GroupRule of terms: a few numbers are told for each of them."""
    return GroupRule(noise=1.5 * n_features, least=PERSONS * n_features)


def is_small(strength, n_features):
    """Return whether there is one cycle, and the search for bins takes more."""
    return strength < SMALL * math.sqrt(n_features)


def has_own_curvature(strength, n_features):
    """Return whether released curvatures of cells tell more than the one of the classes alone.

    ``strength`` is that of the classes: n mu 4 p (1 - p).
    """
    return strength > CURVED * n_features


def cycles_of(strength, n_features):
    """Return the number of cycles."""
    return 1 if is_small(strength, n_features) else CYCLES


def bins_share(strength, n_features, usual):
    """Return the share of the search for bins."""
    return BINS_OF_FEW if is_small(strength, n_features) else usual


def first_round(strength, n_features):
    """Return the part of it for every round but the last: much if one tells all there is."""
    return 0.9 if is_small(strength, n_features) else 0.3


def bins_of_number(strength):
    """Return the number of bins of a regression."""
    return int(np.clip(strength / 60, 2, 64))


def cycle_shares(left, n_cycles):
    """Return what each cycle takes of ``left``."""
    parts = [GROWTH**t for t in range(n_cycles)]
    return [left * part / math.fsum(parts) for part in parts]


def share_of_labels(strength):
    """Return the share of a selection of classes, or of categories."""
    return 0.02 if strength > 2000 else 0.1


def share_of_counts(strength):
    """Return the share of the numbers of the classes."""
    return float(np.clip((60 / strength) ** 2, *CLASS_COUNTS))


def share_of_look(strength):
    """Return the share of a histogram of residuals, and of a mean."""
    return float(np.clip((60 / strength) ** 2, 0.005, 0.04))


def share_of_calibration(strength):
    """Return the part of each of the two last steps: of sizes of terms, then of intercepts alone.

    ``strength`` is that of the classes, about four times that of the rarer one: noise that exceeds
    a twentieth of its rows costs more than terms lose.
    """
    return float(np.clip((80 / strength) ** 2, 0.03, 0.12))


def numbers_first(ordered):
    """Return the order in which features take their steps: those with ordered cells first."""
    return [(j,) for j in sorted(range(len(ordered)), key=lambda j: not ordered[j])]


# --- smoothing of what was released cell by cell, by the known law of its noise: post-processing


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
