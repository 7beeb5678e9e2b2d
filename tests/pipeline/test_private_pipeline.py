import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import load_digits, load_wine
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

from skdp import (
    FriendlyCoreFilter,
    FriendlyCoreKMeans,
    GaussianMechanism,
    JamesSteinDenoiser,
    LaplaceMechanism,
    PrivacyLedger,
    PrivateCovariance,
    PrivateGMM,
    PrivateHistogram,
    PrivateMean,
    PrivateMedian,
    PrivatePCA,
    PrivatePipeline,
    PrivateStandardScaler,
    PublicFit,
    RowMap,
    SensitivityPreprocessor,
    config_context,
    make_private_pipeline,
)
from skdp.accounting import Budget, gaussian_mu
from skdp.base import Curator, PrivateEstimator
from skdp.exceptions import BudgetExceeded, PlanError
from skdp.gate._curator import replaced_curator
from skdp.pipeline._tree import spending

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
LOUD = {"epsilon": 200.0, "random_state": 0}  # hardly any noise: the wiring is what is tested


@pytest.fixture(scope="module")
def X():
    return load_digits().data[:, 10:14] + 1.0


@pytest.fixture(scope="module")
def jobs():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 3000
    table = {"age": rng.normal(40, 10, n), "job": rng.choice(["a", "b", "c"], n)}
    return pandas.DataFrame(table)


def by_type():
    numbers = ("num", PrivateStandardScaler(), ["age"])
    encoder = OneHotEncoder(categories=[["a", "b", "c"]], handle_unknown="ignore")
    return ColumnTransformer([numbers, ("cat", encoder, ["job"])], n_jobs=2)


def test_rows_are_mapped_scaled_and_clustered(X):
    pipe = make_private_pipeline(
        RowMap(np.log1p), PrivateStandardScaler(), FriendlyCoreKMeans(3), **LOUD
    ).fit(X)
    logs = np.log1p(X)
    np.testing.assert_allclose(pipe[1].mean_, logs.mean(axis=0), atol=0.08)
    scaled = (logs - pipe[1].mean_) / pipe[1].scale_
    np.testing.assert_array_equal(pipe.predict(X), pipe[2].predict(scaled))
    best = KMeans(3, n_init=10, random_state=0).fit(scaled).inertia_
    assert -pipe.score(X) < 1.05 * best


def test_the_core_is_averaged_and_the_average_denoised(X):
    far = np.concatenate([X, np.full((40, 4), 1e6)])
    for mean in (PrivateMean(), PrivateMean(method="friendly")):
        pipe = make_private_pipeline(
            FriendlyCoreFilter(), mean, JamesSteinDenoiser(target="mean"), **LOUD
        )
        pipe.fit(far)
        np.testing.assert_allclose(pipe[1].location_, X.mean(axis=0), atol=1.0)
        assert pipe.value_.shape == (4,) and np.ptp(pipe.value_) <= np.ptp(pipe[1].location_)
        np.testing.assert_array_equal(pipe[2].noise_scale_, pipe[1].noise_scale_)
        assert not hasattr(pipe, "transform") and not hasattr(pipe, "predict")


def test_a_certified_core_needs_no_second_filter():
    steps = [("core", FriendlyCoreFilter(radius=1.0)), ("mean", PrivateMean(method="friendly"))]
    labels = [step.label for step in PrivatePipeline(steps).plan().steps]
    assert labels.count("core/core filter") == 1 and "mean/core filter" not in labels


@pytest.mark.parametrize("mechanism", [LaplaceMechanism(), GaussianMechanism()])
def test_a_bounded_statistic_is_released_and_denoised(X, mechanism):
    bounded = SensitivityPreprocessor("median", sensitivity=0.5, center=8.0)
    pipe = make_private_pipeline(bounded, mechanism, JamesSteinDenoiser(target="mean"), **LOUD)
    pipe.fit(X)
    np.testing.assert_allclose(pipe.value_, np.median(X, axis=0), atol=1.5)
    assert pipe.plan().budget.measure == ("pure" if mechanism._law() == "laplace" else "gdp")


