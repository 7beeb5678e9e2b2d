"""The steps of a pipeline as a tree, and what a check of them finds before any data."""

from html import escape

from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from skdp.accounting import basic_composition, group_epsilon
from skdp.contracts import (
    BoundedStatistic,
    Core,
    Joined,
    chain_problems,
    contract_of,
    leaves_of,
    parts_of,
)
from skdp.estimator._estimator import PrivateEstimator
from skdp.rowwise._map import by_rows
from skdp.utils._compat import VisualBlock

# In this thread whatever joblib.parallel_config says, in memory, silent, and dense: scikit-learn
# decides by the entries between sparse and dense, writes intermediate rows to disk, prints times.
PLAIN = {"n_jobs": 1, "verbose": False, "sparse_threshold": 0.0, "memory": None}


NO_STEPS = "a slice of a pipeline needs one step at least, and no stride: pipe[:-1], pipe[1:]."
OF_ROWS = "n_features_in_", "feature_names_in_"


def prepared(step):
    """Return a clone of a step as the pipeline may use it."""
    if isinstance(step, str | type | None) or not hasattr(step, "get_params"):
        return step
    step = clone(step)
    for _, part in unfold("", step):
        if parts_of(part)[0] is not None:
            names = part.get_params(deep=False)
            part.set_params(**{name: value for name, value in PLAIN.items() if name in names})
        by_rows(part)
    return step


def unfold(path, step):
    """Yield (path, step) for a step and all steps inside it; paths as for ``set_params``."""
    if isinstance(step, str | None):
        return
    yield path, step
    parts, _ = parts_of(step)
    for name, part in parts or ():
        yield from unfold(f"{path}__{name}" if path else name, part)
    # copies that a ColumnTransformer fits
    for name, part, *_ in getattr(step, "transformers_", ()):
        yield from unfold(f"{path}__{name}" if path else name, part)


def is_inside(path, name):
    """Return whether a path is that of the step ``name``, or of a step inside it."""
    return f"{path}__".startswith(f"{name}__")


def spending(steps):
    """Return the steps that spend, as a list of (path, estimator)."""
    return [
        (path, part)
        for name, step in steps
        for path, part in unfold(name, step)
        if isinstance(part, PrivateEstimator)
    ]


def class_name(step):
    """Return the class of a step, or the text that stands for it."""
    return step if isinstance(step, str | None) else type(step).__name__


def share_inside(shares, name):
    """Return the share of a step with all that is inside it."""
    return float(sum(s for path, s in shares.items() if is_inside(path, name)))


def block_of(step, share):
    """Return how a step is drawn: one that spends by itself tells its share."""
    if not isinstance(step, PrivateEstimator) or not share:
        return step
    caption = f"{share:.0%} of the budget"
    return VisualBlock(
        "single",
        step,
        names=type(step).__name__,
        name_caption=caption,
        name_details=f"{step}, {caption}",
    )


def part_of_pipeline(pipeline, index):
    """Return a pipeline of the steps of a slice, fitted if the pipeline is.

    Its steps are the fitted ones themselves, and its bill is that of the whole pipeline.
    """
    if not pipeline.steps[index] or index.step not in (None, 1):
        raise ValueError(NO_STEPS)
    part = clone(pipeline).set_params(split="auto")
    part.set_params(steps=part.steps[index])
    if hasattr(pipeline, "steps_"):
        steps = pipeline.steps_[index]
        first = pipeline if index.indices(len(pipeline))[0] == 0 else steps[0][1]
        known = {name: getattr(first, name) for name in OF_ROWS if hasattr(first, name)}
        vars(part).update(known, steps_=steps, privacy_report_=pipeline.privacy_report_)
    return part


NO_WEIGHTS = (
    "sample_weight: this pipeline {}, which takes no weights of rows. Fit without, or leave the "
    'step out: user guide "Weights of rows" names the estimators that take them.'
)
TOGETHER = BoundedStatistic | Core | Joined


def refuse_weights_of(pipeline):
    """Raise ValueError for steps whose rows cannot have weights.

    What reads many rows together would draw them by their weights, and the step that follows again.
    """
    pipeline._check_steps()
    leaves = leaves_of(pipeline)
    spend = [leaf for leaf in leaves if isinstance(leaf, PrivateEstimator)]
    for leaf in leaves:
        contract = contract_of(leaf)
        own = leaf in spend and type(leaf)._of_persons is not PrivateEstimator._of_persons
        if own or (contract is not None and isinstance(contract.yields(None), TOGETHER)):
            raise ValueError(NO_WEIGHTS.format(f"has the step {type(leaf).__name__}"))
    if spend and not has_fit_parameter(spend[-1], "sample_weight"):
        raise ValueError(NO_WEIGHTS.format(f"ends with {type(spend[-1]).__name__}"))


