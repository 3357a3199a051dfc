"""Standard errors under overdispersion and clustering (Seeger 8.1.2; White 1982; Liang and Zeger 1986).

Visits to doctors, counted for people of 60 towns. A programme runs in half of the towns and, in truth, does nothing.
Counts are overdispersed, and towns differ, so that people of one town are correlated. The coefficients are
consistent all the same, the usual standard errors are too small. Each covariance is assessed by the coverage of its
95 % interval over many draws.

    python examples/robust_errors.py [--plot intervals.png]
"""

import argparse

import numpy as np

from tenfold import PoissonRegressor, infer

NAMES = ("intercept", "programme", "age", "income")
TRUTH = np.array([0.4, 0.0, 0.3, -0.2])
KINDS, DRAWS = ("nonrobust", "HC3", "cluster"), 120


def people(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    town = np.repeat(np.arange(60), 20)
    X = np.column_stack([town % 2, rng.standard_normal((len(town), 2))])
    frail = rng.gamma(2.0, 0.5, len(town))  # of mean one
    mean = np.exp(TRUTH[0] + X @ TRUTH[1:] + 0.3 * rng.standard_normal(60)[town] - 0.045)
    return X, rng.poisson(mean * frail).astype(float), town


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    rng = np.random.default_rng(812)
    held = {kind: np.zeros(4) for kind in KINDS}
    for _ in range(DRAWS):
        X, y, town = people(rng)
        model = PoissonRegressor(alpha=0).fit(X, y)
        for kind in KINDS:
            result = infer(model, X, y, covariance=kind, groups=town if kind == "cluster" else None)
            low, high = result.confidence_interval().T
            held[kind] += (low <= TRUTH) & (high >= TRUTH)
    print(infer(model, X, y, covariance="cluster", groups=town))
    print("\n          coverage of the 95 % interval:", *(f"{name:>10}" for name in NAMES))
    for kind, count in held.items():
        print(f"{kind:>43}:", *(f"{value:10.2f}" for value in count / DRAWS))
    if arguments.plot:
        import matplotlib.pyplot as plt

        for kind, count in held.items():
            plt.plot(NAMES, count / DRAWS, "o-", label=kind)
        plt.axhline(0.95, color="grey")
        plt.legend()
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
