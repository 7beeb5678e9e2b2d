"""The rules of a chain of steps: everything private must be released before it ends."""

from skdp.contracts._contract import contract_of
from skdp.contracts._kinds import Released, Rows

__all__ = ["chain_problems"]


def chain_problems(steps):
    """Return every problem of a chain of steps, each with the way out.

    Parameters
    ----------
    steps : list of (str, object)
        Names and steps; the first is given private rows.

    Returns
    -------
    problems : list of str
        Empty for a valid chain.
    """
    kind, problems = Rows(), []
    for name, step in steps:
        contract = contract_of(step)
        what = f"{name!r} ({type(step).__name__})"
        if contract is None:
            problems.append(
                f"{what} is unknown: fitted on private rows it could hand anything on. Use a step "
                "of skdp in its place, or fit it on public data first."
            )
            continue
        if not contract.accepts(kind):
            wanted = " or ".join(k.__name__ for k in contract.consumes)
            problems.append(
                f"{what} reads {wanted}, but the step before it yields {type(kind).__name__}. "
                "Change the order of the steps."
            )
        kind = contract.yields(kind)
    if not isinstance(kind, Released):
        last = f"{steps[-1][0]!r} yields" if steps else "a chain without steps yields"
        problems.append(
            f"{last} private {type(kind).__name__}: nothing is released. End with an estimator "
            "that releases its result, for instance PrivateMean."
        )
    return problems
