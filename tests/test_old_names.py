"""Old names of public attributes and parameters give the same values, and warn."""

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import skdp
from skdp.accounting import Plan, Step
from skdp.audit._tables import example
from skdp.utils._renamed import old_names
from tests._estimators import BOUNDED, ESTIMATORS

ROOT = Path(__file__).parents[1]
CLASSES = [getattr(skdp, name) for name in skdp.__all__]
CLASSES = [cls for cls in CLASSES if isinstance(cls, type) and old_names(cls)]
CLASSES = [cls for cls in CLASSES if cls is skdp.PrivateCount or len(old_names(cls)) > 1]
ESTIMATING = [cls for cls in CLASSES if hasattr(cls, "get_params")]
WORDS = {old for cls in CLASSES for old in old_names(cls)}
FITS = {type(one): one for one in reversed(ESTIMATORS)}


def _fitted(cls):
    if cls is skdp.PrivacyReport:
        return (
            skdp.PrivateCount(epsilon=1.0)
            .fit(np.zeros((9, 1)), groups=np.arange(9))
            .privacy_report_
        )
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


@pytest.mark.parametrize("name", ["Budget", "Plan", "PrivacyReport"])
def test_an_old_field_is_taken_and_read(name):
    report = _fitted(skdp.PrivacyReport)
    one = {"Budget": report.budget, "PrivacyReport": report}.get(name) or _plan_of_groups(report)
    for old, new in old_names(type(one)).items():
        fields = {key: getattr(one, key) for key in one.__dataclass_fields__}
        with pytest.warns(FutureWarning, match=f"{old}= is called {new}= now"):
            made = type(one)(**{old: fields.pop(new)}, **fields)
        assert made == one and old not in vars(made)
        with pytest.warns(FutureWarning, match=f"{old} is called {new} now"):
            assert getattr(one, old) == getattr(one, new)
        older = object.__new__(type(one))
        older.__setstate__({old: getattr(one, new), **fields})
        assert older == one == pickle.loads(pickle.dumps(one))


def _plan_of_groups(report):
    return Plan(report.budget, (Step("count"),), privacy_unit=report.privacy_unit)


@pytest.mark.parametrize("cls", ESTIMATING, ids=lambda cls: cls.__name__)
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
