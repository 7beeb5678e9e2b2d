"""What a step reads and what it yields. A guarded room: an unknown step is refused."""

from skdp.contracts._contract import Contract, contract_of
from skdp.contracts._kinds import BoundedStatistic, Core, Kind, Released, Rows

__all__ = [
    "BoundedStatistic",
    "Contract",
    "Core",
    "Kind",
    "Released",
    "Rows",
    "contract_of",
]
