"""Ambiguous regions of three classes with one-vs-rest decisions (Seeger 6.4.1).

A letter is the only class with a positive score, a dot stands for none, a star for several; the largest score decides
everywhere.
"""

import numpy as np

from tenfold import Perceptron, ambiguity


def main() -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 4.0], [-4.0, -2.0], [4.0, -2.0]])
    X = np.concatenate([centre + rng.standard_normal((40, 2)) for centre in centres])
    y = np.repeat(["a", "b", "c"], 40)
    model = Perceptron(max_iter=5000, tol=None).fit(X, y)
    print("separates the samples:", model.certificate_.ok)

    across, down = np.linspace(-8, 8, 60), np.linspace(8, -8, 24)
    grid = np.array([[u, v] for v in down for u in across])
    result = ambiguity(model, grid)
    letters = np.where(result.yes == 1, model.predict(grid), np.where(result.yes == 0, ".", "*"))
    for line in letters.reshape(len(down), -1):
        print("".join(line))
    print(f"no class is positive in {result.nobody:.0%} of the plane, several are in {result.several:.0%}")
    print(f"pairs of classes that end in a tie: {result.tied:.0%}")
    assert result.nobody + result.several > 0.05
    assert result.tied == 0.0


if __name__ == "__main__":
    main()
