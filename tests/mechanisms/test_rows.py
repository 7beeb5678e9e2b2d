import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skdp.base import ball_rows, ball_sum, box_rows, gram_sum, row_norms
from skdp.mechanisms._norms import MAX_BITS

HOSTILE = [0.0, -0.0, 5e-324, 1e-320, 1e-300, 0.1, 1.0, -1.0, 2.0**26, 2.0**53 + 2, 1e200, 1e300]
HOSTILE += [-1e300, 1.7e308, -1.7e308, math.nan, math.inf, -math.inf]
POSITIVE = st.sampled_from([5e-324, 1e-320, 1e-300, 1e-5, 0.5, 1.0, 3.0, 1e5, 1e300, 1.7e308])
entries = st.sampled_from(HOSTILE) | st.floats() | st.floats(-3, 3)


@st.composite
def problems(draw):
    """Rows and parameters of a ball, from all over the floats."""
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 40))
    finite = st.sampled_from([x for x in HOSTILE if math.isfinite(x)]) | st.floats(-3, 3)

    def column(values):
        return np.array(draw(st.lists(values, min_size=d, max_size=d)))

    X = np.array(draw(st.lists(st.lists(entries, min_size=d, max_size=d), min_size=n, max_size=n)))
    return X, {
        "center": draw(st.just(0.0) | st.builds(column, st.just(finite))),
        "radius": draw(POSITIVE | st.floats(0.1, 10)),
        "bits": draw(st.integers(1, MAX_BITS)),
        "scale": draw(st.none() | st.builds(column, st.just(POSITIVE | st.floats(0.1, 10)))),
    }


def square(row):
    return sum(int(q) ** 2 for q in row)


