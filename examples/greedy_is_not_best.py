"""Greedy selection need not find the best features (Rosasco 11.1-2).

Two features explain the target exactly, but a third has a larger correlation with it. Orthogonal matching pursuit
selects the third first and keeps it; the best subset of two features does not have it. Both fits are certified: the
greedy rule was followed, and no other two features have a smaller residual.
"""

import numpy as np

from tenfold import BestSubset, OrthogonalMatchingPursuit


def make() -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal u, v, e and the columns u, v, (u + v + e) / sqrt(3); the target is u + v."""
    Q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 3)))
    u, v, e = Q.T
    return np.column_stack([u, v, (u + v + e) / np.sqrt(3.0)]), u + v


def main() -> None:
    X, y = make()
    greedy = OrthogonalMatchingPursuit(n_nonzero_coefs=2, fit_intercept=False).fit(X, y)
    best = BestSubset(2, fit_intercept=False).fit(X, y)
    print("products of the columns with y:", np.abs(X.T @ y).round(3))
    for name, model in (("orthogonal matching pursuit", greedy), ("best subset", best)):
        left = float(np.sum((y - model.predict(X)) ** 2))
        print(f"{name}: columns {np.flatnonzero(model.coef_)}, sum of squares {left:.3f}, {model.certificate_}")
    assert 2 in greedy.path_
    assert list(np.flatnonzero(best.coef_)) == [0, 1]
    assert greedy.certificate_.ok
    assert best.certificate_.ok


if __name__ == "__main__":
    main()
