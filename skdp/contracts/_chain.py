"""The rules of a chain of steps, and of estimators of scikit-learn around a private one."""

from skdp.contracts._contract import (
    PARTS,
    BoundedStatistic,
    Core,
    Joined,
    Released,
    Rows,
    contract_of,
    qualified,
    row_wise_problem,
    target_of,
    way_out,
)

IDLE = ("passthrough", "drop", None)
SELECTOR = "sklearn.compose._column_transformer.make_column_selector"  # reads names and types


def chain_problems(steps):
    """Return every problem of a chain of steps, each with the way out."""
    problems = []
    kind, released = _follow(steps, Rows(), problems, "")
    if not steps:
        problems.append("a chain without steps releases nothing. Add a private estimator.")
    elif isinstance(kind, Core | BoundedStatistic) or not (released or isinstance(kind, Released)):
        problems.append(
            f"{steps[-1][0]!r} yields private {type(kind).__name__}: nothing is released of it. "
            "End with an estimator that releases its result, for instance PrivateMean."
        )
    targets = {target_of(leaf): leaf for _, step in steps for leaf in leaves_of(step)}
    if {"number", "class"} <= set(targets):
        number, classes = (type(targets[kind]).__name__ for kind in ("number", "class"))
        problems.append(
            f"{number} needs numbers in y, and {classes} classes. A PrivateTargetEncoder takes "
            'classes with target_type="multiclass".'
        )
    return problems


def parts_of(step):
    """Return the named steps of a container of scikit-learn and whether they follow one another."""
    name = PARTS.get(qualified(step))
    if name is None:
        return None, False
    parts = [(part[0], part[1]) for part in getattr(step, name)]
    remainder = getattr(step, "remainder", None)
    if not isinstance(remainder, str | None):
        parts.append(("remainder", remainder))
    return parts, name == "steps"


def leaves_of(step):
    """Return the steps inside a step, of a chain or container those inside its parts."""
    parts = parts_of(step)[0]
    parts = getattr(step, "steps", None) if parts is None else parts
    if isinstance(step, type | str | None) or not isinstance(parts, list):
        return [] if isinstance(step, str | None) else [step]
    return [leaf for part in parts if len(part) == 2 for leaf in leaves_of(part[1])]


def columns_by_rows(step):
    """Return the names of the branches whose columns a function of the rows chooses."""
    branches = getattr(step, "transformers", ())
    return [
        branch[0]
        for branch in branches
        if len(branch) == 3 and callable(branch[2]) and qualified(branch[2]) != SELECTOR
    ]


def _follow(steps, kind, problems, path):
    """Return the kind that a chain yields, and whether its last step releases what it learns."""
    spends = False
    last = [name for name, step in steps if step not in IDLE][-1:]
    for name, step in steps:
        if isinstance(step, str | None):
            if step not in IDLE:
                problems.append(f"{path + name!r} is {step!r}. Pass an estimator or 'passthrough'.")
            continue
        parts, in_turn = parts_of(step)
        if parts is not None:
            problems += [
                f"{path + name + '__' + branch!r} chooses its columns by a function, which could "
                "look at the rows. Name the columns, or use make_column_selector."
                for branch in columns_by_rows(step)
            ]
            kind, spends = _inside(f"{path}{name}", parts, in_turn, kind, problems)
            continue
        contract = contract_of(step)
        what = f"{path + name!r} ({type(step).__name__})"
        if isinstance(step, type) or not hasattr(step, "get_params"):
            out = "an instance of it" if isinstance(step, type) else "RowMap(func) for a function"
            problems.append(f"{what} is no estimator. Pass {out}.")
            kind, spends = Rows(), True
            continue
        if contract is None:
            reason = row_wise_problem(step)
            problems.append(f"{what} {reason}." if reason else f"{what} {way_out(step)}")
            kind, spends = Rows(), True
            continue
        if not contract.accepts(kind):
            problems.append(_mismatch(what, contract, kind))
        elif contract.problem(kind):
            problems.append(f"{what} {contract.problem(kind)}")
        maps = isinstance(contract.yields(kind), Rows)
        if contract.target is not None and not maps and (path or [name] != last):
            problems.append(
                f"{what} needs y, which a pipeline hands to its last step, and to steps that map "
                "rows. Make it the last step of the pipeline itself."
            )
        kind, spends = contract.yields(kind), contract.spends
        if path and isinstance(kind, Core):
            problems.append(
                f"{what} filters rows inside a container, which hands on what equals a row of the "
                "core, without its certificate. Make the filter a step of the pipeline itself."
            )
            kind = Rows()
        if path and isinstance(kind, Joined):
            problems.append(
                f"{what} makes one row of several inside a container, whose other branches keep "
                "all rows. Make it a step of the pipeline itself."
            )
            kind = Rows()
    return kind, spends


