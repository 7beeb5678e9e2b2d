"""One fit for each level of one or two columns, and all of them for the price of one."""

from skdp.by_group._private_group_by import PrivateGroupBy

__all__ = ["PrivateGroupBy"]
