"""The search: what it costs, what it does, and what is left of it."""

import math
import pickle
import warnings

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.base import BaseEstimator, ClassifierMixin

from skdp import (
    FriendlyCoreKMeans,
    PrivacyLedger,
    PrivateGMM,
    PrivateMean,
    PrivateQuantile,
    PrivateVariance,
)
from skdp.accounting import Budget
from skdp.accounting._selection import selection_delta
from skdp.audit import conditional_sensitivity, non_interference
from skdp.audit._draw import AuditRandom
from skdp.audit._pairs import draw_pair
from skdp.audit._sensitivity import examine_pair
from skdp.audit._tables import example_table
from skdp.exceptions import AuditFailure, BudgetExceeded
from skdp.gate._curator import replaced_curator
from skdp.mechanisms import make_entropy
from skdp.mechanisms._repeats import trials_of
from skdp.model_selection import (
    DistanceScorer,
    LogDensityScorer,
    PrivateSearchCV,
    RowScorer,
)
from skdp.model_selection._budgets import search_budgets
from skdp.model_selection._curator import SearchCurator
from skdp.model_selection._runs import Runs, Table
from skdp.model_selection._scorers import mixture_log_density
from tests._curators import CannedCurator, FixedKeys

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
TRIM = {"trim": [False, True]}


def mean_search(**params):
    return PrivateSearchCV(PrivateMean(), TRIM, **{"mean_trials": 3, **params})


def two_clusters(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + rng.choice([-50.0, 50.0], size=(n, 1))


class NearestMean(ClassifierMixin, BaseEstimator):
    """Two private means, of disjoint rows: the cost is that of one."""

    def __init__(self, radius=None, epsilon=1.0, delta=1e-6, random_state=None, ledger=None):
        self.radius, self.epsilon, self.delta = radius, epsilon, delta
        self.random_state, self.ledger = random_state, ledger

    def _mean(self):
        shared = {"epsilon": self.epsilon, "delta": self.delta, "random_state": self.random_state}
        center = None if self.radius is None else 0.0
        return PrivateMean(radius=self.radius, center=center, **shared)

    def plan(self):
        return self._mean().plan()

    def fit(self, X, y):
        self.means_ = np.stack([self._mean().fit(X[y == k]).location_ for k in (0, 1)])
        return self

    def predict(self, X):
        return np.argmin([np.linalg.norm(X - m, axis=1) for m in self.means_], axis=0)


# What it costs


def test_the_plan_tells_everything_before_there_are_data():
    text = str(mean_search(mean_trials=10).plan())
    for words in (
        "one run: (epsilon=",
        "reference for the scores, once before the runs: (epsilon=",
        "number of runs: geometric, 10 on average, at most 355",
        "candidates: 2, drawn uniformly; only the best run is published",
        "fitting and publishing every candidate with such a budget: epsilon = ",
    ):
        assert words in text


@pytest.mark.cases(5)
@pytest.mark.parametrize("eta", [0.0, 1.0, 2.5, math.inf])
@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 1e-6), (8.0, 1e-9)])
def test_the_budgets_of_the_runs_add_up_to_the_claim(eta, share, epsilon, delta):
    trials = trials_of(eta, 6.0)
    budgets = search_budgets(epsilon, delta, trials, 5, share)
    spent = budgets.run.amount + (budgets.reference.amount if share else 0)
    mu = math.sqrt(spent) * (1 + 1e-12)
    before = float(1 - budgets.run.amount / spent) if share else 0.0
    gaussian = selection_delta(trials, mu, epsilon, before=before)
    failure = 6 * budgets.run.failure + (budgets.reference.failure if share else 0)
    total = gaussian + (1 + math.exp(epsilon)) * float(failure)
    assert 0.8 * delta < total <= delta
    assert budgets.total.measure == "approx"
    assert (float(budgets.total.epsilon), float(budgets.total.delta)) == (epsilon, delta)


def test_pure_searches():
    estimator = PrivateQuantile(0.5, delta=0.0, method="exponential")
    scoring = RowScorer(lambda model, x, y: 0.0, 0.0, 1.0)
    search = PrivateSearchCV(estimator, {"q": [0.25, 0.5]}, scoring=scoring, epsilon=3.0, delta=0.0)
    assert search.plan().budget == Budget.pure(3.0)
    assert "one run: (epsilon=0.999999, delta=0)" in str(search.plan())  # 3 epsilon_0
    search.set_params(n_trials="logarithmic")
    assert "one run: (epsilon=1.49999, delta=0)" in str(search.plan())  # 2 epsilon_0
    search.fit(np.random.default_rng(0).normal(size=(400, 1)))
    assert search.privacy_report_.epsilon() == 3.0
    with pytest.raises(ValueError, match="delta=0 needs n_trials"):
        search.set_params(n_trials="poisson").plan()


