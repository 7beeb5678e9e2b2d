"""The steps of a pipeline as a tree: containers of scikit-learn, and the steps that spend."""

from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from skdp.contracts._chain import leaves_of, parts_of
from skdp.contracts._contract import BoundedStatistic, Core, Joined, contract_of
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
    for name, part in _fitted_parts(step):
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


def _fitted_parts(step):
    """Return the fitted copies that a ColumnTransformer makes of its parts."""
    return [part[:2] for part in getattr(step, "transformers_", ())]


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
