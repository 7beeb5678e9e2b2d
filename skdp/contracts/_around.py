"""What estimators of scikit-learn do to the guarantee of a private one that they fit."""

from skdp.contracts._chain import chain_problems

__all__ = ["doubts_around"]

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
