"""Where source outside the kernel still touches rows or states a bound: counts, room by room.

``python -m tests.privacy._sites`` prints the counts as they are; ceilings only fall.
"""

import ast
from collections import Counter

from tests.privacy._guard import modules, room

__all__ = ["CEILINGS", "KINDS", "counted"]

KINDS = ("sensitivity=", "map_merge", "weighed_sum", ".take(", "representatives_of", ".coins")
# Room: how often each of KINDS.
CEILINGS: dict[str, tuple[int, ...]] = {
    "_parallel": (0, 0, 0, 0, 0, 2),
    "_curator": (0, 0, 0, 0, 0, 3),
    "_unread": (0, 0, 0, 0, 0, 2),  # in which levels a person counts is drawn by keys of its rows
    "_batched": (0, 1, 0, 0, 0, 0),
    "audit": (0, 0, 0, 44, 0, 2),
    "readers": (0, 21, 1, 10, 1, 0),
    "cluster": (0, 0, 0, 0, 0, 1),
    "covariance/published": (0, 0, 0, 0, 0, 1),
    "friendly": (10, 2, 0, 3, 0, 3),
    "location": (1, 0, 0, 0, 0, 0),
    "marginals/published": (3, 0, 0, 0, 0, 0),
    "model_selection": (0, 0, 0, 4, 0, 5),
    "pipeline": (0, 0, 0, 0, 0, 1),
    "preprocessing": (1, 1, 0, 0, 2, 1),
    "scales": (0, 0, 1, 0, 0, 0),
    "sensitivity": (8, 3, 0, 0, 0, 0),
    "sensitivity/published": (1, 0, 0, 0, 0, 0),
}


def sites(source):
    """Yield the kind of every place of a module that touches rows or states a bound."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "sensitivity":
            yield "sensitivity="
        elif isinstance(node, ast.Name | ast.Attribute):
            name = node.id if isinstance(node, ast.Name) else node.attr
            if name in KINDS:
                yield name
            elif name == "coins" and isinstance(node, ast.Attribute):
                yield ".coins"
        elif isinstance(node, ast.Call):
            attribute = isinstance(node.func, ast.Attribute) and node.func.attr == "take"
            yield from [".take("] * (attribute and ast.unparse(node.func) != "np.take")


def counted():
    """Return how often each kind occurs in each room outside the kernel."""
    found = {}
    for path, source in modules():
        if not path.startswith("kernel/"):
            found.setdefault(room(path), Counter()).update(sites(source))
    return {name: tuple(n[k] for k in KINDS) for name, n in sorted(found.items()) if n}


if __name__ == "__main__":
    for name, numbers in counted().items():
        print(f'    "{name}": {numbers},')
