"""What columns of tables of any kind must hold; and tidy frames out."""

from dataclasses import astuple, replace
from itertools import compress

from sklearn import get_config

from skdp.marginals._domain import read_domain
from skdp.marginals._types import ColumnType
from skdp.readers._columns import ColumnRows

__all__ = [
    "columns_of",
    "domain_of",
    "require_levels",
    "require_types",
    "text_names",
    "tidy_frame",
    "wants_frame",
]

PANDAS = (
    "frames need pandas. Install it with `pip install pandas`, or ask for an array: "
    "marginal(columns, as_frame=False)."
)


def columns_of(source, kind, domain, table, names):
    """Return rows of the columns of a domain, and beside them what is public of their table."""
    about = {"table_type": table, "names": None if names is None else tuple(map(str, names))}
    about["types"] = tuple(map(astuple, domain.types))
    here = {"kind": kind, "present": domain.coded.present, "about": about}
    return ColumnRows(source, len(domain.names), **here)


def domain_of(table, domain, n_features):
    """Return the Domain that a user describes, of the columns of a Table."""
    types = tuple(ColumnType(*one) for one in table.about["types"])
    return replace(read_domain(domain, n_features, table.about["names"]), types=types)


def require_types(columns, domain):
    """Raise ValueError if all levels are numbers and a column has another type."""
    if not all(kind.numeric for kind in domain.kinds):
        return
    pairs = zip(domain.names, domain.columns, strict=True)
    wrong = [name for name, column in pairs if not columns.numeric(column)]
    if wrong:
        raise ValueError(
            f"all levels of the domain are numbers, but the columns {wrong[:10]} of X are not: "
            "convert them with astype(float)."
        )


def text_names(schema):
    """Return the names of the columns if they are texts: old scikit-learn sees none of polars."""
    texts = schema.names is not None and all(isinstance(name, str) for name in schema.names)
    return schema.names if texts else None


def require_levels(rows, domain):
    """Raise ValueError if there is no row, or one with an entry outside its levels."""
    if not len(rows):
        raise ValueError("X has no rows, and at least one is needed.")
    outside = list(compress(domain.names, domain.coded.outside(rows)))
    if outside:
        raise ValueError(
            f"X has entries outside the public levels of the columns {outside[:10]}, or infinity "
            "where levels are bought. Add the level "
            "None for missing entries and ... for all others (of Bins: missing=True, and infinite "
            'edges), or leave such rows out with skdp.config_context(invalid_rows="ignore").'
        )


def wants_frame(library):
    """Return the library that tables shall be frames of, or None."""
    configured = get_config()["transform_output"]
    if configured in ("pandas", "polars"):
        return configured
    return None if library == "numpy" else library


def tidy_frame(columns, library):
    """Return a frame of the library from a dict of name to array."""
    if library == "polars":
        import polars

        return polars.DataFrame({name: _uniform(values) for name, values in columns.items()})
    try:
        import pandas
    except ImportError:
        raise ImportError(PANDAS) from None
    return pandas.DataFrame({name: _inferred(values) for name, values in columns.items()})


def _inferred(values):
    """Return labels with a type of numbers, if all of them are numbers."""
    return values if values.dtype != object else values.tolist()


def _uniform(values):
    """Return labels as strings, if they have several types."""
    entries = values.tolist()
    types = {type(entry) for entry in entries} - {type(None)}
    return [x if x is None else str(x) for x in entries] if len(types) > 1 else entries
