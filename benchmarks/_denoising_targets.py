"""Errors of an independent prototype on the workloads of ``denoising.py``, cell by cell.

Trend filtering of order one had the best of its penalties there, chosen by the truth.
"""

__all__ = ["best_ratios", "target_ratios"]

W2 = "cGM Lap aGM JS JS+ soft SureShr NPMLE"
W3 = "cGM aGM soft JS+ SureShr NPMLE NPMLE>=0 clip0"
W4 = "cGM aGM JS-mean soft SureShr wav-soft wav-SURE fused-SURE trend1-SURE NPMLE>=0"

# Rows are told by the first entries of a row of the table.
TARGETS = {
    "W2": {
        (0.01, 100): (W2, "88.1 286 35.0 10.7 10.5 9.93 9.93 11.3"),
        (0.01, 1000): (W2, "869 8926 345 34.5 33.1 31.5 31.5 47.1"),
        (0.01, 5000): (W2, "4352 99690 1729 79.3 76.8 70.7 70.7 nan"),
        (0.1, 100): (W2, "8.63 28.4 4.87 4.40 4.40 8.49 4.60 4.60"),
        (0.1, 1000): (W2, "86.7 894 48.9 26.5 26.5 31.5 31.5 26.8"),
        (0.1, 5000): (W2, "435 10020 245 68.0 68.0 70.7 70.7 nan"),
        (1, 1000): (W2, "8.71 89.1 6.39 6.27 6.27 18.7 6.32 6.34"),
        (1, 5000): (W2, "43.5 1000 31.9 29.1 29.1 65.3 30.0 nan"),
    },
    "W3": {
        (10**4, 1000, 0.01, 0.1): (W3, "1367 772 444 746 281 216 215 558"),
        (10**4, 1000, 0.01, 1): (W3, "136 100 80 100 45 47 31 72"),
        (10**4, 1000, 0.1, 0.1): (W3, "1363 769 678 624 434 378 378 574"),
        (10**4, 1000, 0.1, 1): (W3, "137 100 169 100 77 66 65 80"),
        (10**4, 1000, 1, 0.1): (W3, "1385 782 459 401 459 309 308 600"),
        (10**4, 1000, 1, 1): (W3, "138 102 255 99 97 89 89 93"),
        (10**5, 1000, 0.1, 1): (W3, "138 101 231 101 88 100 80 85"),
        (10**4, 10**4, 0.01, 0.1): (W3, "4337 2447 710 895 710 485 475 1740"),
        (10**4, 10**4, 0.01, 1): (W3, "435 319 191 303 111 87 86 230"),
    },
    "W4": {
        ("smooth", 0.1): (W4, "266 182 17.2 19.7 19.7 16.9 16.9 15.7 14.4 17.4"),
        ("smooth", 0.5): (W4, "53.2 40.4 15.1 19.6 19.6 12.2 12.2 6.35 5.95 14.6"),
        ("smooth", 1): (W4, "26.6 21.2 12.7 18.8 14.8 9.7 8.2 4.82 4.59 11.1"),
        ("boxes", 0.5): (W4, "53.2 40.4 20.7 26.3 26.3 18.1 18.1 7.17 11.1 18.6"),
        ("boxes", 1): (W4, "26.6 21.2 15.9 23.7 13.2 14.2 9.6 4.83 8.5 11.4"),
    },
    "W5": {(200,): ("raw Bock XKB oracle", "671 620 107.8 99.9")},
}
# Columns that ``auto`` does not compete with: other noise, other laws, the truth.
OTHERS = {"cGM", "Lap", "law", "private", "oracle", "auto"}


def target_ratios(table, row):
    """Return error over target for the columns of one row that have a target."""
    for head, (names, values) in TARGETS.get(table, {}).items():
        if tuple(row.values())[: len(head)] == head:
            pairs = zip(names.split(), map(float, values.split()), strict=True)
            return {name: row[name] / value for name, value in pairs if value == value}
    return {}


def best_ratios(table, row):
    """Return the error of ``auto`` over that of the best column of one row."""
    if "auto" not in row or table not in TARGETS:
        return {}
    start = list(row).index("aGM" if "aGM" in row else "raw")
    rivals = {k: v for k, v in list(row.items())[start:] if k not in OTHERS}
    best = min(rivals, key=rivals.get)
    return {best: row["auto"] / rivals[best]}
