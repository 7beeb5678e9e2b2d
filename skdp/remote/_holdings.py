"""What a holder has: tables with what is public of them, analysts, and their budgets on disk."""

import fcntl
import hashlib
import hmac
import math
import re
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from skdp.accounting import Budget, PrivacyLedger
from skdp.exceptions import BudgetExceeded
from skdp.readers._lazy import own_types
from skdp.readers._raw import readable
from skdp.readers._sources import source_of

PROBE = Budget.gaussian(1.0, 0.5)  # its own failure probability is larger than any that is admitted
NAME = "letters, digits, '-' and '_'"


@dataclass(frozen=True)
class Limits:
    """What one analyst may use at most; none of it depends on rows."""

    open_fits: int = 4  # at a time
    requests: int = 20_000  # of one fit: the largest estimators send some hundreds
    body: int = 2**24  # bytes of one request
    idle: float = 600.0  # seconds after which a fit that asks nothing is ended
    stop: float = 30.0  # seconds for which open fits go on when the server is told to stop
    seconds: int = 3600  # of processor time of one fit
    memory: int = 2**33  # bytes of address space of one fit, beside the tables


@dataclass(frozen=True)
class Holding:
    """One table: its source, whose row each row is, and what else is public of it."""

    name: str
    source: object  # whatever ``fit`` takes
    persons: str | None = None  # the column with IDs of persons, who are protected then
    public: dict = field(default_factory=dict)  # bounds or levels of columns, for analysts to use

    @cached_property
    def columns(self):
        """Names and types of the columns, without IDs."""
        schema = getattr(self.source, "schema", None)  # of a dataset
        types = (
            self.source.dtypes
            if schema is None
            else dict(zip(schema.names, schema.types, strict=True))
        )
        return {str(name): str(kind) for name, kind in types.items() if name != self.persons}

    @cached_property
    def made_up(self):
        """Four made-up rows of the same types, a frame."""
        head = self.source
        head = head.iloc[:0] if hasattr(head, "iloc") else source_of(head).head().to_pandas()
        kinds = head.dtypes.to_dict()
        told = {name: [*"abab"] if kind.kind == "O" else range(4) for name, kind in kinds.items()}
        return type(head)(told).astype(kinds)

    @property
    def unit(self):
        """What is protected: "row" or "group"."""
        return "row" if self.persons is None else "group"


