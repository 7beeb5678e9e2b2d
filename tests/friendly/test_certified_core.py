"""A core carries the predicate that certified it to where noise is calibrated to it."""

import numpy as np
import pytest
from sklearn.base import clone

import skdp
from skdp import FriendlyCoreFilter, PrivateMean, make_private_pipeline
from skdp.audit import CannedCurator
from skdp.audit._transcript import FixedKeys
from skdp.contracts import Core, chain_problems
from skdp.friendly import DistancePredicate, LocalCore, friendly_average
from skdp.friendly.published import CovarianceDistance, PairwisePredicate
from skdp.gate._curator import replaced_curator
from tests._curators import check_replay

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")


def replayed(estimator, X, transcript, keys):
    made = []

    def make(plan, entropy):
        made.append(CannedCurator(plan, transcript, coins=FixedKeys(keys)))
        return made[-1]

    with replaced_curator(make), skdp.config_context(debug=True):
        return clone(estimator).fit(X), made[-1]


def on_core(*, epsilon=2.0, **filter_params):
    steps = FriendlyCoreFilter(**filter_params), PrivateMean(method="friendly")
    return make_private_pipeline(*steps, epsilon=epsilon, delta=1e-6)


@pytest.mark.parametrize("radius", [2.0**-990, 1e-200, 6.0, 1e200, 2.0**999])
@pytest.mark.parametrize("filter_params", [{"level": 0.5}, {"level": 0.3}])
def test_noise_is_calibrated_to_the_radius_under_which_the_core_was_made(radius, filter_params):
    """All rows are friends; the one that is not there in the neighbour is far from the others."""
    X = np.zeros((900, 1))
    X[7] = radius / 10
    keys = np.random.default_rng(0).integers(2**64, size=len(X), dtype=np.uint64)
    pipe = on_core(radius=radius, epsilon=8.0, **filter_params)
    mean, run = replayed(pipe, X, "noise", keys)
    assert [r.label for r in run.records].count("privatemean/core average") == 1
    _, less = replayed(pipe, np.delete(X, 7, axis=0), run.answers, np.delete(keys, 7))
    assert check_replay(run, less) <= 1
    assert np.isfinite(mean.steps_[-1][1].noise_scale_).all()


@pytest.mark.parametrize("radius", [1e-200, 6.0, 1e200])
def test_a_distance_predicate_is_a_radius(radius):
    X = np.random.default_rng(0).normal(size=(2000, 2)) * (radius / 6)
    a = on_core(radius=radius, epsilon=4.0)
    b = on_core(predicate=DistancePredicate(radius), epsilon=4.0)
    locations = []
    for pipe in (a, b):
        pipe.set_params(random_state=3).fit(X)
        last = pipe.steps_[-1][1]
        assert np.isfinite(last.noise_scale_).all()
        locations.append(last.location_)
    assert np.array_equal(*locations)


def test_the_radius_is_published_with_a_distance_predicate():
    X = np.random.default_rng(0).normal(size=(500, 2))
    fit = FriendlyCoreFilter(predicate=DistancePredicate(6.0), random_state=0).fit(X)
    assert fit.radius_ == 6.0 and fit.certificate().predicate == DistancePredicate(6.0)


class Looser(DistancePredicate):
    """Calls rows friends that lie far apart."""

    def friends(self, A, B=None):
        """Count all."""
        return np.full(len(A), len(A if B is None else B))


@pytest.mark.parametrize(
    "predicate", [Looser(1.0), CovarianceDistance(), PairwisePredicate(lambda x, y: True)]
)
def test_other_predicates_bound_no_distance(predicate):
    core = LocalCore(np.ones(5, dtype=bool), predicate)
    assert core.radius is None
    steps = [
        ("filter", FriendlyCoreFilter(predicate=predicate)),
        ("m", PrivateMean(method="friendly")),
    ]
    (problem,) = chain_problems(steps)
    assert type(predicate).__name__ in problem and "bounds no distance" in problem
    with pytest.raises(ValueError, match=f"under {type(predicate).__name__}"):
        friendly_average(
            np.zeros((5, 1)), core, curator=None, count_share=0.1, share=0.9, labels=(), event=""
        )


