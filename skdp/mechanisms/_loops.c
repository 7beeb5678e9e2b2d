/* Loops over the rows of a block, with the integers of the numpy code that each of them replaces.

   Privacy. A row is seen by itself. What is added up are integers, or floats that are integers
   below 2^53, so no order of additions matters; what is rounded is rounded entry by entry, in the
   order of the numpy code. Functions are total: no value of an entry is out of the range of a
   conversion, a shift or an index, and none raises. Only lengths of buffers, which are public, do.
   tests/mechanisms/test_loops.py compares every function with its numpy code.

   A block is float64, row by row. It is turned tile by tile: the entries of a column of a tile lie
   side by side, so that the compiler works on several rows at once. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0 || defined(__FAST_MATH__)
#error "floats must be rounded after every operation: the numpy code is used instead"
#endif

/* Wider registers where there are any: the same operations, on more rows at once. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#define HALF_WIDE __attribute__((target_clones("avx2", "default"))) /* masks cost more than they save */
#define APART __attribute__((noinline)) /* or the loop around it is the wide one */
#else
#define WIDE
#define HALF_WIDE
#define APART
#endif
#if defined(__GNUC__)
#define INNER static inline __attribute__((always_inline)) /* or it has narrow registers */
#define AHEAD(x, at) __builtin_prefetch((const char *)((uintptr_t)(x) + sizeof(*(x)) * (size_t)(at)))
#else
#define INNER static inline
#define AHEAD(x, at) ((void)0)
#endif

#define VERSION 8 /* of the arguments of functions: skdp/mechanisms/_compiled.py has the same */

#define TILE 128
#define LINE 136 /* from one column to the next: not a power of two, or all would share a place in the cache */
#define APART_BY 24 /* between the counts of two columns: see LINE */
#define EXACT 9007199254740992.0  /* 2^53 */
#define FAR 1073741824.0          /* 2^30: the square of such an entry is beyond EXACT */
#define ROUNDER 6755399441055744.0 /* 1.5 * 2^52: to add and subtract it rounds to even */
#define LARGEST DBL_MAX
#define COMPARED 48 /* kernel/_ranks.py, too */
#define LANES 4096  /* of edges and counts of rows that are not turned: they stay near */

static const uint64_t EXPONENT = UINT64_C(0x7ff) << 52, ONE = UINT64_C(1) << 52;

INNER uint64_t bits_of(double x) { uint64_t b; memcpy(&b, &x, 8); return b; }
INNER double float_of(uint64_t b) { double x; memcpy(&x, &b, 8); return x; }
INNER double rounded(double x) { return (x + ROUNDER) - ROUNDER; } /* |x| <= 2^51 */
INNER double between(double x, double low, double high)
{
    x = x > low ? x : low;
    return x < high ? x : high;
}
INNER double whole(double x) /* towards zero; what is not finite becomes FAR */
{
    double size = fabs(x), near = size < FAR ? size : FAR, even = rounded(near);
    return copysign(even > near ? even - 1 : even, x);
}

typedef double four __attribute__((vector_size(32), aligned(8)));
typedef int64_t four_counts __attribute__((vector_size(32), aligned(8)));
/* turned[c * LINE + i] is entry c of row i of m <= TILE rows. The tile after it is sent for. */
INNER void turn(const double *restrict x, Py_ssize_t m, Py_ssize_t d, double *restrict w)
{
    for (Py_ssize_t i = 0; i < m; i++) {
        for (Py_ssize_t c = 0; c < d; c += 8)
            AHEAD(x, (m + i) * d + c);
        for (Py_ssize_t c = 0; c < d; c++)
            w[c * LINE + i] = x[i * d + c];
    }
}

/* Appends the numbers of rows with a flag to `numbers`, and returns how many there are then. */
INNER Py_ssize_t noted(const int64_t *restrict flags, Py_ssize_t m, Py_ssize_t first,
                               int64_t *restrict numbers, Py_ssize_t found)
{
    int64_t any = 0;
    for (Py_ssize_t i = 0; i < m; i++)
        any |= flags[i];
    for (Py_ssize_t i = 0; any && i < m; i++)
        if (flags[i])
            numbers[found++] = first + i;
    return found;
}

INNER void turn_back(const double *restrict w, Py_ssize_t m, Py_ssize_t d,
                             double *restrict out)
{
    for (Py_ssize_t i = 0; i < m; i++)
        for (Py_ssize_t c = 0; c < d; c++)
            out[i * d + c] = w[c * LINE + i];
}

/* bad[i] has its highest bit if an entry of row i is NaN or infinite. */
INNER void not_finite(const double *restrict w, Py_ssize_t m, Py_ssize_t d,
                              uint64_t *restrict bad)
{
    memset(bad, 0, TILE * sizeof(*bad));
    for (Py_ssize_t c = 0; c < d; c++)
        for (Py_ssize_t i = 0; i < m; i++)
            bad[i] |= (bits_of(w[c * LINE + i]) & EXPONENT) + ONE;
}

/* Whether all of n numbers that lie side by side are finite. */
INNER int all_finite(const double *restrict x, Py_ssize_t n)
{
    uint64_t bad = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        bad |= (bits_of(x[i]) & EXPONENT) + ONE;
    return !(bad >> 63);
}

WIDE static void finite_rows(const double *restrict x, Py_ssize_t n, Py_ssize_t d,
                             double *restrict w, uint8_t *restrict finite)
{
    uint64_t bad[TILE];
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        memset(finite + first, 1, (size_t)m);
        if (all_finite(x + first * d, m * d))
            continue;
        turn(x + first * d, m, d, w);
        not_finite(w, m, d, bad);
        for (Py_ssize_t i = 0; i < m; i++)
            finite[first + i] = !(bad[i] >> 63);
    }
}

/* ---- rows in a ball: mechanisms/_rows.py, Ball */

/* Turns q into integer vectors in the ball, `squares` into the squared lengths before. Rows whose
   squares are beyond 2^53 are zero, and have `squares` >= 2^53. */
INNER void into_ball(double *restrict q, Py_ssize_t m, Py_ssize_t d,
                             const double *restrict center, const double *restrict gain,
                             double top, double longest, double *restrict squares)
{
    for (Py_ssize_t i = 0; i < m; i++)
        squares[i] = 0;
    for (Py_ssize_t c = 0; c < d; c++) {
        double *restrict column = q + c * LINE;
        for (Py_ssize_t i = 0; i < m; i++) {
            column[i] = whole((column[i] - center[c]) * gain[c]);
            squares[i] += column[i] * column[i];
        }
    }
    int64_t outside = 0;
    for (Py_ssize_t i = 0; i < m; i++)
        outside += !(squares[i] <= top);
    if (outside > m / 16) { /* all rows at once, those in the ball times one */
        double back[TILE], square[TILE], kept[TILE];
        for (Py_ssize_t i = 0; i < m; i++) {
            back[i] = squares[i] <= top ? 1 : longest / sqrt(squares[i]);
            square[i] = 0;
        }
        for (Py_ssize_t c = 0; c < d; c++) {
            double *restrict column = q + c * LINE;
            for (Py_ssize_t i = 0; i < m; i++) {
                column[i] = whole(column[i] * back[i]);
                square[i] += column[i] * column[i];
            }
        }
        for (Py_ssize_t i = 0; i < m; i++)
            kept[i] = (squares[i] < EXACT) & (square[i] <= top);
        for (Py_ssize_t c = 0; c < d; c++)
            for (Py_ssize_t i = 0; i < m; i++)
                q[c * LINE + i] = kept[i] ? q[c * LINE + i] : 0;
        return;
    }
    for (Py_ssize_t i = 0; outside && i < m; i++) {
        if (squares[i] <= top)
            continue;
        double back = longest / sqrt(squares[i]), square = 0;
        for (Py_ssize_t c = 0; c < d; c++) {
            double *entry = q + c * LINE + i;
            *entry = whole(*entry * back);
            square += *entry * *entry;
        }
        if (!(squares[i] < EXACT && square <= top))
            for (Py_ssize_t c = 0; c < d; c++)
                q[c * LINE + i] = 0;
    }
}

WIDE static Py_ssize_t ball_rows(const double *restrict x, Py_ssize_t n, Py_ssize_t d,
                                 const double *center, const double *gain, double top,
                                 double longest, double *restrict w, double *restrict out,
                                 double *restrict lengths, int64_t *restrict far)
{
    Py_ssize_t found = 0;
    double squares[TILE];
    int64_t is_far[TILE];
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        turn(x + first * d, m, d, w);
        into_ball(w, m, d, center, gain, top, longest, squares);
        turn_back(w, m, d, out + first * d);
        for (Py_ssize_t i = 0; i < m; i++) {
            lengths[first + i] = sqrt(squares[i]);
            is_far[i] = !(squares[i] < EXACT);
        }
        found = noted(is_far, m, first, far, found);
    }
    return found;
}

/* Adds rows no longer than `most`; the far ones are left to the caller. Returns their number. */
WIDE static Py_ssize_t ball_sum(const double *restrict x, Py_ssize_t n, Py_ssize_t d,
                                const double *center, const double *gain, double top,
                                double longest, double most, double *restrict w,
                                int64_t *restrict total, int64_t *restrict far, int64_t *kept)
{
    Py_ssize_t found = 0;
    double squares[TILE];
    int64_t is_far[TILE], stays[TILE];
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        turn(x + first * d, m, d, w);
        into_ball(w, m, d, center, gain, top, longest, squares);
        for (Py_ssize_t i = 0; i < m; i++) {
            is_far[i] = !(squares[i] < EXACT);
            stays[i] = (sqrt(squares[i]) <= most) & !is_far[i];
        }
        found = noted(is_far, m, first, far, found);
        for (Py_ssize_t i = 0; i < m; i++)
            *kept += stays[i];
        for (Py_ssize_t c = 0; c < d; c++) {
            int64_t sum = 0;
            for (Py_ssize_t i = 0; i < m; i++)
                sum += stays[i] ? (int32_t)w[c * LINE + i] : 0;
            total[c] += sum;
        }
    }
    return found;
}

/* ---- lengths of rows: mechanisms/_norms.py, row_norms; kernel/_bins.py, LogBins.index */