class Holdings:
    """Tables, analysts and ledgers.

    Parameters
    ----------
    folder : Path
        Of the ledgers: one of each table, one of each analyst and table.
    tables : dict of str to Holding
    caps : dict of str to (epsilon, delta)
        What all analysts together may spend of a table.
    tokens : dict of str to str
        SHA-256 of the tokens of analysts, in hexadecimal.
    budgets : dict of (analyst, table) to (epsilon, delta)
    pace, search_pace : float, default=0.1
        See :class:`skdp.remote._session.Session`.
    limits : Limits
    seeded : bool, default=False
        Whether fits may be seeded by analysts: for tests alone, no fit is private then.
    """

    def __init__(
        self,
        folder,
        tables,
        caps,
        tokens,
        budgets,
        *,
        pace=0.1,
        search_pace=0.1,
        limits=None,
        seeded=False,
    ):
        self.folder, self.tables, self.tokens = Path(folder), tables, tokens
        self.caps, self.budgets = caps, budgets
        self.pace, self.search_pace = pace, search_pace
        self.limits, self.seeded = limits or Limits(), seeded
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.folder.stat().st_mode & 0o022:
            raise ValueError(
                f"others can write to {str(self.folder)!r}, which holds budgets: chmod 700."
            )
        # Checked once; each use of one reads its file, whichever process it is in.
        self._ledgers = {name: self._ledger(name, *caps[name], name) for name in tables}
        for (analyst, name), budget in budgets.items():
            self._ledgers[analyst, name] = self._ledger(f"{analyst}@{name}", *budget, name)

    def _ledger(self, file, epsilon, delta, table):
        path, unit = self.folder / f"{file}.db", self.tables[table].unit
        return PrivacyLedger(epsilon, delta, path=path, unit=unit)

    def analyst(self, token):
        """Return the name of the analyst with a token, or None; in the same time for all tokens."""
        told = hashlib.sha256(token.encode()).hexdigest()
        names = [name for name, own in self.tokens.items() if hmac.compare_digest(told, own)]
        return names[0] if names else None

    def of_analyst(self, analyst):
        """Return {table: ledger} of the tables that an analyst may ask."""
        return {name: self._ledgers[who, name] for who, name in self.budgets if who == analyst}

    def admitting(self, analyst, name):
        """Return the ledger whose share of failure probabilities is the smaller: fits obey it."""
        ledgers = self._ledgers[analyst, name], self._ledgers[name]
        return min(ledgers, key=lambda ledger: ledger.admit(PROBE).failure)

    def charge(self, analyst, name, plan, what, *, seeded=False):
        """Charge the analyst and the table for a plan, both or neither.

        A refusal is no latch: nobody else is stopped by it. **Privacy**: both ledgers have the
        charge on disk before the first row is read.
        """
        ledgers = {"the analyst": self._ledgers[analyst, name], "the table": self._ledgers[name]}
        budget, unit = plan.budget, plan.privacy_unit
        with self._alone():
            for whose, ledger in ledgers.items():
                if not ledger.affords(budget, unit):
                    raise BudgetExceeded(
                        f"what is left of the budget of {whose} for {name!r} does not pay for a "
                        f"fit of epsilon = {float(budget.epsilon):g}, delta = "
                        f"{float(budget.delta):g}. Ask for less; table.remaining shows the budget "
                        "of the analyst."
                    )
            for ledger in ledgers.values():
                ledger.charge(budget, f"{what} by {analyst}", seeded=seeded, unit=unit)

    @contextmanager
    def _alone(self):
        with (self.folder / "charging").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def read_holdings(path):
    """Return the holdings that a TOML file describes, and the addresses it names.

    Parameters
    ----------
    path : str or Path
        The file; paths in it are relative to its folder. Its entries: user guide "Remote tables".

    Returns
    -------
    holdings : Holdings
        Tables, analysts and their ledgers.
    where : dict
        Parameters of :func:`serve`.

    Raises
    ------
    ValueError
        For an entry that is missing or unknown; the message names it.

    See Also
    --------
    serve, connect

    Notes
    -----
    **Privacy**: tables are read, and nothing of them is told.

    Examples
    --------
    >>> import skdp.remote
    >>> holdings, where = skdp.remote.read_holdings("holder.toml")  # doctest: +SKIP
    >>> skdp.remote.serve(holdings, **where)  # doctest: +SKIP
    """
    path = Path(path)
    with path.open("rb") as file:
        told = tomllib.load(file)
    times = {"pace", "search_pace"}
    _known(told, {"folder", *times, "server", "limits", "tables", "analysts"}, "the file")
    tables, caps, tokens, budgets = {}, {}, {}, {}
    for name, entry in _needed(told, "tables", "the file").items():
        place = f"[tables.{name}]"
        known = {"source", "persons", "epsilon", "delta", "public", "in_pieces", "columns"}
        _known(entry, known, place)
        source, kinds = path.parent / _needed(entry, "source", place), entry.get("columns")
        read = read_columns(source, kinds, place, in_pieces=entry.get("in_pieces", False))
        tables[_name(name)] = Holding(name, read, entry.get("persons"), entry.get("public", {}))
        named = {entry.get("persons"), *entry.get("public", {})} - {None}
        if unknown := named - {*Holding(name, read).columns}:
            raise ValueError(f"{place} names {min(unknown)!r}, which is no column.")
        caps[name] = _budget(entry, place)
    for who, entry in _needed(told, "analysts", "the file").items():
        place = f"[analysts.{who}]"
        _known(entry, {"token_sha256", "tables"}, place)
        tokens[_name(who)] = digest = _needed(entry, "token_sha256", place)
        if not re.fullmatch("[0-9a-f]{64}", str(digest)) or list(tokens.values()).count(digest) > 1:
            raise ValueError(f"{place}: token_sha256 is the digest of a token of its own, in hex.")
        for name, budget in _needed(entry, "tables", place).items():
            if name not in tables:
                raise ValueError(f"{place} names the table {name!r}, which has no [tables.{name}].")
            budgets[who, name] = _budget(budget, f"[analysts.{who}.tables.{name}]")
    limits = told.get("limits", {})
    _known(limits, set(Limits.__dataclass_fields__), "[limits]")
    folder = path.parent / told.get("folder", "ledgers")
    pace = told.get("pace", 0.1)
    times = {name: _pace(told.get(name, pace), name) for name in times}
    holdings = Holdings(folder, tables, caps, tokens, budgets, limits=Limits(**limits), **times)
    server = told.get("server", {})
    _known(server, {"host", "port", "socket", "certificate", "key"}, "[server]")
    return holdings, server


