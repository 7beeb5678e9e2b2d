"""Non-interference: given the answers of the Curator, nothing that anybody sees depends on rows."""

from dataclasses import dataclass

import numpy as np

from skdp.audit._draw import Sample
from skdp.audit._fingerprint import classes_of
from skdp.audit._observe import audited_clone, observe, recorded_fit
from skdp.audit._tables import Table, example, memory_mapped, single_precision, tables_like
from skdp.audit._transcript import Script
from skdp.exceptions import AuditFailure
from skdp.utils._config import config_context

N_PUBLIC = 10  # rows of which fitted estimators are asked


@dataclass(frozen=True)
class Interference:
    """A channel in which a fit on ``table`` differs from the first fit with the same answers.

    An exception is a finding by itself: a fit always answers.

    Notes
    -----
    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.
    """

    transcript: int  # number of the answers under which the two fits differ
    table: str  # what the table is
    channel: str  # where they differ


@dataclass(frozen=True)
class InterferenceReport:
    """What :func:`non_interference` found.

    Notes
    -----
    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.
    """

    estimator: str
    tables: tuple  # tuple of str: the tables that were fitted
    n_transcripts: int
    releases: tuple  # tuple of str: labels of the releases that were reached with some transcript
    findings: tuple = ()  # tuple of Interference

    @property
    def ok(self):
        """Whether nothing was found."""
        return not self.findings

    @property
    def channels(self):
        """The channels that differ, without repetition."""
        return tuple(dict.fromkeys(finding.channel for finding in self.findings))

    def __str__(self):
        head = (
            f"Non-interference of {self.estimator}: {len(self.tables)} tables, "
            f"{self.n_transcripts} transcripts, releases reached: {', '.join(self.releases)}."
        )
        if self.ok:
            return f"{head}\n  no difference in any channel"
        lines = []
        for channel in self.channels:
            where = [f.table for f in self.findings if f.channel == channel]
            lines.append(f"  {channel}: fault on {', '.join(dict.fromkeys(where))}")
        return "\n".join([head, *lines])


def non_interference(
    estimator,
    X,
    y=None,
    *,
    groups=None,
    n_transcripts=5,
    random_state=0,
    datasets=None,
    raise_on_failure=True,
):
    """Fit on tables that have only the schema in common, with the same answers of the Curator.

    Whatever is not a function of parameters, schema and released values gives itself away.

    Parameters
    ----------
    estimator : PrivateEstimator
        Is cloned; the clones are seeded, so that public random choices repeat, and without ledger.
    X : array-like or DataFrame of shape (n_samples, n_features)
        A table that the estimator is at home with. Made or chosen for the audit.
    y : array-like of shape (n_samples,), default=None
        Targets, for estimators that use them.
    groups : array-like of shape (n_samples,), default=None
        Whose row each row is: audits the fit with groups, on tables of other groups too,
        and of the same ones under other names.
    n_transcripts : int, default=5
        In turn: a run on X, the same answers moved by noise, runs on a small table and on one whose
        rows are all alike, and wild answers.
    random_state : int, default=0
    datasets : list of tables or dict of name to table, default=None
        Other tables of the schema of X, or pairs (X, y), or (X, y, groups). By default fifteen made
        from X: a row more, a row less, a far row, a row with NaN, no rows, one row, rows all alike,
        in another order, all far away, huge, constant columns, column-major, float32 and a memory
        map. For frames and targets some of these, and others.
    raise_on_failure : bool, default=True

    Returns
    -------
    report : InterferenceReport

    Raises
    ------
    AuditFailure
        If a channel differs, with the first transcript for which one does.

    See Also
    --------
    conditional_sensitivity

    Notes
    -----
    Channels: every attribute, with all that it reaches (what a closure holds and what pickles leave
    out included), the pickle, ``repr`` and HTML, the tags, properties, and what methods say of
    public rows, the first ones of X, and without arguments; what is kept on the classes, in their
    modules and in those that these import, in caches, threads and contexts; the environment,
    settings and global generators of the process, and what is written to files; requests to the
    Curator (label, law, shape, sensitivity, scale, order), charges and their shares, decisions,
    what Python prints, warns and logs, and exceptions. Row keys differ from fit to fit, as they do
    between real fits, and so does the pace of clocks. Not seen: output of compiled code, real time
    and memory.

    ``random_state`` and the global generators of numpy and Python make public random choices
    repeat. A sound estimator that takes them from elsewhere, as the system, raises an alarm: no
    audit can tell such choices from rows.

    **Privacy**: none: for tables made or chosen for the audit, which reports may quote.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp import PrivateCount
    >>> from skdp.audit import non_interference
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> report = non_interference(PrivateCount(), X, n_transcripts=1)  # or raises AuditFailure
    >>> type(report).__name__
    'InterferenceReport'
    """
    data = single_precision(example(estimator, X, y, groups))
    with memory_mapped(data) as mapped:
        tables = [*tables_like(data), *mapped] if datasets is None else _named(data, datasets)
        scripts = (script(estimator, data, t, random_state) for t in range(n_transcripts))
        return compare_fits(estimator, tables, scripts, raise_on_failure=raise_on_failure)


def compare_fits(estimator, tables, scripts, *, raise_on_failure=True):
    """Compare fits on several Tables with the answers of each Script; as non_interference."""
    findings, labels, public = [], {}, tables[0].data
    public = public.take(np.arange(min(len(public), N_PUBLIC)))
    strange = any(cls.__module__.partition(".")[0] != "skdp" for cls in classes_of(estimator))
    for t, answers in enumerate(scripts):
        first = None
        if strange:  # caches are warm before anything is compared
            observe(audited_clone(estimator), tables[0].data, answers, seed=1, public=public)
        for i, table in enumerate(tables):
            with config_context(invalid_rows="ignore"):  # of some tables; the switch is public
                seen = observe(
                    audited_clone(estimator), table.data, answers, seed=i + 1, public=public
                )
            labels.update(dict.fromkeys(request[0] for request in seen["requests"]))
            first = first or seen
            channels = [c for c in first | seen if first.get(c) != seen.get(c)]
            if seen["exception"] and "exception" not in channels:
                channels.append("exception")  # a fit always answers
            findings += [Interference(t, table.name, channel) for channel in channels]
        if findings and raise_on_failure:
            break
    report = InterferenceReport(
        type(estimator).__name__,
        tuple(table.name for table in tables),
        t + 1,
        tuple(labels),
        tuple(findings),
    )
    if raise_on_failure and not report.ok:
        raise AuditFailure(str(report))
    return report


def script(estimator, data, t, seed):
    """Return the t-th script; they lead into different branches."""
    kind = t % 5
    if kind == 4:
        return Script(seed=seed + t, stretch=1e6)
    few, alike = data.take(np.arange(min(len(data), 8))), data.take(np.zeros(len(data)))
    with config_context(invalid_rows="ignore"):
        records, _, _ = recorded_fit(
            audited_clone(estimator),
            (data, data, few, alike)[kind],
            "noise",
            seed=seed + t - (kind == 1),
        )
    return Script(records, seed=seed + t, shift=float(kind == 1))


def _named(data, datasets):
    items = datasets.items() if isinstance(datasets, dict) else enumerate(datasets)
    tables = [
        Table(str(name), Sample.of(*table) if isinstance(table, tuple) else Sample.of(table))
        for name, table in items
    ]
    return [Table("the table", data), *tables]