/* Adds up the columns of a turned tile, in the first one: the order of mechanisms/_norms.py, fold. */
INNER void fold(double *restrict w, Py_ssize_t m, Py_ssize_t width)
{
    while (width > 16) {
        Py_ssize_t half = width / 2;
        for (Py_ssize_t c = 0; c < half; c++)
            for (Py_ssize_t i = 0; i < m; i++)
                w[c * LINE + i] += w[(width - half + c) * LINE + i];
        width -= half;
    }
    for (Py_ssize_t c = 1; c < width; c++)
        for (Py_ssize_t i = 0; i < m; i++)
            w[i] += w[c * LINE + i];
}

/* The products of rows with a vector: mechanisms/_norms.py, products. */
WIDE static void products(const double *restrict x, Py_ssize_t n, Py_ssize_t d,
                          const double *restrict b, double *restrict w, double *restrict out)
{
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        turn(x + first * d, m, d, w);
        for (Py_ssize_t c = 0; c < d; c++)
            for (Py_ssize_t i = 0; i < m; i++)
                w[c * LINE + i] *= b[c];
        fold(w, m, d);
        memcpy(out + first, w, (size_t)m * sizeof(*w));
    }
}

WIDE static Py_ssize_t norms(const double *restrict x, Py_ssize_t n, Py_ssize_t d,
                             const double *restrict center, const double *restrict unit,
                             double tiny, double *restrict w, double *restrict out,
                             int64_t *restrict rare)
{
    Py_ssize_t found = 0;
    int64_t is_rare[TILE];
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        turn(x + first * d, m, d, w);
        for (Py_ssize_t c = 0; c < d; c++) {
            double *restrict column = w + c * LINE;
            for (Py_ssize_t i = 0; i < m; i++) {
                double y = column[i] - center[c];
                y = unit ? y / unit[c] : y;
                column[i] = y * y;
            }
        }
        fold(w, m, d);
        for (Py_ssize_t i = 0; i < m; i++) {
            out[first + i] = sqrt(w[i]);
            is_rare[i] = !((w[i] > tiny) & (w[i] < INFINITY));
        }
        found = noted(is_rare, m, first, rare, found);
    }
    return found;
}

/* The bin of a number >= 0, -1 for NaN; products wrap as those of numpy. */
INNER int64_t log_bin(double value, const double *restrict steps, Py_ssize_t n_steps,
                              int64_t low, int64_t last)
{
    int exponent;
    if (isnan(value) || value == 0 || isinf(value))
        return isnan(value) ? -1 : value == 0 ? 0 : last;
    double mantissa = frexp(value, &exponent);
    Py_ssize_t step = 0, end = n_steps;
    while (step < end) {
        Py_ssize_t middle = step + (end - step) / 2;
        if (steps[middle] <= mantissa)
            step = middle + 1;
        else
            end = middle;
    }
    uint64_t bin = ((uint64_t)(int64_t)exponent - 1 - (uint64_t)low) * (uint64_t)(n_steps + 1);
    int64_t at = (int64_t)(bin + (uint64_t)step + 1);
    return at < 0 ? 0 : at > last ? last : at;
}

/* The bins of m <= TILE numbers: all at once, and then those that are not positive and normal. */
INNER void bins_of(const double *restrict values, Py_ssize_t m,
                           const double *restrict steps, Py_ssize_t n_steps, int64_t low,
                           int64_t last, int64_t *restrict bins)
{
    int64_t rare = n_steps > 16;
    uint64_t step[TILE] = {0};
    for (Py_ssize_t s = 0; !rare && s < n_steps; s++)
        for (Py_ssize_t i = 0; i < m; i++) {
            uint64_t b = bits_of(values[i]);
            step[i] += steps[s] <= float_of((b & (ONE - 1)) | (UINT64_C(1022) << 52));
        }
    for (Py_ssize_t i = 0; i < m; i++) {
        uint64_t b = bits_of(values[i]);
        uint64_t bin = ((b >> 52) - 1023 - (uint64_t)low) * (uint64_t)(n_steps + 1);
        int64_t at = (int64_t)(bin + step[i] + 1);
        at = at < 0 ? 0 : at;
        bins[i] = at > last ? last : at;
        rare |= b - ONE >= EXPONENT - ONE;
    }
    for (Py_ssize_t i = 0; rare && i < m; i++)
        if (n_steps > 16 || bits_of(values[i]) - ONE >= EXPONENT - ONE)
            bins[i] = log_bin(values[i], steps, n_steps, low, last);
}

WIDE static void log_bins(const double *restrict values, Py_ssize_t n,
                          const double *restrict steps, Py_ssize_t n_steps, int64_t low,
                          int64_t last, int64_t *restrict bins)
{
    for (Py_ssize_t first = 0; first < n; first += TILE)
        bins_of(values + first, n - first < TILE ? n - first : TILE, steps, n_steps, low, last,
                bins + first);
}

/* Adds to `counts` how many entries of each column are in which bin below its centre, and then above:
   kernel/_columns.py, ColumnBins. */
WIDE static void column_bins(const double *restrict x, Py_ssize_t n, Py_ssize_t d,
                             const double *restrict center, const double *restrict unit,
                             const double *restrict steps, Py_ssize_t n_steps, int64_t low,
                             int64_t last, double *restrict w, int64_t *restrict counts)
{
    double far[TILE];
    int64_t bins[TILE];
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        turn(x + first * d, m, d, w);
        for (Py_ssize_t c = 0; c < d; c++) {
            double *restrict z = w + c * LINE;
            int64_t *restrict table = counts + 2 * c * (last + 1);
            for (Py_ssize_t i = 0; i < m; i++) {
                z[i] = (z[i] - center[c]) / unit[c];
                far[i] = fabs(z[i]);
            }
            bins_of(far, m, steps, n_steps, low, last, bins);
            for (Py_ssize_t i = 0; i < m; i++)
                if (bins[i] >= 0)
                    table[bins[i] + (z[i] < 0 ? 0 : last + 1)]++;
        }
    }
}

/* ---- columns: kernel/_columns.py and kernel/_ranks.py */

enum { ALL, FINITE_ROWS, ENTRIES, TARGETS }; /* which entries count */

/* Turns a tile, with NaN for all entries that do not count. Returns how many rows do. */
INNER Py_ssize_t turn_those(const double *restrict x, Py_ssize_t m, Py_ssize_t d, int mode,
                                    double *restrict w)
{
    uint64_t bad[TILE], many = 0;
    turn(x, m, d, w);
    if (mode == ALL || all_finite(x, m * d))
        return m;
    not_finite(w, m, d, bad);
    if (mode == TARGETS)
        for (Py_ssize_t i = 0; i < m; i++)
            bad[i] = (bits_of(w[(d - 1) * LINE + i]) & EXPONENT) + ONE;
    for (Py_ssize_t c = 0; c < d; c++)
        for (Py_ssize_t i = 0; i < m; i++) {
            double *entry = w + c * LINE + i;
            uint64_t own = mode == ENTRIES ? (bits_of(*entry) & EXPONENT) + ONE : bad[i];
            *entry = own >> 63 ? NAN : *entry;
        }
    for (Py_ssize_t i = 0; i < m; i++)
        many += !(bad[i] >> 63);
    return (Py_ssize_t)many;
}

/* The same of k columns alone, if few are looked at and each entry counts by itself. */
INNER Py_ssize_t turn_columns(const double *restrict x, Py_ssize_t m, Py_ssize_t d,
                                      Py_ssize_t k, const int64_t *restrict columns, int mode,
                                      double *restrict w)
{
    if (2 * k > d || (mode != ENTRIES && mode != ALL))
        return turn_those(x, m, d, mode, w);
    for (Py_ssize_t i = 0; i < m; i++) {
        for (Py_ssize_t c = 0; c < d; c += 8)
            AHEAD(x, (m + i) * d + c);
        for (Py_ssize_t j = 0; j < k; j++)
            w[columns[j] * LINE + i] = x[i * d + columns[j]];
    }
    for (Py_ssize_t j = 0; mode == ENTRIES && j < k; j++)
        for (Py_ssize_t i = 0; i < m; i++) {
            double *entry = w + columns[j] * LINE + i;
            *entry = ((bits_of(*entry) & EXPONENT) + ONE) >> 63 ? NAN : *entry;
        }
    return m;
}

/* Returns a column of a turned tile, from its centre in its unit (0 for none), maybe in `out`. */
INNER const double *shifted(const double *restrict column, Py_ssize_t m, double center,
                                    double unit, int distances, double *restrict out)
{
    if (center == 0 && unit == 0)
        return column;
    for (Py_ssize_t i = 0; i < m; i++)
        out[i] = column[i] - center;
    if (distances)
        for (Py_ssize_t i = 0; i < m; i++)
            out[i] = fabs(out[i]);
    if (unit != 0)
        for (Py_ssize_t i = 0; i < m; i++)
            out[i] /= unit;
    return out;
}

/* Adds to `counts` how many entries are at most each of n_edges edges, four of them at once. */
APART WIDE static void upto(const double *restrict y, Py_ssize_t m, const double *restrict edge,
                            Py_ssize_t n_edges, int64_t *restrict counts)
{
    Py_ssize_t e = 0;
    for (; e + 4 <= n_edges; e += 4) {
        double e0 = edge[e], e1 = edge[e + 1], e2 = edge[e + 2], e3 = edge[e + 3];
        int64_t n0 = 0, n1 = 0, n2 = 0, n3 = 0;
        for (Py_ssize_t i = 0; i < m; i++) {
            n0 += y[i] <= e0;
            n1 += y[i] <= e1;
            n2 += y[i] <= e2;
            n3 += y[i] <= e3;
        }
        counts[e] += n0;
        counts[e + 1] += n1;
        counts[e + 2] += n2;
        counts[e + 3] += n3;
    }
    for (; e < n_edges; e++) {
        int64_t count = 0;
        for (Py_ssize_t i = 0; i < m; i++)
            count += y[i] <= edge[e];
        counts[e] += count;
    }
}

/* How long the lists below may be: even, as two edges are looked at together. */
INNER Py_ssize_t most_beside(Py_ssize_t d) { return d <= LANES / 8 ? LANES / (8 * d) * 2 : 0; }

/* Edges as rows meet them that are not turned: the entries of four rows are d vectors of four, each
   with a list of `most` edges, of which the longest is returned; -1 if they are too many, or entries
   are not looked at as they are. `places` has the count of each edge, -1 for none. */