def _pace(x, name):
    if x is False:  # what takes a time that tells of rows is refused
        return None
    if x is True or not isinstance(x, int | float) or not 0 < x < math.inf:
        raise ValueError(f"{name} is a number of seconds above 0, or false. Got {x!r}.")
    return float(x)


def _budget(entry, place):
    return float(_needed(entry, "epsilon", place)), float(entry.get("delta", 0.0))


def _needed(entry, key, place):
    if key not in entry:
        raise ValueError(f"{place} needs {key!r}.")
    return entry[key]


def _known(entry, keys, place):
    if unknown := sorted(set(entry) - keys):
        raise ValueError(f"{place} has the unknown entry {unknown[0]!r}. Known: {sorted(keys)}.")


def _name(name):
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise ValueError(f"the name {name!r} must consist of {NAME}: it is part of a file's name.")
    return name


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
    told = pd.read_csv(source, dtype=str, usecols=list(kinds), encoding_errors="replace")
    return pd.DataFrame({name: _as_kind(told[name], kind) for name, kind in kinds.items()})


def _as_kind(column, kind):
    """Return a column of text as one of a kind, each entry by itself."""
    import pandas as pd

    if kind == "number":
        return pd.to_numeric(column, errors="coerce").astype(np.float64)
    if kind == "time":
        told = pd.to_datetime(column, errors="coerce", format="ISO8601", utc=True)
        told = told.dt.tz_localize(None)  # else one time zone, or year, would end the reading
        known = (told >= pd.Timestamp.min) & (told <= pd.Timestamp.max)
        return told.where(known).astype("datetime64[ns]")
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
    tables = [schema.empty_table()]
    for file in found.get_fragments():  # by their own types too
        own = own_types(file, found.schema)
        if any(_kind_of(own.field(name).type, pa.types) != kind for name, kind in kinds.items()):
            raise ValueError(f"{place}: the files of {source.name!r} have columns of other kinds.")
        columns = file.to_table(columns=list(kinds), schema=own).columns
        pairs = zip(columns, schema.types, strict=True)
        tables.append(pa.table([_converted(*pair) for pair in pairs], schema))
    told = pa.concat_tables(tables).to_pandas()
    text = [name for name, kind in kinds.items() if kind == "text"]
    return told.assign(**{name: _as_kind(told[name], "text") for name in text})


def _converted(column, kind):
    """Return a column of another type, each entry by itself: a time that wraps is missing."""
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    column = readable(column)
    made = column.cast(kind, safe=False)
    if not types.is_timestamp(kind):
        return made
    same = compute.equal(made.cast(column.type, safe=False), column)
    return compute.if_else(same, made, None)


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
