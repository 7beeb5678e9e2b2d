"""A search of public names and parameters goes to the rows; code of a user stays here."""

import numpy as np
import pytest
from scipy.stats import uniform

from skdp import PrivateMean, PrivatePipeline, PrivateSearchCV, PrivateStandardScaler
from skdp.model_selection._runs import is_plain
from skdp.utils._numbers import describe_parameter

PIPE = PrivatePipeline([("scale", PrivateStandardScaler()), ("mean", PrivateMean(trim=True))])


class Own(PrivateMean):
    """An estimator of the user's."""


@pytest.mark.parametrize(
    ("search", "plain"),
    [
        (PrivateSearchCV(PrivateMean(), {"trim": [False, True]}, random_state=3), True),
        (PrivateSearchCV(PIPE, [{"mean__trim": (True,)}, {"mean__bounds": [(0.0, 1.5)]}]), True),
        (PrivateSearchCV(PrivateMean(bounds=(np.zeros(2), np.ones(2))), {"trim": [True]}), True),
        (PrivateSearchCV(Own(), {"trim": [True]}), False),
        (PrivateSearchCV(PrivateMean(), {"trim": uniform()}), False),
        (PrivateSearchCV(PrivateMean(), {"trim": [True]}, scoring=lambda *_: 0.0), False),
        (PrivateSearchCV(PrivateMean(), {"trim": [describe_parameter]}), False),
    ],
)
def test_code_of_a_user_is_told_apart(search, plain):
    assert is_plain(search) is plain
