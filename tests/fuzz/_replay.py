"""Replays: a neighbour gets the same answers, and must show the same and move no further.

What releases move by is added up over a whole fit, in exact integers over the scale of the noise
that was added, and compared with the whole budget: shares and sensitivities are not believed.
"""

import tempfile
import warnings
from collections import defaultdict, deque
from contextlib import nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt

import numpy as np

from skdp import PrivacyLedger, config_context
from skdp._private_part import Local
from skdp.accounting._budget import FAILURE_PART
from skdp.accounting._conversions import pure_gaussian_delta, zcdp_epsilon
from skdp.audit._fingerprint import fingerprint, state
from skdp.audit._observe import audited_clone
from skdp.audit._tables import small_blocks
from skdp.audit._transcript import CannedCurator, FixedKeys, Script, moves
from skdp.exceptions import AuditFailure, ReleaseError, SeededNoiseWarning
from skdp.gate._curator import replaced_curator
from skdp.mechanisms._exact import sqrt_up
from tests.fuzz._neighbours import draw

ROUNDED = 1 + Fraction(1, 2**40)  # rates of choices and claims of mixed budgets are floats


class Answers(Script):
    """The answers of a run, found by label: whose turn it is may depend on rows, in no bill."""

    def __init__(self, records=(), seed=0, **options):
        super().__init__(records, seed=seed, **options)
        self.places = defaultdict(deque)
        for k, record in enumerate(self.recorded):
            self.places[record.label].append(k)

    def _place(self, label):
        waiting = self.places[label]
        return waiting.popleft() if waiting else len(self.recorded)

    def answer(self, k, label, law, shape, scale):
        given = super().answer(self._place(label), label, law, shape, scale)
        chosen = law == "select" and isinstance(given, np.ndarray)  # scores: the best was taken
        return int(np.argmax(given)) if chosen else given

    def row_answer(self, k, record_of, value, scale):
        return super().row_answer(self._place(record_of[0]), record_of, value, scale)

    def names(self, k, label):
        return super().names(self._place(label), label)


@dataclass
class Seen:
    """One fit: what its Curators were asked, and all that can be seen of it."""

    curators: list
    error: Exception | None
    channels: dict = field(default_factory=dict)


def fitted(case, side, transcripts):
    """Fit on one table."""
    (X, y, groups, keys), curators, error = side, [], None
    twin = audited_clone(case.estimator)
    if case.ledger:
        unit = "row" if groups is None else "group"
        twin.set_params(ledger=PrivacyLedger(1e6, 0.9, composition="basic", unit=unit))

    def make(plan, entropy):
        i = len(curators)
        known = {"seed": case.seed + i, "coins": FixedKeys(keys)}
        curators.append(CannedCurator(plan, transcripts[i], **known))
        return curators[-1]

    given = {"groups": groups} if groups is not None else {}
    blocks = nullcontext() if case.block is None else small_blocks(case.block)
    public = config_context(invalid_rows="ignore", progress=False)
    with public, blocks, replaced_curator(make), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", SeededNoiseWarning)
        try:
            twin.fit(X, y, **given)
        except Exception as caught:
            error = caught
    seen = Seen(curators, error)
    show = seen.channels
    show["exception"] = error and (type(error).__name__, str(error), bool(curators))
    show["warnings"] = [(w.category.__name__, str(w.message)) for w in told]
    if case.ledger:
        show["ledger"] = [entry._replace(id=0, time="", pid=0) for entry in twin.ledger.entries()]
        twin.set_params(ledger=None)
    if error is None:
        report = twin.privacy_report_
        show["bill"] = f"{report}\n{report.to_json()}\n{report.summary()}"
        show["repr"] = repr(twin)
    for name, value in state(twin).items():
        if not isinstance(value, Local):  # for the owner of the rows; no pickle takes it along
            show[f"attribute {name}"] = fingerprint(value)
    return seen


def script_of(fit, seed, **options):
    """Return the answers that every Curator of a fit gave; further ones give noise alone."""
    curators = fit.curators if fit else ()
    scripts = defaultdict(lambda: Answers(seed=seed))
    return scripts | {i: Answers(c.records, seed, **options) for i, c in enumerate(curators)}


