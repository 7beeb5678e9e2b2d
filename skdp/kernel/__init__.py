"""The kernel: rows stay behind a Table that answers registered questions with noise.

Three values cross its wall: a Statistic, which bounds itself; a Noisy answer; and a Table, which
shows nothing of its rows.
"""

__all__: list[str] = []
