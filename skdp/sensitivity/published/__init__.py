"""The recursion of Cummings and Durfee for any function of a few records, and in the plane."""

from skdp.sensitivity.published._recursion import (
    bounded_function,
    bounded_groups,
    bounded_plane,
    bounded_plane_function,
)

__all__ = ["bounded_function", "bounded_groups", "bounded_plane", "bounded_plane_function"]
