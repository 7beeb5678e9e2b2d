"""The contract of a step, and where to find it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from skdp.contracts._kinds import Kind, Rows
from skdp.contracts._row_wise import row_wise_problem

__all__ = ["Contract", "contract_of"]


@dataclass(frozen=True)
class Contract:
    """What a step accepts, what it yields, and whether it spends budget.

    Parameters
    ----------
    consumes : tuple of type
        Kinds that the step can be given; a subclass of a kind is also that kind.
    yields : callable
        Maps the kind that came in to the kind that goes out.
    spends : bool, default=False
        Whether fitting releases something and so needs a share of the budget.
    weight : float, default=1.0
        Share of the budget, relative to other steps, where nobody says how to split it.
    problem : callable
        Maps an accepted kind to what is wrong with it, a text with the way out, or None.
    target : {"number", "class"} or None, default=None
        Of what kind the target is that the step needs beside the rows. A pipeline hands y to its
        last step alone.

    See Also
    --------
    contract_of, Kind

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp import PrivateMean
    >>> from skdp.contracts._contract import contract_of
    >>> from skdp.contracts._kinds import Released, Rows
    >>> contract = contract_of(PrivateMean())
    >>> contract.spends, contract.accepts(Rows()), contract.accepts(Released())
    (True, True, False)
    """

    consumes: tuple[type[Kind], ...]
    yields: Callable[[Kind], Kind] = field(default=lambda kind: kind)
    spends: bool = False
    weight: float = 1.0
    problem: Callable[[Kind], str | None] = field(default=lambda kind: None)
    target: str | None = None

    def accepts(self, kind):
        """Return whether the step can be given data of this kind."""
        return isinstance(kind, self.consumes)


def contract_of(step):
    """Return the contract of a step, or None for a step that nothing is known about.

    Looks for a method ``__skdp_contract__``, then for the entry in the table of scikit-learn's
    row-wise transformers. None means that the step must be refused: a transformer that learns from
    raw rows hands private values on.

    Parameters
    ----------
    step : object

    Returns
    -------
    contract : Contract or None

    See Also
    --------
    Contract, skdp.check_pipeline

    Notes
    -----
    **Privacy**: looks at the step and at no row, so it costs nothing.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skdp import PrivateMean
    >>> from skdp.contracts._contract import contract_of
    >>> contract_of(PrivateMean()).spends, contract_of(StandardScaler())
    (True, None)
    """
    declared = getattr(step, "__skdp_contract__", None)
    if callable(declared) and not isinstance(step, type):
        return declared()
    if not isinstance(step, type) and row_wise_problem(step) is None:
        return Contract(consumes=(Rows,), yields=lambda kind: Rows())
    return None