def test_columns_of_two_kinds_meet_in_a_covariance(jobs):
    pipe = PrivatePipeline([("columns", by_type()), ("cov", PrivateCovariance())], **LOUD)
    pipe.fit(jobs)
    dummies = (jobs["job"].to_numpy()[:, None] == np.array(["a", "b", "c"])).astype(float)
    ages = (jobs["age"].to_numpy() - jobs["age"].mean()) / jobs["age"].std(ddof=0)
    exact = np.cov(np.column_stack([ages, dummies]).T, ddof=0)
    np.testing.assert_allclose(pipe["cov"].covariance_, exact, atol=0.05)
    assert pipe["columns"].named_transformers_["num"].ledger is None
    assert isinstance(pickle.loads(pickle.dumps(pipe)), PrivatePipeline)


def test_components_feed_a_mixture():
    X = load_wine().data
    pipe = make_private_pipeline(PrivateStandardScaler(), PrivatePCA(2), PrivateGMM(2), **LOUD)
    pipe.fit(X)
    rows = (X - pipe[0].mean_) / pipe[0].scale_
    np.testing.assert_array_equal(
        pipe.score_samples(X), pipe[2].score_samples(pipe[1].transform(rows))
    )
    assert pipe.predict_proba(X).shape == (len(X), 2)


def test_the_guarantee_is_that_of_all_draws_together(X):
    pipe = make_private_pipeline(PrivateStandardScaler(), PrivateMean(), random_state=0).fit(X)
    report, whole = pipe.privacy_report_, Budget.gaussian(1.0, 1e-6)
    assert report.budget == whole
    assert sum(charge.share for charge in report.charges) <= 1
    parts = [step.privacy_report_.budget for _, step in pipe.steps_]
    assert sum(part.amount for part in parts) == whole.amount  # exact: mu^2 adds up
    # the two steps bought one by one with the same mu^2 each cost more than epsilon = 1 in all
    assert sum(float(part.epsilon) for part in parts) > 1.2
    assert sum(part.delta for part in parts) == whole.delta
    assert whole.mu <= gaussian_mu(1.0, 1e-6)


def test_gaussian_and_pure_steps_compose_by_their_curves():
    steps = [("mean", PrivateStandardScaler()), ("median", PrivateMedian(delta=0.0))]
    plan = PrivatePipeline(steps).plan()
    assert plan.budget.measure == "mixed"
    assert [s.budget.measure for s in plan.splits] == ["gdp", "pure"]
    assert plan.budget.amount > Budget.zcdp(1.0, 1e-6).amount  # tighter than zCDP


def test_pure_pipelines_have_no_delta(X):
    pipe = make_private_pipeline(PrivateMedian(), delta=0.0, epsilon=5.0, random_state=0)
    assert float(pipe.fit(X).privacy_report_.delta(5.0)) == 0.0
    problems = make_private_pipeline(PrivateMean(), delta=0.0).plan().problems
    assert len(problems) == 1 and "'privatemean'" in problems[0] and "delta" in problems[0]


def test_steps_that_would_learn_from_rows_are_refused_all_at_once(X):
    pipe = PrivatePipeline(
        [
            ("scale", StandardScaler()),
            (
                "columns",
                ColumnTransformer([("m", PrivateMean(), [0]), ("o", OneHotEncoder(), [1])]),
            ),
            ("fill", SimpleImputer()),
            ("kmeans", KMeans()),
        ],
        split={"columns__m": 0.7, "nobody": 0.1},
    )
    problems = pipe.plan().problems
    told = "\n".join(problems)
    assert len(problems) == 6
    for text in (
        "PrivateStandardScaler",
        "FriendlyCoreKMeans",
        "strategy=",
        "categories",
        "nobody",
    ):
        assert text in told
    with pytest.raises(PlanError) as failure:
        pipe.fit(X)
    assert all(problem in str(failure.value) for problem in problems)


class Classifier(BaseEstimator):
    def fit(self, X, y):
        self.coef_ = X[y == 1].mean(axis=0)
        return self


