"""Tables of all kinds whose rows are in another process: the same bits and the same bill."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import skdp
from skdp import MarginalReleaser
from skdp.audit._fingerprint import fingerprint
from skdp.marginals import Bins
from tests.kernel._elsewhere import rows_elsewhere

pytestmark = pytest.mark.filterwarnings("ignore::skdp.exceptions.SeededNoiseWarning")
RNG = np.random.default_rng(0)
N = 2000
FRAME = pd.DataFrame(
    {
        "amount": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(size=N) * 10),
        "letter": RNG.choice(np.array(["a", "b", "c", None], dtype=object), size=N),
        "flag": RNG.random(N) < 0.3,
        "code": RNG.integers(0, 4, size=N).astype(float),
    }
)
PERSONS = RNG.integers(0, 400, size=N)
GIVEN = {
    "amount": Bins([-50, -5, 5, 50], missing=True),
    "letter": ["a", "b", None, ...],
    "flag": [False, True],
    "code": 4,
}
FITS = {
    "given": ({"domain": GIVEN}, FRAME),
    "invalid rows": ({"domain": {"amount": Bins([0, 5, 9]), "letter": ["a", "b"]}}, FRAME),
    "auto": ({"domain": "auto"}, FRAME),
    "polars": ({"domain": {"letter": ["a", ...], ...: "auto"}}, pl.from_pandas(FRAME)),
    "array": ({"domain": "auto", "n_bins": 5}, FRAME[["amount", "code"]].to_numpy()),
    "zeros and ones": ({"k": 1}, FRAME[["flag", "code"]].to_numpy(dtype=float)),
    "ranges": ({"workload": "ranges", "domain": {"amount": GIVEN["amount"], "code": 4}}, FRAME),
    "prefixes": ({"workload": "prefixes", "domain": {"amount": "auto"}}, FRAME),
    "listed": ({"workload": [["amount", "flag"]], "error": "worst", "domain": GIVEN}, FRAME),
}


def fitted(name, groups):
    parameters, X = FITS[name]
    model = MarginalReleaser(random_state=3, n_jobs=2, **parameters)
    with skdp.config_context(invalid_rows="ignore", debug=True):
        model.fit(X, groups=groups)
    return {key: value for key, value in vars(model).items() if key.endswith("_")}


@pytest.mark.cases(6)
@pytest.mark.parametrize("groups", [None, PERSONS], ids=["rows", "persons"])
@pytest.mark.parametrize("name", FITS)
def test_the_same_bits_and_bill(name, groups):
    here = fitted(name, groups)
    with rows_elsewhere() as lines:
        there = fitted(name, groups)
    assert len(lines) == 1 and lines[0].requests
    assert here.keys() == there.keys()
    for key in here:
        assert fingerprint(here[key]) == fingerprint(there[key]), key
