"""Steps before a release: filters of private rows."""

from skdp.preprocessing._friendly_core_filter import FriendlyCoreFilter

__all__ = ["FriendlyCoreFilter"]
