"""The source keeps the rules of the house, and the rules see what they are meant to see."""

import ast

import pytest

from tests.privacy import _house as house
from tests.privacy._guard import ROOT, code_lines, findings, hidden, messages, modules, room

MODULES = dict(modules())


@pytest.mark.parametrize("room", sorted({path.split("/")[0] for path in MODULES}))
def test_source_keeps_the_rules(room):
    paths = [path for path in MODULES if path.split("/")[0] == room]
    assert [(path, *found) for path in paths for found in findings(path, MODULES[path])] == []


@pytest.mark.parametrize("folder", ["tests", "benchmarks", "examples"])
def test_no_definition_hides_another(folder):
    sources = modules(ROOT.parent / folder)
    found = [(path, what) for path, s in sources for _, what in hidden(path, ast.parse(s))]
    assert found == []


@pytest.mark.parametrize("name", house.CODE_LINES)
def test_guarded_rooms_stay_small_enough_to_review(name):
    total = sum(code_lines(source) for path, source in MODULES.items() if room(path) == name)
    assert 0 < total <= house.CODE_LINES[name]


def test_who_states_a_sensitivity_is_listed():
    def states(call):
        named = {keyword.arg for keyword in getattr(call, "keywords", ())}
        return isinstance(call, ast.Call) and {"sensitivity", "share"} <= named

    found = {
        path for path, source in MODULES.items() if any(map(states, ast.walk(ast.parse(source))))
    }
    found = {"kernel/" if path.startswith("kernel/") else path for path in found}
    assert found == set(house.SENSITIVITIES)


def test_the_graph_of_imports_has_no_cycle():
    done, waiting = set(), dict(house.IMPORTS)
    while waiting:
        free = {name for name, used in waiting.items() if used - {name} <= done}
        assert free, f"cycle among {sorted(waiting)}"
        done |= free
        waiting = {name: used for name, used in waiting.items() if name not in free}


def test_what_papers_have_loads_when_it_is_asked_for():
    loaded = [
        (path, line)
        for path, source in MODULES.items()
        if ".published" in source and "/published" not in path
        for line in map(ast.unparse, ast.parse(source).body)
        if line.startswith(("import", "from")) and ".published" in line
    ]
    assert loaded == []


def test_no_exception_to_a_rule_is_idle():
    places = house.RANDOMNESS | house.CLOCKS | house.LOGS | house.STDOUT | house.BOOKS
    places = places | house.DRAWS | house.CURATORS | house.HOOKS | house.BOOKKEEPING
    places = places | house.ANNEXES | house.SENSITIVITIES
    for place in {
        *places,
        *house.MESSAGES,
        *house.SETATTR,
        *house.STORES,
        *house.SKLEARN,
        *house.PUBLIC,
        *house.ENGINE_FILES,
    }:
        assert (ROOT / place).exists(), place
    for path, names in house.PUBLIC.items():
        for name in names:
            kept, house.PUBLIC[path] = names, {k: v for k, v in names.items() if k != name}
            try:
                assert [*messages(path, ast.parse(MODULES[path]))], f"{path}: {name}"
            finally:
                house.PUBLIC[path] = kept
        assert not house.PRIVATE & set(names)


