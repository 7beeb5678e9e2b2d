"""The order of the gallery: by task, beginners first."""

from pathlib import Path

__all__ = ["by_task"]

FIRST = (
    *("private_mean", "by_group", "trial", "late_flights", "is_my_model_good", "clusters"),
    *("synthetic", "pipelines", "groups", "parquet_directory", "regression_intervals", "pairs"),
    *("marginals", "correlations"),
)
USERS = ("for_an_analyst", "for_a_data_scientist", "for_an_office", "for_a_researcher")
LAST = ("estimator_of_your_own", "break_it")


def by_task(filename):
    """Return the place of an example."""
    name = Path(filename).stem
    task = name.split("_", 2)[2] if name.startswith("plot_") else name
    order = [*USERS, *FIRST, None, *LAST]  # None: all others
    return order.index(task if task in order else None)