static Py_ssize_t beside(Py_ssize_t d, Py_ssize_t k, const int64_t *restrict columns,
                         const int64_t *restrict starts, const double *restrict edges,
                         const double *restrict center, const double *restrict unit,
                         double *restrict edge, int64_t *restrict places)
{
    const Py_ssize_t most = most_beside(d);
    Py_ssize_t own[LANES / 4] = {0}, n_edges = 0, all = 0;
    for (Py_ssize_t i = 0; i < LANES; i++) {
        edge[i] = -INFINITY;
        places[i] = -1;
    }
    for (Py_ssize_t j = 0; j < k; j++) {
        if (!most || center[j] != 0 || unit[j] != 0 || starts[j + 1] - starts[j] > COMPARED)
            return -1;
        for (int64_t e = starts[j]; e < starts[j + 1]; e++) {
            Py_ssize_t at = own[columns[j]];
            if (fabs(edges[e]) > LARGEST)
                continue; /* all entries are up to infinity */
            if (at == most)
                return -1;
            for (Py_ssize_t lane = columns[j]; lane < 4 * d; lane += d) {
                edge[(lane / 4 * most + at) * 4 + lane % 4] = edges[e];
                places[(lane / 4 * most + at) * 4 + lane % 4] = e;
            }
            own[columns[j]]++;
            n_edges = at < n_edges ? n_edges : at + 1;
            all++;
        }
    }
    return n_edges * d > 2 * all ? -1 : n_edges;
}

#define FOUR(name, from)                                                                           \
    four name;                                                                                     \
    memcpy(&name, (from), sizeof(four))

/* Adds to `counts` how many of the entries of a tile, all finite, are at most each edge beside them. */
APART HALF_WIDE static void upto_beside(const double *restrict x, Py_ssize_t d,
                                        const double *restrict edge, Py_ssize_t n_edges,
                                        int64_t *restrict counts)
{
    const Py_ssize_t most = most_beside(d);
    for (Py_ssize_t v = 0; v < d; v++) {
        const double *restrict at = edge + 4 * v * most, *restrict y = x + 4 * v;
        four_counts *restrict many = (four_counts *)(counts + 4 * v * most);
        Py_ssize_t left = n_edges;
        for (; left >= 6; left -= 6, at += 24, many += 6) {
            FOUR(e0, at);
            FOUR(e1, at + 4);
            FOUR(e2, at + 8);
            FOUR(e3, at + 12);
            FOUR(e4, at + 16);
            FOUR(e5, at + 20);
            four_counts n0 = {0}, n1 = {0}, n2 = {0}, n3 = {0}, n4 = {0}, n5 = {0};
            for (Py_ssize_t i = 0; i < TILE / 4; i++) {
                FOUR(z, y + 4 * i * d);
                n0 -= z <= e0;
                n1 -= z <= e1;
                n2 -= z <= e2;
                n3 -= z <= e3;
                n4 -= z <= e4;
                n5 -= z <= e5;
            }
            many[0] += n0;
            many[1] += n1;
            many[2] += n2;
            many[3] += n3;
            many[4] += n4;
            many[5] += n5;
        }
        for (; left > 0; left -= 2, at += 8, many += 2) { /* of an odd number -inf is the last */
            FOUR(e0, at);
            FOUR(e1, at + 4);
            four_counts n0 = {0}, n1 = {0};
            for (Py_ssize_t i = 0; i < TILE / 4; i++) {
                FOUR(z, y + 4 * i * d);
                n0 -= z <= e0;
                n1 -= z <= e1;
            }
            many[0] += n0;
            many[1] += n1;
        }
    }
}

/* Adds to `counts` how many entries of each of k columns are at most each of its rising edges,
   which are those from starts[j] to starts[j + 1]. Returns the number of rows that count. */
WIDE static int64_t ranks(const double *restrict x, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k,
                          const int64_t *restrict columns, const int64_t *restrict starts,
                          const double *restrict edges, const double *restrict center,
                          const double *restrict unit, int mode, int distances,
                          double *restrict w, int64_t *restrict counts)
{
    int64_t rows = 0, whole_tiles = 0;
    double shift[TILE], *restrict lanes = w + d * LINE;
    int64_t *restrict many = (int64_t *)(lanes + LANES), *restrict places = many + LANES;
    Py_ssize_t n_beside = beside(d, k, columns, starts, edges, center, unit, lanes, places);
    memset(many, 0, LANES * sizeof(*many));
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        if (n_beside >= 0 && m == TILE && all_finite(x + first * d, m * d)) {
            upto_beside(x + first * d, d, lanes, n_beside, many);
            whole_tiles++;
            continue;
        }
        rows += turn_columns(x + first * d, m, d, k, columns, mode, w);
        for (Py_ssize_t j = 0; j < k; j++) {
            const double *y = shifted(w + columns[j] * LINE, m, center[j], unit[j], distances, shift);
            const double *restrict edge = edges + starts[j];
            Py_ssize_t n_edges = starts[j + 1] - starts[j];
            if (n_edges <= COMPARED) {
                upto(y, m, edge, n_edges, counts + starts[j]);
                continue;
            }
            int64_t at[TILE] = {0}; /* the first edge that is no smaller: the caller adds up */
            for (Py_ssize_t left = n_edges, half = left / 2; left; left -= half, half = left / 2) {
                half += left == 1;
                for (Py_ssize_t i = 0; i < m; i++)
                    at[i] += half & -(int64_t)(edge[at[i] + half - 1] < y[i]);
            }
            for (Py_ssize_t i = 0; i < m; i++)
                if (at[i] < n_edges && y[i] <= edge[at[i]])
                    counts[starts[j] + at[i]]++;
        }
    }
    for (Py_ssize_t i = 0; whole_tiles && i < LANES; i++)
        if (places[i] >= 0)
            counts[places[i]] += many[i];
    for (int64_t e = starts[0]; whole_tiles && e < starts[k]; e++)
        counts[e] += edges[e] > LARGEST ? whole_tiles * TILE : 0;
    return rows + whole_tiles * TILE;
}

/* Adds to `counts` the codes of column j, or of four columns in turn: an entry waits for none of its
   own. */
INNER void tally(uint64_t codes[4][TILE], Py_ssize_t m, Py_ssize_t j, Py_ssize_t k,
                         Py_ssize_t size, int64_t *restrict counts)
{
    if (j >= k - k % 4)
        for (Py_ssize_t i = 0; i < m; i++)
            counts[j * size + (Py_ssize_t)codes[j % 4][i]]++;
    else if (j % 4 == 3)
        for (Py_ssize_t i = 0; i < m; i++)
            for (Py_ssize_t of = 0; of < 4; of++)
                counts[(j - 3 + of) * size + (Py_ssize_t)codes[of][i]]++;
}

/* Adds to `counts` how many entries of each of k columns have which highest bits, less one; the last
   number is that of the others. */
WIDE static void codes(const double *restrict x, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k,
                       const int64_t *restrict columns, const double *restrict center,
                       const double *restrict unit, int mode, int shift_by, double *restrict w,
                       int64_t *restrict counts)
{
    const Py_ssize_t size = (Py_ssize_t)(UINT64_C(1) << (64 - shift_by)) + APART_BY;
    double shift[TILE];
    uint64_t code[4][TILE];
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        turn_columns(x + first * d, m, d, k, columns, mode, w);
        for (Py_ssize_t j = 0; j < k; j++) {
            const double *restrict column = w + columns[j] * LINE;
            const double *y = shifted(column, m, center[j], unit[j], 0, shift);
            uint64_t *restrict own = code[j % 4];
            for (Py_ssize_t i = 0; i < m; i++) {
                double near = y[i] > LARGEST ? LARGEST : y[i];
                own[i] = (bits_of(near < -LARGEST ? -LARGEST : near) - 1) >> shift_by;
                own[i] = column[i] == column[i] ? own[i] : (uint64_t)size - 1;
            }
            tally(code, m, j, k, size, counts);
        }
    }
}

/* Adds to `counts` how many entries of each of k columns are in which of its cells of one width,
   open below, from a start on; if those are closed, what is beyond them is in the first or last:
   kernel/_bins.py, UniformCells. The last number of a column is that of the others. */
WIDE static void even_cells(const double *restrict x, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k,
                            const int64_t *restrict columns, const double *restrict start,
                            const double *restrict width, const double *restrict n_cells,
                            const double *restrict closed, int mode, Py_ssize_t size,
                            double *restrict w, int64_t *restrict counts)
{
    uint64_t cell[4][TILE];
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        turn_columns(x + first * d, m, d, k, columns, mode, w);
        for (Py_ssize_t j = 0; j < k; j++) {
            const double *restrict column = w + columns[j] * LINE;
            uint64_t *restrict own = cell[j % 4];
            const double others = (double)(size - 1), last = between(n_cells[j], 1, others) - 1;
            const double lowest = closed[j] ? 0 : -1, highest = closed[j] ? last : last + 1;
            for (Py_ssize_t i = 0; i < m; i++) {
                double at = ceil((column[i] - start[j]) / width[j]) - 1; /* NaN stays */
                at = at < lowest ? lowest : at;
                at = at > highest ? highest : at;
                own[i] = bits_of((at >= 0 && at <= last ? at : others) + ROUNDER) - bits_of(ROUNDER);
            }
            tally(cell, m, j, k, size, counts);
        }
    }
}

/* Counts the entries of finite rows in k windows of `size` cells of 2^shift places of the order of
   all floats, and those outside: readers/_levels.py. */