RING, ESTIMATOR = "scales/_log_histogram.py", "location/_private_mean.py"
# Rule, file, planted source: found.
FAULTS = [
    ("randomness", RING, "import random"),
    ("randomness", RING, "from numpy.random import default_rng"),
    ("randomness", RING, "import numpy as np\nx = np.random.normal()"),
    ("randomness", RING, "from numpy import random"),
    ("randomness", RING, "import numpy\nnumpy.random.normal()"),
    ("randomness", RING, "import os\nos.urandom(8)"),
    ("randomness", RING, "from os import urandom"),
    ("randomness", RING, "from hashlib import sha256"),
    ("randomness", RING, "from uuid import uuid4"),
    ("randomness", RING, "import secrets"),
    ("randomness", RING, "from scipy.stats import norm"),
    ("randomness", RING, "from scipy import stats\nstats.norm.rvs(3)"),
    ("randomness", ESTIMATOR, "from sklearn.utils import check_random_state"),
    ("randomness", "mechanisms/_noise.py", "import os\nos.urandom(8)"),
    ("clocks", RING, "import time"),
    ("clocks", "estimator/_estimator.py", "from time import perf_counter"),
    ("clocks", "accounting/_ledger.py", "from datetime import datetime"),
    ("output", RING, "print('n')"),
    ("output", RING, "import logging"),
    ("output", "estimator/_estimator.py", "import sys\nsys.stderr.write('x')"),
    ("annexes", RING, "from skdp.kernel._table import annex"),
    ("annexes", ESTIMATOR, "import skdp.kernel._table as t\nrows, curator = t.annex(table)"),
    ("books", RING, "Charge('a', 'gaussian', 1, 0.0, 0.0)"),
    ("books", ESTIMATOR, "report.PrivacyReport('x', budget)"),
    ("books", RING, "Release(exact, 1.0, 'gaussian')"),
    ("books", RING, "rounded_gaussian(1.0, 3, entropy)"),
    ("books", ESTIMATOR, "mechanisms.exponential_choice(scores, 1, e)"),
    ("books", ESTIMATOR, "Curator(plan, entropy)"),
    ("books", RING, "curator._noisy = lambda v, *_: v"),
    ("books", RING, "self.curator._used = 0"),
    ("books", RING, "curator._entropy.words(1)"),
    ("messages", RING, "raise ValueError(f'bad row {X[0]}')"),
    ("messages", RING, "raise ValueError(f'{len(rows)} rows')"),
    ("messages", RING, "raise ValueError('bad: %s' % block)"),
    ("messages", RING, "raise ValueError('bad: {}'.format(total))"),
    ("messages", RING, "raise ValueError('bad: ' + str(keys))"),
    ("messages", RING, "raise ValueError(value)"),
    ("messages", RING, "raise ValueError(f'{unknown}')"),
    ("messages", RING, "raise ValueError(f'{self._X.max()}')"),
    ("messages", RING, "raise ValueError(f'{self.sample}')"),
    ("messages", RING, "error = RuntimeError(f'{counts}')"),
    ("messages", RING, "warnings.warn(f'{int(counts.max())} friends', stacklevel=2)"),
    ("messages", RING, "warnings.warn(message=text)"),
    ("messages", "mechanisms/_rows.py", "raise ValueError(f'{n_max} < {total}')"),
    ("imports", RING, "from sklearn.base import BaseEstimator"),
    ("imports", "location/_release.py", "from sklearn.utils import check_array"),
    ("imports", "mechanisms/_entropy.py", "from sklearn.base import clone"),
    ("imports", "mechanisms/_rows.py", "from skdp.scales import LogBins"),
    ("imports", RING, "from skdp.gate._curator import Release"),
    ("imports", RING, "import skdp.estimator._estimator"),
    ("imports", RING, "from skdp.location._release import LocationEstimate"),
    ("imports", "accounting/_plan.py", "from skdp.gate._curator import Curator"),
    (
        "imports",
        "location/_release.py",
        "def f():\n    from skdp.location import PrivateMean",
    ),
    ("imports", "__init__.py", "from skdp import audit"),
    ("imports", "newroom/_x.py", "import math"),
    ("attributes", RING, "estimator.labels_ = rows"),
    ("attributes", ESTIMATOR, "self.n_iter_: int = 3"),
    ("attributes", ESTIMATOR, "setattr(self, 'labels_', 1)"),
    ("attributes", ESTIMATOR, "class A(PrivateEstimator):\n def _release(s, r, c): s.x_ = r"),
    ("attributes", ESTIMATOR, "class A(PrivateEstimator):\n def plan(self): self.seen = 1"),
    ("attributes", ESTIMATOR, "class A(M, BaseEstimator):\n def f(self): self.__dict__['x'] = 1"),
    ("attributes", "estimator/_estimator.py", "self.n_samples_ = len(rows)"),
    ("asserts", RING, "assert len(X)"),
    ("asserts", RING, "def f():\n    global seen\n    seen = 1"),
    ("hidden", RING, "def f(): pass\ndef f(): pass"),
    ("hidden", RING, "class A:\n async def f(self): pass\n @property\n def f(self): pass"),
    ("hidden", RING, "def f():\n class A: pass\n def A(): pass"),
    ("length", RING, "x = 1\n" * (house.MODULE_LINES + 1)),
]
# File, planted source: not found.
INNOCENT = [
    ("mechanisms/_entropy.py", "import os\nos.urandom(8)"),
    ("accounting/_ledger_file.py", "from datetime import UTC, datetime"),
    ("utils/_config.py", "import sys\nfile = sys.stdout"),
    (RING, "randomness = timely = 1\nself.times = time_of(random_order)"),
    (RING, "Released(); self.release(); curator.gaussian([1], share=1)"),
    (RING, "total._entropy"),
    ("gate/_curator.py", "Release(value, 1.0, 'gaussian')\nCharge('a', 'b', 1, 1.0, 1.0)"),
    (RING, "raise ValueError('constant')"),
    (
        RING,
        "raise ValueError(f'{type(X).__name__} of shape {X.shape}, dtype {rows.dtype}')",
    ),
    (RING, "raise ValueError(f'{self.radius!r} exceeds {MOST_ROWS}')"),
    (RING, "raise ValueError(f'one of {list(ALLOWED)}: {float(LARGEST):g}')"),
    ("mechanisms/_rows.py", "raise ValueError(f'more than {n_max=}')"),
    (RING, "label = f'{rows}'"),
    (RING, "raise"),
    ("audit/_x.py", "raise ValueError(f'{X[0]}')"),
    ("audit/_x.py", "from skdp.gate._curator import Curator, replaced_curator"),
    ("location/_private_mean.py", "from skdp.location._mean import mean_plan"),
    (ESTIMATOR, "class A(PrivateEstimator):\n def __init__(self, a=1):\n  self.a = a"),
    (ESTIMATOR, "self.location_ + 1; self.__class__; x = self.location_"),
    ("estimator/_estimator.py", "self.privacy_report_ = curator.close('x')"),
    (RING, "class A:\n @property\n def f(self): pass\n @f.setter\n def f(self, x): pass"),
    (RING, "@overload\ndef f(x): ...\n@overload\ndef f(y): ...\n@g.register(int)\ndef f(x): ..."),
    (RING, "if x:\n def f(): pass\nelse:\n def f(): pass\nclass B:\n def f(self): pass"),
    (RING, "x = 1\n" * house.MODULE_LINES),
]


@pytest.mark.parametrize(("rule", "path", "source"), FAULTS)
def test_a_planted_fault_is_found(rule, path, source):
    assert rule in {found[0] for found in findings(path, source)}


@pytest.mark.parametrize(("path", "source"), INNOCENT)
def test_innocent_source_is_not_found(path, source):
    assert findings(path, source) == []


def test_lines_of_code():
    source = '"""Doc\nstring."""\n\n# comment\nx = (\n    1,\n)  # tail\ndef f():\n    "doc"\n'
    assert code_lines(source) == 4
