"""Optimism of the best of many random classifiers, and its correction (Seeger 10.1.1; Cookbook 6.2)."""

import numpy as np

from tenfold.selection import best_of


def main() -> None:
    rng = np.random.default_rng(0)
    for count in (1, 10, 100, 1000):
        draws = [best_of(rng.integers(0, 2, (200, count)), n_resamples=100) for _ in range(20)]
        picked, corrected = np.mean([[one.loss, one.corrected] for one in draws], axis=0)
        print(f"best of {count:4d} random classifiers, 200 samples: error {picked:.1%}, corrected {corrected:.1%}")
    assert picked < 0.42 < 0.47 < corrected < 0.53


if __name__ == "__main__":
    main()
