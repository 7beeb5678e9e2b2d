"""Plans and reports as text, HTML, JSON and a frame."""

import math
from html import escape
from itertools import groupby

from skdp.show._display import AsJson, bullets, data_frame, row, table
from skdp.show._summary import condition, registry_entry, report_summary

_STYLE = (
    "<style scoped>.skdp{font:13px system-ui,sans-serif;max-width:46em}.skdp table{border-collapse:"
    "collapse;margin:.4em 0}.skdp td,.skdp th{font-size:13px;white-space:nowrap;padding:.15em .7em;"
    "text-align:left;border-bottom:1px solid #8884}.skdp .bar{display:inline-block;height:.7em;"
    "background:#3b7dd8;border-radius:2px}.skdp .warn{color:#b00;font-weight:600}</style>"
)
UNITS = {"row": "one row", "group": "one group (all rows with one entry of groups)"}
_UNITS = {"gdp": "mu^2", "zcdp": "rho", "pure": "epsilon", "mixed": "rho", "approx": "epsilon"}
NOT_COVERED = (
    "Not covered: run time, local views of single rows (transform, predict on the training rows), "
    "parameters that were chosen by looking at the data."
)


PROTECTS = {
    "number": "features and target of every row alike",
    "class": "features and class of every row alike, and which classes occur",
}


def _guarantee(budget):
    return f"(epsilon={float(budget.epsilon):g}, delta={float(budget.delta):g})"


def _facts(report):
    """Return the rows of a report's first table: (name, text)."""
    budget = report.budget
    if report.seeded:
        yield "guarantee", "NONE: seeded, not private. Use random_state=None for a release."
    yield "claim", f"{_guarantee(budget)}{condition(report)}, neighbours: {_neighbours(report)}"
    if report.target is not None:
        yield "protects", PROTECTS[report.target]
    if budget.measure == "gdp":
        yield (
            "composition",
            f"Gaussian, mu = {budget.mu:.6g}; failure probability {float(budget.failure):.3g}",
        )
    yield f"replace one {report.privacy_unit}", _group(report, 2)
    yield ("groups of 5 rows" if report.privacy_unit == "row" else "5 groups"), _group(report, 5)


def _neighbours(report):
    pair = report.privacy_unit == "row" and report.target is not None
    return f"add or remove {UNITS[report.privacy_unit]}{' (x, y)' if pair else ''}"


def _group(report, size):
    """Return the guarantee of a group, at the first delta that admits a finite epsilon."""
    claimed = float(report.budget.delta)
    for delta in (claimed, 10 * claimed, 100 * claimed, 1000 * claimed):
        epsilon = report.epsilon(delta, group_size=size) if delta < 1 else math.inf
        if math.isfinite(epsilon):
            return f"(epsilon={epsilon:.4g}, delta={delta:.3g})"
    return f"no guarantee at a delta below {delta:.3g}"


def _steps(plan):
    for step in plan.steps:
        times = f", up to {step.times} times" if step.times > 1 else ""
        of = f", of {' or '.join(kind.__name__ for kind in step.of)}" if step.of else ""
        yield step.label, step.mechanism, f"at most {float(step.at_most):.4g}{times}{of}"


class PlanView:
    """The faces of a plan: text and HTML."""

    def __str__(self):
        budget, steps = self.budget, list(_steps(self))
        w = max([26, *(len(name) for name, *_ in steps)])
        lines = [
            f"Plan: {_guarantee(budget)} per fit, charged in full before the first row is read",
            f"{'release':<{w + 2}} {'mechanism':<10} share of {_UNITS[budget.measure]}",
        ]
        lines += [f"  {name:<{w}} {mechanism:<10} {share}" for name, mechanism, share in steps]
        return "\n".join([*lines, *_may_fail(self), *_listed("note", self.assumptions)])

    def _repr_html_(self):
        head = f"<b>Plan</b> {escape(_guarantee(self.budget))} per fit"
        titles = ("release", "mechanism", f"share of {_UNITS[self.budget.measure]}")
        return _page(head, table(titles, map(row, _steps(self))), bullets(self.assumptions))