class PrivateLabelMean(PrivateEstimator):
    """Releases a noisy count of positive labels: the smallest supervised private step."""

    def __init__(self, *, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        self.epsilon, self.delta = epsilon, delta
        self.random_state, self.ledger = random_state, ledger

    def plan(self):
        from skdp.base import Plan, Step

        return Plan(self._budget(Budget.gaussian), (Step("positives"),))

    def _read(self, X, y):
        return super()._read(X, y), y

    def _release(self, table, curator):
        _, y = table
        count = curator.gaussian([int(np.sum(y == 1))], sensitivity=1, share=1, label="positives")
        return {"positives_": float(count.value[0])}


def test_labels_reach_a_private_last_step_untouched_and_no_other(X):
    y = (X[:, 0] > 8).astype(int)
    steps = [("scale", PrivateStandardScaler()), ("labels", PrivateLabelMean())]
    pipe = PrivatePipeline(steps, **LOUD).fit(X, y)
    assert abs(pipe["labels"].positives_ - y.sum()) < 3
    refused = PrivatePipeline([("scale", PrivateStandardScaler()), ("classify", Classifier())])
    assert "'classify'" in refused.plan().problems[0]
    with pytest.raises(PlanError):
        refused.fit(X, y)


@pytest.mark.slow
def test_a_search_over_any_public_parameter_counts_exactly(X):
    pipe = make_private_pipeline(PrivateStandardScaler(), FriendlyCoreKMeans(2), random_state=0)
    ledger = PrivacyLedger(40.0, 1e-4, composition="basic")
    grid = {"epsilon": [1.0, 2.0], "friendlycorekmeans__n_clusters": [2, 3]}
    search = GridSearchCV(pipe.set_params(ledger=ledger), grid, cv=2).fit(X)
    assert len([e for e in ledger.entries() if e.kind == "charge"]) == 2 * 4 + 1
    assert ledger.spent().epsilon == 2 * 2 * (1.0 + 2.0) + search.best_params_["epsilon"]


def test_nothing_is_charged_for_bad_input(X):
    ledger = PrivacyLedger(1.0, 1e-6)
    pipe = make_private_pipeline(RowMap(np.sqrt), PrivateMean(center=[0.0, 1.0]), ledger=ledger)
    for table, text in ((X, "center"), (np.where(X > 5, np.nan, X)[:, :2], "NaN"), (X[0], "2D")):
        with pytest.raises(ValueError, match=text):
            pipe.fit(table)
    assert ledger.spent().fraction == 0
    with pytest.raises(BudgetExceeded):
        pipe.set_params(epsilon=2.0).fit(X[:, :2])


def test_shares_are_given_by_name():
    steps = [("scale", PrivateStandardScaler()), ("pca", PrivatePCA(1)), ("mean", PrivateMean())]

    def shares(split):
        return {s.path: float(s.share) for s in PrivatePipeline(steps, split=split).plan().splits}

    assert shares({"scale": 0.1, "pca": 0.1, "mean": 0.8}) == {
        "scale": 0.1,
        "pca": 0.1,
        "mean": 0.8,
    }
    assert shares({"mean": 0.7}) == pytest.approx({"scale": 0.1, "pca": 0.2, "mean": 0.7})
    too_much = PrivatePipeline(steps, split={"scale": 0.8, "mean": 0.4}).plan().problems
    assert "add up to 1.2" in too_much[0]


def test_branches_may_nest(X):
    union = FeatureUnion(
        [("raw", PrivateStandardScaler()), ("axis", make_pipeline(Normalizer(), PrivatePCA(1)))]
    )
    pipe = PrivatePipeline([("union", union), ("mean", PrivateMean())], **LOUD).fit(X)
    assert [s.path for s in pipe.plan().splits] == ["union__raw", "union__axis__privatepca", "mean"]
    np.testing.assert_allclose(pipe["mean"].location_[:4], 0, atol=0.2)


class Recording(Curator):
    seen = None

    def _noisy(self, value, law, scale, rows=None, parts=None):
        self.seen.append((law, scale, np.array(value)))
        return value

    def child(self, label, share, *, budget=None):
        child = super().child(label, share, budget=budget)
        child.seen = self.seen
        return child


def test_what_meets_noise_is_what_the_steps_alone_would_release(X):
    """A pipeline adds nothing to the data of its steps and takes nothing away."""

    def requests(estimator):
        seen = []

        def make(plan, entropy):
            curator = Recording(plan, entropy)
            curator.seen = seen
            return curator

        with replaced_curator(make):
            estimator.fit(X)
        return seen

    alone = requests(PrivateMean(random_state=0))
    inside = requests(make_private_pipeline(PrivateMean(), random_state=0))
    assert len(alone) == len(inside)
    for (_, s, value), (_, t, other) in zip(alone, inside, strict=True):
        assert s == pytest.approx(t, rel=1e-9)
        np.testing.assert_array_equal(value.shape, other.shape)


class Shift(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X + 1


def test_public_steps_take_part(X):
    pipe = make_private_pipeline(PublicFit(Shift(), X[:5]), PrivateMean(), **LOUD).fit(X)
    np.testing.assert_allclose(pipe[1].location_, X.mean(axis=0) + 1, atol=0.1)
    assert any("public rows" in text for text in pipe.plan().assumptions)


def test_histograms_are_denoised_in_a_pipeline(X):
    histogram = PrivateHistogram(bins=4, range=(0, 20), noise="gaussian")
    pipe = make_private_pipeline(histogram, JamesSteinDenoiser(), **LOUD).fit(X[:, :1])
    np.testing.assert_allclose(pipe.value_, np.histogram(X[:, 0], 4, (0, 20))[0], atol=2)


def test_tables_without_rows_get_an_answer(jobs):
    pipe = PrivatePipeline([("columns", by_type()), ("cov", PrivateCovariance())], random_state=0)
    with config_context(invalid_rows="ignore"):
        pipe.fit(jobs[:0])
    assert pipe["cov"].covariance_.shape == (4, 4)


def test_from_sklearn_keeps_what_both_have():
    columns = ColumnTransformer([("n", StandardScaler(with_mean=False), [0, 1])])
    private = PrivatePipeline.from_sklearn(make_pipeline(columns, KMeans(5)), epsilon=3.0)
    assert private.plan().problems == () and private.epsilon == 3.0
    scaler = private["columntransformer"].transformers[0][1]
    assert isinstance(scaler, PrivateStandardScaler) and scaler.with_mean is False
    assert private["kmeans"].n_clusters == 5
    with pytest.raises(TypeError, match="takes a Pipeline"):
        PrivatePipeline.from_sklearn(KMeans())


def test_a_fitted_step_stays_out_of_the_pipelines_parameters(X):
    pipe = make_private_pipeline(PrivateStandardScaler(), PrivateMean(), random_state=0)
    fitted = clone(pipe).fit(X)
    assert not hasattr(fitted.steps[0][1], "mean_") and hasattr(fitted[0], "mean_")
    assert fitted.named_steps.privatemean is fitted[1] and len(fitted) == 2
    assert float(fitted[1].epsilon) < 1 and fitted.steps[1][1].epsilon == 1.0


def test_slices_of_a_fitted_pipeline_map_rows_and_map_them_back(X):
    log = RowMap(np.arcsinh, inverse_func=np.sinh)
    pipe = make_private_pipeline(log, PrivateStandardScaler(), FriendlyCoreKMeans(2))
    pipe.set_params(epsilon=20.0, random_state=0).fit(X)
    centers = pipe[:-1].inverse_transform(pipe[-1].cluster_centers_)
    assert np.allclose(pipe[:-1].transform(centers), pipe[-1].cluster_centers_)
    assert np.array_equal(pipe[1:].predict(np.arcsinh(X)), pipe.predict(X))
    assert pipe[:2].privacy_report_ == pipe.privacy_report_ and len(pipe[:2]) == 2
    assert not hasattr(pipe[:1].fit, "steps_") and not hasattr(clone(pipe)[:1], "steps_")
    for wrong in (slice(0, 0), slice(0, 3, 2)):
        with pytest.raises(ValueError, match="one step at least"):
            pipe[wrong]
    assert not hasattr(RowMap(np.arcsinh).fit(X), "inverse_transform")


def test_progress_is_public(X, capsys):
    make_private_pipeline(PrivateMean(), verbose=True, random_state=0).fit(X)
    assert capsys.readouterr().out == "[PrivatePipeline] privatemean: share 100.0%\n"


def test_diagrams_show_shares_and_the_guarantee():
    html = make_private_pipeline(PrivateStandardScaler(), PrivateMean())._repr_html_()
    for text in ("epsilon=1, delta=1e-06", "20% of the budget", "80% of the budget"):
        assert text in html
    assert "epsilon=1, delta=1e-06" in PrivateMean()._repr_html_()


@pytest.mark.parametrize("steps", [[], 3, [PrivateMean()], [("a", PrivateMean())] * 2])
def test_steps_must_be_named_pairs(steps, X):
    with pytest.raises(ValueError):
        PrivatePipeline(steps).fit(X)


def test_what_a_column_transformer_leaves_over_is_looked_at_too(jobs):
    columns = ColumnTransformer(
        [("n", PrivateStandardScaler(), ["age"])], remainder=StandardScaler()
    )
    problems = make_private_pipeline(columns, PrivateMean()).plan().problems
    assert len(problems) == 1 and "'columntransformer__remainder'" in problems[0]
    columns.set_params(transformers=[("j", "drop", ["job"])], remainder=PrivateStandardScaler())
    pipe = make_private_pipeline(columns, PrivateMean(), **LOUD)
    paths = [split.path for split in pipe.plan().splits]
    assert paths == ["columntransformer__remainder", "privatemean"]
    pipe.fit(jobs)
    assert all(leaf.ledger is None for _, leaf in spending(pipe.steps_))


def test_columns_are_not_chosen_by_rows(jobs):
    def few(X):
        return [c for c in X if X[c].nunique() < 5]

    columns = ColumnTransformer([("few", "drop", few)], remainder="passthrough")
    problems = make_private_pipeline(columns, PrivateMean()).plan().problems
    assert "make_column_selector" in problems[0]
    numbers = make_column_selector(dtype_include="number")
    columns = ColumnTransformer([("n", PrivateStandardScaler(), numbers)])
    make_private_pipeline(columns, PrivateMean(), **LOUD).fit(jobs)


def test_rows_outside_the_core_stay_outside(X):
    far = np.concatenate([X, np.full((400, 4), 1e6)])
    steps = FriendlyCoreFilter(), RowMap(np.nan_to_num), PrivateMean()
    pipe = make_private_pipeline(*steps, **LOUD).fit(far)
    np.testing.assert_allclose(pipe[2].location_, X.mean(axis=0), atol=1.0)


def test_the_plan_tells_what_is_unused_unpriced_or_ignored():
    steps = [("a", PrivateStandardScaler(random_state=0)), ("b", PrivateMedian(delta=0.0))]
    pipe = PrivatePipeline(steps, split={"a": 0.2, "b": 0.3}, ledger=PrivacyLedger(1.0, 1e-6))
    plan = pipe.plan()
    assert any("50.0% of the budget is charged and not used" in t for t in plan.assumptions)
    assert any("a: its random_state is not used" in t for t in plan.assumptions)
    assert "no price for a 'mixed' budget" in plan.problems[0]
    for split in ("equal", [0.1, 0.9], {"a": None}):
        with pytest.raises(ValueError):
            PrivatePipeline(steps, split=split).fit(np.zeros((9, 2)))
    no_steps = make_private_pipeline(np.log1p, PrivateMean).plan().problems
    assert "RowMap(func)" in no_steps[0] and "an instance" in no_steps[1]


def test_frames_keep_their_names(jobs):
    ages = jobs[["age"]]
    pipe = make_private_pipeline(PrivateStandardScaler(), FriendlyCoreKMeans(2), **LOUD).fit(ages)
    assert list(pipe[0].feature_names_in_) == ["age"]
    pipe.predict(ages)


def test_what_was_mapped_can_be_mapped_back(X):
    pipe = make_private_pipeline(PrivateStandardScaler(), PrivatePCA(4), **LOUD).fit(X)
    np.testing.assert_allclose(pipe.inverse_transform(pipe.transform(X)), X, atol=1e-9)
    kmeans = make_private_pipeline(PrivateStandardScaler(), FriendlyCoreKMeans(2), **LOUD).fit(X)
    assert not hasattr(kmeans, "inverse_transform")
