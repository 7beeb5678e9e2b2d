import pytest
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    PrivateMean,
    PrivateStandardScaler,
    SensitivityPreprocessor,
    check_pipeline,
)


def test_a_sound_pipeline_has_no_problem_and_a_price():
    check = check_pipeline(make_pipeline(Normalizer(), PrivateStandardScaler(), PrivateMean()))
    assert list(check) == [] and str(check).startswith("no problem found")
    # two Gaussian fits at (1, 1e-6): (2, 2e-6) by addition, less by mu^2
    assert "(epsilon=2, delta=2e-06), the sum of 2 steps; exactly (epsilon=1.4" in check.cost


def test_every_problem_has_its_way_out():
    columns = ColumnTransformer([("n", StandardScaler(), [0])])
    pipeline = Pipeline(
        [
            ("columns", columns),
            ("core", FriendlyCoreFilter()),
            ("bound", SensitivityPreprocessor(sensitivity=1.0)),
            ("kmeans", KMeans(verbose=1)),
        ],
        memory="somewhere",
        verbose=True,
    )
    check = check_pipeline(pipeline)
    told = str(check)
    for text in (
        "'columns__n' (StandardScaler) would learn",
        "sparse_threshold=0",
        "memory=None",
        "verbose=False",
        "'core' hands the core on as a local view",
        "'bound' hands rows on, without the bound",
        "FriendlyCoreKMeans",
    ):
        assert text in told
    assert "<li>" in check._repr_html_()


def test_prices_that_cannot_be_told():
    assert "cost: no step spends" in check_pipeline(make_pipeline(Normalizer())).cost
    wrong = make_pipeline(FriendlyCoreKMeans(epsilon=-1.0))
    assert "cost unknown: epsilon must" in check_pipeline(wrong).cost
    with pytest.raises(TypeError, match="takes a Pipeline"):
        check_pipeline(KMeans())
