"""Fits by group that protect persons: what one adds or removes, and what that costs."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from skdp import (
    PrivacyLedger,
    PrivateCount,
    PrivateGroupBy,
    PrivateLinearRegression,
    PrivateMean,
    PrivateMedian,
    PrivateStandardScaler,
    PrivateSum,
    RowMap,
    config_context,
    make_private_pipeline,
)
from skdp.audit import check_private_estimator, non_interference
from skdp.audit._transcript import FixedKeys, Script, moves
from skdp.by_group._keys import Keys
from skdp.exceptions import BudgetExceeded, PlanError
from skdp.gate._curator import replaced_curator
from tests._curators import CannedCurator

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.UselessReleaseWarning"),
]
BOUNDS = (-5.0, 5.0)
SUM = PrivateSum(BOUNDS, rows_per_group=1)
MIXED = make_private_pipeline(
    PrivateStandardScaler(bounds=BOUNDS, delta=0.0), PrivateMean(bounds=BOUNDS)
)
HOSTILE = [0.0, 5.0, 1e300, -1e300, np.nan, np.inf]


def visits(rng, n_persons=60, n_levels=4):
    """Return rows of a level and two numbers, and whose each row is, in any order."""
    sizes = rng.choice([1, 1, 2, 3, 5, 30], size=n_persons)
    ids = rng.permutation(np.repeat(np.arange(n_persons), sizes))
    level = rng.integers(n_levels + 1, size=len(ids))  # the last one is no level
    return np.column_stack([level, rng.normal(size=(len(ids), 2)) + level[:, None]]), ids


def one_level_each(rng):
    X, ids = visits(rng)
    X[:, 0] = ids % 4
    return X, ids


def leaving(rng, X, ids):
    """Return which rows stay where a person leaves, whose rows are made hostile first."""
    person = rng.choice(ids)
    his = np.flatnonzero(ids == person)
    if rng.random() < 0.7:
        X[np.ix_(his, [1, 2])] = rng.choice(HOSTILE, size=(len(his), 2))
    if rng.random() < 0.3:
        X[his, 0] = rng.choice([0.0, 1.0, np.nan, 7.0], size=len(his))
    return ids != person


def replay(model, X, ids, stay, seed):
    """Fit a table and its neighbour, which gets the same answers; return both runs."""
    keys = np.random.default_rng(seed).integers(0, 2**63, size=len(X), dtype=np.uint64) * 2

    def recorded(rows, owners, coins, transcript):
        made = []

        def make(plan, entropy):
            made.append(CannedCurator(plan, transcript, seed=seed, coins=FixedKeys(coins)))
            return made[-1]

        with config_context(invalid_rows="ignore", debug=True), replaced_curator(make):
            return clone(model).fit(rows, groups=owners), made[0]

    first, run = recorded(X, ids, keys, "noise")
    second, again = recorded(X[stay], ids[stay], keys[stay], Script(run.records))
    for name in ("levels_", "levels_per_group_"):
        assert getattr(first, name, None) == getattr(second, name, None)
    assert run.close("x") == again.close("x")
    return run.records, again.records, first


def spent(run, again):
    """Return the groups that differ, and the squared noise that a person is worth in all."""
    moved, total = set(), 0.0
    for (label, squared, allowed), record in zip(moves(run, again), run, strict=True):
        assert squared <= allowed
        if squared:
            moved.add(label.split("/")[0])
            total += float(squared) / record.scale**2
    return {label for label in moved if label.startswith("groups[")}, total


def by_level(estimator=SUM, levels=(0, 1, 2, 3), **parameters):
    levels = None if levels is None else list(levels)
    return PrivateGroupBy(estimator, 0, levels, **{"epsilon": 20.0, **parameters})


# --- a person changes the levels in which it counts, and no others


@pytest.mark.cases(4)
@pytest.mark.parametrize("table", [visits, one_level_each])
@pytest.mark.parametrize("seed", range(6))
def test_a_person_moves_one_group_alone(table, seed):
    rng = np.random.default_rng(seed)
    X, ids = table(rng)
    run, again, _ = replay(by_level(PrivateMean()), X, ids, leaving(rng, X, ids), seed)
    assert len(spent(run, again)[0]) <= 1


@pytest.mark.cases(3)
@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("in_pieces", [False, True])
def test_a_person_costs_what_was_paid_and_no_less(most, in_pieces):
    mu, worst = None, 0.0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, ids = visits(rng)
        X[ids == ids[0], 1:] = 5.0
        X[np.flatnonzero(ids == ids[0])[: most + 1], 0] = np.arange(4)[: most + 1][
            : (ids == ids[0]).sum()
        ]
        stay = ids != ids[0] if seed % 2 else leaving(rng, X, ids)
        model = by_level(levels_per_group=most)
        run, again, fit = replay(model, X, ids, stay, seed)
        moved, total = spent(run, again)
        mu = float(fit.privacy_report_.budget.amount)
        assert len(moved) <= most and total <= mu * (1 + 1e-12)
        worst = max(worst, total / mu)
    assert worst > 0.9


@pytest.mark.cases(9)
@pytest.mark.parametrize(
    "model",
    [
        by_level(PrivateMean(), levels_per_group=3),
        by_level(PrivateMean(rows_per_group="auto"), levels_per_group=2, epsilon=60.0),
        by_level(PrivateMedian(), None, levels_per_group="auto", epsilon=60.0),
        by_level(PrivateMean(method="friendly", radius=9.0), levels_per_group=2, epsilon=80.0),
        by_level(MIXED, None),
        by_level(PrivateMean(bounds=BOUNDS, delta=0.0), levels_per_group=2, delta=0.0),
        by_level(PrivateMean(bounds=BOUNDS, delta=0.0), None, levels_per_group=2),
        make_private_pipeline(RowMap(np.fix), by_level(levels_per_group=2), epsilon=40.0),
        PrivateGroupBy(by_level(SUM, (0, 1)), 1, [-1, 0, 1], epsilon=40.0, levels_per_group=2),
    ],
    ids=["mean", "cap", "found", "core", "mixed", "pure", "pure, found", "pipeline", "nested"],
)
@pytest.mark.parametrize("seed", range(3))
def test_no_release_moves_by_more_than_it_declares(model, seed):
    rng = np.random.default_rng(seed)
    X, ids = visits(rng)
    stay = leaving(rng, X, ids)
    run, again, _ = replay(model, X, ids, stay, seed)
    spent(run, again)


# --- which levels


def test_levels_are_those_of_most_rows():
    X = np.array([[1, 0.0], [0, 0], [0, 0], [2, 0], [2, 0], [2, 0], [3, 9], [3, 9], [1, 9], [7, 9]])
    ids = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])

    def counts(most):
        model = by_level(PrivateCount(), levels_per_group=most, epsilon=1e4, random_state=0)
        return [round(float(m.count_)) for m in model.fit(X, groups=ids).estimators_.values()]

    assert counts(1) == [0, 0, 1, 1]
    assert counts(2) == [1, 1, 1, 1]
    assert counts(3) == [1, 2, 1, 1]


def test_keys_choose_among_levels_of_equally_many_rows():
    ids = np.arange(4000) // 2
    X = np.column_stack([np.arange(4000) % 2, np.zeros(4000)])
    model = by_level(PrivateCount(), (0, 1), epsilon=1e4, random_state=0).fit(X, groups=ids)
    n = [float(m.count_) for m in model.estimators_.values()]
    assert sum(n) == pytest.approx(2000, abs=1) and abs(n[0] - 1000) < 5 * 500**0.5


def test_one_person_cannot_make_a_level_known():
    X, ids = one_level_each(np.random.default_rng(0))
    more = np.column_stack([np.full(5000, 9.0), np.zeros((5000, 2))])
    X, ids = np.vstack([X, more]), np.append(ids, np.full(5000, 1000))
    model = by_level(levels=None, epsilon=50.0, random_state=0).fit(X, groups=ids)
    assert model.levels_ == [0, 1, 2, 3]


@pytest.mark.parametrize("each", [1, 2, 4])
def test_a_number_of_levels_is_found(each):
    rng = np.random.default_rng(each)
    ids = np.repeat(np.arange(2000), each)
    X = np.column_stack([(ids + np.tile(np.arange(each), 2000)) % 4, rng.normal(size=len(ids))])
    model = by_level(levels_per_group="auto", epsilon=3.0, random_state=0).fit(X, groups=ids)
    assert model.levels_per_group_ == each
    assert any("levels_per_group_" in text for text in model.privacy_report_.decisions)


def test_few_persons_count_in_one_level():
    X, ids = visits(np.random.default_rng(0), n_persons=3)
    model = by_level(levels_per_group="auto", epsilon=0.1, random_state=0).fit(X, groups=ids)
    assert model.levels_per_group_ == 1


# --- what it costs


@pytest.mark.parametrize("estimator", [SUM, PrivateMean(), MIXED], ids=str)
def test_one_level_each_costs_what_one_fit_costs(estimator):
    one = clone(estimator).set_params(epsilon=0.7)._grouped_plan()
    all_ = by_level(estimator, range(12), epsilon=0.7)._grouped_plan()
    assert all_.budget == one.budget and all_.privacy_unit == "group"
    assert all_.failure_events == tuple((f"groups/{name}", p) for name, p in one.failure_events)


def test_several_levels_divide_the_budget():
    plan = by_level(PrivateMean(), levels_per_group=4)._grouped_plan()
    assert plan.budget == by_level(PrivateMean())._grouped_plan().budget
    step = next(step for step in plan.steps if step.label == "groups")
    assert (step.at_most, step.times) == (Fraction(1, 4), 4)
    X, ids = visits(np.random.default_rng(0))
    model = by_level(PrivateMean(), levels_per_group=4).fit(X, groups=ids)
    report = model.privacy_report_
    assert len(report.charges) > 4
    assert all(
        sum(c.share for c in report.charges if c.label.startswith(f"groups[{level}]/"))
        <= Fraction(1, 4)
        for level in range(4)
    )


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (by_level(MIXED, levels_per_group=2), "levels_per_group=1"),
        (
            by_level(PrivateSum(BOUNDS, delta=0.0), levels_per_group="auto", delta=0.0),
            "Pass an int",
        ),
    ],
)
def test_what_has_no_price_is_refused_before_the_charge(model, says):
    X, ids = visits(np.random.default_rng(0))
    ledger = PrivacyLedger(100.0, 1e-4, unit="group")
    with pytest.raises(PlanError, match=says):
        model.set_params(ledger=ledger).fit(X, groups=ids)
    for wrong in (0, 33, 1.5, "all"):
        with pytest.raises(ValueError, match="levels_per_group"):
            by_level(levels_per_group=wrong).fit(X, groups=ids)
    assert len(ledger.entries()) == 1


def test_a_fit_is_one_charge_of_a_ledger_of_groups():
    X, ids = visits(np.random.default_rng(0))
    ledger = PrivacyLedger(3.0, 1e-5, unit="group")
    model = by_level(levels_per_group=2, epsilon=1.0, ledger=ledger).fit(X, groups=ids)
    assert len(ledger.entries()) == 2
    assert "owns rows" in model.privacy_report_.summary()
    with pytest.raises(BudgetExceeded, match="groups"):
        by_level(ledger=ledger).fit(X)


# --- everything else is as for rows


def test_every_source_gives_the_same_bits(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, ids = visits(np.random.default_rng(0))
    frame = pandas.DataFrame(X, columns=["level", "a", "b"]).assign(id=ids)
    frame.to_parquet(tmp_path / "rows.parquet")
    model = PrivateGroupBy(
        PrivateMean(), "level", [0, 1, 2], levels_per_group=2, epsilon=9.0, random_state=0
    )
    known = clone(model).fit(frame.drop(columns="id"), groups=ids).results()
    polars = pytest.importorskip("polars")
    dask = pytest.importorskip("dask.dataframe")
    cut = [frame[:50], frame[50:]]
    lazy = dask.from_pandas(frame, npartitions=3, sort=False)
    for rows in (frame, cut, str(tmp_path / "rows.parquet"), polars.DataFrame(frame), lazy):
        assert clone(model).fit(rows, groups="id").results().equals(known)


def test_groups_of_singles_are_rows():
    X, _ = visits(np.random.default_rng(0))
    model = by_level(epsilon=1e4, random_state=0)
    rows = model.fit(X).results()
    persons = clone(model).fit(X, groups=np.arange(len(X))).results()
    assert np.allclose(rows["value"], persons["value"], atol=1.0)


def test_a_target_goes_along():
    rng = np.random.default_rng(0)
    X, ids = one_level_each(rng)
    y = X[:, 1] * (1 + X[:, 0])
    model = by_level(PrivateLinearRegression(), epsilon=1e3, random_state=0)
    model.fit(X[:, :2], y, groups=ids)
    slopes = [float(m.coef_[0]) for m in model.estimators_.values()]
    assert slopes == pytest.approx([1, 2, 3, 4], abs=0.5)


def test_no_rows_and_rows_of_nobody():
    X, ids = visits(np.random.default_rng(0))
    ids = np.where(ids < 50, ids.astype(float), np.nan)
    with config_context(invalid_rows="ignore"):
        for rows, owners in ((X[:0], ids[:0]), (X[:1], ids[:1]), (X, ids), (X * np.nan, ids)):
            model = by_level(PrivateMean(), None, levels_per_group="auto", random_state=0)
            assert model.fit(rows, groups=owners).levels_per_group_ >= 1


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2, "auto"])
def test_nothing_but_answers_leaves(most):
    X, ids = visits(np.random.default_rng(0), n_persons=25)
    model = by_level(PrivateMean(bounds=BOUNDS), levels_per_group=most, epsilon=40.0)
    assert non_interference(model, X, groups=ids, n_transcripts=1).ok


@pytest.mark.audit
def test_checks_of_private_estimators_hold_for_persons():
    X, ids = visits(np.random.default_rng(0), n_persons=25)
    model = by_level(PrivateMean(bounds=BOUNDS), levels_per_group=2, epsilon=40.0)
    check_private_estimator(model, X, groups=ids)


def test_one_person_does_not_change_how_a_level_is_written():
    pandas = pytest.importorskip("pandas")
    key = pandas.Series([*[True, False] * 500, 1], dtype=object)
    X = pandas.DataFrame({"k": key, "x": 0.0})
    model = PrivateGroupBy(PrivateMean(bounds=BOUNDS), by="k", random_state=0)
    written = [repr(clone(model).fit(X[:n], groups=np.arange(n)).levels_) for n in (1000, 1001)]
    assert written == ["[0, 1]", "[0, 1]"]


def test_pairs_of_many_entries_take_as_much_memory_as_keys_do():
    n = 3000
    table = np.column_stack([np.arange(n), np.arange(n)[::-1]]).astype(float)
    keys = [(i, n - 1 - i) for i in range(0, n, 2)]
    tracemalloc.start()
    numbers = Keys(2).numbers(keys, table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1000 * n  # a table of all pairs of entries has 2 (n / 2)^2 bytes
    np.testing.assert_array_equal(numbers[::2], np.arange(n / 2))
    assert (numbers[1::2] == -1).all()
    assert not (Keys(2).numbers([], table) + 1).any()


def test_a_row_with_a_gap_counts_in_its_other_columns():
    level = np.repeat([0.0, 1.0], 300)
    X = np.column_stack([level, np.ones(600), np.where(np.arange(600) % 2, np.nan, 1.0)])
    model = PrivateGroupBy(SUM, by=0, levels=[0, 1], epsilon=1e4, random_state=0)
    with config_context(invalid_rows="ignore"):
        model.fit(X, groups=np.arange(600))
    sums = [model.estimators_[key].sum_ for key in (0, 1)]
    np.testing.assert_allclose(sums, [[300.0, 150.0]] * 2, atol=1.0)
