"""One budget for a chain of steps."""

from skdp.pipeline._from_sklearn import make_private_pipeline
from skdp.pipeline._plan import PipelinePlan
from skdp.pipeline._private_pipeline import PrivatePipeline
from skdp.pipeline._tree import PipelineCheck, check_pipeline

__all__ = [
    "PipelineCheck",
    "PipelinePlan",
    "PrivatePipeline",
    "check_pipeline",
    "make_private_pipeline",
]