def _inside(path, parts, in_turn, kind, problems):
    """Follow the branches of a container: each must yield rows, with one entry per row."""
    if not isinstance(kind, Rows):
        problems.append(
            f"{path!r} reads Rows, but the step before it yields {type(kind).__name__}. Change the "
            "order of the steps."
        )
    spends = False
    for chain in [parts] if in_turn else [[part] for part in parts]:
        out, spent = _follow(chain, Rows(), problems, path + "__")
        spends |= spent
        if not isinstance(out, Rows):
            problems.append(
                f"{path + '__' + chain[-1][0]!r} yields {type(out).__name__}, but a branch must "
                "map rows to rows. Move it out of the branch, to the end of the chain."
            )
    return Rows(), spends


def _mismatch(what, contract, kind):
    wanted = " or ".join(k.__name__ for k in contract.consumes)
    hint = "Change the order of the steps."
    if isinstance(kind, Released):
        hint = (
            "After a release only post-processing follows: denoisers. Put what reads rows before "
            "it, or fit it on its own with a share of a PrivacyLedger."
        )
    elif isinstance(kind, BoundedStatistic):
        hint = "Release it first, with LaplaceMechanism or GaussianMechanism."
    elif BoundedStatistic in contract.consumes:
        hint = "Put a SensitivityPreprocessor before it, which bounds a statistic of the rows."
    elif Released in contract.consumes:
        hint = "Put an estimator that releases a vector before it, for instance PrivateMean."
    return f"{what} reads {wanted}, but the step before it yields {type(kind).__name__}. {hint}"


ONCE = {  # fit it one time
    "FeatureUnion",
    "FixedThresholdClassifier",
    "SelectFromModel",
    "TransformedTargetRegressor",
}
NOTHING = {  # learn nothing themselves; others learn classes at least
    "BaggingRegressor",
    "FeatureUnion",
    "FixedThresholdClassifier",
    "MultiOutputClassifier",
    "MultiOutputRegressor",
    "RFE",
    "RegressorChain",
    "SelectFromModel",
    "TransformedTargetRegressor",
    "VotingRegressor",
}


def doubts_around(outer, ledger):
    """Return why a fit inside an estimator promises less; of types and parameters alone."""
    if hasattr(outer, "steps"):
        return _doubts_in_chain(outer.steps)
    name, doubts = type(outer).__name__, []
    if ledger is None and name not in ONCE:
        doubts.append(
            f"{name} of scikit-learn fits it several times, and each fit costs its epsilon again. "
            "Pass a ledger."
        )
    own = getattr(outer, "transformer", None) is not None or getattr(outer, "oob_score", False)
    if own or name not in NOTHING:
        doubts.append(
            f"{name} of scikit-learn learns from the rows itself, and nothing protects that. "
            f"Publish nothing of {name}, or use an estimator of skdp alone."
        )
    return doubts


def _doubts_in_chain(steps):
    future, now = "would learn from private rows", "learns from private rows"
    problems = [text for text in chain_problems(steps) if future in text]
    start, end = "in a pipeline of scikit-learn, ", " Use make_private_pipeline."
    return [start + text.replace(future, now) + end for text in problems]
