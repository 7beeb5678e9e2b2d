"""Plans and reports as text and as HTML."""

import math
from html import escape
from itertools import groupby

_STYLE = (
    "<style scoped>.skdp{font:13px system-ui,sans-serif;max-width:46em}.skdp table{border-collapse:"
    "collapse;margin:.4em 0}.skdp td,.skdp th{font-size:13px;white-space:nowrap;padding:.15em .7em;"
    "text-align:left;border-bottom:1px solid #8884}.skdp .bar{display:inline-block;height:.7em;"
    "background:#3b7dd8;border-radius:2px}.skdp .warn{color:#b00;font-weight:600}</style>"
)
_WARN = " class=warn"
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


FIXED = " for fits whose number and budgets were fixed before the first result was seen"
IN_ANY_CASE = ", whatever the number and the budgets of its pure fits depended on"


def condition(report):
    """Return what the claim of a sum of reports holds for, nothing for one fit."""
    if not report.fits:
        return ""
    pure = report.budget.unit == "pure" and report.budget.delta == 0
    return IN_ANY_CASE if pure else FIXED


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
    if budget.unit == "gdp":
        yield (
            "composition",
            f"Gaussian, mu = {budget.mu:.6g}; failure probability {float(budget.failure):.3g}",
        )
    yield f"replace one {report.protects}", _group(report, 2)
    yield ("groups of 5 rows" if report.protects == "row" else "5 groups"), _group(report, 5)


def _neighbours(report):
    pair = report.protects == "row" and report.target is not None
    return f"add or remove {UNITS[report.protects]}{' (x, y)' if pair else ''}"


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


def plan_text(plan):
    """Return a plan as text."""
    budget = plan.budget
    lines = [
        f"Plan: {_guarantee(budget)} per fit, charged in full before the first row is read",
        f"{'release':<28} {'mechanism':<10} share of {_UNITS[budget.unit]}",
    ]
    lines += [f"  {label:<26} {mechanism:<10} {share}" for label, mechanism, share in _steps(plan)]
    lines += [f"  may fail: {label} (probability {float(p):.2g})" for label, p in plan.events]
    return "\n".join(lines + [f"  note: {text}" for text in plan.assumptions])


def plan_html(plan):
    """Return a plan as HTML."""
    titles = ("release", "mechanism", f"share of {_UNITS[plan.budget.unit]}")
    rows = _head(titles) + "".join(_row(cells) for cells in _steps(plan))
    head = f"<b>Plan</b> {escape(_guarantee(plan.budget))} per fit"
    return f"{_STYLE}<div class='skdp'>{head}<table>{rows}</table>{_list(plan.assumptions)}</div>"


def report_text(report):
    """Return a privacy report as text."""
    lines = [f"Privacy report of {report.estimator}"]
    lines += [f"  {name:<17} {text}" for name, text in _facts(report)]
    charges = list(_charges(report))
    w = max([26, *(len(label) for label, *_ in charges)])
    head = f"{'mechanism':<10} {'share':>7}  {'noise / sensitivity':>19}"
    lines.append(f"  {'release':<{w + 2}} {head}")
    lines += [
        f"    {label:<{w}} {mechanism:<10} {share:>7.4f}  {ratio:>19}"
        for label, mechanism, share, ratio in charges
    ]
    lines += [f"  may fail: {label} (probability {float(p):.2g})" for label, p in report.events]
    lines += [f"  decision: {text}" for text in report.decisions]
    lines += [f"  note: {text}" for text in report.assumptions]
    return "\n".join([*lines, f"  {NOT_COVERED}"])


def report_dict(report):
    """Return a report as plain numbers and text."""
    budget = report.budget
    return {
        "estimator": report.estimator,
        "neighbours": _neighbours(report),
        "seeded": report.seeded,
        "epsilon": float(budget.epsilon),
        "delta": float(budget.delta),
        "condition": condition(report).strip(", ") or None,
        "unit": budget.unit,
        "amount": float(budget.amount),
        "failure_probability": float(budget.failure),
        "replace_one_epsilon": report.epsilon(group_size=2),
        "charges": [vars(charge) | {"share": float(charge.share)} for charge in report.charges],
        "failure_events": {label: float(p) for label, p in report.events},
        "decisions": list(report.decisions),
        "assumptions": list(report.assumptions),
    }


def report_frame(report):
    """Return the releases of a report as a table of pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "to_frame needs pandas: pip install pandas. Without it, use charges."
        ) from error
    columns = {
        "release": [c.label for c in report.charges],
        "mechanism": [c.mechanism for c in report.charges],
        "share": [float(c.share) for c in report.charges],
        "sensitivity": [float(c.sensitivity) for c in report.charges],
        "scale": [float(c.scale) for c in report.charges],
        "noise": [_kind(c)[-1] for c in report.charges],
    }
    return pd.DataFrame(columns)


def report_html(report):
    """Return a privacy report as HTML."""
    facts = "".join(
        f"<tr{_WARN if name == 'guarantee' else ''}><td>{name}</td><td>{escape(text)}</td></tr>"
        for name, text in _facts(report)
    )
    bars = "".join(
        _row((label, mechanism, f"{share:.4f}", ratio), bar=share)
        for label, mechanism, share, ratio in _charges(report)
    )
    notes = [f"Decision: {text}" for text in report.decisions]
    notes += [f"May fail: {label} (probability {float(p):.2g})" for label, p in report.events]
    notes += [*report.assumptions, NOT_COVERED]
    head = _head(("release", "mechanism", "share", "noise / sensitivity", ""))
    return (
        f"{_STYLE}<div class='skdp'><b>Privacy report of {escape(report.estimator)}</b>"
        f"<table>{facts}</table><table>{head}{bars}</table>{_list(notes)}</div>"
    )


def table_html(title, head, rows, notes):
    """Return a titled table as HTML; the last entry of a row is the length of its bar."""
    body = _head((*head, "")) + "".join(_row(cells, bar=bar) for *cells, bar in rows)
    return (
        f"{_STYLE}<div class='skdp'><b>{escape(title)}</b><table>{body}</table>{_list(notes)}</div>"
    )


def _charges(report):
    """Return label, mechanism, share and noise of every release, equal ones in a row as one."""
    for (label, mechanism, share, ratio), alike in groupby(report.charges, _kind):
        times = len(list(alike))
        name = label if times == 1 else f"{label} ({times} times)"
        yield name, mechanism, times * float(share), f"{ratio:.4g}"


def _kind(charge):
    ratio = charge.scale / charge.sensitivity if charge.sensitivity else math.inf
    return charge.label, charge.mechanism, charge.share, ratio


def _row(cells, bar=None):
    tds = "".join(f"<td>{escape(str(cell))}</td>" for cell in cells)
    tail = "" if bar is None else f"<td><span class=bar style='width:{12 * bar:.2f}em'></span></td>"
    return f"<tr>{tds}{tail}</tr>"


def _head(titles):
    return "<tr>" + "".join(f"<th>{title}</th>" for title in titles) + "</tr>"


def _list(texts):
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>" if texts else ""
