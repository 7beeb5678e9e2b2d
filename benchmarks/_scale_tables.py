"""Tables of any length for the benchmark of large tables, written chunk by chunk."""

from pathlib import Path

import numpy as np

__all__ = ["COLUMNS", "array", "parquet"]

COLUMNS, CLUSTERS = 10, 8
CHUNK = 2**20
FILES = 5


def blocks(n_rows, seed=0):
    """Yield rows of eight clusters, of float64."""
    rng = np.random.default_rng(seed)
    centers = 8 * rng.normal(size=(CLUSTERS, COLUMNS))
    for start in range(0, n_rows, CHUNK):
        n = min(CHUNK, n_rows - start)
        rows = rng.normal(size=(n, COLUMNS))
        rows += centers[rng.integers(CLUSTERS, size=n)]
        yield start, rows


def array(path, n_rows):
    """Write a table as an array, to be read through a memory map; return its path."""
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n_rows, COLUMNS))
    for start, rows in blocks(n_rows):
        X[start : start + len(rows)] = rows
    X.flush()
    return Path(path)


def parquet(folder, n_rows, *, few=1000):
    """Write a table as parquet files, and its first rows beside it; return the folder."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    folder = Path(folder)
    schema = pyarrow.schema([(f"x{j}", pyarrow.float64()) for j in range(COLUMNS)])
    for place, length, files in ((folder, n_rows, FILES), (Path(f"{folder}-few"), few, 1)):
        place.mkdir()
        writers = [
            ParquetWriter(place / f"part-{i}.parquet", schema, compression="none")
            for i in range(files)
        ]
        for start, rows in blocks(length):
            table = pyarrow.table(list(rows.T), schema=schema)
            writers[start * files // length].write_table(table)
        for writer in writers:
            writer.close()
    return folder