WIDE static void cells(const double *restrict x, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k,
                       const int64_t *restrict columns, const int64_t *restrict firsts,
                       const int64_t *restrict shifts, const double *restrict center,
                       const double *restrict unit, int closed, uint64_t size, double *restrict w,
                       int64_t *restrict counts)
{
    const uint64_t sign = UINT64_C(1) << 63;
    double shift[TILE];
    uint64_t cell[TILE];
    for (Py_ssize_t start = 0; start < n; start += TILE) {
        Py_ssize_t m = n - start < TILE ? n - start : TILE;
        Py_ssize_t rows = turn_those(x + start * d, m, d, FINITE_ROWS, w);
        for (Py_ssize_t j = 0; j < k; j++) {
            int64_t *restrict table = counts + j * (Py_ssize_t)(size + 1);
            const double *restrict column = w + columns[j] * LINE;
            const double *y = shifted(column, m, center[j], unit[j], unit[j] != 0, shift);
            const uint64_t first = (uint64_t)firsts[j], by = (uint64_t)shifts[j];
            for (Py_ssize_t i = 0; i < m; i++) {
                uint64_t b = bits_of(y[i] + 0.0), place = b ^ ((0 - (b >> 63)) | sign);
                place = ((place - (closed ? place >> 63 : 0)) >> by) - first;
                cell[i] = place < size ? place : size;
            }
            if (rows == m)
                for (Py_ssize_t i = 0; i < m; i++)
                    table[cell[i]]++;
            else
                for (Py_ssize_t i = 0; i < m; i++)
                    table[cell[i]] += column[i] == column[i];
        }
    }
}

/* ---- columns on grids: sensitivity/_cells.py */

/* The integers of a column of a turned tile, between -most and most, as floats. */
INNER void on_grid(const double *restrict column, Py_ssize_t m, double origin, double unit,
                           double most, double *restrict out)
{
    for (Py_ssize_t i = 0; i < m; i++) {
        double y = between((column[i] - origin) / unit, -most, most), near = rounded(y);
        out[i] = near > y ? near - 1 : near;
    }
}

/* Counts the entries of k columns in 2 * middle + 1 cells: by sign, octave, and some bits more. */
WIDE static void grid_cells(const double *restrict x, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k,
                            const int64_t *restrict columns, const double *restrict origin,
                            const double *restrict unit, double most, int shift, int64_t middle,
                            double *restrict w, int64_t *restrict counts)
{
    const int64_t first_cell = (int64_t)((UINT64_C(1023) << (52 - shift)) - 1);
    double q[TILE];
    int64_t cell[TILE];
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        turn_those(x + first * d, m, d, FINITE_ROWS, w);
        for (Py_ssize_t j = 0; j < k; j++) {
            const double *restrict column = w + columns[j] * LINE;
            int64_t *restrict table = counts + j * (2 * middle + 1);
            on_grid(column, m, origin[j], unit[j], most, q);
            for (Py_ssize_t i = 0; i < m; i++) {
                int64_t at = (int64_t)(bits_of(fabs(q[i])) >> shift) - first_cell;
                at = at < 0 ? 0 : at > middle ? middle : at;
                cell[i] = q[i] < 0 ? middle - at : middle + at;
            }
            for (Py_ssize_t i = 0; i < m; i++)
                table[cell[i]] += column[i] == column[i];
        }
    }
}

/* Puts the integers of each column up to its low end, and those from its high end on, one beside the
   other into `out`, which has n + 1 places for each of both; `found` tells how many there are. */
WIDE static void grid_ends(const double *restrict x, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k,
                           const int64_t *restrict columns, const double *restrict origin,
                           const double *restrict unit, const double *restrict ends, double most,
                           double *restrict w, int64_t *restrict out, int64_t *restrict found)
{
    double q[TILE];
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        turn_those(x + first * d, m, d, FINITE_ROWS, w);
        for (Py_ssize_t j = 0; j < k; j++) {
            const double *restrict column = w + columns[j] * LINE;
            int64_t *restrict low = out + 2 * j * (n + 1), *restrict high = low + n + 1;
            int64_t n_low = found[2 * j], n_high = found[2 * j + 1], any = 0;
            on_grid(column, m, origin[j], unit[j], most, q);
            for (Py_ssize_t i = 0; i < m; i++)
                any |= (q[i] <= ends[2 * j]) | (q[i] >= ends[2 * j + 1]);
            for (Py_ssize_t i = 0; any && i < m; i++) {
                int64_t here = column[i] == column[i];
                low[n_low] = high[n_high] = (int64_t)q[i];
                n_low += here & (q[i] <= ends[2 * j]);
                n_high += here & (q[i] >= ends[2 * j + 1]);
            }
            found[2 * j] = n_low;
            found[2 * j + 1] = n_high;
        }
    }
}

/* ---- sums between bounds: kernel/_bounded.py, Powers and BoxedSquares */

/* Sums of pairs (first t, grid (factor t t - level)), rounded, of every column: zeros for pairs
   beyond `longest`, by squares or by sizes. t is the place between low and high, from -1 to 1, or
   the entry itself, clipped. Without `squares`, 2 rounded(grid w) - grid for the place w. All of
   them are at most 2^30 + 1 in size, which the caller sees to: so the bits of y + ROUNDER are those
   of ROUNDER plus the rounded y. Lengths as floats are off by less than a part of 2^50: where one is
   near the limit, those of its tile are integers. */
WIDE static void pair_sums(const double *restrict x, Py_ssize_t n, Py_ssize_t d,
                           const double *restrict low, const double *restrict high, int places,
                           int squares, int sizes, int entries, double first_gain, double grid,
                           double factor, const double *restrict level,
                           const int64_t *restrict longest, double *restrict w,
                           int64_t *restrict firsts, int64_t *restrict seconds,
                           int64_t *restrict counts)
{
    const uint64_t zero = bits_of(ROUNDER);
    uint64_t one[TILE], two[TILE] = {0};
    for (Py_ssize_t start = 0; start < n; start += TILE) {
        Py_ssize_t m = n - start < TILE ? n - start : TILE;
        Py_ssize_t rows = turn_those(x + start * d, m, d, entries ? ENTRIES : FINITE_ROWS, w);
        for (Py_ssize_t c = 0; c < d; c++) {
            const double a = low[c], b = high[c], width = b - a, from = level[c];
            const double near = (double)longest[c] * (1 - 0x1p-50);
            const double *restrict y = w + c * LINE; /* NaN becomes a */
            uint64_t sum = 0, more = 0, far = 0;
            int64_t count = m;
            if (!squares)
                for (Py_ssize_t i = 0; i < m; i++) {
                    one[i] = bits_of(grid * ((between(y[i], a, b) - a) / width) + ROUNDER);
                    sum += one[i];
                }
            else
                for (Py_ssize_t i = 0; i < m; i++) {
                    double t = between(y[i], a, b);
                    t = places ? 2 * ((t - a) / width) - 1 : t;
                    double f = first_gain * t + ROUNDER;
                    double s = grid * (factor * t * t - from) + ROUNDER;
                    one[i] = bits_of(f);
                    two[i] = bits_of(s);
                    f -= ROUNDER;
                    s -= ROUNDER;
                    far |= bits_of(near - (sizes ? fabs(f) + fabs(s) : f * f + s * s));
                    sum += one[i];
                    more += two[i];
                }
            for (Py_ssize_t i = 0; (rows < m || far >> 63) && i < m; i++) {
                int64_t f = (int64_t)(one[i] - zero), s = (int64_t)(two[i] - zero);
                int64_t length = !squares ? 0 : sizes ? llabs(f) + llabs(s) : f * f + s * s;
                uint64_t none = y[i] != y[i] || length > longest[c] ? ~UINT64_C(0) : 0;
                sum += none & (zero - one[i]);
                more += none & (zero - two[i]);
                count -= y[i] != y[i];
            }
            sum -= (uint64_t)m * zero;
            more -= (uint64_t)m * zero;
            firsts[c] += squares ? (int64_t)sum : 2 * (int64_t)sum - count * (int64_t)grid;
            seconds[c] += squares ? (int64_t)more : 0;
            counts[c] += count;
        }
    }
}

/* Adds to `sums` the rounded part of `grid` that an entry, clipped, lies beyond an interval; in units of
   `most`: kernel/_bounded.py, BoundedSums. No part is larger than 2^30, which the caller sees to. */
WIDE static void span_sums(const double *restrict x, Py_ssize_t n, Py_ssize_t d,
                           const double *restrict low, const double *restrict high,
                           const double *restrict start, const double *restrict most, int entries,
                           double grid, double *restrict w, int64_t *restrict sums)
{
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        turn_those(x + first * d, m, d, entries ? ENTRIES : FINITE_ROWS, w);
        for (Py_ssize_t c = 0; c < d; c++) {
            const double *restrict y = w + c * LINE;
            double a = start[c], b = start[d + c];
            int64_t sum = 0;
            for (Py_ssize_t i = 0; i < m; i++) {
                double far = between(y[i], low[c], high[c]) - between(y[i], a, b);
                far = between(grid * (far / most[c]), -FAR, FAR);
                sum += (int64_t)(int32_t)rounded(y[i] == y[i] ? far : 0);
            }
            sums[c] += sum;
        }
    }
}

/* The first d of `width` entries of rows, from a centre in units if there are any, between bounds.
   What does not count is NaN: kernel/_coordinates.py, boxed. */
WIDE static void boxed(const double *restrict x, Py_ssize_t n, Py_ssize_t width, Py_ssize_t d,
                       const double *restrict low, const double *restrict high,
                       const double *restrict center, const double *restrict unit, int entries,
                       double *restrict w, double *restrict out)
{
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        const double *restrict rows = x + first * width;
        double *restrict to = out + first * d;
        if (!center && all_finite(rows, m * width)) {
            for (Py_ssize_t i = 0; i < m; i++)
                for (Py_ssize_t c = 0; c < d; c++)
                    to[i * d + c] = between(rows[i * width + c], low[c], high[c]);
            continue;
        }
        turn_those(rows, m, width, entries ? ENTRIES : FINITE_ROWS, w);
        for (Py_ssize_t c = 0; c < d; c++) {
            double *restrict y = w + c * LINE;
            for (Py_ssize_t i = 0; center && i < m; i++)
                y[i] = (y[i] - center[c]) / unit[c];
            for (Py_ssize_t i = 0; i < m; i++)
                y[i] = y[i] == y[i] ? between(y[i], low[c], high[c]) : NAN;
        }
        turn_back(w, m, d, to);
    }
}

/* ---- rows of other columns: readers/_target.py, with_target; kernel/_coordinates.py, SomeColumns */

