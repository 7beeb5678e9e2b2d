"""Whatever kind of number a parameter is, the plan, the noise and the result are the same."""

import copy
import pickle
import warnings
from collections import namedtuple
from fractions import Fraction
from numbers import Real

import numpy as np
import pytest
from sklearn.base import clone

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    LloydKMeans,
    MarginalReleaser,
    PrivateCount,
    PrivateCovariance,
    PrivateGMM,
    PrivateHistogram,
    PrivateMean,
    PrivateMedian,
    PrivateMinMax,
    PrivateMinMaxScaler,
    PrivatePCA,
    PrivateQuantile,
    PrivateRobustScaler,
    PrivateSearchCV,
    PrivateSum,
    PrivateTrimmedMean,
    PrivateVariance,
    RowMap,
    SensitivityPreprocessor,
    make_private_pipeline,
)
from skdp.audit._observe import recorded_fit
from skdp.audit._tables import example
from skdp.denoising import (
    BayesDenoiser,
    GraphWaveletDenoiser,
    JamesSteinDenoiser,
    SoftThresholdDenoiser,
    TrendFilterDenoiser,
)
from skdp.model_selection import DistanceScorer, LogDensityScorer, RowScorer
from skdp.preprocessing import GaussianMechanism, LaplaceMechanism
from skdp.utils._numbers import plain
from tests._estimators import ESTIMATORS

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = ["float16", "float32", "float64", "longdouble"]


def narrowest(value, kinds):
    """Return an integer in the narrowest of the types of numpy that hold it."""
    for kind in kinds:
        if np.iinfo(kind).min <= value <= np.iinfo(kind).max:
            return getattr(np, kind)(value)
    return value


def as_float(value, kind):
    """Return a float in a type of numpy, if its text in that type is that of the value."""
    narrow = getattr(np, kind)(repr(value)) if kind == "longdouble" else getattr(np, kind)(value)
    return (
        narrow if np.format_float_scientific(narrow) == np.format_float_scientific(value) else value
    )


def dialect(integers, kind):
    """Return a map from Python's numbers to those of numpy."""

    def convert(value):
        if isinstance(value, bool):
            return np.bool_(value)
        if isinstance(value, int):
            return narrowest(value, integers)
        return as_float(value, kind) if isinstance(value, float) else value

    return convert


def as_fraction(value):
    return Fraction(repr(value)) if isinstance(value, float) else value


def without_dimensions(value):
    return np.array(value) if isinstance(value, bool | int | float) else value


def as_integer(value):
    """Return a float that is a whole number as an integer."""
    whole = isinstance(value, float) and value == int(value)
    return narrowest(int(value), INTEGERS) if whole else value


DIALECTS = {
    "narrow": dialect(INTEGERS[:4], "float16"),
    "unsigned": dialect(INTEGERS[4:], "float32"),
    "wide": dialect(["int64"], "float64"),
    "widest": dialect(["uint64"], "longdouble"),
    "32 bits": dialect(["int32"], "float32"),
    "unsigned 32 bits": dialect(["uint32"], "longdouble"),
    "fractions": as_fraction,
    "arrays": without_dimensions,
    "whole": as_integer,
}


