import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.friendly import DistancePredicate, h_index


def oracle(counts):
    return max(k for k in range(len(counts) + 1) if sum(c >= k for c in counts) >= k)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.integers(-3, 30), max_size=25))
def test_definition(counts):
    assert h_index(np.array(counts, dtype=np.int64)) == oracle(counts)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=25))
def test_a_row_moves_it_by_zero_or_one(rows):
    """Any counts, any set of friends of the new row: more than geometry allows."""
    old = np.array([c for c, _ in rows], dtype=np.int64)
    friends = np.array([f for _, f in rows], dtype=np.int64)
    new = np.append(old + friends, friends.sum() + 1)
    assert h_index(new) - h_index(old) in (0, 1)


def test_both_moves_happen_in_tables():
    rng, predicate, moves = np.random.default_rng(0), DistancePredicate(1.0), set()
    for _ in range(500):
        X = rng.integers(-2, 3, size=(int(rng.integers(1, 12)), 2)).astype(float)
        h, less = h_index(predicate.friends(X)), h_index(predicate.friends(X[1:]))
        moves.add(h - less)
        assert 1 <= h <= len(X)
    assert moves == {0, 1}


def test_rows_without_friends_change_nothing():
    assert h_index([]) == 0
    assert h_index([0, 0]) == 0
    assert h_index([3, 3, 3]) == h_index([0, 3, 3, 3, 0]) == 3
