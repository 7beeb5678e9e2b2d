"""What there is to say of synthetic rows: how near they are to the tables of a release."""

from dataclasses import dataclass

import numpy as np

from skdp.marginals._frames import text_names, tidy_frame
from skdp.readers._columns import read_columns
from skdp.readers._raw import schema_of

__all__ = ["SyntheticReport", "codes_of_rows"]

WARNING = (
    "Synthetic rows answer only what these tables hold. What they say of other combinations of "
    "columns, or of anything inside a bin, is an assumption, and they have no intervals: ask the "
    "releaser for those."
)
UNRELEASED = "{:,} pairs of columns have no released table: what rows say of them is the model's"
WORST = 5  # tables that a text names


@dataclass(frozen=True)
class SyntheticReport:
    """Synthetic rows beside every table of a release.

    Parameters
    ----------
    n_rows : int
        Number of synthetic rows.
    columns : tuple of tuple of str
        Names of the columns of every table.
    distance : ndarray of shape (n_tables,)
        Total variation distance of the rows from the table as released: half the sum of the
        absolute differences of the shares of all cells.
    noise : ndarray of shape (n_tables,)
        What the noise of the release makes of it on average, for rows that have the exact shares.
    bound : ndarray of shape (n_tables,)
        Rows that have the exact shares of a table are further from it with probability 0.05 at
        most.
    library : {"pandas", "polars"}, default="pandas"
        Of :meth:`to_frame`.
    bins : tuple of (str, int), default=()
        Columns some of whose levels are bins of several numbers, and how many levels they have:
        the distance is that of levels, and says nothing of what lies inside a bin.
    unreleased : int, default=0
        Number of pairs of columns that are in no released table: nothing is compared, and what rows
        say of them is the model's.

    See Also
    --------
    skdp.MarginalReleaser : Releases the tables, and draws rows from them.

    Notes
    -----
    **Privacy**: post-processing of a release and of the rows that were compared with it. It
    protects no rows: those of :meth:`skdp.MarginalReleaser.sample` need no protection, others do.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import MarginalReleaser
    >>> X = np.random.default_rng(0).integers(2, size=(10000, 20))
    >>> fit = MarginalReleaser(k=2).fit(X)
    >>> report = fit.synthetic_report(fit.sample())
    >>> len(report.columns), bool(report.distance.mean() < 0.02)
    (190, True)
    """

    n_rows: int
    columns: tuple
    distance: np.ndarray
    noise: np.ndarray
    bound: np.ndarray
    library: str = "pandas"
    bins: tuple = ()
    unreleased: int = 0

    @property
    def within_noise(self):
        """Whether the noise of the release alone may explain the distance, table by table."""
        return self.distance <= self.bound

    def to_frame(self):
        """Return the report as a tidy frame.

        Returns
        -------
        frame : DataFrame
            One row per table: ``column_1``, ``column_2``, ..., of which smaller tables leave the
            last empty, ``distance``, ``noise``, ``bound`` and ``within_noise``.
        """
        most = max(map(len, self.columns))
        padded = np.array([(*names, *[None] * (most - len(names))) for names in self.columns])
        told = {f"column_{i + 1}": column for i, column in enumerate(padded.T)}
        numbers = {"distance": self.distance, "noise": self.noise, "bound": self.bound}
        return tidy_frame({**told, **numbers, "within_noise": self.within_noise}, self.library)

    def __str__(self):
        far = np.flatnonzero(~self.within_noise)
        far = far[np.argsort(-(self.distance / self.bound)[far], kind="stable")]
        bins = ", ".join(f"{name} {n_levels}" for name, n_levels in self.bins)
        lines = [
            f"{self.n_rows:,} synthetic rows beside {len(self.columns):,} released tables",
            f"total variation distance: {self.distance.mean():.4f} on average, "
            f"{self.distance.max():.4f} at most",
            f"the noise of the tables explains {self.noise.mean():.4f} on average, and the "
            f"distances of {len(self.columns) - len(far):,} tables",
            *[f"levels are compared, and nothing inside bins; levels of {bins}"][: len(bins)],
            *[UNRELEASED.format(self.unreleased)][: self.unreleased],
        ]
        for i in far[:WORST]:
            lines.append(
                f"  beyond noise: {' x '.join(self.columns[i])}, {self.distance[i]:.4f}, of which "
                f"noise explains {self.bound[i]:.4f} at most"
            )
        return "\n".join([*lines, WARNING])


def codes_of_rows(domain, rows):
    """Return the level numbers of synthetic rows, an array of int of shape (n_rows, n_columns)."""
    columns = read_columns(rows)
    names, d = text_names(schema_of(columns.table)), len(domain.names)
    if names is None:
        there = dict(zip(np.argsort(domain.columns).tolist(), range(d), strict=True))
        fits = columns.table.shape[1] == d
    else:
        there = {i: names.index(str(x)) for i, x in enumerate(domain.names) if str(x) in names}
        fits = len(there) == d
    if not fits or not len(columns):
        raise ValueError(
            f"synthetic rows have the {d} columns of the domain, and there is at least one row, as "
            "sample() returns them. Got other columns, or no rows."
        )
    codes = domain.encode([columns.read(there[place]) for place in range(d)])
    outside = [
        name for name, bad in zip(domain.names, np.isnan(codes).any(axis=0), strict=True) if bad
    ]
    if outside:
        raise ValueError(
            f"rows have entries outside the levels of the columns {outside[:10]}. Pass rows as "
            "sample() returns them, or replace such entries by levels of domain_."
        )
    return codes.astype(np.int64)
