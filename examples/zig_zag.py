"""Steepest descent zig-zags in a narrow valley, momentum damps it, conjugate gradients need two steps (Seeger 3.4.1 and
3.4.2, Figure 3.5).

The function is quadratic with condition 25. Each path ends at a point that is certified without its solver.
A gradient with a mistake is found by its differences: the V of the error curve becomes a level.

    python examples/zig_zag.py [--plot path.png]
"""

import argparse

import numpy as np

from tenfold import check_gradient, minimize
from tenfold.plots import DescentDisplay, GradientCheckDisplay

BEND = np.array([1.0, 25.0])
RUNS = (
    ("gradient-descent", {}),
    ("momentum", {"rate": "line", "momentum": 0.3}),
    ("momentum", {"momentum": 0.7}),
    ("bold-driver", {}),
    ("nonlinear-cg", {"line_accuracy": 1e-8}),
    ("newton", {}),
)


def fun(x: np.ndarray) -> float:
    return 0.5 * float(BEND @ x**2)


def grad(x: np.ndarray) -> np.ndarray:
    return BEND * x


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()
    results = [minimize(fun, [25.0, 1.0], grad=grad, method=name, **settings) for name, settings in RUNS]
    for (name, settings), result in zip(RUNS, results, strict=True):
        print(f"{name:17} {settings!s:36} {result.nit:4d} steps, certified: {result.certificate_.ok}")
    wrong = check_gradient(fun, lambda x: grad(x) * [1.0, 1.01], np.array([0.4, -0.3]))
    print(wrong.explain())
    if arguments.plot:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(2, 4, figsize=(18, 7), layout="constrained")
        for place, result in zip(axes.ravel(), results, strict=False):
            DescentDisplay.from_result(fun, result, ax=place)
        right = check_gradient(np.linalg.norm, lambda x: x / np.linalg.norm(x), np.array([0.4, -0.3]))
        for place, check in zip(axes.ravel()[6:], (right, wrong), strict=True):
            GradientCheckDisplay.from_check(check, ax=place)
        figure.savefig(arguments.plot, bbox_inches="tight")


if __name__ == "__main__":
    main()
