"""The noise of counts: its law, and whether it is too loud."""

from fractions import Fraction

from skdp.accounting import Budget

__all__ = ["TOO_LOUD", "is_too_loud", "quieter_law"]

LOUDEST = 2**45  # scale of noise, in grid units
TOO_LOUD = (
    "the noise would exceed 2^45 units and tell nothing. Pass a larger epsilon, or let single rows "
    "and users matter less."
)


def quieter_law(epsilon, delta, l1, squared_l2):
    """Return the law of less variance for these sensitivities, "laplace" or "gaussian"."""
    if delta == 0:
        return "laplace"
    laplace = 2 * (l1 / Budget.pure(epsilon).amount) ** 2
    return (
        "laplace" if laplace <= squared_l2 / Budget.gaussian(epsilon, delta).amount else "gaussian"
    )


def is_too_loud(budget, law, l1, squared_l2, share=1):
    """Return whether noise for these sensitivities is beyond what is drawn: a public fact."""
    amount = Fraction(share) * budget.amount
    return l1 > LOUDEST * amount if law == "laplace" else squared_l2 > LOUDEST**2 * amount
