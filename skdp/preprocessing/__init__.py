"""Steps before a release, and scalers with released parameters."""

from skdp.preprocessing._encoders import PrivateOneHotEncoder, PrivateOrdinalEncoder
from skdp.preprocessing._friendly_core_filter import FriendlyCoreFilter
from skdp.preprocessing._group_map import GroupMap
from skdp.preprocessing._mechanism_steps import GaussianMechanism, LaplaceMechanism
from skdp.preprocessing._private_simple_imputer import PrivateSimpleImputer
from skdp.preprocessing._private_target_encoder import PrivateTargetEncoder
from skdp.preprocessing._public_fit import PublicFit
from skdp.preprocessing._rank_scalers import PrivateKBinsDiscretizer, PrivateRobustScaler
from skdp.preprocessing._row_map import RowMap
from skdp.preprocessing._scalers import PrivateMinMaxScaler, PrivateStandardScaler
from skdp.preprocessing._sensitivity_preprocessor import SensitivityPreprocessor

__all__ = [
    "FriendlyCoreFilter",
    "GaussianMechanism",
    "GroupMap",
    "LaplaceMechanism",
    "PrivateKBinsDiscretizer",
    "PrivateMinMaxScaler",
    "PrivateOneHotEncoder",
    "PrivateOrdinalEncoder",
    "PrivateRobustScaler",
    "PrivateSimpleImputer",
    "PrivateStandardScaler",
    "PrivateTargetEncoder",
    "PublicFit",
    "RowMap",
    "SensitivityPreprocessor",
]