def test_ledgers():
    X = example_table(200)
    ledger = PrivacyLedger(2.0, 2e-6, composition="basic")
    search = mean_search(ledger=ledger).fit(X).fit(X)
    charges = [(float(e.epsilon), float(e.delta)) for e in ledger.entries() if e.kind == "charge"]
    assert charges == [(1.0, 1e-6)] * 2  # one charge for each search, whatever it runs
    with pytest.raises(BudgetExceeded):
        search.fit(X)
    assert search.best_estimator_.ledger is None
    with pytest.raises(ValueError, match=r"no price for a 'approx' budget.*composition='basic'"):
        mean_search(ledger=PrivacyLedger(2.0, 1e-6)).fit(X)
    with pytest.raises(ValueError, match="Pass ledger= to the search"):
        PrivateSearchCV(PrivateMean(ledger=ledger), TRIM).fit(X)


# What is refused, before anything is charged


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ({"epsilon": [1.0, 2.0]}, "the same budget"),
        ({"delta": [1e-5]}, "the same budget"),
        ({"a__random_state": [1]}, "the same budget"),
        ([{"trim": [True]}, {"ledger": [None]}], "the same budget"),
        ({"trim": []}, "."),
        ({"trim": True}, "."),
        ({"radius": [-1.0]}, "radius"),
        ({"nonsense": [1]}, "nonsense"),
        ({"method": ["friendly"], "center": [0.0]}, "neither center nor scale"),
        ({"radius": [np.random.default_rng(0)]}, "radius"),
    ],
)
def test_impossible_candidates_are_refused(candidates, message):
    ledger = PrivacyLedger(1.0, 1e-6, composition="basic")
    with pytest.raises(ValueError, match=message):
        PrivateSearchCV(PrivateMean(), candidates, ledger=ledger).fit(example_table(50))
    assert not [e for e in ledger.entries() if e.kind == "charge"]


def test_estimators_that_are_neither_gaussian_nor_pure_are_refused():
    mixed = PrivateQuantile(0.5, method="exponential")
    with pytest.raises(ValueError, match="all Gaussian, or all pure"):
        PrivateSearchCV(mixed, {"q": [0.1]}).plan()


def test_scores_need_what_they_ask_for():
    X = example_table(100)
    with pytest.raises(ValueError, match="requires y"):
        PrivateSearchCV(NearestMean(), {"radius": [None]}).fit(X)
    with pytest.raises(ValueError, match="one entry for every row"):
        PrivateSearchCV(NearestMean(), {"radius": [None]}).fit(X, np.zeros(7))
    with pytest.raises(ValueError, match="cluster_centers_ or location_"):
        scoring = DistanceScorer(scale=1.0)
        PrivateSearchCV(PrivateVariance(), {"center": [None]}, scoring=scoring).fit(X)
    for wrong in (
        lambda: RowScorer(len, 1.0, 1.0),
        lambda: RowScorer(len, 0.0, math.inf),
        lambda: DistanceScorer(0.0),
        lambda: LogDensityScorer(-1.0),
    ):
        with pytest.raises(ValueError, match=r"range|scale|span"):
            wrong()


# What it does


@pytest.mark.slow
def test_a_mixture_is_chosen_by_its_density_on_held_out_rows():
    X = two_clusters()
    candidates = {"n_components": [1, 2], "covariance_type": ["spherical"]}
    search = PrivateSearchCV(PrivateGMM(n_init=1), candidates, epsilon=8.0, mean_trials=20)
    for seed in (0, 1):
        search.set_params(random_state=seed).fit(X)
        assert search.best_params_ == {"n_components": 2, "covariance_type": "spherical"}
        assert search.best_index_ == 1
        assert 2 < search.best_score_ < 5.5  # log(50), but for the noise of the reference
    assert search.predict(X).shape == (len(X),)
    assert search.score_samples(X).shape == (len(X),)
    assert not hasattr(search, "transform")


