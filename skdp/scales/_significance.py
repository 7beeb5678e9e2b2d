"""What is significant in a noisy histogram: all rates of false alarms, windows and tails.

A false alarm is noise alone that passes for rows. Every rate is chosen here. Where a false cell
costs more, as it lies farther away or makes more noise, it must be rarer.
"""

import numpy as np

# Probabilities of a false alarm in a whole histogram.
SCALE = 2e-4  # of lengths, over all floats: a scale where there is none
COLUMN = 3e-5  # of a column, over all floats
BINS = 0.05  # of a column, of windows of each width
# A second look at columns of which the first told "nothing" or "zeros", and in how many octaves
# around 1 it is believed: far ones cost as much as they are far.
COLUMN_AGAIN = {"nothing": ((0.001, 50),), "zeros": ((0.001, 50), (0.02, 3))}
QUANTILE_AGAIN = 0.005, 50
CLUSTER_WINDOWS = 0.01  # of all windows of cells of a grid together
CLUSTER_BLOCKS = 0.001  # of all blocks of a level

# Probabilities of a false alarm in one cell or window.
COLUMN_NEAR = 3e-4  # within six cells of significant ones
COLUMN_TOP = 0.05  # four times that of an octave above the bulk; 4^-j of it j octaves higher
REACH = 0.02  # four times that of an octave above the rows seen
# Of a cell half an octave wide beyond the rows seen, less of farther ones: 5 % of both sides of a
# column together. A false one is a doubt of a variance, and costs no noise.
APART = 0.003
CLUSTER_SCALE = 0.001  # in an octave of size 1, less in others
CLUSTER_REACH = 0.01, 0.0005  # within two radii, and beyond
# In some narrow window 1e-3 together, at the cost of a factor of 2, and in a wide one 1e-6, at up
# to 2^12; and that more rows than those hide in a cell.
DISTANCES = 3.4e-6, 1.9e-8
DISTANCES_HIDDEN = 2.3e-4
LEAST_SQUARES = 1e-4, 1e-6  # in narrow cells, and in wide ones
RANGE = 1e-7  # of a column or a target of a linear model

# Standard deviations of the noise of a window, or a count, that a significant one exceeds.
ZOOM = 3.5  # 2.3e-4 for each of 480 windows of a look
COARSE = 3.5  # 2.3e-4 for each of the windows of a small table
RESIDUALS = 4.0  # 3.2e-5 for each window of a cycle
WITH_GAPS = 3.5  # 2.3e-4 of a table: a false alarm costs its columns sqrt(d) of their accuracy
LAST_BIN, KEPT_BIN = 4.2, 2.0  # of a cluster: the last bin with rows, and the bins up to it


def windows_above(counts, levels):
    """Return which cells lie in a window that exceeds its level; narrow windows come first.

    Shape of counts: (..., n_cells). ``levels`` gives for every width, rising, a number or one per
    window. A window counts only where none before it does inside.
    """
    above = np.zeros(np.shape(counts), dtype=bool)
    total = summed_up(counts, dtype=np.float64)
    for width, level in levels.items():
        found = total[..., width:] - total[..., :-width] > level
        if width == 1:
            above |= found
            continue
        *rows, first = np.nonzero(found)
        if not first.size:
            continue
        told = summed_up(above)
        free = told[(*rows, first + width)] == told[(*rows, first)]
        for *row, i in zip(*(place[free].tolist() for place in (*rows, first)), strict=True):
            window = above[(*row, slice(i, i + width))]
            if not window.any():
                window[:] = True
    return above


def summed_up(counts, dtype=np.int64):
    """Return the sums of the cells before each, and of all, shape (..., n_cells + 1)."""
    total = np.zeros((*np.shape(counts)[:-1], np.shape(counts)[-1] + 1), dtype=dtype)
    np.cumsum(counts, axis=-1, out=total[..., 1:])
    return total


def highest_window(counts, width, threshold):
    """Return the fullest bin of the highest window of ``width`` bins above a threshold, or -1.

    ``counts`` are released; the outer bins of a window may hold noise only. ``threshold`` is a
    number or one per window.
    """
    return last_window(counts, width, window_sums(counts, width) > threshold)


def window_sums(counts, width):
    """Return the sum of every window of ``width`` bins."""
    return np.convolve(counts, np.ones(width), "valid")


def last_window(counts, width, above):
    """Return the fullest bin of the last window of ``width`` bins that is ``above``, or -1."""
    if not above.any():
        return -1
    start = len(above) - 1 - above[::-1].argmax()
    return int(start + counts[start : start + width].argmax())


def farthest_window(counts, levels):
    """Return the highest bin that :func:`highest_window` tells for any width and its level."""
    return max(highest_window(counts, width, level) for width, level in levels.items())


def significant_tail(counts, sd):
    """Return how many bins there are up to the last significant one, alone or with all beyond."""
    tails = np.cumsum(counts[::-1])[::-1] / np.sqrt(np.arange(len(counts), 0, -1))
    clear = np.flatnonzero(np.maximum(counts, tails) > LAST_BIN * sd)
    return int(clear[-1]) + 1 if clear.size else 0
