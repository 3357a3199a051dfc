"""What solvers return that are called on their own."""

from dataclasses import dataclass

from tenfold.arrays import Floats
from tenfold.judge.certificate import Certificate
from tenfold.solvers.loop import Record, Status


@dataclass(frozen=True)
class SolverResult:
    """The result of a solver, with its certificate and its trace.

    Attributes
    ----------
    x : ndarray
        The solution: the minimiser (q,), the solution of a linear system (q,), or eigenvectors (k, q) in rows.
    fun : float
        The function there: of a linear system 1/2 x'A x - b'x or 1/2 |A x - b|^2, of eigenvectors the sum of the
        eigenvalues.
    jac : ndarray
        The gradient there, of the shape of `x`: of a linear system A x - b or A'(A x - b), of eigenvectors the
        residuals A v - l v.
    method : str
        The method.
    status : str
        How it ended.
    message : str
        That in a sentence, with what to do.
    nit : int
        The number of steps.
    nfev, njev, nhev : int
        Values of the function, gradients, and Hessians or their products that the solver asked for; of matrices the
        products are `njev`.
    trace : tuple of Record
        Objective, measure of convergence (at most one at the end) and seconds of each step; the first is the start.
    path : ndarray of shape (nit + 1, q) or None
        The points of the steps, where they were kept.
    values : ndarray of shape (k,) or None
        Eigenvalues; None for other problems.
    certificate_ : Certificate
        What the judge says of the result: it computes everything again.

    Examples
    --------
    >>> from tenfold import minimize
    >>> result = minimize(lambda x: (x[0] - 3.0) ** 2, [0.0], grad=lambda x: 2.0 * (x - 3.0), method="newton")
    >>> result.nit, result.path.round(6).tolist()
    (1, [[0.0], [3.0]])
    """

    x: Floats
    fun: float
    jac: Floats
    method: str
    status: str
    message: str
    nit: int
    nfev: int
    njev: int
    nhev: int
    trace: tuple[Record, ...]
    path: Floats | None
    values: Floats | None
    certificate_: Certificate

    @property
    def success(self) -> bool:
        """Whether the stopping rule was met and the certificate is ok."""
        return self.status == Status.CONVERGED.value and self.certificate_.ok

    def __repr__(self) -> str:
        numbers = f"fun {self.fun:.6g}, {self.nit} steps, {self.status}"
        return f"<SolverResult of {self.method}: {numbers}, {self.certificate_!r}>"
