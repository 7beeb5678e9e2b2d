"""Engine: what becomes of a row is decided by that row alone, to the last bit."""

from skdp.rowwise._form import Form, as_table, form_of
from skdp.rowwise._known import by_rows, maps_rows_at_once
from skdp.rowwise._lint import MIXES, SAME, probe
from skdp.rowwise._made_up import column_kind, made_up_rows
from skdp.rowwise._map import each_row, map_rows

__all__ = [
    "MIXES",
    "SAME",
    "Form",
    "as_table",
    "by_rows",
    "column_kind",
    "each_row",
    "form_of",
    "made_up_rows",
    "map_rows",
    "maps_rows_at_once",
    "probe",
]
