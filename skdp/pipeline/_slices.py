"""Some of the steps of a pipeline, as a pipeline."""

from sklearn.base import clone

__all__ = ["part_of_pipeline"]

NO_STEPS = "a slice of a pipeline needs one step at least, and no stride: pipe[:-1], pipe[1:]."
OF_ROWS = "n_features_in_", "feature_names_in_"


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
