import logging

import numpy as np
import pytest

from skdp import PrivateMean
from skdp.audit import non_interference
from skdp.audit._transcript import Script
from skdp.exceptions import AuditFailure
from tests.audit._broken import Complains, KeepsCount, Logs, Prints, SoundMean, StopsEarly


@pytest.fixture
def X(rng):
    return rng.normal(size=(100, 2)) * [1, 50] + 3


@pytest.mark.slow
def test_a_sound_estimator_shows_nothing(X):
    report = non_interference(SoundMean(), X)
    assert report.ok and len(report.tables) == 15 and report.n_transcripts == 5
    assert report.releases == ("count", "sum")
    assert "no difference" in str(report)


@pytest.mark.slow
def test_deep_branches_are_reached():
    X = np.random.default_rng(0).normal(size=(600, 3))
    reached = non_interference(PrivateMean(), X, datasets=[X, X[:5]]).releases
    assert {"ring", "h-index", "soft core", "distances", "columns", "tails"} <= set(reached)
    trimmed = PrivateMean(trim=True)  # without roads column by column: others wait for it
    report = non_interference(trimmed, X, datasets=[X, X[:5]], random_state=1, n_transcripts=10)
    assert "median" in report.releases


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator, channel",
    [
        (KeepsCount(), "attribute n_rows_"),
        (StopsEarly(), "requests"),
        (Complains(), "exception"),
        (Prints(), "stdout"),
        (Logs(), "log"),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_the_channel_is_named(X, estimator, channel, caplog):
    caplog.set_level(logging.CRITICAL)  # the audit hears what the configuration would drop
    report = non_interference(estimator, X, raise_on_failure=False, n_transcripts=2)
    assert not report.ok and channel in report.channels
    assert channel in str(report)
    with pytest.raises(AuditFailure, match=channel):
        non_interference(estimator, X, n_transcripts=1)


@pytest.mark.slow
def test_own_tables(X):
    far = {"far": X + 1e7, "near": X + 1}
    report = non_interference(Complains(), X, datasets=far, raise_on_failure=False)
    assert {finding.table for finding in report.findings} == {"far"}
    assert non_interference(SoundMean(), X, datasets=[X[:3], X * 2]).tables == (
        "the table",
        "0",
        "1",
    )


def test_a_script_is_a_function_of_the_question():
    script = Script(seed=3)
    args = (0, "a", "gaussian", (4,), 100.0)
    answer = script.answer(*args)
    assert np.array_equal(answer, Script(seed=3).answer(*args)) and answer.dtype == np.int64
    assert not np.array_equal(answer, script.answer(1, *args[1:]))
    assert not np.array_equal(answer, Script(seed=4).answer(*args))
    assert 0 <= script.answer(0, "s", "select", (7,), 1.0) < 7


def test_the_estimator_is_left_alone(X):
    from skdp import PrivacyLedger

    ledger = PrivacyLedger(1.0, 1e-6)
    mean = SoundMean(ledger=ledger)
    non_interference(mean, X, n_transcripts=1)
    assert mean.random_state is None and not hasattr(mean, "location_")
    assert [entry.kind for entry in ledger.entries()] == ["opened"]
