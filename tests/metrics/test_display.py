"""Pictures of reports show released numbers, and say where nothing is known."""

import numpy as np
import pytest

from skdp.metrics import PrivateClassifierDisplay, PrivateClassifierReport
from tests.metrics.test_classifier_report import drawn

pytest.importorskip("matplotlib")
pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning"),
    pytest.mark.filterwarnings("ignore::skdp.exceptions.LowAccuracyWarning"),
]


@pytest.mark.parametrize("kind", ["roc", "calibration", "confusion"])
@pytest.mark.parametrize("n", [5000, 20])
def test_pictures_are_drawn(kind, n):
    report = PrivateClassifierReport(random_state=0).fit(*drawn(n))
    display = PrivateClassifierDisplay.from_report(report, kind, sampling=True)
    assert display.figure_ is display.ax_.figure
    if kind == "roc":
        text = display.ax_.get_legend().get_texts()[0].get_text()
        assert ("not known" in text) == (n == 20)


def test_the_band_of_a_curve_holds_it():
    report = PrivateClassifierReport(random_state=0).fit(*drawn(5000))
    ax = PrivateClassifierDisplay.from_report(report).ax_
    fpr, tpr, _ = report.roc_curve()
    band = ax.collections[0].get_paths()[0].vertices
    grid = np.unique(band[:, 0])
    low = [band[band[:, 0] == x, 1].min() for x in grid]
    high = [band[band[:, 0] == x, 1].max() for x in grid]
    assert (np.interp(fpr, grid, low) <= tpr + 0.02).all()
    assert (np.interp(fpr, grid, high) >= tpr - 0.02).all()


def test_an_unknown_kind_is_refused():
    report = PrivateClassifierReport(random_state=0).fit(*drawn(500))
    with pytest.raises(ValueError, match="kind must be one of"):
        PrivateClassifierDisplay.from_report(report, "lift")
