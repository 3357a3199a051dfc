"""Rows that workers make from their place alone: again and again the same, and never on the client."""

import time

import numpy as np


def chunk(block_info=None, width=8, classes=False, pause=0.0):
    """The rows of one place, the target last."""
    start, stop = block_info[None]["array-location"][0]
    rng = np.random.default_rng([7, int(start)])
    X = rng.standard_normal((stop - start, width)) * np.linspace(0.5, 2.0, width) + 0.3
    z = X @ np.linspace(-1.0, 1.0, width) + 0.5
    noise = rng.logistic(size=len(z)) if classes else rng.standard_normal(len(z))
    time.sleep(pause)
    return np.column_stack([X, np.where(z + noise > 0, 1.0, -1.0) if classes else z + noise])


def make(n, p=8, chunks=10, classes=False, pause=0.0):
    """X (n, p) and y (n, 1) in so many chunks; each takes `pause` seconds to make."""
    import dask.array as da

    lengths = np.full(chunks, n // chunks)
    lengths[: n % chunks] += 1
    joint = da.map_blocks(
        chunk,
        chunks=(tuple(map(int, lengths)), (p + 1,)),
        meta=np.zeros((0, 0)),
        dtype=np.float64,
        width=p,
        classes=classes,
        pause=pause,
    )
    return joint[:, :p], joint[:, p:]
