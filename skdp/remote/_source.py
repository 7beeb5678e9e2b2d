"""The columns of a holder's file, of types that no entry decides."""

import numpy as np

__all__ = ["read_columns"]

KINDS = "number", "text", "time"


def read_columns(source, kinds, place, *, in_pieces=False):
    """Return a table of the columns that ``kinds`` names: a frame, or a dataset that is in pieces.

    **Privacy**: types are public, so a file must not tell them by its entries. A .csv file needs
    ``kinds``; those of a .parquet file are in its schema. Integers and truth values are float64,
    since one gap would make them so; an entry of another type is missing.

    Parameters
    ----------
    source : Path
    kinds : dict of str to {"number", "text", "time"}, default=None
        Of the columns that are read; None: all columns of a parquet file.
    place : str
        What messages name.
    in_pieces : bool, default=False
        Whether a parquet file, or a folder of such, is read anew by every fit.
    """
    if unknown := [kind for kind in (kinds or {}).values() if kind not in KINDS]:
        raise ValueError(f"{place}: a column has a kind of {KINDS}. Got {unknown[0]!r}.")
    if source.suffix == ".csv" and not in_pieces:
        return _of_csv(source, kinds, place)
    if source.suffix == ".parquet" or in_pieces:
        return _of_parquet(source, kinds, place, in_pieces)
    raise ValueError(f"{place}: {source.name!r} is no .csv or .parquet file. Convert it.")


def _of_csv(source, kinds, place):
    import pandas as pd

    if kinds is None:
        told = pd.read_csv(source, nrows=1000).dtypes
        told = {name: "number" if kind.kind in "iufb" else "text" for name, kind in told.items()}
        told = ", ".join(f'{name} = "{kind}"' for name, kind in told.items())
        raise ValueError(
            f"{place} needs 'columns', the kinds of the columns of {source.name!r}: analysts see "
            f"them, so no entry may decide them. If these are right: columns = {{{told}}}"
        )
    told = pd.read_csv(source, dtype=str, usecols=list(kinds))[list(kinds)]
    return pd.DataFrame({name: _as_kind(told[name], kind) for name, kind in kinds.items()})


def _as_kind(column, kind):
    """Return a column of text as one of a kind, each entry by itself."""
    import pandas as pd

    if kind == "number":
        return pd.to_numeric(column, errors="coerce").astype(np.float64)
    if kind == "time":
        return pd.to_datetime(column, errors="coerce", format="ISO8601").astype("datetime64[ns]")
    return column.astype(object).where(column.notna(), None)


def _of_parquet(source, kinds, place, in_pieces):
    import pyarrow as pa
    import pyarrow.dataset as ds

    found = ds.dataset(source, format="parquet")
    kinds = kinds or {field.name: _kind_of(field.type, pa.types) for field in found.schema}
    for name, kind in kinds.items():
        at = found.schema.get_field_index(name)
        if at < 0 or kind is None or _kind_of(found.schema.field(at).type, pa.types) != kind:
            raise ValueError(
                f"{place}: {source.name!r} has no column {name!r} of the kind {kind or KINDS}."
            )
    types = {"number": pa.float64(), "text": pa.string(), "time": pa.timestamp("ns")}
    if in_pieces:  # read by their own types: to convert an integer of 64 bits could fail
        own = {name: found.schema.field(name).type for name in kinds}
        own |= {name: pa.string() for name, kind in kinds.items() if kind == "text"}
        return ds.dataset(source, format="parquet", schema=pa.schema(own.items()))
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
    columns = found.to_table(columns=list(kinds)).columns
    pairs = zip(columns, schema, strict=True)
    table = pa.table([column.cast(field.type, safe=False) for column, field in pairs], schema)
    told = table.to_pandas()
    text = [name for name, kind in kinds.items() if kind == "text"]
    return told.assign(**{name: _as_kind(told[name], "text") for name in text})


def _kind_of(kind, types):
    """Return what a type of Arrow is: None for lists and the like."""
    if types.is_dictionary(kind):
        return _kind_of(kind.value_type, types)
    if any(of(kind) for of in (types.is_integer, types.is_floating, types.is_decimal)):
        return "number"
    if types.is_boolean(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    return "time" if types.is_timestamp(kind) or types.is_date(kind) else None
