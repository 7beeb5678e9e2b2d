"""FriendlyCore's covariance: a frame on which random parts of the table agree."""

from skdp.covariance.published._friendly import friendly_covariance, friendly_covariance_plan

__all__ = ["friendly_covariance", "friendly_covariance_plan"]
