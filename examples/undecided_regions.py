"""Three classes by binary decisions leave regions that nobody, or more than one class, claims (Seeger 6.4.1).

The letters are the classes that claim a place alone, a dot where nobody does, a star where
several do; the largest score decides everywhere.
"""

import numpy as np

from tenfold import Perceptron, ambiguity


def main() -> None:
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 4.0], [-4.0, -2.0], [4.0, -2.0]])
    X = np.concatenate([centre + rng.standard_normal((40, 2)) for centre in centres])
    y = np.repeat(["a", "b", "c"], 40)
    model = Perceptron(max_iter=5000, tol=None).fit(X, y)
    print("separates the rows:", model.certificate_.ok)

    across, down = np.linspace(-8, 8, 60), np.linspace(8, -8, 24)
    grid = np.array([[u, v] for v in down for u in across])
    found = ambiguity(model, grid)
    letters = np.where(found.yes == 1, model.predict(grid), np.where(found.yes == 0, ".", "*"))
    for line in letters.reshape(len(down), -1):
        print("".join(line))
    print(f"nobody claims {found.nobody:.0%} of the plane, several classes {found.several:.0%}")
    print(f"pairs of classes that end in a tie: {found.tied:.0%}")
    assert found.nobody + found.several > 0.05
    assert found.tied == 0.0


if __name__ == "__main__":
    main()
