"""Attacks that a released float has to withstand."""

from skdp.audit._bounds import precision_attack

__all__ = ["precision_attack"]