def replay(case, folder):
    """Return what is wrong with two fits, texts, the worst ratio, and whether both fits end."""
    first_side, second_side = case.sides(folder)
    if case.answers in ("noise", "exact"):
        answers = defaultdict(lambda: case.answers)
    else:  # noise alone, or the noise of a fit a thousand times
        plain = (
            fitted(case, first_side, defaultdict(lambda: "noise"))
            if case.answers == "wild"
            else None
        )
        answers = script_of(plain, case.seed, shift=1e3)
    first = fitted(case, first_side, answers)
    second = fitted(case, second_side, script_of(first, case.seed))
    wrong, worst = [], Fraction(0)
    if len(second.curators) != len(first.curators):
        wrong.append("other Curators")
    for one, other in zip(first.curators, second.curators, strict=False):
        try:
            found, ratio = measured(one, other)
            if case.answers in ("wild", "nothing") and one.close("").failure_events:
                found, ratio = [], Fraction(0)  # such answers are failure events: see the bill
        except AuditFailure as failure:
            found, ratio = [f"path: {failure}"], Fraction(0)
        wrong, worst = wrong + found, max(worst, ratio)
    names = first.channels | second.channels
    differ = [c for c in names if first.channels.get(c) != second.channels.get(c)]
    if differ:
        shown = [str(fit.channels.get(differ[0]))[:300] for fit in (first, second)]
        wrong.append(f"differs: {', '.join(differ)}: {shown[0]} | {shown[1]}")
    ends = [fit.error for fit in (first, second)]
    if any(isinstance(error, ReleaseError) for error in ends):
        wrong.append("a charge is lost")
    return wrong, worst, ends == [None, None]


def measured(one, other):
    """Return what two Curators were asked that moves too far, and what it costs of the budget."""
    wrong, spent = [], defaultdict(Fraction)
    runs = [sorted(curator.records, key=lambda r: r.label) for curator in (one, other)]
    for record, (label, moved, allowed) in zip(runs[0], moves(*runs), strict=True):
        if moved > allowed:
            wrong.append(f"{label!r} moves by more than it declares: {float(moved / allowed):.6g}")
        if record.law == "matrix":  # its theorem prices the declared distance
            share = max(c.share for c in one.close("").charges if c.label == label)
            mu_squared = share * one.budget.amount * (1 if one.budget.measure == "gdp" else 2)
            spent["gaussian"] += mu_squared * Fraction(moved) / allowed
        elif record.law == "gaussian":
            spent["gaussian"] += Fraction(moved) / Fraction(record.scale) ** 2
        else:
            step = isqrt(moved) / Fraction(record.scale)
            spent["pure"] += step if record.law == "laplace" else 2 * step / ROUNDED
            spent["rho"] += step**2 / 2 / ROUNDED
    ratio = cost(one.budget, spent) / one.budget.amount
    if ratio > 1 and not claimed(one.budget, spent):
        wrong.append(f"all releases exceed the whole budget: {float(ratio):.9g}")
    return wrong, ratio


def cost(budget, spent):
    """Return what was spent in the unit of a budget."""
    if budget.measure in ("zcdp", "mixed"):
        return spent["gaussian"] / 2 + spent["rho"]
    return spent["pure" if budget.measure == "pure" else "gaussian"]


def claimed(budget, spent):
    """Return whether a mixed budget claims what was spent all the same: its curve does."""
    goal = float((1 - FAILURE_PART) * budget.delta)
    if budget.measure != "mixed":
        return False
    pair = float(spent["pure"]), sqrt_up(spent["gaussian"])
    rho = cost(budget, spent)
    return pure_gaussian_delta(*pair, float(budget.epsilon)) <= goal * float(ROUNDED) or (
        zcdp_epsilon(float(rho), goal) <= budget.epsilon
    )


class Replays:
    """A survey by kinds of estimators; prints a program for the first fault of every kind."""

    def __init__(self, seed=0, only=""):
        self.seed, self.only = seed, only
        self.lines, self.shown = defaultdict(lambda: [0, 0, 0.0, 0]), set()
        self.faults = 0

    def run(self, numbers):
        """Replay the cases of these numbers."""
        with tempfile.TemporaryDirectory() as folder:
            for number in numbers:
                case = draw(self.seed, number, self.only)
                try:
                    wrong, ratio, ended = replay(case, folder)
                except Exception as error:
                    wrong, ratio, ended = [f"survey: {type(error).__name__}: {error}"], 0, False
                line = self.lines[case.name]
                line[0] += 1
                line[1] += not ended
                line[2] = max(line[2], float(ratio))
                line[3] += bool(wrong)
                self.faults += bool(wrong)
                key = case.name, wrong[0][:40] if wrong else ""
                if wrong and key not in self.shown:
                    self.shown.add(key)
                    only = f" --only {self.only!r}" if self.only else ""
                    at = f"replay 1 --first {number} --seed {self.seed}{only}"
                    told = "\n".join(wrong)
                    print(
                        f"--- python -m tests.fuzz {at}\n{case.name}: {told}\n{case}\n", flush=True
                    )

    def summary(self):
        """Return counts, a text."""
        head = f"{'replays':>8} {'unfitted':>8} {'worst ratio':>20} {'faults':>6}"
        total = [sum(column) for column in zip(*self.lines.values(), strict=True)]
        total[2] = max(line[2] for line in self.lines.values())
        rows = [*sorted(self.lines.items()), ("all", total)]
        return "\n".join(
            [head, *(f"{n:8d} {u:8d} {w:20.16f} {f:6d} {name}" for name, (n, u, w, f) in rows)]
        )