/* Rows with a number more each, NaN if it is not finite. */
WIDE static void with_target(const double *restrict x, Py_ssize_t n, Py_ssize_t d,
                             const double *restrict target, double *restrict out)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        const double *restrict from = x + i * d;
        double *restrict to = out + i * (d + 1);
        Py_ssize_t c = 0;
        for (; n - i > 8 && c < d; c += 8) { /* the next rows overwrite what is too much */
            AHEAD(from, TILE * d + c);
            memcpy(to + c, from + c, 8 * sizeof(*x));
        }
        for (; c < d; c++)
            to[c] = from[c];
        to[d] = all_finite(target + i, 1) ? target[i] : NAN;
    }
}

/* Some columns of rows, NaN in those of rows that are not finite. */
WIDE static void some_columns(const double *restrict x, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k,
                              const int64_t *restrict columns, double *restrict out)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        int finite = all_finite(x + i * d, d);
        for (Py_ssize_t c = 0; c < d; c += 8)
            AHEAD(x, (i + TILE) * d + c);
        for (Py_ssize_t j = 0; j < k; j++)
            out[i * k + j] = finite ? x[i * d + columns[j]] : NAN;
    }
}

/* ---- the nearest of k points: kernel/_lattice.py, nearest */

/* For the vectors of a turned tile the number of the nearest of k points, and its squared distance.
   All are integers of which all sums of products stay below 2^53; `points` holds -2 c, and `squares`
   |c|^2. */
INNER void nearest_of(const double *restrict w, Py_ssize_t m, Py_ssize_t d, Py_ssize_t k,
                              const double *restrict points, const double *restrict squares,
                              int64_t *restrict labels, double *restrict least)
{
    double score[TILE];
    for (Py_ssize_t j = 0; j < k; j++) {
        for (Py_ssize_t i = 0; i < m; i++)
            score[i] = squares[j];
        for (Py_ssize_t c = 0; c < d; c++)
            for (Py_ssize_t i = 0; i < m; i++)
                score[i] += points[j * d + c] * w[c * LINE + i];
        for (Py_ssize_t i = 0; i < m; i++) {
            int nearer = j == 0 || score[i] < least[i];
            labels[i] = nearer ? j : labels[i];
            least[i] = nearer ? score[i] : least[i];
        }
    }
    for (Py_ssize_t c = 0; c < d; c++)
        for (Py_ssize_t i = 0; i < m; i++)
            least[i] += w[c * LINE + i] * w[c * LINE + i];
}

WIDE static void nearest(const double *restrict q, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k,
                         const double *restrict points, const double *restrict squares,
                         double *restrict w, int64_t *restrict labels, double *restrict distances)
{
    double least[TILE];
    int64_t at[TILE];
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        turn(q + first * d, m, d, w);
        nearest_of(w, m, d, k, points, squares, at, least);
        memcpy(labels + first, at, m * sizeof(*at));
        memcpy(distances + first, least, m * sizeof(*least));
    }
}

/* The same of rows that are brought to a lattice, and distances in units of `unit`; of rows beyond
   `reach` -1 and NaN. The far ones are left to the caller. */
WIDE static Py_ssize_t labels(const double *restrict x, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k,
                              const double *center, const double *gain, double top,
                              double longest, double reach, double unit,
                              const double *restrict points, const double *restrict squares,
                              double *restrict w, int64_t *restrict found,
                              double *restrict distances, int64_t *restrict far)
{
    Py_ssize_t n_far = 0;
    double least[TILE], lengths[TILE];
    int64_t at[TILE], is_far[TILE];
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        turn(x + first * d, m, d, w);
        into_ball(w, m, d, center, gain, top, longest, lengths);
        nearest_of(w, m, d, k, points, squares, at, least);
        for (Py_ssize_t i = 0; i < m; i++) {
            int stays = (lengths[i] < EXACT) & (sqrt(lengths[i]) <= reach);
            is_far[i] = !(lengths[i] < EXACT);
            found[first + i] = stays ? at[i] : -1;
            distances[first + i] = stays ? sqrt(least[i]) * unit : NAN;
        }
        n_far = noted(is_far, m, first, far, n_far);
    }
    return n_far;
}

/* ---- coordinates of rows: kernel/_coordinates.py, Frame */

typedef struct {
    double low, high, center, unit; /* of a target, which is clipped */
    double radius, tiny;            /* of rows, beyond which they weigh less; of squared lengths */
} Line;

/* The gradients of a tile of coordinates y with these targets, in `out`; kernel/_gradients.py,
   LineGradients. Flags rows of no ordinary length. */
INNER void gradients(const double *restrict y, Py_ssize_t m, Py_ssize_t d,
                     const double *restrict target, const double *restrict b, const Line o,
                     double *restrict out, int64_t *restrict is_rare)
{
    double root[TILE], by[TILE];
    for (Py_ssize_t c = 0; c < d; c++)
        for (Py_ssize_t i = 0; i < m; i++)
            out[c * LINE + i] = y[c * LINE + i] * y[c * LINE + i];
    fold(out, m, d);
    for (Py_ssize_t i = 0; i < m; i++) {
        is_rare[i] |= !((out[i] > o.tiny) & (out[i] < INFINITY));
        root[i] = o.radius / sqrt(out[i]);
        root[i] = root[i] < 1 ? root[i] : 1;
    }
    for (Py_ssize_t c = 0; c < d; c++)
        for (Py_ssize_t i = 0; i < m; i++)
            out[c * LINE + i] = y[c * LINE + i] * b[c];
    fold(out, m, d);
    for (Py_ssize_t i = 0; i < m; i++) {
        double seen = (between(target[i], o.low, o.high) - o.center) / o.unit;
        by[i] = root[i] * ((seen - out[i]) * root[i]);
    }
    for (Py_ssize_t c = 0; c < d; c++)
        for (Py_ssize_t i = 0; i < m; i++)
            out[c * LINE + i] = y[c * LINE + i] * by[i];
}

/* The first d of `width` entries of a row are looked at, clipped to `edges` if there are any, and
   `out` has ones in the columns beyond the k coordinates; with `b` it has gradients, and the last
   entry is the target. Rows that are not finite, or whose powers of two are not ordinary, are left
   to the caller. `a` holds the high slices of the map, then the low ones, of shape (2, k, d); `step`
   is 2^-exact. */
WIDE static Py_ssize_t coordinates(const double *restrict x, Py_ssize_t n, Py_ssize_t width,
                                   Py_ssize_t d, Py_ssize_t k, Py_ssize_t columns,
                                   const double *restrict center, const double *restrict unit,
                                   const double *restrict a, const double *restrict scale,
                                   const double *restrict edges, double step, double ordinary,
                                   const double *restrict b, const Line line, double *restrict w,
                                   double *restrict low, double *restrict y, double *restrict out,
                                   int64_t *restrict rare)
{
    Py_ssize_t found = 0;
    double size[TILE], power[TILE] = {0}, fine = 1 / step;
    uint64_t bad[TILE];
    int64_t is_rare[TILE];
    for (Py_ssize_t i = 0; i < (columns - k) * LINE; i++)
        y[k * LINE + i] = 1;
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        turn(x + first * width, m, width, w);
        not_finite(w, m, width, bad);
        for (Py_ssize_t i = 0; i < m; i++)
            size[i] = bad[i] >> 63 ? INFINITY : 0;
        for (Py_ssize_t c = 0; c < d; c++)
            for (Py_ssize_t i = 0; i < m; i++) {
                double far = w[c * LINE + i];
                far = edges ? between(far, edges[c], edges[d + c]) : far;
                double v = (far - center[c]) / unit[c];
                far = fabs(v);
                w[c * LINE + i] = v;
                size[i] = far <= size[i] ? size[i] : far; /* NaN */
                size[i] = v != v ? INFINITY : size[i];
            }
        for (Py_ssize_t i = 0; i < m; i++) {
            is_rare[i] = !(size[i] > 1 / ordinary && size[i] < ordinary);
            if (is_rare[i]) {
                size[i] = 1;
                for (Py_ssize_t c = 0; c < d; c++)
                    w[c * LINE + i] = 0;
            }
            uint64_t e = (bits_of(size[i]) >> 52) - 1022; /* size = [1/2, 1) 2^e */
            power[i] = float_of((1023 + e) << 52);
            size[i] = float_of((1023 - e) << 52);
        }
        for (Py_ssize_t c = 0; c < d; c++)
            for (Py_ssize_t i = 0; i < m; i++) {
                double v = w[c * LINE + i] * size[i] * fine, high = rounded(v);
                w[c * LINE + i] = high;
                low[c * LINE + i] = rounded((v - high) * fine);
            }
        for (Py_ssize_t j = 0; j < k; j++) {
            const double *restrict high_a = a + j * d, *restrict low_a = a + (k + j) * d;
            for (Py_ssize_t i0 = 0; i0 < m; i0 += 16) {
                double sum[16] = {0}, rest[16] = {0};
                for (Py_ssize_t c = 0; c < d; c++)
                    for (Py_ssize_t i = 0; i < 16; i++) {
                        double h = w[c * LINE + i0 + i], l = low[c * LINE + i0 + i];
                        sum[i] += high_a[c] * h;
                        rest[i] += low_a[c] * h + high_a[c] * l;
                    }
                for (Py_ssize_t i = 0; i < 16; i++)
                    y[j * LINE + i0 + i] = (sum[i] + rest[i] * step) * scale[j] * power[i0 + i];
            }
        }
        if (b)
            gradients(y, m, columns, w + (width - 1) * LINE, b, line, low, is_rare);
        turn_back(b ? low : y, m, columns, out + first * columns);
        found = noted(is_rare, m, first, rare, found);
    }
    return found;
}

/* ---- steps of a logistic regression of two classes: kernel/_gradients.py, LogitStep */

/* The sum of products of the numbers of a tile, integers whose sums are below 2^53. */
INNER int64_t product(const double *restrict a, const double *restrict b)
{
    double sum[16] = {0};
    for (Py_ssize_t i0 = 0; i0 < TILE; i0 += 16)
        for (Py_ssize_t i = 0; i < 16; i++)
            sum[i] += a[i0 + i] * b[i0 + i];
    for (Py_ssize_t half = 8; half; half /= 2)
        for (Py_ssize_t i = 0; i < half; i++)
            sum[i] += sum[half + i];
    return (int64_t)sum[0];
}

