"""What a table holds, column by column."""

from skdp.summary._private_summary import PrivateSummary

__all__ = ["PrivateSummary"]
