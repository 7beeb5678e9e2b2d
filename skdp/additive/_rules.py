"""What a fit does with how many rows: public functions of released counts and of parameters.

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
