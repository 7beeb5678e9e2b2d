"""A linter for pipelines of scikit-learn that hold private steps."""

from html import escape

from skdp.accounting import basic_composition, group_epsilon
from skdp.contracts._chain import chain_problems, parts_of
from skdp.contracts._contract import BoundedStatistic, Core, contract_of
from skdp.estimator._estimator import PrivateEstimator
from skdp.pipeline._tree import spending, unfold


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
