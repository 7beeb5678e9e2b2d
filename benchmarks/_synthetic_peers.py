"""AIM and MST of a checkout of private-pgm, as programs of their own: rows in, rows and costs out.

``python _synthetic_peers.py CHECKOUT METHOD TABLE RHO SEED OUT.npz``. CHECKOUT has a folder
``mechanisms`` and mbi in ``src``, which needs pandas below 3 and an older jax (0.4.38 works). Both
get rho as it is, not what their accountants would make of epsilon, and the workload of all pairs.
"""

import resource
import sys
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from _synthetic_tables import TABLES

__all__ = ["main"]


def main(checkout, method, table, rho, seed, out):
    sys.path.insert(0, str(Path(checkout) / "mechanisms"))
    sys.path.insert(0, str(Path(checkout) / "src"))
    import aim
    import mst
    from mbi import Dataset, Domain

    np.random.seed(int(seed))  # noqa: NPY002 (both draw from this stream)
    codes, levels, test = TABLES[table]()
    names, rho = [f"c{j}" for j in range(len(levels))], float(rho)
    rows, domain = codes[~test], Domain(names, levels)
    data = Dataset(pd.DataFrame(rows, columns=names), domain)
    start = time.process_time(), time.perf_counter()
    if method == "aim":
        mechanism = aim.AIM(1.0, 1e-6)
        mechanism.rho = rho
        _, made = mechanism.run(data, [(pair, 1.0) for pair in combinations(names, 2)])
    else:
        mst.cdp_rho = lambda *_: rho
        made = mst.MST(data, 1.0, 1e-6)
    seconds = time.process_time() - start[0], time.perf_counter() - start[1]
    made = made.df[names].to_numpy().astype(np.int16)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    np.savez_compressed(out, rows=made, seconds=seconds, megabytes=memory)


if __name__ == "__main__":
    main(*sys.argv[1:])
