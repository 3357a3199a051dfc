"""Why the offset must not be penalised (Rosasco 4.4, Cookbook 17 with Figure 17.1).

The points lie on y = 5 + x/10. With a column of ones in the design (Algorithm 16 of the Cookbook) a growing penalty
moves the line to the origin and the slope first increases sevenfold. With a free offset the slope only decreases.

    python examples/penalised_offset.py [--plot slopes.png]
"""

import argparse

import numpy as np

from tenfold import Ridge


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    x = np.linspace(0.0, 10.0, 50)
    y = 5.0 + 0.1 * x
    with_ones = np.column_stack([np.ones(50), x])
    constants = [0.0, 1.0, 10.0, 100.0, 1e3, 1e4]
    slopes = []
    print(" lambda   slope, penalised offset   slope, free offset")
    for constant in constants:
        penalised = Ridge(alpha=constant, fit_intercept=False).fit(with_ones, y).coef_[1]
        free = Ridge(alpha=constant).fit(x[:, None], y).coef_[0]
        slopes.append((penalised, free))
        print(f"{constant:7g}   {penalised:23.3f}   {free:18.3f}")
    if arguments.plot:
        import matplotlib.pyplot as plt

        plt.semilogx(constants[1:], slopes[1:], "o-", label=["penalised offset", "free offset"])
        plt.xlabel("lambda")
        plt.ylabel("slope")
        plt.legend()
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