def spoken(value, convert):
    """Return a parameter with all its numbers converted, but not those inside of estimators."""
    if isinstance(value, dict):
        return {key: spoken(item, convert) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(spoken(item, convert) for item in value)
    return convert(value)


def in_dialect(estimator, convert):
    """Return a clone whose parameters, also those of steps, are of other types; how many are."""
    twin, changed = clone(estimator), 0
    for name, value in estimator.get_params().items():
        given = value if name in ("steps", "ledger") else spoken(value, convert)
        if pickle.dumps(given) != pickle.dumps(value):
            twin.set_params(**{name: given})
            changed += 1
    return twin, changed


TABLE = np.random.default_rng(5).normal(size=(400, 3)) @ np.diag([1.0, 1.0, 2.0])
TABLE[:, 0] += 20.0 * (np.arange(400) % 2)
USERS = np.column_stack([np.repeat(np.arange(40.0), 10), np.arange(400.0) % 4])


def observed(estimator, X=TABLE):
    """Return all that a fit shows: plan, budget, questions to the Curator, noise and result."""
    estimator = estimator.set_params(random_state=estimator.random_state or 3)
    plan = estimator.plan()
    shown = [str(plan), repr(plan.budget), plan.budget.amount, plan.budget.failure]
    shown += [type(plan.budget.amount).__name__, plan.budget.epsilon, plan.budget.delta]
    data = example(estimator, X)
    records, curators, error = recorded_fit(estimator, data, "noise", entropy="given")
    if error is not None:
        raise error
    shown += [record.request for record in records]
    shown += [np.asarray(record.answer).tolist() for record in records if record.owners is None]
    shown += [[charge.share for charge in curator.close("").charges] for curator in curators]
    fitted = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    report = fitted.pop("privacy_report_")
    steps = fitted.pop("steps_", ())
    winner = fitted.pop("best_estimator_", None)
    for _, step in (*steps, ("", winner)):
        inner = vars(step) if step is not None else {}
        fitted.update({k: v for k, v in inner.items() if k.endswith("_") and "report" not in k})
    return shown, str(report), {name: pickle.dumps(plainly(v)) for name, v in fitted.items()}


def plainly(value):
    """Return a fitted attribute without the types of scalars, which are public."""
    if isinstance(value, dict):
        return {name: plainly(item) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return float(value) if isinstance(value, Real | np.bool_) else value


GRAPH = np.eye(4, k=1) + np.eye(4, k=-1)
MORE = [
    PrivateMean(radius=100.0, center=1.0),
    PrivateMean(diameter=4.0, method="friendly", epsilon=4.0),
    PrivateMean(center=[1, 2, 3], scale=[1.0, 2.0, 4.0], denoiser=JamesSteinDenoiser(target=2.0)),
    PrivateMean(denoiser=BayesDenoiser(prior_scale=2.0, center=1.0, prior="normal", n_atoms=50)),
    PrivateMean(denoiser=SoftThresholdDenoiser(threshold=2.0)),
    FriendlyCoreFilter(radius=8.0, level=0.25, epsilon=4.0),
    FriendlyCoreKMeans(2, method="friendly", n_parts=40, epsilon=40.0, n_init=1, n_jobs=1),
    LloydKMeans(2, radius=64.0, center=4.0, max_iter=2),
    LloydKMeans(2, init=[[0, 0, 0], [20, 0, 0]], radius=50.0, center=[0, 0, 0], max_iter=1),
    PrivateCovariance(epsilon=4.0, shrinkage=0.25, assume_centered=True),
    PrivatePCA(2, epsilon=4.0, whiten=True),
    PrivatePCA(0.5, epsilon=4.0),
    PrivateHistogram(bins=[2, 2, 100], range=(-100, 100), epsilon=2.0),
    PrivateHistogram(bins=2, range=[(-100, 100), (0.0, 1.0), None], denoiser="auto"),
    PrivateMedian(sensitivity=2.0, center=4.0, method="bounded"),
    PrivateMedian(sensitivity=[1, 2, 100], center=[0, 0.5, 100], delta=0.0, method="bounded"),
    PrivateQuantile([0.25, 0.5], bounds=(0, [8, 2, 100])),
    PrivateQuantile(0.25, sensitivity=2.0, center=0.0, method="exponential"),
    PrivateTrimmedMean(0.125, sensitivity=100.0, center=0.0),
    PrivateVariance(sensitivity=8.0, center=0.0),
    PrivateVariance(bounds=(-16.0, 16.0)),
    PrivateMean(bounds=(-16.0, 16.0)),
    PrivateSum((-16.0, 16.0)),
    PrivateCount(),
    PrivateMinMax(epsilon=2.0),
    PrivateRobustScaler(epsilon=4.0, quantile_range=(12.5, 75.0), unit_variance=True),
    PrivateMinMaxScaler(epsilon=4.0, feature_range=(-100, 100), clip=True),
    PrivateGMM(2, max_iter=2, n_init=1, covariance_type="diag", epsilon=4.0),
    MarginalReleaser(2, epsilon=4.0),
    MarginalReleaser(workload=[(0, 1), (2,)], weights=[100, 27], epsilon=4.0),
    PrivateSearchCV(
        PrivateMean(),
        {"radius": [100.0, 50], "trim": [False, True]},
        n_trials=1.0,
        mean_trials=2,
        holdout=0.25,
        reference_share=0.125,
        scoring=DistanceScorer(scale=8.0),
        epsilon=4.0,
    ),
    make_private_pipeline(
        RowMap(vectorized=False),
        PrivateMean(radius=100.0),
        epsilon=4.0,
        split={"privatemean": 0.5},
    ),
    make_private_pipeline(
        SensitivityPreprocessor("median", sensitivity=2.0, center=1.0),
        LaplaceMechanism(),
        epsilon=4.0,
    ),
    make_private_pipeline(
        SensitivityPreprocessor("mean", sensitivity=[1, 100, 2], center=[0, 0.5, 100]),
        GaussianMechanism(denoiser=JamesSteinDenoiser(target=1.0)),
        epsilon=4.0,
    ),
]
CAPPED = [  # near the ends of int8, int16, int32 and int64, in squares and products
    {"rows_per_user": 100, "rows_per_cell": 100},
    {"rows_per_user": 127, "rows_per_cell": 100},
    {"rows_per_user": 200, "rows_per_cell": 200},
    {"rows_per_user": 255, "rows_per_cell": 16},
    {"rows_per_user": 32000, "rows_per_cell": 181},
    {"rows_per_user": 50000, "rows_per_cell": 50000},
    {"rows_per_user": 65535, "rows_per_cell": 65535},
    {"rows_per_user": 1900, "rows_per_cell": 1900},
    {"rows_per_user": 5, "rows_per_cell": 5},
]
HISTOGRAMS = [
    PrivateHistogram(3, range=(0, 4), user=0, noise=noise, epsilon=epsilon, **cap)
    for cap in CAPPED
    for noise, epsilon in (("gaussian", 1.0), ("laplace", 0.25), ("auto", 1.0))
]


def is_expensive(estimator):
    name = type(estimator).__name__
    return name in ("FriendlyCoreKMeans", "PrivateGMM", "MarginalReleaser", "PrivateSearchCV")


def differences(estimator, dialects, X=TABLE):
    """Return the names of the dialects in which anything differs, and how many were examined."""
    told, found, examined = observed(clone(estimator), X), [], 0
    for name in dialects:
        twin, changed = in_dialect(estimator, DIALECTS[name])
        if not changed:
            continue
        examined += changed
        found += [name] if observed(twin, X) != told else []
    return found, examined


def chosen(i):
    """Return the two dialects that a short run tries, others for the next estimator."""
    names = list(DIALECTS)
    return [names[i % len(names)], names[(i + 4) % len(names)]]


ALL = [*enumerate([*ESTIMATORS, *MORE])]


@pytest.mark.cases(20)
@pytest.mark.parametrize(("i", "estimator"), ALL, ids=lambda x: type(x).__name__)
def test_0_numbers_differ(i, estimator):
    found, examined = differences(estimator, chosen(i))
    assert len(found) == 0, found
    if not examined:  # this one has no number of a kind that these dialects speak
        assert differences(estimator, DIALECTS)[1]


@pytest.mark.parametrize("cap", CAPPED, ids=str)
def test_0_numbers_differ_near_the_ends_of_their_types(cap):
    for estimator in HISTOGRAMS:
        if cap.items() <= estimator.get_params().items():
            found, examined = differences(estimator, ["narrow", "unsigned", "arrays"], USERS)
            assert len(found) == 0, (estimator.noise, found)
            assert examined >= 2


ARRAY_LIKE = {"center", "sensitivity", "weights", "init", "scale", "range", "bins"}
KEPT = [
    (estimator, name)
    for estimator in MORE
    for name, value in estimator.get_params().items()
    if name.rpartition("__")[2] in ARRAY_LIKE and isinstance(value, list) and None not in value
]


@pytest.mark.parametrize(("estimator", "name"), KEPT)
def test_arrays_of_narrow_numbers_are_numbers_too(estimator, name):
    value, told, tried = estimator.get_params()[name], observed(clone(estimator)), 0
    for dtype in ("int8", "int32", "uint8", "float16", "float32", "longdouble"):
        array = np.array(value).astype(dtype)
        if np.array_equal(array, value) and not (name == "bins" and dtype[0] in "fl"):
            twin = clone(estimator).set_params(**{name: array})
            assert twin.get_params()[name] is array and observed(twin) == told, dtype
            tried += 1
    assert tried


FIRSTS = {type(estimator): i for i, estimator in reversed(ALL)}  # of each class


@pytest.mark.parametrize(
    ("i", "estimator"),
    [
        pytest.param(i, e, marks=pytest.mark.slow if i in FIRSTS.values() else pytest.mark.nightly)
        for i, e in ALL
    ],
    ids=lambda x: type(x).__name__,
)
def test_0_numbers_differ_one_by_one(i, estimator):
    """Every parameter by itself, in every dialect."""
    told = observed(clone(estimator))
    for name, value in estimator.get_params().items():
        for convert in DIALECTS.values():
            given = value if name in ("steps", "ledger") else spoken(value, convert)
            if pickle.dumps(given) != pickle.dumps(value):
                assert observed(clone(estimator).set_params(**{name: given})) == told, name


def outcome(estimator, X=TABLE):
    """Return what a fit shows, or the class of what it raises and whether it was charged."""
    made = []

    class Counted(list):
        def __call__(self, label, value, scale):
            made.append(label)
            return value

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.set_params(random_state=3).plan()
            _, curators, error = recorded_fit(estimator, X, Counted())
    except Exception as raised:
        return type(raised).__name__, False
    if error is not None:
        return type(error).__name__, bool(curators)
    fitted = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    return {k: pickle.dumps(plainly(v)) for k, v in fitted.items() if "report" not in k}


BOOLS = [
    (estimator, name)
    for estimator in (*MORE, HISTOGRAMS[0])
    if not is_expensive(estimator) and "steps" not in estimator.get_params()
    for name, value in estimator.get_params(deep=False).items()
    if isinstance(value, int | float) and not isinstance(value, bool) and name != "n_jobs"
]


@pytest.mark.cases(38)
@pytest.mark.parametrize(("estimator", "name"), BOOLS)
def test_a_bool_for_a_number_is_one_or_is_refused_before_the_charge(estimator, name):
    X = USERS if getattr(estimator, "user", None) is not None else TABLE
    ours, theirs, one = (
        outcome(clone(estimator).set_params(**{name: value}), X) for value in (True, np.True_, 1)
    )
    assert ours == theirs
    if ours != one:
        assert ours in (("TypeError", False), ("InvalidParameterError", False))


def test_a_third_of_a_budget_is_a_third():
    plan = PrivateMean(epsilon=Fraction(1, 3), delta=Fraction(1, 10**6)).plan()
    assert plan.budget.epsilon == Fraction(1, 3) and plan.budget.delta == Fraction(1, 10**6)
    numpy_terms = Fraction(np.int64(1), np.int64(3))
    budget = PrivateMean(epsilon=numpy_terms).plan().budget
    assert budget.epsilon == Fraction(1, 3) and type(budget.epsilon.numerator) is int


def test_the_claim_of_a_fraction_is_shown():
    estimator = PrivateMean(epsilon=Fraction(1, 3), radius=Fraction(5, 2), random_state=0)
    assert "epsilon=0.333333" in estimator._repr_html_()
    assert estimator.radius == 2.5 and type(estimator.radius) is float
    assert np.isfinite(estimator.fit(TABLE).location_).all()
    assert type(PrivateMean(radius=Fraction(10**400)).radius) is float


KINDS = [
    *((getattr(np, kind)(100), 100, int) for kind in INTEGERS),
    *((getattr(np, kind)(0.5), 0.5, float) for kind in FLOATS),
    (np.float16(0.1), 0.1, float),
    (np.float32(0.1), 0.1, float),
    (np.float32(1e-6), 1e-6, float),
    (np.longdouble("0.1"), 0.1, float),
    (np.longdouble(0.1), 0.1, float),
    (np.longdouble("1e4000"), np.inf, float),
    (np.float32("inf"), np.inf, float),
    (np.bool_(True), True, bool),
    (np.array(7, dtype=np.int8), 7, int),
    (np.array(0.25, dtype=np.float16), 0.25, float),
    (np.array(True), True, bool),
    (Fraction(np.int32(1), np.int32(4)), Fraction(1, 4), Fraction),
]


@pytest.mark.parametrize(("value", "expected", "kind"), KINDS, ids=repr)
def test_numbers_become_pythons_own(value, expected, kind):
    assert plain(value) == expected and type(plain(value)) is kind


def test_narrow_floats_plan_as_their_text_says():
    for kind in (np.float16, np.float32, np.longdouble):
        text = kind("0.1")
        assert PrivateMean(epsilon=text).plan().budget == PrivateMean(epsilon=0.1).plan().budget


def test_what_holds_no_other_number_stays_the_same_object():
    for value in (
        {"a": [1, 2.0, {"b": (True, None)}]}, [1, "x", (2,)], (), [], {}, np.arange(3), "auto", 3,
        2.5, True, None, PrivateMean(), Fraction(1, 3),
    ):  # fmt: skip
        assert plain(value) is value
    mixed = {"a": [1, np.int8(100)], "b": (np.bool_(True), np.float64(0.5), np.float32(0.1))}
    made = plain(mixed)
    assert made == {"a": [1, 100], "b": (True, 0.5, 0.1)}
    assert type(made["a"][1]) is int and {type(x) for x in made["b"]} == {bool, float}
    kept = plain(mixed, levels=True)
    assert type(kept["a"][1]) is int and type(kept["b"][2]) is np.float32


def test_levels_of_a_narrow_column_are_found():
    X = np.array([[0.1], [0.1], [0.7]], dtype=np.float32)
    levels = [np.float32(0.1), np.float32(0.7)]
    histogram = PrivateHistogram(categories={0: levels}, epsilon=1e4, random_state=0).fit(X)
    assert np.rint(histogram.counts_).tolist() == [2, 1]


def test_parameters_of_denoisers_are_pythons_numbers():
    for denoiser in (
        JamesSteinDenoiser(noise_scale=np.float32(0.1), target=np.int8(100)),
        SoftThresholdDenoiser(noise_scale=np.int8(100), threshold=np.float16(0.1)),
        BayesDenoiser(noise_scale=np.uint8(1), prior_scale=np.int8(100), n_atoms=np.int16(20)),
        GraphWaveletDenoiser(GRAPH, noise_scale=np.int8(1), n_trees=np.int8(2)),
        TrendFilterDenoiser(GRAPH, noise_scale=np.int8(1), order=np.uint8(0), penalty=np.int8(9)),
    ):
        numbers = [v for v in denoiser.get_params().values() if isinstance(v, np.generic)]
        assert numbers == []
        told = clone(denoiser).fit_transform(np.arange(4.0)[None] * 100)
        plainly_made = type(denoiser)(**denoiser.get_params())
        assert np.array_equal(told, plainly_made.fit_transform(np.arange(4.0)[None] * 100))


def test_ranges_of_scorers_do_not_wrap():
    def score(model, x, y):
        return float(x[0, 0])

    scorer = RowScorer(score, np.int8(-100), np.int8(100))
    assert scorer.high - scorer.low == 200 and scorer.value(0.5) == 0
    assert DistanceScorer(np.float32(0.1)).scale == 0.1
    assert 2 * LogDensityScorer(np.int8(100)).span == 200
    exact = scorer.prepare(None, np.array([[-100.0], [0.0], [300.0]]), None, None)(None)
    assert exact.tolist() == [0, 0.5, 1]


def test_a_search_clones_and_shows_numbers_of_any_kind():
    from sklearn.model_selection import GridSearchCV

    grid = {"epsilon": [np.float32(0.5), np.int8(4), Fraction(1, 3)], "trim": [np.bool_(True)]}
    search = GridSearchCV(PrivateMean(random_state=0), grid, scoring=lambda model, X: 0.0, cv=2)
    assert type(search.fit(TABLE).best_estimator_.epsilon) in (int, float, Fraction)
    twin = clone(PrivateMean(radius=np.float16(2), center=[np.int8(1), 2.0, Fraction(1, 2)]))
    assert twin.get_params()["center"] == [1, 2.0, 0.5]
    assert "PrivateMean" in twin._repr_html_() and "np." not in repr(twin)


@pytest.mark.parametrize("again", [lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy])
def test_what_is_unpickled_has_plain_numbers_and_can_be_cloned(again):
    """As in pickles of a version that kept numbers as they were given."""
    old = PrivateHistogram(user=0)
    vars(old).update(epsilon=np.float64(0.5), rows_per_user=np.int16(200), range=[np.int8(-100)])
    new = again(old)
    kinds = [type(new.epsilon), type(new.rows_per_user), type(new.range[0])]
    assert kinds == [float, int, int]
    assert clone(new).get_params() == new.get_params()


@pytest.mark.parametrize("amount", [10**400, Fraction(10**400), Fraction(10**400, 3)])
@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_numbers_beyond_the_range_of_floats_are_refused_like_others(name, amount):
    estimator = PrivateMean(**{name: amount})
    for refused in (estimator.plan, lambda: estimator.fit(np.zeros((3, 1)))):
        with pytest.raises(ValueError, match=name):
            refused()


def test_named_tuples_keep_their_names():
    pair = namedtuple("pair", "low high")
    given = plain(pair(np.int8(1), np.float64(2)))
    assert given == (1, 2) and type(given) is pair and {*map(type, given)} == {int, float}
