"""Models of diffprivlib, also where its forests are too old for the scikit-learn here."""

import sys
from functools import cache
from types import ModuleType

__all__ = ["diffprivlib_kmeans", "diffprivlib_models"]

FORESTS = "diffprivlib.models.forest"


@cache
def diffprivlib_models():
    """Return its module of models, all but its forests; or None if there is none."""
    try:
        from diffprivlib import models
    except ModuleNotFoundError:
        return None
    except ImportError:  # the forests ask for private names; the package asks for the forests
        for name in [n for n in sys.modules if n.split(".")[0] == "diffprivlib"]:
            del sys.modules[name]
        empty = ModuleType(FORESTS)
        empty.RandomForestClassifier = empty.DecisionTreeClassifier = None
        sys.modules[FORESTS] = empty
        from diffprivlib import models
    return models


def diffprivlib_kmeans():
    """Return its class KMeans, or None if there is none."""
    models = diffprivlib_models()
    return None if models is None else models.KMeans
