"""How the steps of a pipeline are drawn."""

from skdp.estimator._estimator import PrivateEstimator
from skdp.pipeline._tree import is_inside
from skdp.utils._compat import VisualBlock

__all__ = ["block_of", "class_name", "share_inside"]


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