/* Products of whole numbers below 2^32, and what they are as a float, rounded once. */
INNER uint64_t below_2_32(double x)
{
    return (bits_of(x + ROUNDER) - bits_of(ROUNDER)) & UINT64_C(0xffffffff);
}
INNER int64_t times(double a, double b) { return (int64_t)(below_2_32(a) * below_2_32(b)); }
INNER double as_float(int64_t n) /* from 0 on */
{
    const uint64_t zero = bits_of(0x1p52);
    double high = float_of(zero | (uint64_t)n >> 32) - 0x1p52;
    double low = float_of(zero | ((uint64_t)n & UINT64_C(0xffffffff))) - 0x1p52;
    return high * 0x1p32 + low;
}

typedef struct {
    double radius, top, longest_row, shrink, tiny, unit; /* of rows, and of the scores of a model */
    double largest, steps, farthest;                      /* of scores in the table of exponentials */
    double gain, longest, whole;                          /* of curvatures, and what a row adds */
} Logit;

/* Adds what rows v of classes `codes` add to the gradient, one number of K, and to the second
   derivatives, K of each. Rows of no ordinary length are left to the caller. With |q|^2 <= 2^30,
   |e| <= 1, o.whole <= 2^15 and o.gain <= 4 neither f f nor |u|^2 is beyond 2^30: the caller sees to
   it, and lengths are compared in integers that are exact. */
WIDE static Py_ssize_t logit_step(const double *restrict v, const double *restrict codes,
                                  Py_ssize_t n, Py_ssize_t d, const double *restrict center,
                                  const double *restrict row_gain, const double *restrict model,
                                  const double *restrict exponentials, const Logit o,
                                  double *restrict q, double *restrict u, int64_t *restrict total,
                                  int64_t *restrict rare)
{
    const int64_t most = times(o.longest, o.longest);
    Py_ssize_t found = 0;
    double squares[TILE], length[TILE], score[TILE], e[TILE], bend[TILE], f[TILE];
    int64_t is_rare[TILE];
    for (Py_ssize_t first = 0; first < n; first += TILE) {
        Py_ssize_t m = n - first < TILE ? n - first : TILE;
        turn(v + first * d, m, d, q);
        for (Py_ssize_t c = 0; c < d; c++) {
            for (Py_ssize_t i = m; i < TILE; i++)
                q[c * LINE + i] = 0;
            for (Py_ssize_t i = 0; i < TILE; i++)
                u[c * LINE + i] = q[c * LINE + i] * q[c * LINE + i];
        }
        fold(u, TILE, d);
        for (Py_ssize_t i = 0; i < TILE; i++) {
            is_rare[i] = !((u[i] > o.tiny) & (u[i] < INFINITY));
            length[i] = sqrt(u[i]);
        }
        into_ball(q, TILE, d, center, row_gain, o.top, o.longest_row, squares);
        for (Py_ssize_t i = 0; i < TILE; i++) {
            is_rare[i] |= !(squares[i] < EXACT);
            squares[i] = score[i] = 0;
        }
        for (Py_ssize_t c = 0; c < d; c++)
            for (Py_ssize_t i = 0; i < TILE; i++) {
                squares[i] += q[c * LINE + i] * q[c * LINE + i];
                score[i] += q[c * LINE + i] * model[c];
            }
        for (Py_ssize_t i = 0; i < TILE; i++) {
            double root = o.radius / (length[i] > 1e-300 ? length[i] : 1e-300);
            root = root < 1 ? root : 1;
            length[i] = root;
            double s = score[i] * o.unit / root;
            score[i] = s == s ? between(s, -o.largest, o.largest) : 0;
        }
        for (Py_ssize_t i = 0; i < m; i++) {
            double best = score[i] > 0 ? score[i] : 0, out = best * o.steps;
            double in = (best - score[i]) * o.steps;
            out = rounded(out < o.farthest ? out : o.farthest);
            in = rounded(in < o.farthest ? in : o.farthest);
            double one = exponentials[(Py_ssize_t)in], both = exponentials[(Py_ssize_t)out] + one;
            double p = one / both;
            e[i] = ((codes[first + i] == 1) - p) * length[i];
            bend[i] = p * (1 - p) * o.gain;
        }
        for (Py_ssize_t i = m; i < TILE; i++)
            e[i] = bend[i] = 0;
        for (Py_ssize_t i = 0; i < TILE; i++) {
            double size = sqrt(squares[i] * (e[i] * e[i])) * o.whole;
            double scale = o.shrink * o.longest / (size > 1e-300 ? size : 1e-300);
            f[i] = whole(e[i] * ((scale < 1 ? scale : 1) * o.whole));
            int64_t left = most - times(squares[i], f[i] * f[i]);
            double room = o.shrink * sqrt(as_float(left > 0 ? left : 0));
            size = squares[i] * sqrt(bend[i] * bend[i]);
            room /= size > 1e-300 ? size : 1e-300;
            bend[i] = sqrt(bend[i] * (room < 1 ? room : 1));
            score[i] = 0;
        }
        for (Py_ssize_t c = 0; c < d; c++)
            for (Py_ssize_t i = 0; i < TILE; i++) {
                u[c * LINE + i] = whole(q[c * LINE + i] * bend[i]);
                score[i] += u[c * LINE + i] * u[c * LINE + i];
            }
        int64_t out = 0;
        for (Py_ssize_t i = 0; i < TILE; i++) {
            int64_t added = times(squares[i], f[i] * f[i]);
            added += times(score[i], score[i]);
            is_rare[i] |= 2 * (added > most);
            out |= is_rare[i];
        }
        for (Py_ssize_t i = 0; out && i < TILE; i++)
            if (is_rare[i]) {
                f[i] = 0;
                for (Py_ssize_t c = 0; c < d; c++)
                    u[c * LINE + i] = 0;
                is_rare[i] &= 1;
            }
        found = noted(is_rare, m, first, rare, found);
        for (Py_ssize_t c = 0; c < d; c++) {
            int64_t *restrict sums = total + c * (1 + d);
            sums[0] += product(f, q + c * LINE);
            for (Py_ssize_t b = 0; b <= c; b++) {
                int64_t of_both = product(u + c * LINE, u + b * LINE);
                sums[1 + b] += of_both;
                total[b * (1 + d) + 1 + c] += b < c ? of_both : 0;
            }
        }
    }
    return found;
}

/* ---- Python: buffers in, numbers out. Their lengths are checked; entries are not looked at. */

#define MOST 10
#define WIDEST (PY_SSIZE_T_MAX / (4 * LINE * 8)) /* columns: sizes do not overflow */

typedef struct {
    Py_buffer views[MOST];
    void *at[MOST];
    Py_ssize_t n[MOST];
    int held;
    void *work, *from;
} Arrays;

static PyObject *done(Arrays *arrays, PyObject *result)
{
    while (arrays->held)
        PyBuffer_Release(&arrays->views[--arrays->held]);
    free(arrays->from);
    return result;
}

/* Takes arrays: `kinds` has a letter for each of them, "d" for floats and "i" for integers of 64 bits
   that are read, "D" and "I" for those that are written, "B" for written flags. Returns whether it
   could. */
static int take(Arrays *arrays, PyObject *const *objects, const char *kinds)
{
    arrays->held = 0;
    arrays->from = NULL;
    for (int i = 0; kinds[i]; i++) {
        Py_buffer *view = &arrays->views[i];
        int written = kinds[i] < 'a' ? PyBUF_WRITABLE : PyBUF_SIMPLE;
        const char *types = kinds[i] == 'B' ? "?" : kinds[i] == 'd' || kinds[i] == 'D' ? "d" : "lq";
        Py_ssize_t size = kinds[i] == 'B' ? 1 : 8;
        if (PyObject_GetBuffer(objects[i], view, written | PyBUF_ND | PyBUF_FORMAT))
            return 0;
        arrays->held++;
        if (view->format == NULL || strlen(view->format) != 1 || !strchr(types, *view->format) ||
            view->itemsize != size || (uintptr_t)view->buf % (uintptr_t)size) {
            PyErr_SetString(PyExc_ValueError, "arrays of another type");
            return 0;
        }
        arrays->at[i] = view->buf;
        arrays->n[i] = view->len / size;
    }
    return 1;
}

/* Whether lengths fit, and there is memory for so many columns of a tile, from a line of the cache on:
   no register of a column lies in two of them. */
static int fits(Arrays *arrays, int lengths, Py_ssize_t columns)
{
    if (!lengths || columns > WIDEST) {
        PyErr_SetString(PyExc_ValueError, "arrays of other lengths");
        return 0;
    }
    arrays->from = calloc((size_t)columns * LINE * sizeof(double) + 64, 1);
    if (arrays->from == NULL)
        PyErr_NoMemory();
    arrays->work = (char *)arrays->from + (64 - (uintptr_t)arrays->from % 64);
    return arrays->from != NULL;
}

#define START Arrays a; PyObject *o[MOST]; (void)self
#define FAILED done(&a, NULL)
#define N(i) a.n[i]
#define UNLOCKED(call) Py_BEGIN_ALLOW_THREADS call; Py_END_ALLOW_THREADS

static PyObject *py_finite_rows(PyObject *self, PyObject *args)
{
    START;
    Py_ssize_t d;
    if (!PyArg_ParseTuple(args, "OOn", &o[0], &o[1], &d))
        return NULL;
    if (!take(&a, o, "dB") || !fits(&a, d > 0 && N(0) == N(1) * d, d))
        return FAILED;
    UNLOCKED(finite_rows(a.at[0], N(1), d, a.work, a.at[1]))
    return done(&a, Py_NewRef(Py_None));
}

static PyObject *py_ball_rows(PyObject *self, PyObject *args)
{
    START;
    double top, longest;
    Py_ssize_t found;
    if (!PyArg_ParseTuple(args, "OOOOOOdd", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &top,
                          &longest))
        return NULL;
    if (!take(&a, o, "dddDDI") ||
        !fits(&a, N(1) > 0 && N(2) == N(1) && N(0) == N(3) && N(0) == N(4) * N(1) && N(5) >= N(4),
              N(1)))
        return FAILED;
    UNLOCKED(found = ball_rows(a.at[0], N(4), N(1), a.at[1], a.at[2], top, longest, a.work,
                               a.at[3], a.at[4], a.at[5]))
    return done(&a, PyLong_FromSsize_t(found));
}

