"""A search goes to the rows as names and parameters, or stays in this process."""

import json

import numpy as np
import pytest
from scipy.stats import uniform

from skdp import PrivateMean, PrivatePipeline, PrivateSearchCV, PrivateStandardScaler
from skdp.model_selection._described import described, made
from skdp.utils._numbers import describe_parameter
from tests.kernel._elsewhere import heard, sent

PIPE = PrivatePipeline([("scale", PrivateStandardScaler()), ("mean", PrivateMean(trim=True))])
SEARCHES = [
    PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, mean_trials=2, random_state=3),
    PrivateSearchCV(PIPE, [{"mean__trim": (True, False)}, {"mean__bounds": [None, (0.0, 1.5)]}]),
    PrivateSearchCV(PrivateMean(bounds=(np.zeros(2), np.ones(2))), {"trim": [True]}),
]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda one: type(one.estimator).__name__)
def test_a_search_is_described_by_plain_data(search):
    told = described(search)
    crossed = heard(json.loads(json.dumps(sent(told, None))), None)
    again = made(crossed)
    assert type(again) is PrivateSearchCV and again.random_state is None and again.ledger is None
    assert repr(again.estimator) == repr(search.estimator)
    assert again.param_distributions == search.param_distributions
    assert again.mean_trials == search.mean_trials


class Own(PrivateMean):
    """An estimator of the user's."""


@pytest.mark.parametrize(
    "search",
    [
        PrivateSearchCV(Own(), {"trim": [True]}),
        PrivateSearchCV(PrivateMean(), {"trim": uniform()}),
        PrivateSearchCV(PrivateMean(), {"trim": [True]}, scoring=lambda *_: 0.0),
        PrivateSearchCV(PrivateMean(), {"trim": [describe_parameter]}),
    ],
    ids=["estimator", "distribution", "score", "parameter"],
)
def test_code_of_a_user_stays_in_this_process(search):
    assert described(search) is None


@pytest.mark.parametrize("name", ["PrivacyLedger", "os", "_described", 7, "Own"])
def test_no_other_name_is_made(name):
    with pytest.raises(ValueError, match="an unknown estimator"):
        made({"name": name, "parameters": {}})
