"""The guarded room of mechanisms: every random draw that protects privacy, and bounded rows."""

from skdp.mechanisms._entropy import RowKeys, make_entropy
from skdp.mechanisms._noise import exponential_choice, rounded_gaussian, rounded_laplace
from skdp.mechanisms._norms import finite_rows, row_norms
from skdp.mechanisms._rows import ball_rows, ball_sum, box_rows, gram_sum

__all__ = [
    "RowKeys",
    "ball_rows",
    "ball_sum",
    "box_rows",
    "exponential_choice",
    "finite_rows",
    "gram_sum",
    "make_entropy",
    "rounded_gaussian",
    "rounded_laplace",
    "row_norms",
]
