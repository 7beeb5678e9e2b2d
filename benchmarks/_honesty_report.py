"""The page of ``honesty.py``: what its lines say, in tables of markdown."""

import shlex

__all__ = ["report"]

WORST = 20


def report(lines):
    """Return the tables of lines of results."""
    answers = [{**line, **answer} for line in lines for answer in line["answers"]]
    raised = [line for line in lines if "raised" in line]
    parts = [f"{len(lines)} fits, {len(answers)} answers, {len(raised)} fits raised an error."]
    for keys in (["estimator"], ["estimator", "epsilon"], ["estimator", "kind"]):
        parts.append(_table(answers, keys))
    parts += [_worst(answers)]
    parts += ["\n".join(f"- {_again(line)}: {line['raised']}" for line in raised)]
    return "\n\n".join(part for part in parts if part)


def _table(answers, keys):
    groups = {}
    for answer in answers:
        groups.setdefault(tuple(answer[key] for key in keys), []).append(answer)
    rows = [[*map(str, group), *_figures(groups[group])] for group in sorted(groups)]
    titles = "answers,reliable,disasters,of the reliable,covered,flagged,without cause"
    return _markdown([*keys, *titles.split(",")], rows)


def _figures(answers):
    sure = [a for a in answers if a["reliable"] and a["known"]]
    flagged = [a for a in answers if not a["reliable"]]
    disasters = sum(a["disaster"] for a in sure)
    covered = [a["covered"] for a in sure if a["covered"] is not None]
    return [
        str(len(answers)),
        str(len(sure)),
        str(disasters),
        _share(disasters, len(sure)),
        _share(sum(covered), len(covered)),
        _share(len(flagged), len(answers)),
        _share(sum(a["close"] for a in flagged), len(flagged)),
    ]


def _share(part, whole):
    return f"{part / whole:.3f}" if whole else "-"


def _worst(answers):
    bad = [a for a in answers if a["reliable"] and a["disaster"]]
    bad.sort(key=lambda a: -a["error"])
    rows = []
    for a in bad[:WORST]:
        where = [a["estimator"], a["table"], a["column"], a["kind"], str(a["n"])]
        rows.append([*where, f"{a['error']:.3g}", f"`{_again(a)}`"])
    titles = ["estimator", "table", "column", "kind", "n", "error", "again"]
    return _markdown(titles, rows)


def _again(line):
    words = [line["estimator"], line["table"], str(line["epsilon"]), str(line["seed"])]
    return "--again " + shlex.join(words)


def _markdown(titles, rows):
    lines = [titles, ["-"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
