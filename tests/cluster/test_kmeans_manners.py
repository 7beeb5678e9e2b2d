"""FriendlyCoreKMeans takes what is written for KMeans, or says why not."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.pipeline import make_pipeline

from skdp import FriendlyCoreKMeans, PrivatePipeline
from skdp.model_selection import PrivateSearchCV

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]
CENTRES = np.array([[-9.0, 0.0], [9.0, 0.0], [0.0, 15.0]])
X = CENTRES[np.arange(6000) % 3] + np.random.default_rng(0).normal(size=(6000, 2))


def near(centres):
    return np.square(centres[:, None] - CENTRES).sum(axis=2).min(axis=0).max() < 0.1


def test_a_line_for_kmeans_needs_another_name_only():
    habits = {
        "n_clusters": 3, "init": "k-means++", "n_init": 10, "max_iter": 300, "tol": 1e-4,
        "verbose": 0, "random_state": 0, "copy_x": True, "algorithm": "lloyd",
    }  # fmt: skip
    assert habits.keys() <= KMeans().get_params().keys()
    fit = FriendlyCoreKMeans(**habits).fit(X, sample_weight=None)
    assert near(fit.cluster_centers_) and fit.n_clusters_ == 3
    assert FriendlyCoreKMeans(3, n_init="auto").get_params()["n_init"] == "auto"
    assert np.array_equal(fit.fit_predict(X, sample_weight=None), fit.predict(X))


def test_steps_have_an_upper_bound():
    full = FriendlyCoreKMeans(3, n_init=2, epsilon=50.0, random_state=0).fit(X)
    for most in (1, 2):
        fit = FriendlyCoreKMeans(3, n_init=2, epsilon=50.0, max_iter=most, random_state=0).fit(X)
        assert fit.n_iter_ == most <= full.n_iter_ and near(fit.cluster_centers_)
        assert sum(c.share for c in fit.privacy_report_.charges) > 0.99


def test_public_centres_leave_the_whole_budget_to_their_refinement():
    model = FriendlyCoreKMeans(3, init=(CENTRES + 1).tolist(), random_state=0)
    labels = {step.label for step in model.plan().steps}
    assert not labels & {"cells", "gram", "lift"} and not model.plan().failure_events
    fit = model.fit(X)
    paid = sum(c.share for c in fit.privacy_report_.charges if c.label in ("radii", "clusters"))
    assert paid > 0.9
    assert np.abs(fit.cluster_centers_ - CENTRES).max() < 0.1  # in the order that was given
    for wrong in (CENTRES[:2], CENTRES[:, :1], np.full((3, 2), np.nan), [["a", "b"]] * 3):
        with pytest.raises(ValueError, match="init must"):
            FriendlyCoreKMeans(3, init=wrong).fit(X)
    with pytest.raises(ValueError, match="'init' parameter"):
        FriendlyCoreKMeans(3, init="random").fit(X)


def test_roads_that_do_not_fit_together():
    for params, told in [
        ({"n_clusters": "auto", "method": "friendly"}, "needs n_clusters"),
        ({"n_clusters": "auto", "init": CENTRES}, r"n_clusters=len\(init\)"),
        ({"n_parts": 40}, "method='auto' does not take"),
        ({"method": "density", "n_parts": 40}, "method='density' does not take"),
    ]:
        with pytest.raises(ValueError, match=told):
            FriendlyCoreKMeans(**params).fit(X)


def test_the_default_road_is_that_of_counts_and_has_no_failure_events():
    auto, density = FriendlyCoreKMeans(3).plan(), FriendlyCoreKMeans(3, method="density").plan()
    assert auto == density and not auto.failure_events
    assert all(step.mechanism == "gaussian" for step in auto.steps)
    friendly = FriendlyCoreKMeans(3, method="friendly").plan()
    assert friendly.failure_events and any(step.mechanism == "child" for step in friendly.steps)


@pytest.mark.slow
def test_the_friendly_road_is_loaded_when_it_is_taken():
    code = "import sys, skdp.cluster; assert 'skdp.cluster.friendly' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("make", [KMeans, MiniBatchKMeans])
def test_pipelines_of_scikit_learn_keep_what_means_the_same(make):
    theirs = make(5, n_init=7, max_iter=40, tol=0.5, random_state=3, init=np.zeros((5, 2)))
    pipe = PrivatePipeline.from_sklearn(make_pipeline(theirs))
    ours = pipe.steps[0][1]
    assert isinstance(ours, FriendlyCoreKMeans)
    params = ours.get_params()
    given = {"n_clusters": 5, "n_init": 7, "max_iter": 40, "tol": 0.5}
    assert {name: params[name] for name in given} == given
    # a seed is no noise, and centres may come from the rows
    assert params["random_state"] is None and params["init"] == "k-means++"


def test_a_search_over_numbers_runs_and_one_fit_may_choose():
    space = {"n_clusters": [2, 3, "auto"]}
    search = PrivateSearchCV(
        FriendlyCoreKMeans(n_init=1), space, epsilon=8.0, mean_trials=3, random_state=0
    )
    assert search.fit(X).best_params_["n_clusters"] in (2, 3, "auto")
