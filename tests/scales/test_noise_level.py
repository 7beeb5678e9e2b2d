"""How high noise alone rises, against exact probabilities, simulation and what is claimed."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import gamma

from skdp.accounting import Budget, Plan, Step
from skdp.gate._curator import make_curator
from skdp.kernel._table import Table
from skdp.location._reach import release_column_distances
from skdp.mechanisms import make_entropy, rounded_gaussian, rounded_laplace
from skdp.readers import ArrayRows
from skdp.scales import LogBins, top_scale
from skdp.scales._column_noise import SCALE, noise_level, noise_sum_quantile, with_law
from skdp.scales._log_histogram import _levels

WIDTHS = [1, 2, 3, 4, 8, 16]


def laplace_tail(t, w):
    """P(gamma_w - gamma'_w > t), by quadrature over the second."""
    law = gamma(w)
    return quad(lambda x: law.sf(t + x) * law.pdf(x), 0, math.inf, epsabs=0, epsrel=1e-9)[0]


@pytest.mark.parametrize("w", WIDTHS)
@pytest.mark.parametrize("p", [0.3, 1e-2, 1e-5, 1e-9])
def test_the_level_is_the_quantile_of_the_law(w, p):
    assert laplace_tail(float(noise_level(p, w, law="laplace")), w) == pytest.approx(p, rel=1e-6)
    assert ndtr(-noise_level(p, w) / math.sqrt(w)) == pytest.approx(p, rel=1e-9)
    assert noise_level(p, w, scale=7.0, law="laplace") == pytest.approx(
        7.0 * noise_level(p, w, law="laplace"), rel=1e-12
    )


@pytest.mark.parametrize("w", WIDTHS)
def test_half_of_the_noise_is_above_zero_and_tiny_probabilities_have_levels(w):
    assert noise_level(0.5, w, law="laplace") == pytest.approx(0, abs=1e-9)
    levels = noise_level(10.0 ** -np.arange(1.0, 301.0), w, law="laplace")
    assert np.isfinite(levels).all() and (np.diff(levels) > 0).all()


@pytest.mark.parametrize("scale", [0.05, 0.18, 0.4, 1.0, 30.0])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("w", [1, 2, 4])
def test_rounded_noise_stays_below(scale, law, w):
    """100,000 sums at 1e-3: 100 expected at most, 160 with a probability below 1e-8."""
    draw = rounded_gaussian if law == "gaussian" else rounded_laplace
    sums = draw(scale, (100_000, w), make_entropy(w)).sum(axis=1)
    assert np.count_nonzero(sums > noise_sum_quantile(1e-3, w, scale=scale, law=law)) < 160


@pytest.mark.parametrize("bins", [LogBins(p) for p in (1, 2, 4, 8, 16)] + [LogBins(2, -3, 5)])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_the_probabilities_of_all_windows_sum_to_what_is_claimed(bins, law):
    widths = tuple(
        2**i for i in range(3 if bins.per_octave < 4 else bins.per_octave.bit_length() + 1)
    )
    total = 0.0
    for width, level in zip(widths, _levels(bins, widths, law), strict=True):
        if law == "gaussian":
            total += ndtr(-level / math.sqrt(width)).sum()
        else:
            t, at = np.unique(level, return_inverse=True)
            left = [
                math.comb(2 * width - 1 - k, width - 1) / 2 ** (2 * width - k)
                for k in range(1, width + 1)
            ]
            total += sum(c * gamma.sf(t, k)[at] for k, c in enumerate(left, 1)).sum()
    assert 0.1 * SCALE < total <= SCALE


@pytest.mark.slow
def test_laplace_noise_alone_tells_no_reach():
    """3000 columns without rows: .6 false scales are expected at most, 7 at a rate below 1e-5."""
    budget, d, found = Budget.pure(1.0), 300, 0
    for seed in range(10):
        curator = make_curator(Plan(budget, with_law(budget, Step("r"))), make_entropy(seed))
        reach = release_column_distances(
            Table(ArrayRows(np.empty((0, d))), curator), center=np.zeros(d), unit=np.ones(d),
            n_rows=1.0, share=0.5, step=Step("r"),
        )  # fmt: skip
        found += sum(one.beyond(0.5) > 0 for one in reach)
    assert found < 7


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("scale", [0.15, 0.3, 5.0])
def test_noise_alone_is_no_scale_under_either_law(law, scale):
    """500 histograms: .1 false scales are expected at most."""
    draw, bins = {"gaussian": rounded_gaussian, "laplace": rounded_laplace}[law], LogBins(1)
    noise = draw(scale, (500, bins.n_bins), make_entropy(0))
    assert sum(top_scale(x, scale, 1.0, bins, law=law) is not None for x in noise) < 3