class ReportView(AsJson):
    """The faces of a privacy report: text, HTML, JSON, a frame and a paragraph."""

    def __str__(self):
        lines = [f"Privacy report of {self.estimator}"]
        lines += [f"  {name:<17} {text}" for name, text in _facts(self)]
        charges = list(_charges(self))
        w = max([26, *(len(label) for label, *_ in charges)])
        head = f"{'mechanism':<10} {'share':>7}  {'noise / sensitivity':>19}"
        lines.append(f"  {'release':<{w + 2}} {head}")
        lines += [
            f"    {label:<{w}} {mechanism:<10} {share:>7.4f}  {ratio:>19}"
            for label, mechanism, share, ratio in charges
        ]
        lines += [*_may_fail(self), *_listed("decision", self.decisions)]
        return "\n".join([*lines, *_listed("note", self.assumptions), f"  {NOT_COVERED}"])

    def _repr_html_(self):
        facts = [
            row(fact, kind=" class=warn" if fact[0] == "guarantee" else "") for fact in _facts(self)
        ]
        head = ("release", "mechanism", "share", "noise / sensitivity", "")
        bars = [
            row((label, mechanism, f"{share:.4f}", ratio), tail=_bar(share))
            for label, mechanism, share, ratio in _charges(self)
        ]
        notes = [f"Decision: {text}" for text in self.decisions]
        notes += [
            f"May fail: {label} (probability {float(p):.2g})" for label, p in self.failure_events
        ]
        notes += [*self.assumptions, NOT_COVERED]
        title = f"<b>Privacy report of {escape(self.estimator)}</b>"
        return _page(title, table((), facts), table(head, bars), bullets(notes))

    def to_dict(self):
        """Return the report as plain numbers and text.

        Returns
        -------
        entries : dict
            The headline is ``mu``: outside of failure events the fit is mu-Gaussian differentially
            private; None if the budget is of another measure.
        """
        budget = self.budget
        return {
            "estimator": self.estimator,
            "neighbours": _neighbours(self),
            "seeded": self.seeded,
            "epsilon": float(budget.epsilon),
            "delta": float(budget.delta),
            "mu": budget.mu if budget.measure == "gdp" else None,
            "condition": condition(self).strip(", ") or None,
            "unit": budget.measure,
            "amount": float(budget.amount),
            "failure_probability": float(budget.failure),
            "replace_one_epsilon": self.epsilon(group_size=2),
            "charges": [vars(charge) | {"share": float(charge.share)} for charge in self.charges],
            "failure_events": {label: float(p) for label, p in self.failure_events},
            "decisions": list(self.decisions),
            "assumptions": list(self.assumptions),
        }

    def to_frame(self):
        """Return the releases as a table of pandas.

        Returns
        -------
        frame : DataFrame
            One row per release, in order: ``release``, ``mechanism``, ``share`` of the budget,
            ``sensitivity`` and ``scale`` of the noise in grid units, and ``noise``, the scale for a
            sensitivity of one.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        named = {"release": "label", "mechanism": "mechanism"}
        data = {title: [getattr(c, name) for c in self.charges] for title, name in named.items()}
        for name in ("share", "sensitivity", "scale"):
            data[name] = [float(getattr(c, name)) for c in self.charges]
        return data_frame(data | {"noise": [_kind(c)[-1] for c in self.charges]}, "charges")

    def to_registry(
        self,
        *,
        name,
        data_curators,
        description,
        intended_use,
        data_product_region,
        publication_date,
        registry_authors,
        data_product_type="Summary statistics",
        data_product_sector=None,
    ):
        """Return a draft entry for the registry of deployments that OpenDP keeps.

        Parameters
        ----------
        name, description, intended_use : str
            Of the published data product.
        data_curators : str or list of str
            Who publishes it.
        data_product_region : str
            Region that the rows describe, or whose law applies.
        publication_date : str
            First publication, ``"YYYY-MM-DD"``.
        registry_authors : str or list of str
            Who fills in the entry.
        data_product_type : str, default="Summary statistics"
            Or "Machine learning model", "Dataset", "Synthetic data", "Interactive API", "SQL
            queries".
        data_product_sector : str or None, default=None
            "Technology", "Healthcare", "Education", "Government", "Energy" or "Finance".

        Returns
        -------
        entry : dict
            Of tier 2, with the fields of tier 3 that the report knows. It is plain numbers and
            text; every reader of YAML reads ``json.dumps(entry)``. One publication of a static
            table is assumed: edit ``deployment_model`` if that is wrong.

        Raises
        ------
        ValueError
            If an entry is empty or not among those allowed, or if the fit was seeded.
        """
        details = {
            "name": name,
            "data_curators": data_curators,
            "description": description,
            "intended_use": intended_use,
            "data_product_region": data_product_region,
            "publication_date": publication_date,
            "registry_authors": registry_authors,
            "data_product_type": data_product_type,
            "data_product_sector": data_product_sector,
        }
        if self.seeded:
            raise ValueError(
                "a seeded fit has no guarantee to register. Fit with random_state=None."
            )
        return registry_entry(self, details, dict(_facts(self)))

    def summary(self):
        """Return the report in one paragraph, for people who are no statisticians.

        Who is protected, how well, what was released and what not, and what has low accuracy.

        Returns
        -------
        text : str
            The probability in it is exact, rounded up: of the best guess whether a row was in the
            table, by whoever knows all other rows and thinks both as likely. Before, it is 50 %;
            with total variation t between what either table releases, it is ``(1 + t) / 2``, and t
            is ``delta(0)`` or, of a claim, at most ``(e^epsilon - 1 + 2 delta) / (e^epsilon + 1)``.
        """
        return report_summary(self)


def table_html(title, head, rows, notes):
    """Return a titled table as HTML; the last entry of a row is the length of its bar."""
    body = [row(cells, tail=_bar(share)) for *cells, share in rows]
    return _page(f"<b>{escape(title)}</b>", table((*head, ""), body), bullets(notes))


def _page(*parts):
    return f"{_STYLE}<div class='skdp'>{''.join(parts)}</div>"


def _bar(share):
    return f"<td><span class=bar style='width:{12 * share:.2f}em'></span></td>"


def _may_fail(shown):
    return [
        f"  may fail: {label} (probability {float(p):.2g})" for label, p in shown.failure_events
    ]


def _listed(name, texts):
    return [f"  {name}: {text}" for text in texts]


def _charges(report):
    """Return label, mechanism, share and noise of every release, equal ones in a row as one."""
    for (label, mechanism, share, ratio), alike in groupby(report.charges, _kind):
        times = len(list(alike))
        name = label if times == 1 else f"{label} ({times} times)"
        yield name, mechanism, times * float(share), f"{ratio:.4g}"


def _kind(charge):
    ratio = charge.scale / charge.sensitivity if charge.sensitivity else math.inf
    return charge.label, charge.mechanism, charge.share, ratio
