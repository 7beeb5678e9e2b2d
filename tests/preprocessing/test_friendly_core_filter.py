import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from skdp import FriendlyCoreFilter, PrivateMean
from skdp.contracts import Core, chain_problems, contract_of
from skdp.friendly import DistancePredicate
from skdp.friendly.published import PairwisePredicate
from skdp.mechanisms import RowKeys, make_entropy
from skdp.preprocessing._friendly_core_filter import digests

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


def table(n=4000, outliers=40, d=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d)) + 1e3
    X[:outliers] *= 50
    return X


@pytest.mark.parametrize("params", [{}, {"radius": 6.0}, {"level": 0.3}])
def test_outliers_become_nan_and_the_core_stays(params):
    X = table(8000)
    core = FriendlyCoreFilter(epsilon=2.0, random_state=0, **params).fit_transform(X)
    kept = ~np.isnan(core).any(axis=1)
    assert core.shape == X.shape and np.array_equal(core[kept], X[kept])
    assert np.isnan(core[~kept]).all()
    assert not kept[:40].any() and kept[40:].mean() > 0.9


def test_the_three_views_agree():
    X, y = table(), np.arange(4000)
    fit = FriendlyCoreFilter(epsilon=2.0, random_state=1)
    X_core, y_core = fit.fit_resample(X, y)
    support = fit.get_support(local=True)
    assert np.array_equal(X_core, X[support]) and np.array_equal(y_core, y[support])
    assert np.array_equal(support, ~np.isnan(fit.transform(X)[:, 0]))
    assert np.array_equal(fit.fit_resample(X), X_core)


def test_other_rows_are_not_in_the_core_and_dtypes_stay():
    X = table()
    fit = FriendlyCoreFilter(epsilon=2.0, random_state=0).fit(X)
    assert np.isnan(fit.transform(X + 1e-9)).all()
    single = FriendlyCoreFilter(epsilon=2.0, random_state=0).fit_transform(X.astype(np.float32))
    assert single.dtype == np.float32 and np.isfinite(single).any()


def test_frames_stay_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(table(), columns=list("abc"))
    fit = FriendlyCoreFilter(epsilon=2.0, random_state=0).set_output(transform="pandas")
    core = fit.fit_resample(frame)
    assert isinstance(core, pd.DataFrame) and set(core.index) <= set(range(4000))
    assert list(fit.transform(frame).columns) == list("abc")


def test_the_core_is_marked_and_does_not_travel():
    fit = FriendlyCoreFilter(epsilon=2.0, random_state=0).fit(table())
    with pytest.raises(ValueError, match="local=True"):
        fit.get_support()
    assert "private" in repr(fit._core) and "True" not in repr(fit._core)
    for twin in (pickle.loads(pickle.dumps(fit)), copy.copy(fit), copy.deepcopy(fit)):
        assert twin.radius_ == fit.radius_
        with pytest.raises(AttributeError, match="stays behind"):
            twin.transform(table())
    assert b"_LocalView" not in pickle.dumps(fit)
    with pytest.raises(TypeError, match="private"):
        pickle.dumps(fit._core)


@pytest.mark.slow
def test_another_predicate():
    def same_sign(x, y):
        return bool(np.all(x * y > 0))

    X = np.r_[np.full((300, 1), 2.0), np.full((20, 1), -1.0)]
    rule = PairwisePredicate(same_sign)
    fit = FriendlyCoreFilter(predicate=rule, epsilon=12.0, random_state=0).fit(X)
    assert np.array_equal(fit.get_support(local=True), X[:, 0] > 0)
    assert not hasattr(fit, "radius_")
    with pytest.raises(ValueError, match="Give one"):
        FriendlyCoreFilter(1.0, predicate=rule).fit(X)
    with pytest.raises(ValueError, match="predicate"):
        FriendlyCoreFilter(predicate=same_sign).fit(X)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_few_rows_give_an_empty_core(n):
    fit = FriendlyCoreFilter(random_state=0).fit(table(n))
    assert not fit.get_support(local=True).any() and np.isfinite(fit.radius_)


def test_it_is_a_step_that_must_be_followed_by_a_release():
    step = FriendlyCoreFilter(radius=2.0)
    contract = contract_of(step)
    kind = contract.yields(None)
    assert contract.spends and kind == Core(DistancePredicate(2.0))
    (problem,) = chain_problems([("filter", step)])
    assert "'filter' yields private Core" in problem and "PrivateMean" in problem
    assert chain_problems([("filter", step), ("mean", PrivateMean())]) == []


def test_a_chain_tells_all_of_its_problems():
    from sklearn.preprocessing import StandardScaler

    steps = [("s", StandardScaler()), ("mean", PrivateMean()), ("filter", FriendlyCoreFilter())]
    unknown, order, end = chain_problems(steps)
    assert "StandardScaler" in unknown and "public data" in unknown
    assert "reads Rows" in order and "yields Released" in order
    assert "nothing is released" in end
    assert "without steps" in chain_problems([])[0]


def test_in_a_pipeline_of_scikit_learn():
    pipe = make_pipeline(FriendlyCoreFilter(epsilon=2.0, random_state=0))
    assert np.isnan(clone(pipe).fit_transform(table())[:40]).all()


def test_digests_tell_rows_apart():
    salts = RowKeys(make_entropy(0)).keys(0, 3)
    X = np.random.default_rng(0).integers(-3, 4, size=(5000, 3)).astype(float)
    X = np.unique(X, axis=0)
    X = np.r_[X, np.nextafter(X, np.inf), X * 1e300, X * 2.0**-1074]
    X = np.unique(X, axis=0)
    assert len(np.unique(digests(X, salts))) == len(X)
    assert digests(np.array([[0.0, 1.0, 2.0]]), salts) == digests(np.array([[-0.0, 1, 2]]), salts)
