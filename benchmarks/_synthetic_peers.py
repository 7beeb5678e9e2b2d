"""AIM, MST and SWIFT of a checkout, as programs of their own: rows in, rows and costs out.

``python _synthetic_peers.py CHECKOUT METHOD TABLE RHO SEED OUT.npz``. For AIM and MST it is one of
private-pgm, with a folder ``mechanisms`` and mbi in ``src``, which needs pandas below 3 and an
older jax (0.4.38 works). For SWIFT it is one of google/dpsynth, beside mbi 2.0, jax and
dp-accounting. All get rho as it is, not what their accountants would make of epsilon, and the
workload of all pairs. A tenth of rho is for the single columns of SWIFT, as is its default.
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


def of_private_pgm(checkout, method, rows, domain, rho, seed):
    sys.path[:0] = [str(Path(checkout) / "mechanisms"), str(Path(checkout) / "src")]
    import aim
    import mst
    from mbi import Dataset, Domain

    names = list(domain)
    np.random.seed(seed)  # noqa: NPY002 (both draw from this stream)
    data = Dataset(pd.DataFrame(rows), Domain(names, list(domain.values())))
    if method == "aim":
        mechanism = aim.AIM(1.0, 1e-6)
        mechanism.rho = rho
        return mechanism.run(data, [(pair, 1.0) for pair in combinations(names, 2)])[1].df
    mst.cdp_rho = lambda *_: rho
    return mst.MST(data, 1.0, 1e-6).df


def of_dpsynth(checkout, method, rows, domain, rho, seed):
    sys.path.insert(0, checkout)
    from dpsynth.discrete_mechanisms.discrete import DiscreteConfig
    from dpsynth.discrete_mechanisms.swift import SWIFTConfig
    from mbi import Dataset, Domain

    inner = SWIFTConfig(workload=list(combinations(domain, 2)))
    mechanism = DiscreteConfig(mechanism=inner).configure(zcdp_rho=rho)
    data = Dataset(rows, Domain(list(domain), list(domain.values())))
    return mechanism(np.random.default_rng(seed), data).synthetic_data.to_dict()


def main(checkout, method, table, rho, seed, out):
    codes, levels, test = TABLES[table]()
    names = [f"c{j}" for j in range(len(levels))]
    rows = dict(zip(names, codes[~test].T, strict=True))
    run = of_dpsynth if method == "swift" else of_private_pgm
    start = time.process_time(), time.perf_counter()
    made = run(checkout, method, rows, dict(zip(names, levels, strict=True)), float(rho), int(seed))
    seconds = time.process_time() - start[0], time.perf_counter() - start[1]
    made = np.column_stack([np.asarray(made[name]) for name in names]).astype(np.int16)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    np.savez_compressed(out, rows=made, seconds=seconds, megabytes=memory)


if __name__ == "__main__":
    main(*sys.argv[1:])
