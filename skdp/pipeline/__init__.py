"""One budget for a chain of steps."""

from skdp.pipeline._check import PipelineCheck, check_pipeline
from skdp.pipeline._make_private_pipeline import make_private_pipeline
from skdp.pipeline._plan import PipelinePlan
from skdp.pipeline._private_pipeline import PrivatePipeline

__all__ = [
    "PipelineCheck",
    "PipelinePlan",
    "PrivatePipeline",
    "check_pipeline",
    "make_private_pipeline",
]