@pytest.mark.slow
def test_centres_are_scored_by_distance_and_classes_by_accuracy():
    X = two_clusters()
    search = PrivateSearchCV(
        FriendlyCoreKMeans(2, n_init=3), {"n_init": [3]}, epsilon=4.0, random_state=0
    )
    assert 0.3 < search.fit(X).best_score_ < 0.9  # in units of the reference's largest distances
    y = (X[:, 0] > 0).astype(int)
    classes = PrivateSearchCV(
        NearestMean(),
        {"radius": [1e-3, None]},
        epsilon=8.0,
        mean_trials=20,
        random_state=0,
        min_rows=0,
    ).fit(X, y)
    assert classes.best_params_ == {"radius": None}
    assert classes.best_score_ == pytest.approx(1, abs=0.05)
    assert (classes.predict(X) == y).mean() > 0.99
    assert classes.score(X, y) > 0.99


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "mean"),
    [("geometric", 4), ("logarithmic", 4), ("poisson", 2)],
)
def test_the_winner_has_the_law_of_the_best_of_k(law, mean, monkeypatch):
    """Models are their candidates and scores their numbers: P(best <= i) = f((i + 1) / n).

    Fixed seeds; over seeds it fails with probability 1e-6.
    """
    n = 6
    monkeypatch.setattr(Runs, "prepare", lambda self, *args: None)
    monkeypatch.setattr(Runs, "score", lambda self, model, budget: model.radius / n)

    def fitted(self, model, nobody=False):
        model.nobody_ = nobody
        return model

    monkeypatch.setattr(Runs, "fitted", fitted)
    search = PrivateSearchCV(
        PrivateMean(), {"radius": [float(i + 1) for i in range(n)]}, n_trials=law, mean_trials=mean,
        scoring=RowScorer(max, 0.0, 1.0),
    )  # fmt: skip
    plan, wins = search.plan(), np.zeros(n + 1)
    rows = Table(np.zeros((3, 1)), search=search._search)
    for seed in range(400):
        curator = SearchCurator(plan, make_entropy(seed), None)
        model = search._release_from(rows, curator)["best_estimator_"]
        wins[0 if model.nobody_ else int(model.radius)] += 1
    trials = search._trials()
    at = np.arange(n + 1) / n
    if law == "poisson":
        sums = np.exp(mean * (at - 1))
    elif law == "geometric":
        sums = (1 - trials.decay) * at / (1 - trials.decay * at)
    else:
        sums = np.log1p(-trials.decay * at) / np.log1p(-trials.decay)
    expected = 400 * np.diff(sums, prepend=0.0)
    seen = expected > 0
    assert not wins[~seen].any()
    assert chisquare(wins[seen], expected[seen]).pvalue > 1e-6
    assert chisquare(wins[1:], np.full(n, wins[1:].sum() / n)).pvalue < 1e-6 or law != "geometric"


def test_every_row_is_in_one_part_and_stays_there(monkeypatch):
    X, keys = example_table(500), np.random.default_rng(0).integers(0, 2**64, 500, np.uint64)
    original, parts = Runs.__init__, []

    def spy(self, table, curator, train, held):
        original(self, table, curator, train, held)
        if len(table) >= 500:  # not the dry run
            parts.append((set(self._train.tolist()), set(self._held.tolist())))

    monkeypatch.setattr(Runs, "__init__", spy)
    for rows, k in ((X, keys), (np.insert(X, 7, 1e9, axis=0), np.insert(keys, 7, 5))):
        coins = FixedKeys(k)
        with replaced_curator(lambda plan, _, coins=coins: CannedCurator(plan, coins=coins)):
            mean_search(random_state=0).fit(rows)
    for (train, held), n in zip(parts, (500, 501), strict=True):
        assert not train & held
        assert train | held == set(range(n))
        assert 100 < len(held) < 200
    assert {i + (i >= 7) for i in parts[0][0]} == parts[1][0] - {7}


def test_no_run_is_an_answer_that_knows_no_row(monkeypatch):
    monkeypatch.setattr("skdp.mechanisms._repeats.Trials.draw", lambda self, entropy: 0)
    scoring = RowScorer(lambda model, x, y: 1.0, -3.0, 4.0)
    search = mean_search(n_trials="poisson", scoring=scoring, random_state=0)
    answers = [search.fit(X).best_estimator_.location_ for X in (example_table(300), np.eye(3))]
    assert (answers[0] == answers[1]).all()
    assert (search.best_index_, search.best_score_) == (0, -3.0)


