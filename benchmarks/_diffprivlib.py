"""K-means of diffprivlib, also where its forests are too old for the scikit-learn here."""

import sys
from functools import cache
from types import ModuleType

__all__ = ["diffprivlib_kmeans"]

FORESTS = "diffprivlib.models.forest"


@cache
def diffprivlib_kmeans():
    """Return its class KMeans, or None if there is none."""
    try:
        from diffprivlib.models import KMeans
    except ModuleNotFoundError:
        return None
    except ImportError:  # the forests ask for private names; the package asks for the forests
        for name in [n for n in sys.modules if n.split(".")[0] == "diffprivlib"]:
            del sys.modules[name]
        empty = ModuleType(FORESTS)
        empty.RandomForestClassifier = empty.DecisionTreeClassifier = None
        sys.modules[FORESTS] = empty
        from diffprivlib.models import KMeans
    return KMeans