def mixed(n, d, seed=0):
    """Rows inside, near, far and at the edges of floats, in one table."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 4, size=(n, 1))
    X[::11] *= 1e300
    X[3::17] *= 1e-310
    X[5::23, 0] = np.nan
    X[7::29, -1] = -np.inf
    X[8::13] = X[0]
    X[9::31] = 0
    return X


@settings(max_examples=100, deadline=None)
@given(problems())
def test_ball_rows_are_integers_in_the_ball_near_the_ideal_vector(problem):
    X, ball = problem
    Q = ball_rows(X, **ball)
    assert Q.dtype == np.float64 and Q.shape == X.shape
    d, top = X.shape[1], 2 ** ball["bits"]
    center = np.broadcast_to(ball["center"], d)
    scale = np.ones(d) if ball["scale"] is None else ball["scale"]
    for x, q in zip(X, Q, strict=True):
        assert all(v.is_integer() for v in q)
        assert square(q) <= top**2
        if not np.isfinite(x).all():
            assert not q.any()
            continue
        with mpmath.workprec(4500):
            columns = zip(x, center, scale, strict=True)
            z = [(mpmath.mpf(a) - mpmath.mpf(c)) / mpmath.mpf(s) for a, c, s in columns]
            z = [v * top / mpmath.mpf(ball["radius"]) for v in z]
            shrink = min(1, top / max(mpmath.norm(z), top))
            gap = mpmath.norm([v * shrink - int(w) for v, w in zip(z, q, strict=True)])
            assert gap < 2 * mpmath.sqrt(d) + 1


@settings(max_examples=100, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_every_row_is_mapped_alone(problem, random):
    X, ball = problem
    order = list(range(len(X)))
    random.shuffle(order)
    metric = {"center": ball["center"], "scale": ball["scale"]}
    for function, parameters in ((ball_rows, ball), (row_norms, metric)):
        whole = function(X, **parameters)
        alone = np.concatenate([function(x[None], **parameters) for x in X])
        assert whole.tobytes() == alone.tobytes()
        assert function(X[order], **parameters).tobytes() == whole[order].tobytes()
        assert function(np.asfortranarray(X), **parameters).tobytes() == whole.tobytes()


@pytest.mark.cases(8)
@pytest.mark.parametrize("d", [1, 2, 3, 16, 17, 37, 100, 1000])
@pytest.mark.parametrize("bits", [1, 20, 26])
def test_rows_do_not_depend_on_blocks_or_layout(d, bits):
    n = 200_000 // d + 7
    X = mixed(n, d, seed=d)
    center, scale = np.linspace(-1, 1, d), np.geomspace(0.5, 2, d)
    for s in (None, scale):
        ball = {"center": center, "radius": 2 * math.sqrt(d), "bits": bits, "scale": s}
        Q, norms = ball_rows(X, **ball), row_norms(X, center=center, scale=s)
        strided = np.full((n, 2 * d), np.nan)
        strided[:, ::2] = X
        layouts = [np.asfortranarray(X), strided[:, ::2], X.astype(">f8"), X[::-1]]
        for other, step in zip(layouts, (1, 1, 1, -1), strict=True):
            flip = slice(None, None, step)
            assert ball_rows(other, **ball)[flip].tobytes() == Q.tobytes()
            assert row_norms(other, center=center, scale=s)[flip].tobytes() == norms.tobytes()
        for rows in (slice(0, 1), slice(1, 3), slice(n // 2, n // 2 + 1), slice(5, 60)):
            assert ball_rows(X[rows], **ball).tobytes() == Q[rows].tobytes()
            assert row_norms(X[rows], center=center, scale=s).tobytes() == norms[rows].tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8, np.bool_])
def test_every_dtype_is_read_as_float64(dtype, rng):
    X = rng.integers(0, 2, size=(500, 7)).astype(dtype) if dtype == np.bool_ else None
    X = (rng.normal(size=(500, 7)) * 40 + 100).astype(dtype) if X is None else X
    ball = {"center": 99.3, "radius": 77.7, "bits": 20}
    assert ball_rows(X, **ball).tobytes() == ball_rows(X.astype(np.float64), **ball).tobytes()
    wide = row_norms(X.astype(np.float64), center=0.1)
    assert row_norms(X, center=0.1).tobytes() == wide.tobytes()
    box = box_rows(X, low=0, high=130, bits=9)
    assert box.tobytes() == box_rows(X.astype(np.float64), low=0, high=130, bits=9).tobytes()


def test_ties_and_corners_of_the_ball():
    ball = {"center": 0.0, "radius": 5.0, "bits": 20}
    on_the_ball = np.array([[3, 4], [-4, 3], [5, 0], [0, -5]], dtype=float)
    unit = 2**20 / 5
    np.testing.assert_array_equal(ball_rows(on_the_ball, **ball), np.trunc(on_the_ball * unit))
    assert ball_rows([[6.0, 0.0]], **ball)[0, 0] == 2**20 - 1
    for d in (1, 2, 16, 1000):
        corner = np.full((1, d), 1.0)
        inside = ball_rows(corner, center=0, radius=math.sqrt(d), bits=26)
        assert square(inside[0]) <= 4**26
        assert np.ptp(inside) == 0 and inside[0, 0] >= math.floor(2**26 / math.sqrt(d)) - 1


def test_huge_offsets_leave_no_trace():
    X = 1e15 + np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 4.0]])
    Q = ball_rows(X, center=1e15, radius=8, bits=3)
    np.testing.assert_array_equal(Q, [[0, 0], [1, 0], [3, 4]])
    far = ball_rows([[1.7e308, -1.7e308]], center=[-1.7e308, 1.7e308], radius=1, bits=20)
    assert far[0, 0] == -far[0, 1] == math.floor(2**20 / math.sqrt(2))
    assert ball_rows([[2e200, 0.0]], center=0, radius=4e200, bits=10)[0, 0] == 512


def hostile_rows(d):
    return np.array(list(itertools.islice(itertools.product(HOSTILE, repeat=d), 2000)))


@pytest.mark.parametrize("radius", [1e-310, 1e-3, 1.0, 1e200])
def test_adding_a_row_moves_the_sums_by_its_bounded_vector(radius):
    X = np.concatenate([hostile_rows(2), mixed(600, 2)])
    ball = {"center": [0.25, -1e-3], "radius": radius, "bits": 15}
    Q = [[int(v) for v in q] for q in ball_rows(X, **ball)]
    total, kept = ball_sum(X, **ball)
    assert total.dtype == np.int64 and total.tolist() == [sum(c) for c in zip(*Q, strict=True)]
    assert kept == np.isfinite(X).all(axis=1).sum()
    gram = gram_sum(X, **ball)
    oracle = [[sum(q[i] * q[j] for q in Q) for j in range(2)] for i in range(2)]
    assert gram.dtype == np.int64 and gram.tolist() == oracle
    for i in range(0, len(X), 37):
        rest = np.delete(X, i, axis=0)
        moved = total - ball_sum(rest, **ball)[0]
        assert moved.tolist() == Q[i] and square(moved) <= 4**15
        moved = gram - gram_sum(rest, **ball)
        assert square(moved.ravel()) <= 16**15


def test_sums_are_exact_when_floats_would_round(rng):
    X = rng.uniform(0.5, 1, size=(50_001, 1))
    q = [int(v) for v in ball_rows(X, center=0, radius=1, bits=26)[:, 0]]
    assert ball_sum(X, center=0, radius=1, bits=26, block_rows=10**6)[0] == sum(q)
    q = [int(v) for v in ball_rows(X, center=0, radius=1, bits=22)[:, 0]]
    squares = np.array(q, dtype=float)
    exact = sum(v * v for v in q)
    assert exact != int(squares @ squares)  # one block would not do
    assert gram_sum(X, center=0, radius=1, bits=22, n_max=60_000) == exact


def test_sums_do_not_depend_on_order_or_chunks(rng):
    X = mixed(257, 5)
    ball = {"center": np.full(5, 0.1), "radius": 3.0, "bits": 15, "scale": np.full(5, 1.3)}
    total, kept = ball_sum(X, **ball, drop=4)
    gram = gram_sum(X, **ball)
    for _ in range(100):
        Y = X[rng.permutation(257)]
        cuts = np.split(Y, np.sort(rng.integers(0, 258, size=rng.integers(0, 4))))
        parts = [ball_sum(c, **ball, drop=4, block_rows=int(rng.integers(1, 300))) for c in cuts]
        assert sum(p[0] for p in parts).tobytes() == total.tobytes()
        assert sum(p[1] for p in parts) == kept
        assert sum(gram_sum(c, **ball) for c in cuts).tobytes() == gram.tobytes()


def test_float32_sums_that_move_by_33_and_ours_that_do_not():
    # 8192 ones bring the accumulator to where float32 has steps of 2^-10; every triple that
    # follows adds zero and is rounded to a whole step, unless one of the ones is missing.
    half = 2.0**-11
    column = np.concatenate([np.ones(8192), np.tile([1.5, -0.75, -0.75], 32768) * half])
    X = np.stack([column, np.zeros_like(column)], axis=1).astype(np.float32)
    assert X.sum(axis=0)[0] - X[1:].sum(axis=0)[0] == 33
    ball = {"center": 0, "radius": 1, "bits": 20}
    moved = ball_sum(X, **ball)[0] - ball_sum(X[1:], **ball)[0]
    assert moved.tolist() == [2**20, 0]


def adversarial_set(seed):
    """Many rows of one size followed by triples that only rounding keeps from cancelling."""
    rng = np.random.default_rng(seed)
    dtype = (np.float32, np.float64)[seed % 2]
    ones = 2 ** int(rng.integers(5, 10))
    half = ones * np.finfo(dtype).eps / 2
    column = np.concatenate([np.ones(ones), np.tile([1.5, -0.75, -0.75], 500) * half])
    turn = rng.normal(size=3)
    return (column[:, None] * turn / np.linalg.norm(turn)).astype(dtype)


@pytest.mark.parametrize("seed", range(32))
def test_adversarial_sets_move_by_at_most_the_sensitivity(seed):
    X = adversarial_set(seed)
    ball = {"center": 0, "radius": 0.9, "bits": 20}
    moved = ball_sum(X, **ball)[0] - ball_sum(X[1:], **ball)[0]
    assert square(moved) <= 4**20
    assert moved.tolist() == ball_rows(X[:1], **ball)[0].tolist()


def test_drop_is_a_rule_on_single_rows():
    X = np.array([[1.0, 0], [2, 0], [2.01, 0], [1e9, 0], [1e300, 1e300], [np.nan, 0], [0, 0.0]])
    total, kept = ball_sum(X, center=0, radius=1, bits=20, drop=2)
    assert kept == 3
    np.testing.assert_array_equal(total, [2**20 + (2**20 - 1), 0])
    assert ball_sum(X, center=0, radius=1, bits=20, drop=1e250)[1] == 5
    assert ball_sum(X, center=0, radius=1, bits=20, drop=0.5)[1] == 1
    assert ball_sum(X, center=0, radius=1, bits=20)[1] == 6
    one_by_one = [ball_sum(x[None], center=0, radius=1, bits=20, drop=2) for x in X]
    assert sum(k for _, k in one_by_one) == kept
    assert sum(t for t, _ in one_by_one).tolist() == total.tolist()


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(problems())
def test_row_norms_against_multi_precision(problem):
    X, ball = problem
    d = X.shape[1]
    norms = row_norms(X, center=ball["center"], scale=ball["scale"])
    center = np.broadcast_to(ball["center"], d)
    scale = np.ones(d) if ball["scale"] is None else ball["scale"]
    for x, norm in zip(X, norms, strict=True):
        if not np.isfinite(x).all():
            assert math.isnan(norm)
            continue
        with mpmath.workprec(4500):
            columns = zip(x, center, scale, strict=True)
            y = [(mpmath.mpf(a) - mpmath.mpf(c)) / mpmath.mpf(s) for a, c, s in columns]
            real = mpmath.norm(y)
            if math.isinf(norm):
                assert real > mpmath.mpf(2) ** 1024 * (1 - mpmath.mpf(10) ** -12)
            else:
                assert abs(norm - real) <= real * mpmath.mpf(10) ** -12 + mpmath.mpf(2) ** -1074


def test_row_norms_of_known_rows():
    X = [[3e-320, 4e-320], [3e-300, 4e-300], [3e200, 4e200], [0, -0.0], [1.7e308, 1.7e308]]
    norms = row_norms(np.array(X))
    np.testing.assert_allclose(norms[:3], [5e-320, 5e-300, 5e200], rtol=1e-3)
    assert norms[3] == 0 and norms[4] == math.inf
    assert np.isnan(row_norms([[np.nan, 1.0], [np.inf, 1.0]])).all()
    assert row_norms(np.empty((0, 3))).shape == (0,)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(entries, entries), min_size=1, max_size=5), st.integers(1, 26))
def test_box_rows_against_fractions(rows, bits):
    X = np.array(rows)
    Q = box_rows(X, low=[-1, 0], high=[3, 0.5], bits=bits)
    for x, q in zip(X, Q, strict=True):
        if not np.isfinite(x).all():
            assert not q.any()
            continue
        for v, w, middle, half in zip(x, q, (1, Fraction(1, 4)), (2, Fraction(1, 4)), strict=True):
            z = (Fraction(v) - middle) / half
            assert abs(max(-1, min(1, z)) * 2**bits - int(w)) < 1 + Fraction(1, 1000)
            assert abs(int(w)) <= 2**bits
    alone = np.concatenate([box_rows(x[None], low=[-1, 0], high=[3, 0.5], bits=bits) for x in X])
    assert alone.tobytes() == Q.tobytes()


def test_box_rows_at_the_edges_of_floats():
    big = np.finfo(float).max
    Q = box_rows([[big], [-big], [0.0], [big / 2]], low=-big, high=big, bits=4)
    assert Q[:, 0].tolist() == [16, -16, 0, 8]
    assert box_rows([[big], [-big]], low=5e307, high=6e307, bits=4)[:, 0].tolist() == [16, -16]


def test_no_rows_give_zero():
    none = np.empty((0, 3))
    ball = {"center": 0, "radius": 1, "bits": 10}
    assert ball_rows(none, **ball).shape == box_rows(none, low=0, high=1, bits=3).shape == (0, 3)
    assert ball_sum(none, **ball)[0].tolist() == [0, 0, 0] and ball_sum(none, **ball)[1] == 0
    assert gram_sum(none, **ball).tolist() == [[0] * 3] * 3


BALL = {"center": 0.0, "radius": 1.0, "bits": 10}


@pytest.mark.parametrize(
    "change",
    [
        {"radius": 0.0},
        {"radius": math.inf},
        {"radius": math.nan},
        {"bits": 0},
        {"bits": 27},
        {"bits": True},
        {"bits": 10.0},
        {"center": [0.0]},
        {"center": math.nan},
        {"scale": [1.0, 0.0]},
        {"scale": [1.0, -1.0]},
        {"scale": [[1.0, 1.0]]},
        {"n_max": 2**53},
        {"n_max": 1},
        {"drop": 0.0},
        {"drop": math.nan},
    ],
)
def test_parameters_are_checked(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        ball_sum(np.zeros((2, 2)), **{**BALL, **change})


def test_gram_needs_half_the_bits():
    X = np.zeros((2, 2))
    assert not gram_sum(X, **{**BALL, "bits": 15}).any()
    assert not gram_sum(X, **{**BALL, "bits": 20}, n_max=2**22).any()
    with pytest.raises(ValueError, match="Lower bits"):
        gram_sum(X, **{**BALL, "bits": 16})


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((3, 0)), np.zeros((1, 2, 3))])
def test_tables_have_rows_and_columns(X):
    for function, parameters in ((ball_rows, BALL), (ball_sum, BALL), (row_norms, {})):
        with pytest.raises(ValueError, match="shape"):
            function(X, **parameters)


@pytest.mark.parametrize("dtype", [object, "U3", complex, np.longdouble, "M8[s]"])
def test_tables_hold_real_numbers(dtype):
    with pytest.raises(TypeError, match="64 bits"):
        ball_rows(np.zeros((2, 2)).astype(dtype), **BALL)


def test_a_box_needs_an_inside():
    with pytest.raises(ValueError, match="low must be below high"):
        box_rows(np.zeros((2, 2)), low=[0, 1], high=1, bits=4)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 5, 17, 100, 1000])
def test_a_million_cells_stay_in_the_ball(d, rng):
    for bits, spread in itertools.product((1, 8, 20, 26), (0.1, 1, 100, 1e30)):
        X = rng.standard_t(1.5, size=(1_000_000 // d, d)) * spread
        Q = ball_rows(X, center=0.3, radius=math.sqrt(d), bits=bits)
        assert (np.abs(Q) <= 2**bits).all()
        exact = (Q.astype(np.int64).astype(object) ** 2).sum(axis=1)
        assert max(exact) <= 4**bits
