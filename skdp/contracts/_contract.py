"""The contract of a step, and where to find it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from skdp.contracts._kinds import Kind, Rows

__all__ = ["Contract", "contract_of"]

# scikit-learn transformers that map every row by itself and learn nothing from the table.
_ROW_WISE = {
    "sklearn.preprocessing._data.Binarizer",
    "sklearn.preprocessing._data.Normalizer",
    "sklearn.preprocessing._polynomial.PolynomialFeatures",
    "sklearn.kernel_approximation.AdditiveChi2Sampler",
}


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
    """

    consumes: tuple[type[Kind], ...]
    yields: Callable[[Kind], Kind] = field(default=lambda kind: kind)
    spends: bool = False

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
    """
    declared = getattr(step, "__skdp_contract__", None)
    if callable(declared) and not isinstance(step, type):
        return declared()
    name = f"{type(step).__module__}.{type(step).__qualname__}"
    if name in _ROW_WISE:
        return Contract(consumes=(Rows,), yields=lambda kind: Rows())
    return None
