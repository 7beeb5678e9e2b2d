"""Who spends what in a pipeline, and everything that is wrong with it, before any data."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from numbers import Real

from sklearn.base import clone

from skdp._unread import StepRows
from skdp.accounting import Budget, Plan, PrivacyLedger, Step, mixed_budget, part_of
from skdp.contracts import (
    BoundedStatistic,
    Core,
    Released,
    Rows,
    chain_problems,
    contract_of,
    parts_of,
)
from skdp.exceptions import PlanError
from skdp.gate._accountant import BudgetAllocation
from skdp.pipeline._tree import is_inside, prepared, spending, unfold
from skdp.show._report import table_html
from skdp.utils._renamed import keeps_old_names


@dataclass(frozen=True)
class Split:
    """What one step gets: its path, class, share, and its budget, None if it spends nothing."""

    path: str
    estimator: str
    share: Fraction = Fraction(0)
    budget: Budget | None = None


@keeps_old_names
@dataclass(frozen=True)
class PipelinePlan(Plan):
    """The plan of a pipeline: as :class:`skdp.accounting.Plan`, with a line for every step.

    Parameters
    ----------
    budget, steps, failure_events, assumptions, problems, privacy_unit
        As for a Plan.
    lines : tuple of Split
        All steps in order; those that spend have a share.

    See Also
    --------
    skdp.PrivatePipeline, skdp.accounting.Plan

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from skdp import PrivateMean, PrivateStandardScaler, make_private_pipeline
    >>> plan = make_private_pipeline(PrivateStandardScaler(), PrivateMean()).plan()
    >>> len(plan.lines), plan.problems
    (2, ())
    """

    lines: tuple = ()

    @property
    def splits(self):
        """The lines of the steps that spend."""
        return tuple(line for line in self.lines if line.budget is not None)

    def __str__(self):
        return "\n".join([_title(self), *(f"  {line}" for line in _lines(self))])

    def _repr_html_(self):
        rows = [(*cells, bar) for cells, bar in _cells(self)]
        notes = [f"Problem: {text}" for text in self.problems] + list(self.assumptions)
        return table_html(_title(self), ("step", "estimator", "share", "alone"), rows, notes)


def allocate_budget(pipeline, *, grouped=False, weighted=False):
    """Return the plan of a pipeline, and its steps as they will be fitted, with their grants.

    Of a fit with groups, or weights, it is made of the plans of steps that are fitted so.
    """
    steps = [(name, prepared(step)) for name, step in pipeline.steps]
    problems = chain_problems(steps)
    leaves = spending(steps)
    kinds = _kinds(steps)
    grants, units, broken = {}, {}, set()
    alone = len(leaves) == 1
    composition = getattr(pipeline.ledger, "composition", None) if alone else "gaussian"
    for path, leaf in leaves:
        grants[path] = BudgetAllocation(path, kinds.get(path, Rows()), composition)
        delta = {"delta": pipeline.delta} if getattr(leaf, "delta", 0) else {}
        epsilon = {"epsilon": pipeline.epsilon}
        leaf.set_params(ledger=grants[path], **epsilon, **delta)
        try:
            plan = _plan_of(leaf, grouped, weighted)
            units[path] = plan.budget.measure
            problems += [f"{path!r}: {problem}" for problem in plan.problems]
        except (PlanError, ValueError) as error:
            problems.append(f"{path!r} ({type(leaf).__name__}) has no plan: {error}")
            broken.add(path)
    shares, trouble = _shares(leaves, pipeline.split)
    problems += trouble
    problems += _mixing(steps) if grouped else []
    notes = _notes(steps, leaves, sum(shares.values()))
    budget = pipeline._budget(lambda e, d: _total(e, d, shares, units))
    problems += _unaffordable(pipeline.ledger, budget)
    planned, events, splits = [], [], {}
    for path, leaf in leaves:
        if path in broken or shares[path] <= 0:
            continue
        try:
            part = part_of(budget, shares[path], units[path])
            grants[path].set_budget(part, shares[path])
            plan = _plan_of(leaf, grouped, weighted)
        except (PlanError, ValueError) as error:
            problems.append(f"{path!r} ({type(leaf).__name__}) has no plan: {error}")
            continue
        planned.append(Step(path, "child", at_most=shares[path], unit=units[path]))
        planned += [replace(step, label=f"{path}/{step.label}") for step in plan.steps]
        events += [(f"{path}/{name}", p) for name, p in plan.failure_events]
        notes += [f"{path}: {text}" for text in plan.assumptions]
        splits[path] = Split(path, type(leaf).__name__, shares[path], part)
    lines = tuple(
        splits.get(path, Split(path, type(part).__name__))
        for name, step in steps
        for path, part in unfold(name, step)
    )
    plan = PipelinePlan(
        budget,
        tuple(planned),
        tuple(events),
        tuple(notes),
        tuple(problems),
        privacy_unit="group" if grouped else "row",
        lines=lines,
    )
    return plan, steps


def _mixing(steps):
    """Return which steps hand on what is no row of the table any more, nor released."""
    known = Rows | Core | BoundedStatistic | Released
    return [
        f"step {name!r} cannot take groups: it is not row-wise, so that it is not known whose rows "
        "it hands on. Fit without groups, or leave it out."
        for name, step in steps
        if not isinstance(step, str | None) and parts_of(step)[0] is None
        if (contract := contract_of(step)) and not isinstance(contract.yields(None), known)
    ]


def _plan_of(leaf, grouped, weighted):
    if grouped:
        return leaf._grouped_plan()
    return leaf._weighted_plan() if weighted else leaf.plan()


def step_rows(steps, X, y, absent=None):
    """Return a table as the rows that prepared steps read, each by its path, the last one y too."""
    last = [name for name, step in steps if not isinstance(step, str | None)][-1:]
    find = partial(_copied, dict(spending(steps)))
    return StepRows(X, y, find, *(last or [None]), absent=absent)


def _copied(leaves, path):
    return clone(leaves[path])


def commit_shares(steps, plan, ledger=None):
    """Let steps tell their parts of the budget; a ledger takes the place of their grants."""
    alone = {split.path: split.budget for split in plan.splits}
    for path, leaf in spending(steps):
        given = {"ledger": ledger}
        if path in alone:
            given |= {"epsilon": float(alone[path].epsilon), "delta": float(alone[path].delta)}
        names = leaf.get_params(deep=False)
        leaf.set_params(**{name: value for name, value in given.items() if name in names})


def _kinds(steps):
    """Return what every step of the chain is given, as far as it is valid."""
    kind, kinds = Rows(), {}
    for name, step in steps:
        kinds[name] = kind
        if isinstance(step, str | None):
            continue
        contract = contract_of(step) if parts_of(step)[0] is None else None
        kind = Rows() if contract is None else contract.yields(kind)
    return kinds


def _total(epsilon, delta, shares, units):
    """Return the budget in which the steps add up, the tightest that is proved."""
    kinds = set(units.values())
    if kinds <= {"gdp"} and kinds:
        return Budget.gaussian(epsilon, delta)
    if kinds <= {"pure"}:
        return Budget.pure(epsilon)
    if kinds == {"gdp", "pure"}:
        gaussian = sum((shares[p] for p, unit in units.items() if unit == "gdp"), Fraction(0))
        pure = [shares[p] for p, unit in units.items() if unit == "pure"]
        if gaussian > 0 and all(share > 0 for share in pure):
            return mixed_budget(epsilon, delta, gaussian=gaussian, pure=pure)
    return Budget.zcdp(epsilon, delta)


def _shares(leaves, split):
    """Return the share of every step that spends, and what is wrong with ``split``."""
    weights = {path: Fraction(contract_of(leaf).weight) for path, leaf in leaves}
    shares, problems = dict.fromkeys(weights, Fraction(0)), []
    left, open_ = Fraction(1), dict(weights)
    for name, share in ({} if isinstance(split, str) else dict(split)).items():
        mine = [p for p in open_ if is_inside(p, name)]
        if not mine:
            problems.append(
                f"split names {name!r}, which is no step that spends. Name some of {list(weights)}."
            )
            continue
        if not isinstance(share, Real) or not 0 < share <= 1:
            problems.append(f"split[{name!r}] is {share!r}. A share lies in (0, 1].")
            continue
        share, total = Fraction(share), sum(weights[p] for p in mine)
        left -= share
        for p in mine:
            shares[p] = share * open_.pop(p) / total
    total = sum(open_.values())
    if left < 0 and left > -Fraction(1, 10**9):  # shares as decimal fractions
        scale = 1 / (1 - left)
        shares, left = {p: share * scale for p, share in shares.items()}, Fraction(0)
    if left < 0 or (left == 0 and open_):
        problems.append(
            f"the shares of split add up to {float(1 - left):g}"
            + (f", and nothing is left for {list(open_)}" if open_ else "")
            + ". Lower some: all shares together are at most 1."
        )
        return shares, problems
    for p, weight in open_.items():
        shares[p] = left * weight / total
    return shares, problems


def _unaffordable(ledger, budget):
    """Return why a ledger has no price for a budget, if it has none."""
    if isinstance(ledger, PrivacyLedger):
        try:
            ledger.price(budget)
        except ValueError as error:
            return [str(error)]
    return []


def _notes(steps, leaves, used):
    """Return what a reader must know besides who spends what."""
    notes = []
    if leaves and 0 < used < 1 - Fraction(1, 10**9):
        notes.append(f"{float(1 - used):.1%} of the budget is charged and not used: see split")
    notes += [
        f"{path}: its random_state is not used; the pipeline has its own"
        for path, leaf in leaves
        if getattr(leaf, "random_state", None) is not None
    ]
    for name, step in steps:
        assumes = getattr(step, "assumes", None)
        if assumes is not None:
            notes.append(f"{name}: free post-processing of a release; assumes {assumes}")
        for path, part in unfold(name, step):
            if hasattr(part, "X_public"):
                notes.append(f"{path}: fitted on public rows, which the guarantee does not cover")
            notes += [f"{path}: {text}" for text in getattr(part, "_promises", tuple)()]
            if getattr(part, "vectorized", None) is True:
                notes.append(
                    f"{path}: called for many rows at once, on your promise (vectorized=True) that "
                    "it maps every row by itself, to the last bit"
                )
    return notes


def _title(plan):
    budget, unit = plan.budget, plan.privacy_unit
    whom = "" if unit == "row" else f" for one {unit}"
    total = f"(epsilon={float(budget.epsilon):g}, delta={float(budget.delta):g})"
    return f"Pipeline plan: {total} in all{whom}, composed in {NAMES[budget.measure]}"


NAMES = {
    "gdp": "mu^2 (all noise is Gaussian; exact)",
    "pure": "epsilon",
    "mixed": "privacy curves (Gaussian and pure steps; exact)",
    "zcdp": "zCDP",
}


def _cells(plan):
    """Yield the cells of every step, and its share."""
    for line in plan.lines:
        alone = ""
        if line.budget is not None:
            epsilon, delta = float(line.budget.epsilon), float(line.budget.delta)
            alone = f"(epsilon={epsilon:.3g}, delta={delta:.2g})"
        share = f"{float(line.share):.1%}" if line.budget else "-"
        yield (line.path, line.estimator, share, alone), float(line.share)


def _lines(plan):
    yield f"{'step':<36} {'estimator':<24} {'share':>7}  alone"
    for (path, kind, share, alone), _ in _cells(plan):
        yield f"{path:<36} {kind:<24} {share:>7}  {alone}".rstrip()
        for step in plan.steps:
            if step.label.startswith(f"{path}/"):
                times = f", up to {step.times} times" if step.times > 1 else ""
                label = step.label.removeprefix(f"{path}/")
                most = f"at most {float(step.at_most):.3g} of the step"
                yield f"    {label:<32} {step.mechanism:<24} {most}{times}"
    yield from (
        f"may fail: {label} (probability {float(p):.2g})" for label, p in plan.failure_events
    )
    yield from (f"note: {text}" for text in plan.assumptions)
    yield from (f"PROBLEM: {text}" for text in plan.problems)
