"""How a MarginalReleaser reads X: columns with levels, before any charge."""

from dataclasses import replace

import sklearn
from sklearn.utils.validation import validate_data

from skdp.marginals._domain import is_auto, read_domain
from skdp.marginals._frames import columns_of, require_levels, require_types, text_names
from skdp.marginals._types import column_types, require_kinds
from skdp.readers._columns import (
    BlockEncoder,
    Columns,
    TableRows,
    read_columns,
    table_type,
)
from skdp.readers._raw import schema_of
from skdp.readers._sources import source_of
from skdp.table._schema import TEXT, look_at, typed_rows
from skdp.utils._config import get_config

__all__ = ["SIGNS", "MarginalRows"]

SIGNS = "without a domain a column has two levels: 1 for entries above zero, 0 for others"
NO_DOMAIN = (
    f"{SIGNS}. Got columns that are not numbers. Name the levels of each, domain={{'column': "
    "[level, ...], ...}: those that can occur, which is public, and not those that do. Or pass "
    'domain="auto": they are found with a part of the budget.'
)


class MarginalRows:
    """What a fit reads of X, by public levels and types."""

    def _read(self, X, y):
        if self.domain is None:
            rows, names = self._zeros_and_ones(X, y), getattr(self, "feature_names_in_", None)
            domain = read_domain(None, rows.n_features, names)
            return columns_of(rows, "numbers", domain, table_type(X), names)
        auto, table = is_auto(self.domain), source_of(X)
        if table is None:
            table = TableRows(read_columns(typed_rows(self, X) if auto else X))
        columns = Columns(table.head())
        validate_data(self, columns.table, skip_check_array=True)
        names = text_names(schema_of(columns.table))
        domain = read_domain(self.domain, self.n_features_in_, names)
        domain = replace(domain, types=column_types(columns.table, domain.columns))
        require_types(columns, domain)
        require_kinds(domain)
        self._most_levels(domain)
        table = table.decoded_by(BlockEncoder(tuple(domain.columns), schema_of(columns.table)))
        rows = columns_of(table, "text", domain, table_type(columns.table), names)
        look_at(table, entries=False)
        if get_config()["invalid_rows"] == "error" and not sklearn.get_config()["assume_finite"]:
            require_levels(rows, domain)
        return rows

    def _zeros_and_ones(self, X, y):
        try:
            return super()._read(X, y)
        except ValueError as error:
            if not str(error).startswith(TEXT):
                raise
        raise ValueError(NO_DOMAIN)
