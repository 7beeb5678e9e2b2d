"""The contract of a step, and where to find it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from skdp.contracts._kinds import Kind, Rows
from skdp.contracts._row_wise import row_wise_problem

__all__ = ["Contract", "contract_of", "target_of"]


@dataclass(frozen=True)
class Contract:
    """What a step accepts, what it yields, and whether it spends budget.

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.
    """

    # kinds that the step can be given; a subclass of a kind is also that kind
    consumes: tuple[type[Kind], ...]
    # maps the kind that came in to the kind that goes out
    yields: Callable[[Kind], Kind] = field(default=lambda kind: kind)
    spends: bool = False  # whether fitting releases something and so needs a share of the budget
    # share of the budget, relative to other steps, where nobody says how to split it
    weight: float = 1.0
    # maps an accepted kind to what is wrong with it, a text with the way out, or None
    problem: Callable[[Kind], str | None] = field(default=lambda kind: None)
    # {"number", "class"} or None: of what kind the target is that the step needs beside the rows
    target: str | None = None

    def accepts(self, kind):
        """Return whether the step can be given data of this kind."""
        return isinstance(kind, self.consumes)


def contract_of(step):
    """Return the contract of a step, or None for a step that nothing is known about.

    Looks for a method ``__skdp_contract__``, then for the entry in the table of scikit-learn's
    row-wise transformers. None means that the step must be refused: a transformer that learns from
    raw rows hands private values on.

    Notes
    -----
    **Privacy**: looks at the step and at no row, so it costs nothing.
    """
    declared = getattr(step, "__skdp_contract__", None)
    if callable(declared) and not isinstance(step, type):
        return declared()
    if not isinstance(step, type) and row_wise_problem(step) is None:
        return Contract(consumes=(Rows,), yields=lambda kind: Rows())
    return None


def target_of(step):
    """Return what y is to a step: "number", "class", or None if it needs none.

    Notes
    -----
    **Privacy**: looks at the step and at no row, so it costs nothing.
    """
    contract = contract_of(step)
    return None if contract is None else contract.target
