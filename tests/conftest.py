import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest

import skdp


@pytest.fixture
def rng():
    return np.random.default_rng(20260101)


@pytest.fixture
def debug():
    """Let exceptions of the private part through."""
    with skdp.config_context(debug=True):
        yield