static PyObject *py_ball_sum(PyObject *self, PyObject *args)
{
    START;
    double top, longest, most;
    Py_ssize_t found;
    int64_t kept = 0;
    if (!PyArg_ParseTuple(args, "OOOOOddd", &o[0], &o[1], &o[2], &o[3], &o[4], &top, &longest,
                          &most))
        return NULL;
    if (!take(&a, o, "dddII") ||
        !fits(&a, N(1) > 0 && N(2) == N(1) && N(3) == N(1) && N(0) % N(1) == 0 &&
                      N(4) >= N(0) / N(1), N(1)))
        return FAILED;
    UNLOCKED(found = ball_sum(a.at[0], N(0) / N(1), N(1), a.at[1], a.at[2], top, longest, most,
                              a.work, a.at[3], a.at[4], &kept))
    return done(&a, Py_BuildValue("nL", found, (long long)kept));
}

static PyObject *py_products(PyObject *self, PyObject *args)
{
    START;
    if (!PyArg_ParseTuple(args, "OOO", &o[0], &o[1], &o[2]))
        return NULL;
    if (!take(&a, o, "ddD") || !fits(&a, N(1) > 0 && N(0) == N(1) * N(2), N(1)))
        return FAILED;
    UNLOCKED(products(a.at[0], N(2), N(1), a.at[1], a.work, a.at[2]))
    return done(&a, Py_NewRef(Py_None));
}

static PyObject *py_norms(PyObject *self, PyObject *args)
{
    START;
    double tiny;
    Py_ssize_t found;
    if (!PyArg_ParseTuple(args, "OOOOOd", &o[0], &o[1], &o[2], &o[3], &o[4], &tiny))
        return NULL;
    if (!take(&a, o, "dddDI") ||
        !fits(&a, N(1) > 0 && (N(2) == N(1) || !N(2)) && N(0) == N(3) * N(1) && N(4) >= N(3), N(1)))
        return FAILED;
    UNLOCKED(found = norms(a.at[0], N(3), N(1), a.at[1], N(2) ? a.at[2] : NULL, tiny, a.work,
                           a.at[3], a.at[4]))
    return done(&a, PyLong_FromSsize_t(found));
}

static PyObject *py_log_bins(PyObject *self, PyObject *args)
{
    START;
    long long low, last;
    if (!PyArg_ParseTuple(args, "OOOLL", &o[0], &o[1], &o[2], &low, &last))
        return NULL;
    if (!take(&a, o, "ddI") || !fits(&a, N(0) == N(2) && last >= 0, 1))
        return FAILED;
    UNLOCKED(log_bins(a.at[0], N(0), a.at[1], N(1), low, last, a.at[2]))
    return done(&a, Py_NewRef(Py_None));
}

static PyObject *py_column_bins(PyObject *self, PyObject *args)
{
    START;
    long long low, last;
    if (!PyArg_ParseTuple(args, "OOOOOLL", &o[0], &o[1], &o[2], &o[3], &o[4], &low, &last))
        return NULL;
    if (!take(&a, o, "ddddI") ||
        !fits(&a, N(1) > 0 && N(2) == N(1) && N(0) % N(1) == 0 && last >= 0 &&
                      N(4) % (2 * N(1)) == 0 && N(4) / (2 * N(1)) - 1 == last, N(1)))
        return FAILED;
    UNLOCKED(column_bins(a.at[0], N(0) / N(1), N(1), a.at[1], a.at[2], a.at[3], N(3), low, last,
                         a.work, a.at[4]))
    return done(&a, Py_NewRef(Py_None));
}

static int columns_fit(const int64_t *columns, Py_ssize_t k, Py_ssize_t d)
{
    for (Py_ssize_t j = 0; j < k; j++)
        if (columns[j] < 0 || columns[j] >= d)
            return 0;
    return 1;
}

static int starts_fit(const int64_t *starts, Py_ssize_t k, Py_ssize_t n)
{
    for (Py_ssize_t j = 0; j < k; j++)
        if (starts[j] > starts[j + 1])
            return 0;
    return starts[0] == 0 && starts[k] == n;
}

static PyObject *py_ranks(PyObject *self, PyObject *args)
{
    START;
    Py_ssize_t d;
    int mode, distances;
    int64_t rows;
    if (!PyArg_ParseTuple(args, "OOOOOOOnip", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &d,
                          &mode, &distances))
        return NULL;
    if (!take(&a, o, "diidddI") ||
        !fits(&a, d > 0 && N(0) % d == 0 && N(2) == N(1) + 1 && N(3) == N(6) && N(4) == N(1) &&
                      N(5) == N(1) && columns_fit(a.at[1], N(1), d) &&
                      starts_fit(a.at[2], N(1), N(3)), d + 3 * LANES / LINE + 1))
        return FAILED;
    UNLOCKED(rows = ranks(a.at[0], N(0) / d, d, N(1), a.at[1], a.at[2], a.at[3], a.at[4], a.at[5],
                          mode, distances, a.work, a.at[6]))
    return done(&a, PyLong_FromLongLong(rows));
}

static PyObject *py_codes(PyObject *self, PyObject *args)
{
    START;
    Py_ssize_t d;
    int mode, shift;
    if (!PyArg_ParseTuple(args, "OOOOOnii", &o[0], &o[1], &o[2], &o[3], &o[4], &d, &mode, &shift))
        return NULL;
    if (!take(&a, o, "diddI") ||
        !fits(&a, d > 0 && N(0) % d == 0 && N(2) == N(1) && N(3) == N(1) && 40 <= shift &&
                      shift < 64 && N(4) == N(1) * ((Py_ssize_t)(UINT64_C(1) << (64 - shift)) + APART_BY) && columns_fit(a.at[1], N(1), d),
              d))
        return FAILED;
    UNLOCKED(codes(a.at[0], N(0) / d, d, N(1), a.at[1], a.at[2], a.at[3], mode, shift, a.work,
                   a.at[4]))
    return done(&a, Py_NewRef(Py_None));
}

static PyObject *py_even_cells(PyObject *self, PyObject *args)
{
    START;
    Py_ssize_t d;
    int mode;
    if (!PyArg_ParseTuple(args, "OOOOOOOni", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &d,
                          &mode))
        return NULL;
    if (!take(&a, o, "diddddI") ||
        !fits(&a, d > 0 && N(0) % d == 0 && N(1) > 0 && N(2) == N(1) && N(3) == N(1) &&
                      N(4) == N(1) && N(5) == N(1) && N(6) % N(1) == 0 && N(6) / N(1) > 1 &&
                      N(6) / N(1) < FAR && columns_fit(a.at[1], N(1), d), d))
        return FAILED;
    UNLOCKED(even_cells(a.at[0], N(0) / d, d, N(1), a.at[1], a.at[2], a.at[3], a.at[4], a.at[5],
                        mode, N(6) / N(1), a.work, a.at[6]))
    return done(&a, Py_NewRef(Py_None));
}

static PyObject *py_cells(PyObject *self, PyObject *args)
{
    START;
    Py_ssize_t d;
    int closed;
    if (!PyArg_ParseTuple(args, "OOOOOOOnp", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &d,
                          &closed))
        return NULL;
    if (!take(&a, o, "diiiddI"))
        return FAILED;
    int lengths = d > 0 && N(0) % d == 0 && N(1) > 0 && N(2) == N(1) && N(3) == N(1) &&
                  N(4) == N(1) && N(5) == N(1) && N(6) % N(1) == 0 && N(6) >= N(1) &&
                  columns_fit(a.at[1], N(1), d) && columns_fit(a.at[3], N(1), 64);
    if (!fits(&a, lengths, d))
        return FAILED;
    UNLOCKED(cells(a.at[0], N(0) / d, d, N(1), a.at[1], a.at[2], a.at[3], a.at[4], a.at[5], closed,
                   (uint64_t)(N(6) / N(1) - 1), a.work, a.at[6]))
    return done(&a, Py_NewRef(Py_None));
}

static PyObject *py_grid_cells(PyObject *self, PyObject *args)
{
    START;
    Py_ssize_t d, middle;
    double most;
    int shift;
    if (!PyArg_ParseTuple(args, "OOOOOndin", &o[0], &o[1], &o[2], &o[3], &o[4], &d, &most, &shift,
                          &middle))
        return NULL;
    if (!take(&a, o, "diddI") ||
        !fits(&a, d > 0 && N(0) % d == 0 && N(2) == N(1) && N(3) == N(1) && 40 <= shift &&
                      shift < 52 && 0 < middle && middle < (1 << 20) && 0 < most && most < EXACT / 8 &&
                      N(4) == N(1) * (2 * middle + 1) && columns_fit(a.at[1], N(1), d),
              d))
        return FAILED;
    UNLOCKED(grid_cells(a.at[0], N(0) / d, d, N(1), a.at[1], a.at[2], a.at[3], most, shift, middle,
                        a.work, a.at[4]))
    return done(&a, Py_NewRef(Py_None));
}

static PyObject *py_grid_ends(PyObject *self, PyObject *args)
{
    START;
    Py_ssize_t d;
    double most;
    if (!PyArg_ParseTuple(args, "OOOOOOOnd", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6], &d,
                          &most))
        return NULL;
    if (!take(&a, o, "didddII") ||
        !fits(&a, d > 0 && N(0) % d == 0 && N(2) == N(1) && N(3) == N(1) && N(4) == 2 * N(1) &&
                      0 < most && most < EXACT / 8 && N(5) == 2 * N(1) * (N(0) / d + 1) &&
                      N(6) == 2 * N(1) && columns_fit(a.at[1], N(1), d),
              d))
        return FAILED;
    memset(a.at[6], 0, (size_t)N(6) * sizeof(int64_t));
    UNLOCKED(grid_ends(a.at[0], N(0) / d, d, N(1), a.at[1], a.at[2], a.at[3], a.at[4], most, a.work,
                       a.at[5], a.at[6]))
    return done(&a, Py_NewRef(Py_None));
}