def test_a_certificate_cannot_be_changed():
    mask = np.ones(5, dtype=bool)
    core = LocalCore(mask, DistancePredicate(2.0), np.int64(9), np.float16(0.5))
    mask[:] = False
    assert core.mask.all() and core.radius == 2.0
    assert type(core.n_up) is int and type(core.level.numerator) is int
    with pytest.raises(ValueError, match="read-only"):
        core.mask[0] = False
    with pytest.raises(AttributeError):
        core.predicate = DistancePredicate(1.0)
    with pytest.raises(ValueError, match="needs the predicate"):
        LocalCore(np.ones(3, dtype=bool), None)
    with pytest.raises(ValueError, match="another table"):
        friendly_average(
            np.zeros((6, 1)), core, curator=None, count_share=0.1, share=0.9, labels=(), event=""
        )


@pytest.mark.parametrize("radius", [1e305, 1e-305])
def test_a_radius_out_of_range_costs_nothing(radius):
    ledger, X = skdp.PrivacyLedger(10.0, 1e-3), np.zeros((50, 1))
    tries = (
        FriendlyCoreFilter(radius=radius),
        PrivateMean(method="friendly", diameter=radius),
        PrivateMean(method="friendly", radius=radius),
    )
    for estimator in tries:
        with pytest.raises(ValueError, match=r"between 2\*\*-1000 and 2\*\*1000"):
            estimator.set_params(ledger=ledger).fit(X)
    assert len(ledger.entries()) == 1  # its opening
    steps = [("filter", FriendlyCoreFilter(radius=radius)), ("mean", PrivateMean())]
    (problem,) = chain_problems(steps)
    assert "'filter'" in problem and "between 2**-1000 and 2**1000" in problem


@pytest.mark.parametrize(
    ("params", "what"),
    [
        ({"method": "friendly", "trim": True}, "trim"),
        ({"method": "friendly", "radius": 1.0, "diameter": 3.0}, "Give one"),
        ({"method": "friendly", "center": 0.0}, "center"),
        ({"center": 0.0, "diameter": 3.0}, "beside"),
    ],
)
def test_parameters_that_would_be_ignored_are_refused_before_the_charge(params, what):
    ledger = skdp.PrivacyLedger(10.0, 1e-3)
    with pytest.raises(ValueError, match=what):
        PrivateMean(ledger=ledger, **params).fit(np.zeros((50, 1)))
    assert len(ledger.entries()) == 1  # its opening


def test_behind_a_filter_its_radius_is_the_one_that_counts():
    for params in ({"radius": 1.0}, {"diameter": 1.0}):
        steps = [
            ("filter", FriendlyCoreFilter(radius=6.0)),
            ("mean", PrivateMean(method="friendly", **params)),
        ]
        (problem,) = chain_problems(steps)
        assert "radius of the filter" in problem
    assert (
        PrivateMean(method="friendly").__skdp_contract__().problem(Core(DistancePredicate)) is None
    )


@pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning")
@pytest.mark.parametrize("offset", [1e12, 1e13, -1e13, 1e14, 1e200])
@pytest.mark.parametrize("filtered", [False, True])
def test_the_mean_is_right_or_doubted_however_far_from_zero(offset, filtered):
    """Rows beside one another in the first column; at 1e200 those of the second are equal."""
    X = np.random.default_rng(0).normal(size=(20_000, 2)) / 4
    X[:, 1] += offset
    alone = PrivateMean(method="friendly", epsilon=4.0)
    fit = (on_core(epsilon=6.0) if filtered else alone).set_params(random_state=0).fit(X)
    mean = fit.steps_[-1][1] if filtered else fit
    told = np.isfinite(mean.noise_scale_)
    assert told.tolist() == [True, abs(offset) < 1e100] and mean.reliable_ == told.all()
    off, last_bit = np.abs(mean.location_ - X.mean(axis=0)), np.spacing(np.abs(X[0]))
    assert np.all(off[told] <= 0.01 + last_bit[told]) and mean.noise_scale_[0] < 0.01
    assert np.isfinite(mean.interval()).all(axis=0).tolist() == told.tolist()
