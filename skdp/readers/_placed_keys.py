"""Keys of some rows of a table."""

import numpy as np

__all__ = ["PlacedKeys"]

BEYOND = 2**60  # numbers of no row


class PlacedKeys:
    """Keys of some rows of a table, which stay what they are in the whole table."""

    def __init__(self, coins, places, n_rows):
        self._coins, self.places, self._n_rows = coins, places, n_rows

    def among_all(self, chosen):
        """Return which rows of the whole table are the chosen ones of these."""
        mask = np.zeros(self._n_rows, dtype=bool)
        mask[self.places] = chosen
        return mask

    def keys(self, start, stop, use=""):
        """Return the keys of rows, as :meth:`skdp.mechanisms.RowKeys.keys`."""
        places, first = self.places[start:stop], max(start, len(self.places))
        keys = self._coins.keys(0, 0, use)
        if len(places):
            low = int(places[0])
            keys = self._coins.keys(low, int(places[-1]) + 1, use)[places - low]
        if first < stop:
            keys = np.append(keys, self._coins.keys(BEYOND + first, BEYOND + stop, use))
        return keys
