"""Surveys of random chains and of replays, with a program for every kind of fault.

``python -m tests.fuzz 2000`` examines so many chains; ``python -m tests.fuzz replay 25000`` so many
neighbours that get the same answers.
"""

import argparse
import re
import sys
from collections import Counter
from dataclasses import replace

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz._chains import AROUND, Chain, chains
from tests.fuzz._judge import examine
from tests.fuzz._replay import Replays

COARSE = re.compile(r"the (larger|smaller) table: |[0-9.]+ times|'s\d")
PLAIN = Chain(())


def smaller(chain):
    """Yield simpler chains."""
    for i, step in enumerate(chain.steps):
        before, after = chain.steps[:i], chain.steps[i + 1 :]
        if before or after:
            yield replace(chain, steps=before + after)
        for part in step.parts:
            yield replace(chain, steps=(*before, part, *after))
    for row in chain.rows:
        yield replace(chain, rows=(row,))
    for name in ("around", "kind", "flavour", "d", "n", "delta", "larger_first", "seed"):
        yield replace(chain, **{name: getattr(PLAIN, name)})


def reduced(chain, finding):
    """Return a small chain with the same kind of fault, and what was found."""
    for candidate in smaller(chain):
        if candidate == chain:
            continue
        found = examine(candidate)
        if found is not None and found.kind == finding.kind:
            return reduced(candidate, found)
    return chain, finding


class Survey:
    """Counts what is found; prints a program for the first finding of every kind."""

    def __init__(self):
        self.kinds, self.alike, self.ends, self.number = Counter(), Counter(), Counter(), 0

    def examine(self, chain):
        """Examine one chain."""
        self.number, outcomes = self.number + 1, []
        finding = examine(chain, outcomes)
        self.ends["refused" if all(outcomes) else "carried out"] += 1
        if finding is None:
            return
        self.kinds[finding.kind] += 1
        key = finding.kind, COARSE.sub("", finding.detail)[:110]
        self.alike[key] += 1
        if self.alike[key] == 1:
            chain, finding = reduced(chain, finding)
            print(f"--- chain {self.number}: {finding}\n{chain.program()}\n", flush=True)

    def summary(self):
        """Return counts, a text."""
        ends = ", ".join(f"{count} {end}" for end, count in self.ends.items())
        kinds = [f"{count:6d} {kind}" for kind, count in self.kinds.most_common()]
        return "\n".join([f"{self.number} chains: {ends}", *kinds])


def main():
    """Run the survey."""
    parser = argparse.ArgumentParser()
    parser.add_argument("chains", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-search", action="store_true")
    options = parser.parse_args()
    around = tuple(a for a in AROUND if "Search" not in a or not options.no_search)
    survey = Survey()

    @seed(options.seed)
    @settings(
        max_examples=options.chains,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(chains(around=around))
    def run(chain):
        survey.examine(chain)

    run()
    print(survey.summary())


def replays(arguments):
    """Run the survey of replays; return whether it found nothing."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz replay")
    parser.add_argument("replays", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first replay")
    parser.add_argument("--only", default="", help="part of the name of a kind of chain")
    options = parser.parse_args(arguments)
    survey = Replays(options.seed, options.only)
    survey.run(range(options.first, options.first + options.replays))
    print(survey.summary())
    return not survey.faults


if __name__ == "__main__":
    if sys.argv[1:2] == ["replay"]:
        sys.exit(not replays(sys.argv[2:]))
    main()
