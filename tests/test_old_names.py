"""Old names of public attributes and parameters give the same values, and warn."""

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import skdp
from skdp.accounting import Budget
from skdp.audit._tables import example
from skdp.utils._renamed import old_names
from tests._estimators import BOUNDED, ESTIMATORS

ROOT = Path(__file__).parents[1]
CLASSES = [getattr(skdp, name) for name in skdp.__all__]
CLASSES = [cls for cls in CLASSES if isinstance(cls, type) and old_names(cls)]
CLASSES = [cls for cls in CLASSES if cls is skdp.PrivateCount or len(old_names(cls)) > 1]
WORDS = {old for cls in CLASSES for old in old_names(cls)}
FITS = {type(one): one for one in reversed(ESTIMATORS)}


def _fitted(cls):
    if not hasattr(cls, "plan"):  # a denoiser
        one = cls(noise_scale=1.0)
        return one.fit(np.arange(8.0)[None])
    rows = np.random.default_rng(0).normal(size=(400, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if cls not in FITS:  # a mechanism, after a bounded statistic
            return skdp.make_private_pipeline(BOUNDED, cls(random_state=0)).fit(rows)[-1]
        one = clone(FITS[cls]).set_params(random_state=0)
        return example(one, rows).fit(one)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_old_attribute_gives_the_value_and_warns(cls):
    fit = _fitted(cls)
    for old, new in old_names(cls).items():
        if not hasattr(fit, new):  # of another method
            continue
        with pytest.warns(FutureWarning, match=f"{old} is called {new} now"):
            value = getattr(fit, old)
        if old == "advice_":
            assert value == "\n".join(fit.accuracy_warnings_)
            continue
        assert value is getattr(fit, new)
        assert old not in vars(fit)
        older = dict(fit.__getstate__())
        older[old] = older.pop(new) if new in older else getattr(fit, new)
        read = cls.__new__(cls)
        read.__setstate__(older)
        assert pickle.dumps(getattr(read, new)) == pickle.dumps(getattr(fit, new))
        assert old not in vars(read)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_old_parameter_is_taken_and_warns(cls):
    for old, new in old_names(cls).items():
        if old.endswith("_"):
            continue
        value = cls().get_params()[new]
        with pytest.warns(FutureWarning, match=f"{old}= is called {new}= now"):
            made = cls(**{old: value})
        with pytest.warns(FutureWarning):
            made = made.set_params(**{old: value})
        assert old not in made.get_params() and made.get_params()[new] == value
        with pytest.warns(FutureWarning):
            setattr(made, old, value)
        assert getattr(made, new) == value


def test_no_page_example_or_docstring_uses_an_old_attribute():
    kinds = {".py", ".pyi", ".rst", ".md"}
    old = re.compile(
        "|".join(rf"(?<![\w\"']){word}\b(?! = Renamed)" for word in WORDS if word[-1] == "_")
    )
    files = [
        path
        for folder in ("skdp", "doc", "examples", "benchmarks")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in kinds
    ]
    found = [
        f"{p.name}: {m[0]}"
        for p in [*files, ROOT / "README.md"]
        for m in old.finditer(p.read_text())
    ]
    assert not found


def test_the_unit_of_a_budget_is_its_measure():
    budget = Budget.gaussian(1.0, 1e-6)
    with pytest.warns(FutureWarning, match="unit is called measure now"):
        assert budget.unit == "gdp"
    numbers = {name: value for name, value in vars(budget).items() if name != "measure"}
    with pytest.warns(FutureWarning, match="unit= is called measure= now"):
        assert Budget(unit="gdp", **numbers) == budget
    older = object.__new__(Budget)
    older.__setstate__({"unit": "gdp", **numbers})
    assert older == budget == pickle.loads(pickle.dumps(budget))