def test_a_scorer_cannot_see_more_than_one_row():
    calls = []

    def greedy(model, x, y):
        calls.append(x.shape)
        return [np.nan, np.inf, -1e300, 0.3][len(calls) % 4]

    X = example_table(100)
    mean_search(scoring=RowScorer(greedy, 0.0, 1.0), random_state=0).fit(X)
    assert set(calls) == {(1, 3)}


def test_densities_are_those_of_the_model_and_know_one_row():
    X = two_clusters(400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in ("full", "tied", "diag", "spherical"):
            model = PrivateGMM(2, covariance_type=kind, epsilon=50.0, n_init=1, random_state=0)
            got = mixture_log_density(model.fit(X), X)
            assert got == pytest.approx(model.score_samples(X), rel=1e-6, abs=1e-6)
            for i in (0, 17, 399):
                assert mixture_log_density(model, X[i : i + 1])[0] == got[i]
                assert mixture_log_density(model, X[i:])[0] == got[i]


# What is left of it


@pytest.mark.slow
def test_only_the_winner_survives():
    search = mean_search(mean_trials=30, random_state=0).fit(example_table(300))
    fitted = {name for name in vars(search) if name.endswith("_")}
    assert fitted == {
        "best_estimator_",
        "best_params_",
        "best_index_",
        "best_score_",
        "privacy_report_",
        "n_features_in_",
    }
    assert len(search.privacy_report_.charges) == 1  # no trace of the number of runs
    assert len(pickle.dumps(search)) < 20_000
    note = "the guarantee of what was published is that of the search"
    assert note in str(search.best_estimator_.privacy_report_)


def test_a_seed_repeats_and_none_does_not():
    X = example_table(300)
    one, two = (mean_search(random_state=3).fit(X) for _ in range(2))
    assert one.best_score_ == two.best_score_
    assert (one.best_estimator_.location_ == two.best_estimator_.location_).all()
    assert one.privacy_report_.seeded and one.best_estimator_.privacy_report_.seeded
    fresh = {mean_search().fit(X).best_score_ for _ in range(3)}
    assert len(fresh) == 3
    secure = PrivateSearchCV(PrivateMean(random_state=0), TRIM, mean_trials=2).fit(X)
    assert secure.best_estimator_.random_state is None
    assert not secure.best_estimator_.privacy_report_.seeded


@pytest.mark.slow
@pytest.mark.parametrize(
    "search",
    [
        mean_search(mean_trials=2),
        mean_search(n_trials="poisson", scoring=DistanceScorer(10.0)),
        PrivateSearchCV(PrivateGMM(n_init=1, max_iter=1), {"n_components": [1, 2]}),
    ],
    ids=["mean", "public scale", "mixture"],
)
def test_the_two_layers_of_the_audit(search):
    X = example_table(60)
    tables = {
        "a row more": np.insert(X, 20, 3.0, axis=0),
        "far away": X + 1e6,
        "alike": np.repeat(X[:1], 40, axis=0),
        "one row": X[:1],
    }
    report = non_interference(search, X, n_transcripts=2, datasets=tables)
    assert "score" in report.releases
    report = conditional_sensitivity(search, X, n_pairs=6)
    assert report.ratio <= 1
    assert "score" in report.worst


def moved_labels(search, X, seed):
    """Return the labels of the releases that one row moves, given equal answers."""
    pair = draw_pair(X, AuditRandom("pairs", seed), None, other_epsilon=False)
    return {label for label, (squared, _) in examine_pair(search, pair).items() if squared}


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [False, True])
def test_a_row_moves_models_or_scores_never_both(overlap, monkeypatch):
    original = Runs.__init__

    def overlapping(self, table, curator, train, held):
        original(self, table, curator, np.arange(len(table)), held)

    if overlap:  # then the runs would cost more than they are charged
        monkeypatch.setattr(Runs, "__init__", overlapping)
    both = 0
    for seed in range(10, 22):  # three of them hold the row out
        moved = moved_labels(mean_search(mean_trials=2), example_table(60), seed)
        of_scores = moved & {"score", "distances"}
        both += bool(of_scores) and bool(moved - of_scores)
    assert (both > 0) == overlap


@pytest.mark.slow
def test_an_exact_score_is_caught(monkeypatch):
    monkeypatch.setattr(Runs, "score", lambda self, model, budget: float(len(self._X)))
    with pytest.raises(AuditFailure):
        non_interference(mean_search(), example_table(60), n_transcripts=2)