class PipelineCheck(list):
    """The problems of a pipeline, a list of texts; shows itself line by line.

    Parameters
    ----------
    problems : list of str
        Each with the way out.
    cost : str
        What a fit costs in all.

    See Also
    --------
    skdp.check_pipeline

    Notes
    -----
    **Privacy**: computes from public numbers alone, so it costs nothing.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skdp import PrivateMean, check_pipeline
    >>> len(check_pipeline(make_pipeline(StandardScaler(), PrivateMean())))
    1
    """

    def __init__(self, problems, cost):
        super().__init__(problems)
        self.cost = cost

    def __str__(self):
        found = [f"{number}. {text}" for number, text in enumerate(self, 1)]
        return "\n".join([*(found or ["no problem found"]), self.cost])

    def _repr_html_(self):
        items = "".join(f"<li>{escape(text)}</li>" for text in self)
        return f"<ol>{items}</ol><p>{escape(self.cost)}</p>"


def check_pipeline(pipeline):
    """Say what is wrong with a pipeline of scikit-learn, as a private one, before it is fitted.

    Parameters
    ----------
    pipeline : Pipeline
        Of scikit-learn, with private steps that have their own ``epsilon`` and ``delta``.

    Returns
    -------
    check : PipelineCheck
        Every problem with its way out, and the cost of a fit: scikit-learn's pipeline knows of no
        budget, so the costs of its steps add up.

    See Also
    --------
    make_private_pipeline, skdp.pipeline.PipelineCheck

    Notes
    -----
    **Privacy**: reads the steps and their parameters and no rows, so it costs nothing.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skdp import FriendlyCoreKMeans
    >>> from skdp.pipeline import check_pipeline
    >>> check = check_pipeline(make_pipeline(StandardScaler(), FriendlyCoreKMeans()))
    >>> print(check)  # doctest: +ELLIPSIS
    1. 'standardscaler' (StandardScaler) would learn from private rows, and could hand ...
    cost of a fit: (epsilon=1, delta=1e-06)
    """
    steps, in_turn = parts_of(pipeline)
    if not in_turn:
        raise TypeError(
            f"check_pipeline takes a Pipeline of scikit-learn. Got {type(pipeline).__name__}. A "
            "PrivatePipeline lists its problems in plan()."
        )
    problems = chain_problems(steps)
    for path, step in unfold("", pipeline):
        if getattr(step, "memory", None) is not None:
            problems.append(
                f"{path or 'the pipeline'!r} has memory set: rows between steps are written to "
                "disk. Set memory=None."
            )
        contract = contract_of(step) if isinstance(step, PrivateEstimator) or path else None
        kind = contract.yields(None) if contract is not None else None
        if isinstance(kind, Core):
            problems.append(
                f"{path!r} hands the core on as a local view, with NaN for other rows, and filters "
                "again in predict. PrivatePipeline hands the core itself on, and skips it in "
                "predict."
            )
        if isinstance(kind, BoundedStatistic):
            problems.append(
                f"{path!r} hands rows on, without the bound that makes them useful: the next step "
                "pays for bounds of its own. PrivatePipeline hands the bounded value on."
            )
        if type(step).__name__ == "ColumnTransformer" and step.sparse_threshold != 0:
            problems.append(
                f"{path!r} chooses between sparse and dense by the entries of the rows. Set "
                "sparse_threshold=0."
            )
        if getattr(step, "verbose", False) is True:
            problems.append(f"{path or 'the pipeline'!r} prints run times. Set verbose=False.")
    return PipelineCheck(problems, _cost(spending(steps)))


def _cost(leaves):
    """Return the cost of a fit as a text."""
    budgets = []
    for _, leaf in leaves:
        try:
            budgets.append(leaf.plan().budget)
        except ValueError as error:
            return f"cost unknown: {error}"
    if not budgets:
        return "cost: no step spends anything"
    pairs = [(float(b.epsilon), float(b.delta)) for b in budgets]
    epsilon, delta = basic_composition(pairs)
    text = f"cost of a fit: (epsilon={epsilon:.4g}, delta={delta:.3g})"
    if len(pairs) == 1:
        return text
    text += f", the sum of {len(pairs)} steps"
    if all(b.measure == "gdp" for b in budgets):
        mu = float(sum(b.amount for b in budgets)) ** 0.5 * (1 + 1e-12)
        exact = group_epsilon(mu, sum(b.failure for b in budgets), 1, delta)
        text += f"; exactly (epsilon={exact:.4g}, delta={delta:.3g})"
    one = f"(epsilon={max(e for e, _ in pairs):g}, delta={max(d for _, d in pairs):g})"
    return f"{text}. A PrivatePipeline does all of it within one budget, for instance {one}."
