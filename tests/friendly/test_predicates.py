import numpy as np
import pytest

from skdp.friendly import DistancePredicate, FusedMatch, MatchPredicate, Predicate
from skdp.friendly.published import CovarianceDistance, PairwisePredicate, TupleDistance


def test_every_predicate_keeps_the_contract():
    for predicate in (
        TupleDistance((1.0,)), MatchPredicate(), FusedMatch(), CovarianceDistance(),
        PairwisePredicate(lambda x, y: True),
    ):  # fmt: skip
        assert isinstance(predicate, Predicate)
        with pytest.raises(AttributeError):
            predicate.friends = None


def rows(seed=0, n=300):
    X = np.random.default_rng(seed).integers(-4, 5, size=(n, 3, 2)).astype(float)
    X[5, 1, 0], X[6, 2, 1], X[7, 0, 0] = np.nan, np.inf, 1e200
    return X


def test_tuples_are_friends_where_all_their_points_are():
    X, predicate = rows(), TupleDistance((3.0, 5.0, 4.0))
    each = [DistancePredicate(r) for r in predicate.radii]
    related, good = predicate.matrix(X, X), np.delete(np.arange(len(X)), (5, 6, 7))
    squares = ((X[good][:, None] - X[good]) ** 2).sum(axis=3)  # exact: integers
    inside = (squares <= np.square(predicate.radii)).all(axis=2)
    assert np.array_equal(related[np.ix_(good, good)], inside)
    assert not related[5:8].any() and not related[:, 5:8].any()
    assert np.array_equal(predicate.friends(X), related.sum(axis=1))
    assert np.array_equal(predicate.friends(X[:9], X), related[:9].sum(axis=1))
    assert np.array_equal(predicate.implies(2), [p.certified_radius(2) for p in each])
    one = TupleDistance((3.0,)).friends(X[8:, :1])
    assert np.array_equal(one, each[0].friends(X[8:, 0]))


@pytest.mark.parametrize("predicate, kind", [
    (TupleDistance((3.0, 5.0, 4.0)), "tuples"),
    (MatchPredicate(1 / 3), "tuples"),
    (FusedMatch(1 / 3, 4.0), "tuples"),
    (CovarianceDistance(2.0), "matrices"),
    (PairwisePredicate(lambda x, y: x.sum() <= y.sum() + 2), "tuples"),
])  # fmt: skip
def test_one_row_more_moves_counts_by_one_at_most(predicate, kind):
    X = rows(1, 90)
    if kind == "matrices":
        X = np.einsum("nki,nkj->nij", X, X)
    counts = predicate.friends(X)
    assert len(np.unique(counts)) > 2
    for j in (0, 5, 44, 89):
        moved = np.delete(counts, j) - predicate.friends(np.delete(X, j, axis=0))
        assert np.array_equal(moved, np.delete(predicate.matrix(X, X)[:, j], j))
    assert not counts[5:7].any()
    order = np.random.default_rng(2).permutation(len(X))
    assert np.array_equal(predicate.friends(X[order]), counts[order])
    assert np.array_equal(predicate.matrix(X, X), predicate.matrix(X, X).T)


def test_a_function_that_is_not_symmetric_makes_a_symmetric_predicate():
    X = np.arange(6.0)[:, None]
    related = PairwisePredicate(lambda x, y: x[0] <= y[0] + 1).matrix(X, X)
    assert np.array_equal(related, np.abs(X - X.T) <= 1)


def test_a_function_cannot_change_rows_nor_tell_by_errors():
    X = np.array([[1.0], [0.0], [np.nan], [4.0]])

    def root(x, y):
        x -= y
        if x[0] > 0:
            raise np.linalg.LinAlgError("no")
        return 1 / float(y[0]) < 2

    related = PairwisePredicate(root).matrix(X, X)
    assert np.array_equal(X[:, 0], [1, 0, np.nan, 4], equal_nan=True)
    assert np.array_equal(related, np.diag([True, False, False, True]))
    with pytest.raises(NameError):
        PairwisePredicate(lambda x, y: misspelt).friends(X)  # noqa: F821


@pytest.mark.parametrize("error, make", [
    (ValueError, lambda: TupleDistance(())), (ValueError, lambda: TupleDistance((0.0,))),
    (TypeError, lambda: PairwisePredicate(3)),
    (ValueError, lambda: TupleDistance((1.0,)).friends(np.zeros((4, 2, 2)))),
])  # fmt: skip
def test_wrong_parameters_are_refused(error, make):
    with pytest.raises(error):
        make()
