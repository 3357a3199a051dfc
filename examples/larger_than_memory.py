"""Exact leave-one-out errors of data larger than memory (Seeger 10.2.2).

Forty Parquet files are read again in every pass, two blocks at a time. The error of each of 25 penalties equals that of
refits without each sample, and the bits are those of a fit in memory.

    python examples/larger_than_memory.py [--plot errors.png]
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tenfold import RidgeCV, rows

FILES, ROWS, COLUMNS = 40, 2_000, 30
ALPHAS = np.logspace(0, 6, 25)


def part(number: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of one file: many weak signals under much noise."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((ROWS, COLUMNS))
    return X, X @ np.linspace(-0.5, 0.5, COLUMNS) + 5.0 * rng.standard_normal(ROWS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        for number in range(FILES):
            X, y = part(number)
            table = pa.table([*X.T, y], names=[*(f"x{j}" for j in range(COLUMNS)), "y"])
            pa.parquet.write_table(table, Path(folder, f"part-{number:02}.parquet"))
        data = rows(f"{folder}/*.parquet", target="y")
        model = RidgeCV(ALPHAS).fit(data)
        print(f"{data.shape[0]} rows of {FILES} files: alpha {model.alpha_:.4g}, error {-model.best_score_:.6f}")
        print(f"certified: {model.certificate_.ok}; explained: {model.score(data):.2%}")

    parts = [part(number) for number in range(FILES)]
    whole = RidgeCV(ALPHAS).fit(np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts]))
    print(f"the same bits as in memory: {np.array_equal(whole.coef_, model.coef_)}")
    if arguments.plot:
        import matplotlib.pyplot as plt

        plt.semilogx(ALPHAS, model.cv_errors_)
        plt.xlabel("alpha")
        plt.ylabel("mean squared leave-one-out error")
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