static PyObject *py_pair_sums(PyObject *self, PyObject *args)
{
    START;
    int places, squares, sizes, entries;
    double first, grid, factor;
    if (!PyArg_ParseTuple(args, "OOOOOOOOppppddd", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6],
                          &o[7], &places, &squares, &sizes, &entries, &first, &grid, &factor))
        return NULL;
    if (!take(&a, o, "ddddiIII"))
        return FAILED;
    int lengths = N(1) > 0 && N(0) % N(1) == 0 && fabs(first) <= FAR && fabs(grid) <= FAR;
    for (int i = 2; i < 8; i++)
        lengths = lengths && N(i) == N(1);
    if (!fits(&a, lengths, N(1)))
        return FAILED;
    UNLOCKED(pair_sums(a.at[0], N(0) / N(1), N(1), a.at[1], a.at[2], places, squares, sizes,
                       entries, first, grid, factor, a.at[3], a.at[4], a.work, a.at[5], a.at[6],
                       a.at[7]))
    return done(&a, Py_NewRef(Py_None));
}

static PyObject *py_span_sums(PyObject *self, PyObject *args)
{
    START;
    int entries;
    double grid;
    if (!PyArg_ParseTuple(args, "OOOOOOpd", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &entries,
                          &grid))
        return NULL;
    if (!take(&a, o, "dddddI") ||
        !fits(&a, N(1) > 0 && N(0) % N(1) == 0 && N(2) == N(1) && N(3) == 2 * N(1) &&
                      N(4) == N(1) && N(5) == N(1), N(1)))
        return FAILED;
    UNLOCKED(span_sums(a.at[0], N(0) / N(1), N(1), a.at[1], a.at[2], a.at[3], a.at[4], entries,
                       grid, a.work, a.at[5]))
    return done(&a, Py_NewRef(Py_None));
}

static PyObject *py_boxed(PyObject *self, PyObject *args)
{
    START;
    Py_ssize_t width;
    int entries;
    if (!PyArg_ParseTuple(args, "OOOOOOnp", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &width,
                          &entries))
        return NULL;
    if (!take(&a, o, "dddddD") ||
        !fits(&a, N(1) > 0 && width >= N(1) && N(0) % width == 0 && N(2) == N(1) &&
                      (N(3) == N(1) || !N(3)) && N(4) == N(3) && N(5) == N(0) / width * N(1),
              width))
        return FAILED;
    UNLOCKED(boxed(a.at[0], N(0) / width, width, N(1), a.at[1], a.at[2],
                   N(3) ? a.at[3] : NULL, a.at[4], entries, a.work, a.at[5]))
    return done(&a, Py_NewRef(Py_None));
}

static PyObject *py_with_target(PyObject *self, PyObject *args)
{
    START;
    Py_ssize_t d;
    if (!PyArg_ParseTuple(args, "OOOn", &o[0], &o[1], &o[2], &d))
        return NULL;
    if (!take(&a, o, "ddD") || !fits(&a, 0 < d && d < WIDEST && N(0) == N(1) * d &&
                                             N(2) == N(1) * (d + 1), 1))
        return FAILED;
    UNLOCKED(with_target(a.at[0], N(1), d, a.at[1], a.at[2]))
    return done(&a, Py_NewRef(Py_None));
}

static PyObject *py_some_columns(PyObject *self, PyObject *args)
{
    START;
    Py_ssize_t d;
    if (!PyArg_ParseTuple(args, "OOOn", &o[0], &o[1], &o[2], &d))
        return NULL;
    if (!take(&a, o, "diD") || !fits(&a, d > 0 && N(0) % d == 0 && N(2) == N(0) / d * N(1) &&
                                             columns_fit(a.at[1], N(1), d), 1))
        return FAILED;
    UNLOCKED(some_columns(a.at[0], N(0) / d, d, N(1), a.at[1], a.at[2]))
    return done(&a, Py_NewRef(Py_None));
}

static PyObject *py_nearest(PyObject *self, PyObject *args)
{
    START;
    Py_ssize_t d;
    if (!PyArg_ParseTuple(args, "OOOOOn", &o[0], &o[1], &o[2], &o[3], &o[4], &d))
        return NULL;
    if (!take(&a, o, "dddID") ||
        !fits(&a, d > 0 && N(2) > 0 && N(1) == N(2) * d && N(0) == N(3) * d && N(4) == N(3), d))
        return FAILED;
    UNLOCKED(nearest(a.at[0], N(3), d, N(2), a.at[1], a.at[2], a.work, a.at[3], a.at[4]))
    return done(&a, Py_NewRef(Py_None));
}

static PyObject *py_labels(PyObject *self, PyObject *args)
{
    START;
    double top, longest, reach, unit;
    Py_ssize_t found;
    if (!PyArg_ParseTuple(args, "OOOOOOOOdddd", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5], &o[6],
                          &o[7], &top, &longest, &reach, &unit))
        return NULL;
    if (!take(&a, o, "dddddIDI") ||
        !fits(&a, N(1) > 0 && N(2) == N(1) && N(4) > 0 && N(3) == N(4) * N(1) &&
                      N(0) == N(5) * N(1) && N(6) == N(5) && N(7) >= N(5), N(1)))
        return FAILED;
    UNLOCKED(found = labels(a.at[0], N(5), N(1), N(4), a.at[1], a.at[2], top, longest, reach, unit,
                            a.at[3], a.at[4], a.work, a.at[5], a.at[6], a.at[7]))
    return done(&a, PyLong_FromSsize_t(found));
}

static PyObject *py_coordinates(PyObject *self, PyObject *args)
{
    START;
    double step, ordinary;
    Py_ssize_t found, width, columns;
    Line l;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOnndd(dddddd)", &o[0], &o[1], &o[2], &o[3], &o[4], &o[5],
                          &o[6], &o[7], &o[8], &width, &columns, &step, &ordinary, &l.low, &l.high,
                          &l.center, &l.unit, &l.radius, &l.tiny))
        return NULL;
    if (!take(&a, o, "dddddddDI"))
        return FAILED;
    int lengths = N(1) > 0 && N(2) == N(1) && N(4) > 0 && N(3) == 2 * N(4) * N(1) &&
                  (N(5) == 0 || N(5) == 2 * N(1)) && width >= N(1) && columns >= N(4) &&
                  width <= WIDEST && columns <= WIDEST && N(0) % width == 0 &&
                  (N(6) == 0 || (N(6) == columns && width > N(1))) &&
                  N(7) == N(0) / width * columns && N(8) >= N(0) / width;
    Py_ssize_t scratch = N(1) > columns ? N(1) : columns;
    if (!fits(&a, lengths, lengths ? width + scratch + columns : 1))
        return FAILED;
    double *w = a.work, *low = w + width * LINE;
    UNLOCKED(found = coordinates(a.at[0], N(0) / width, width, N(1), N(4), columns, a.at[1],
                                 a.at[2], a.at[3], a.at[4], N(5) ? a.at[5] : NULL, step, ordinary,
                                 N(6) ? a.at[6] : NULL, l, w, low, low + scratch * LINE, a.at[7],
                                 a.at[8]))
    return done(&a, PyLong_FromSsize_t(found));
}

static PyObject *py_logit_step(PyObject *self, PyObject *args)
{
    START;
    Logit l;
    Py_ssize_t found;
    if (!PyArg_ParseTuple(args, "OOOOOOOO(dddddd)(ddd)(ddd)", &o[0], &o[1], &o[2], &o[3], &o[4],
                          &o[5], &o[6], &o[7], &l.radius, &l.top, &l.longest_row, &l.shrink,
                          &l.tiny, &l.unit, &l.largest, &l.steps, &l.farthest, &l.gain, &l.longest,
                          &l.whole))
        return NULL;
    if (!take(&a, o, "ddddddII"))
        return FAILED;
    int lengths = N(4) > 0 && N(0) == N(1) * N(4) && N(2) == N(4) && N(3) == N(4) &&
                  N(6) == N(4) * (1 + N(4)) && N(7) >= N(1) && 0 < l.largest && 0 < l.steps &&
                  0 <= l.farthest && l.farthest < FAR && l.farthest == floor(l.farthest) &&
                  N(5) > (Py_ssize_t)l.farthest && 0 <= l.longest && l.longest <= FAR &&
                  0 < l.radius && 0 <= l.gain && l.gain <= 4 && 0 < l.whole &&
                  l.whole <= 32768 && l.top <= FAR;
    if (!fits(&a, lengths, 2 * N(4)))
        return FAILED;
    double *w = a.work;
    UNLOCKED(found = logit_step(a.at[0], a.at[1], N(1), N(4), a.at[2], a.at[3], a.at[4], a.at[5], l,
                                w, w + N(4) * LINE, a.at[6], a.at[7]))
    return done(&a, PyLong_FromSsize_t(found));
}

static PyMethodDef methods[] = {
    {"finite_rows", py_finite_rows, METH_VARARGS, NULL},
    {"ball_rows", py_ball_rows, METH_VARARGS, NULL},
    {"ball_sum", py_ball_sum, METH_VARARGS, NULL},
    {"norms", py_norms, METH_VARARGS, NULL},
    {"products", py_products, METH_VARARGS, NULL},
    {"log_bins", py_log_bins, METH_VARARGS, NULL},
    {"column_bins", py_column_bins, METH_VARARGS, NULL},
    {"ranks", py_ranks, METH_VARARGS, NULL},
    {"codes", py_codes, METH_VARARGS, NULL},
    {"cells", py_cells, METH_VARARGS, NULL},
    {"even_cells", py_even_cells, METH_VARARGS, NULL},
    {"grid_cells", py_grid_cells, METH_VARARGS, NULL},
    {"grid_ends", py_grid_ends, METH_VARARGS, NULL},
    {"pair_sums", py_pair_sums, METH_VARARGS, NULL},
    {"span_sums", py_span_sums, METH_VARARGS, NULL},
    {"boxed", py_boxed, METH_VARARGS, NULL},
    {"with_target", py_with_target, METH_VARARGS, NULL},
    {"some_columns", py_some_columns, METH_VARARGS, NULL},
    {"nearest", py_nearest, METH_VARARGS, NULL},
    {"labels", py_labels, METH_VARARGS, NULL},
    {"coordinates", py_coordinates, METH_VARARGS, NULL},
    {"logit_step", py_logit_step, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_loops", NULL, -1, methods,
                                    NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__loops(void)
{
    volatile double x = 1 + 0x1p-30, square = 1 + 0x1p-29;
    if (x * x - square != 0) {
        PyErr_SetString(PyExc_ImportError, "products and sums are rounded together");
        return NULL;
    }
    PyObject *made = PyModule_Create(&module);
    if (made != NULL && PyModule_AddIntConstant(made, "VERSION", VERSION)) {
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
