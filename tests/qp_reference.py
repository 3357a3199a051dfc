"""A slow solver of small quadratic problems in extended precision, independent of the library: Mehrotra's method.

min 1/2 x'Q x + c'x over A x = b, low <= x <= high, with a few dozen unknowns. The complementarity of the result is near
the rounding of long double, so that its objective serves as the optimum.
"""

import numpy as np

LONG = np.longdouble


def eliminate(M, rhs):
    """M^-1 rhs by Gaussian elimination with row pivoting, in the precision of M."""
    M, rhs = M.copy(), rhs.copy()
    for k in range(len(M)):
        p = k + int(np.argmax(np.abs(M[k:, k])))
        M[[k, p]], rhs[[k, p]] = M[[p, k]], rhs[[p, k]]
        factor = M[k + 1 :, k] / M[k, k]
        M[k + 1 :, k:] -= factor[:, None] * M[k, k:]
        rhs[k + 1 :] -= factor * rhs[k]
    x = np.zeros_like(rhs)
    for k in range(len(M) - 1, -1, -1):
        x[k] = (rhs[k] - M[k, k + 1 :] @ x[k + 1 :]) / M[k, k]
    return x


def solve(Q, c, A, b, low, high, steps=80):
    """The minimiser, its multipliers of A x = b, and the objective; all entries of low are finite."""
    Q, c, A, b, low, high = (np.asarray(part, dtype=LONG) for part in (Q, c, A, b, low, high))
    n, m, top = len(c), len(b), np.isfinite(high)
    scale = max(float(np.abs(Q).max()), float(np.abs(c).max()), 1e-300)
    Q, c = Q / scale, c / scale
    x = np.where(top, 0.5 * (low + np.where(top, high, low)), low + 1.0)
    y, zl, zu = np.zeros(m, dtype=LONG), np.ones(n, dtype=LONG), np.where(top, 1.0, 0.0).astype(LONG)
    for _ in range(steps):
        sl, su = x - low, np.where(top, high - x, 1.0)
        dual = Q @ x + c - A.T @ y - zl + zu
        primal = A @ x - b
        mu = (sl @ zl + np.where(top, su * zu, 0.0).sum()) / (n + top.sum())
        size = 1.0 + np.abs(b).max(initial=0.0) + np.abs(x).sum()
        if mu < 1e-17 * (1.0 + abs(c @ x)) and np.abs(primal).max(initial=0.0) < 1e-16 * size:
            break
        if min(sl.min(), su.min()) <= 0.0:  # nothing is left of the distance to a bound
            break
        D = zl / sl + zu / su
        M = np.block([[Q + np.diag(D), -A.T], [A, np.zeros((m, m), dtype=LONG)]])

        def direction(tl, tu, M=M, sl=sl, su=su, zl=zl, zu=zu, dual=dual, primal=primal):
            rhs = np.concatenate([-dual + tl / sl - zl - np.where(top, tu / su - zu, 0.0), -primal])
            with np.errstate(all="ignore"):
                step = eliminate(M, rhs)
            dx = step[:n]
            return dx, step[n:], (tl - zl * dx) / sl - zl, np.where(top, (tu + zu * dx) / su - zu, 0.0)

        zero = np.zeros(n, dtype=LONG)
        dx, _, dl, du = direction(zero, zero)
        if not np.isfinite(dx).all():  # nothing is left of the curvature
            break
        a = length(x - low, dx, su, -dx, zl, dl, zu, du, top)
        ahead = ((sl + a * dx) @ (zl + a * dl) + np.where(top, (su - a * dx) * (zu + a * du), 0.0).sum()) / (
            n + top.sum()
        )
        sigma = (ahead / mu) ** 3
        dx, dy, dl, du = direction(sigma * mu - dx * dl, np.where(top, sigma * mu + dx * du, 0.0))
        if not np.isfinite(dx).all():
            break
        a = min(LONG(1.0), LONG(0.995) * length(x - low, dx, su, -dx, zl, dl, zu, du, top, 2.0))
        x, y, zl, zu = x + a * dx, y + a * dy, zl + a * dl, zu + a * du
    return x, y * scale, float(scale * (0.5 * x @ Q @ x + c @ x))


def length(sl, dl, su, du, zl, dzl, zu, dzu, top, most=1.0):
    parts = [(sl, dl), (su[top], du[top]), (zl, dzl), (zu[top], dzu[top])]
    steps = [(-v[d < 0] / d[d < 0]).min(initial=most) for v, d in parts]
    return LONG(min(steps))
