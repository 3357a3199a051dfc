"""Plans of linear support vector machines: the solver for a loss, a penalty and a shape of the data.

| | few columns | many columns |
|---|---|---|
| squared losses | Newton's method and L-BFGS on the primal | ascent of the dual, or L-BFGS where rows are many |
| losses with kinks | interior points, a tube of sparse samples with twice as many | ascent of the dual |
| squared hinge, L1 | proximal Newton steps | the same on working sets of columns |
| joint hinge of several classes | interior points | ascent of the dual |

L-BFGS on many columns that does not converge is replaced by the dual: the classes are then nearly separable.

A penalised intercept has an L2 penalty of its own; with an L1 penalty it is the weight of a constant column.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenfold.arrays import Floats
from tenfold.data import MemoryRows, Rows, with_constant
from tenfold.judge.certificate import RULES, Certificate
from tenfold.judge.dual_point_search import gap_at_kinks
from tenfold.judge.gap_crammer_singer import crammer_singer_gap
from tenfold.judge.linear_models import gap, scale_of
from tenfold.judge.objective_points import LOOSE
from tenfold.losses.classification import JointHinge
from tenfold.losses.loss import Loss
from tenfold.losses.regression import EpsilonInsensitive
from tenfold.penalties import L2, ElasticNet
from tenfold.plans import dense_glm, glm, l1_glm, piecewise_linear
from tenfold.plans.coordinates import NEWTON_COLUMNS, approximate_centre, shift_intercept
from tenfold.plans.result import Fitted, not_judged, round_to_dtype, solve_until_certified
from tenfold.problems import Glm
from tenfold.solvers.crammer_singer_cd import CrammerSingerCd
from tenfold.solvers.crammer_singer_ipm import CrammerSingerIpm
from tenfold.solvers.dual_cd import DualCd
from tenfold.solvers.loop import Callback, Solution, Status, Step, run
from tenfold.stats.derivatives import Params

ENOUGH = 0.8  # gap at which dual coordinate ascent stops, relative to the allowed one

USUAL = 1e-4  # tolerance for which that holds; smaller ones scale the gap in proportion

# The Gram matrix of more rows than columns is singular. Where after PROBE steps the number of support vectors exceeds
# CROWDED times the columns, dual ascent takes hundreds of epochs to a gap that L-BFGS reaches in tens of passes; for
# nearly separable classes it is the reverse.
CROWDED, PROBE = 1.5, 10

PATIENCE = 400  # steps of L-BFGS after which classes are taken for nearly separable

# columns up to which sparse samples, at least as many, have interior points for a tube: most of them stay at its edge,
# and an ascent takes thousands of epochs
TUBE_COLUMNS = 2048

HINT, HINT_STEPS = 0.1, 2000  # relative gap and steps of an ascent that only searches a dual point for given weights


JOINT_SIZE, JOINT_PRODUCTS = 512, 3e10  # coefficients, and products of their Hessian, up to which interior points run


@dataclass(frozen=True)
class Machine:
    """The weighted mean loss + strength / 2 ||w||^2 + strength / 2 (b / unit)^2; `sparse` has absolute values in place
    of halves of squares. An infinite unit leaves the intercept free.
    """

    loss: Loss
    strength: float
    intercept: bool
    unit: float = np.inf
    sparse: bool = False

    @property
    def tied(self) -> bool:
        return self.intercept and self.unit < np.inf

    @property
    def intercept_penalty(self) -> float:
        return self.strength / self.unit**2 if self.tied else 0.0

    @property
    def problem(self) -> Glm:
        """That of the rows as they are, or, beside an L1 penalty, of the `wider` ones."""
        if self.sparse:
            return Glm(self.loss, ElasticNet(self.strength), self.intercept and not self.tied)
        penalty = ElasticNet(0.0, self.strength) if self.loss.nonsmooth else L2(self.strength)
        return Glm(self.loss, penalty, self.intercept, self.intercept_penalty)

    @property
    def joint(self) -> Glm:
        """That of several classes together, whatever the loss of one of them."""
        return Glm(JointHinge(), L2(self.strength), self.intercept, self.intercept_penalty)

    def wider(self, rows: Rows) -> Rows:
        return with_constant(rows, self.unit) if self.sparse and self.tied else rows

    def inside(self, params: Params) -> Params:
        """Parameters of the user's rows for the wider ones."""
        if not (self.sparse and self.tied):
            return params
        return Params(np.column_stack([params.coef, params.intercept / self.unit]), np.zeros(1))

    def outside(self, params: Params) -> Params:
        """Parameters of the wider rows for those of the user."""
        if not (self.sparse and self.tied):
            return params
        return Params(np.ascontiguousarray(params.coef[:, :-1]), params.coef[:, -1] * self.unit)

    def certify(self, rows: Rows, params: Params, *, dual: Floats | None = None, **options: Any) -> Certificate:
        """The certificate. Where no dual point is given and none follows from the parameters (nonsmooth loss, or too
        many columns for a square matrix), one is searched.
        """
        problem, rows, params = self.problem, self.wider(rows), self.inside(params)
        wide = _at_hand(rows) and rows.shape[1] > NEWTON_COLUMNS
        if dual is not None or self.sparse or not (self.loss.nonsmooth or wide):
            certificate = gap(problem, rows, params, dual=dual, **options)
            if certificate.ok or not self.loss.nonsmooth or wide:
                return certificate
            return gap_at_kinks(problem, rows, params, hint=dual, **options)
        if not wide:
            return piecewise_linear.judge_at_kinks(problem, rows, params, **options)
        certificate = gap(problem, rows, params, search=0, **options)
        if certificate.ok:
            return certificate
        # the judge does not trust any dual point
        ascent = _ascent(self, rows, 0, HINT * RULES["gap"].tol)
        tight = run(ascent.steps(), HINT_STEPS).status is Status.CONVERGED
        other = gap(problem, rows, params, dual=ascent.slopes, **options)
        best = other if other.value < certificate.value else certificate
        return best if best.ok or tight else replace(best, note=f"{best.note} {LOOSE}".strip())

    def certify_classes(self, rows: Rows, params: Params, **options: Any) -> Certificate:
        """The certificate for the Crammer-Singer loss, for weights without a dual point."""
        problem = self.joint
        if not _at_hand(rows):
            return crammer_singer_gap(problem, rows, params, **options)
        if rows.shape[1] <= NEWTON_COLUMNS:
            certificate = crammer_singer_gap(problem, rows, params, **options)
            if certificate.ok:
                return certificate
        shift = _joint_shift(problem, rows)
        solver = _select_joint_solver(problem, rows, len(params.intercept), shift, 0, HINT * RULES["gap"].tol)
        tight = run(solver.steps(), HINT_STEPS).status is Status.CONVERGED
        certificate = crammer_singer_gap(problem, rows, params, shares=solver.shares, **options)
        return (
            certificate if certificate.ok or tight else replace(certificate, note=f"{certificate.note} {LOOSE}".strip())
        )


@dataclass(frozen=True)
class Limits:
    """Limits of a fit, and its callback."""

    max_iter: int
    time_limit: float | None = None
    callback: Callback | None = None


def fit(
    rows: Rows,
    machine: Machine,
    *,
    dual: bool | None,
    tol: float,
    limits: Limits,
    seed: int = 0,
    dtype: Any = np.float64,
) -> Fitted:
    """Minimise. `dual` requests dual coordinate ascent; None chooses by the shape of the data."""
    given: dict[str, Any] = vars(limits) | {"dtype": dtype}
    if machine.sparse:
        return _by_proximal(machine, rows, tol, limits, dtype)
    if dual and _at_hand(rows):
        return _by_dual(machine, rows, tol, limits, seed, dtype)
    begin = time.perf_counter()
    if not machine.loss.nonsmooth:
        settings = dense_glm.Settings(tol, limits.max_iter, limits.time_limit, limits.callback, dtype)
        result = dense_glm.fit(machine.problem, rows, settings)
        if result is not None:
            return result
        given["time_limit"] = _left(limits.time_limit, begin)
    if dual is None and _prefers_dual(rows, machine):
        try:
            return _by_dual(machine, rows, tol, limits, seed, dtype, probed=not machine.loss.nonsmooth)
        except Crowded:
            given["time_limit"] = _left(limits.time_limit, begin)
    if machine.loss.nonsmooth:
        return piecewise_linear.fit(
            rows,
            machine.loss,  # type: ignore[arg-type]
            0.0,
            machine.strength,
            machine.intercept,
            intercept_penalty=machine.intercept_penalty,
            **given,
        )
    return _by_primal(machine, rows, tol, limits, seed, given, hesitant=dual is None and _may_ascend(rows, machine))


def _by_primal(
    machine: Machine, rows: Rows, tol: float, limits: Limits, seed: int, given: dict[str, Any], hesitant: bool
) -> Fitted:
    """Newton's method or L-BFGS; where the latter is slow, as for nearly separable classes, the dual."""
    begin, hesitant = time.perf_counter(), hesitant and limits.max_iter > PATIENCE
    given = given | {"max_iter": PATIENCE if hesitant else limits.max_iter}
    result = glm.fit(
        rows,
        machine.loss,
        L2(machine.strength),
        machine.intercept,
        solver="lbfgs",
        tol=tol,
        intercept_penalty=machine.intercept_penalty,
        **given,
    )
    if not hesitant or result.certificate.ok or result.certificate.status != Status.MAX_ITER.value:
        return result
    rest = replace(limits, time_limit=_left(given["time_limit"], begin))
    ascended = _by_dual(machine, rows, tol, rest, seed, given["dtype"])
    return min(ascended, result, key=lambda fitted: fitted.certificate.value)


def _prefers_dual(rows: Rows, machine: Machine) -> bool:
    """Whether an ascent of the dual is tried: rows in memory with more columns than a square matrix is formed of, and
    with a squared loss not so many that they will crowd.
    """
    n, p = rows.shape
    return _may_ascend(rows, machine) and (machine.loss.nonsmooth or n < 2 * CROWDED * p)


def _may_ascend(rows: Rows, machine: Machine) -> bool:
    if not _at_hand(rows):
        return False
    if not machine.loss.nonsmooth:
        return not glm.forms_hessian(rows, machine.strength)
    tube = rows.sparse and isinstance(machine.loss, EpsilonInsensitive) and rows.shape[0] >= rows.shape[1]
    return rows.shape[1] > (TUBE_COLUMNS if tube else NEWTON_COLUMNS)


class Crowded(Exception):
    """Too many support vectors for dual coordinate ascent."""


def _unless_crowded(ascent: DualCd, columns: int) -> Iterator[Step]:
    for count, step in enumerate(ascent.steps()):
        if count == PROBE and step.measure > 1.0 and np.count_nonzero(ascent.loop.b) > CROWDED * columns:
            raise Crowded
        yield step


def _left(time_limit: float | None, begin: float) -> float | None:
    return None if time_limit is None else max(0.0, time_limit - (time.perf_counter() - begin))


def _at_hand(rows: Rows) -> bool:
    return isinstance(rows, MemoryRows) and not rows.on_device


def _by_dual(
    machine: Machine, rows: Rows, tol: float, limits: Limits, seed: int, dtype: Any, probed: bool = False
) -> Fitted:
    ascent = _ascent(machine, rows, seed, _target_gap(tol))
    centre = _centre(machine, rows, dtype)
    path = _unless_crowded(ascent, rows.shape[1]) if probed else ascent.steps()

    def certify(solution: Solution) -> Fitted:
        params, status = round_to_dtype(solution.params, dtype, centre), solution.status.value
        try:
            certificate = machine.certify(rows, params, dual=ascent.slopes, status=status, dtype=dtype)
        except KeyboardInterrupt:
            certificate = not_judged("gap")
        return Fitted(params, certificate, "dual ascent", solution.iterations, solution.trace)

    return solve_until_certified(path, certify, ascent.tighten, limits.max_iter, limits.time_limit, limits.callback)[1]


def _centre(machine: Machine, rows: Rows, dtype: Any) -> Floats | None:
    """The point at which rounding the weights to `dtype` changes no prediction."""
    return approximate_centre(rows, True) if machine.intercept and dtype != np.float64 else None


def _ascent(machine: Machine, rows: Rows, seed: int, allowed: float) -> DualCd:
    """The ascent of the dual, until its gap is `allowed`, in units of the judge."""
    problem = machine.problem
    # at zero weights every loss is one
    scale = 1.0 if machine.loss.signs else scale_of(problem, rows)
    return DualCd(problem, rows, seed, allowed * scale)


def _target_gap(tol: float) -> float:
    """The gap at which an ascent stops: below the certified one, and smaller for small tolerances."""
    return ENOUGH * RULES["gap"].tol * min(1.0, tol / USUAL)


def fit_joint(
    rows: Rows,
    machine: Machine,
    classes: int,
    *,
    tol: float,
    limits: Limits,
    seed: int = 0,
    dtype: Any = np.float64,
) -> Fitted:
    """Minimise the Crammer-Singer loss; targets of the rows are class indices."""
    problem = machine.joint
    shift = _joint_shift(problem, rows)
    solver = _select_joint_solver(problem, rows, classes, shift, seed, _target_gap(tol))
    inside = isinstance(solver, CrammerSingerIpm)
    centre = _centre(machine, rows, dtype)

    def outside(params: Params) -> Params:
        return shift_intercept(params, -shift) if inside else params

    def certify(solution: Solution) -> Fitted:
        params, status = _round_classes(outside(solution.params), dtype, centre), solution.status.value
        try:
            certificate = crammer_singer_gap(problem, rows, params, shares=solver.shares, status=status, dtype=dtype)
        except KeyboardInterrupt:
            certificate = not_judged("gap")
        name = "interior point" if inside else "joint ascent"
        return Fitted(params, certificate, name, solution.iterations, solution.trace)

    callback = limits.callback
    heard: Callback | None = None if callback is None else lambda record, params: callback(record, outside(params))
    return solve_until_certified(solver.steps(), certify, solver.tighten, limits.max_iter, limits.time_limit, heard)[1]


def _round_classes(params: Params, dtype: Any, centre: Floats | None) -> Params:
    """The parameters in the precision of storage: for two classes the difference, split into opposite weights."""
    if len(params.intercept) != 2:
        return round_to_dtype(params, dtype, centre)
    half = round_to_dtype(Params(0.5 * np.diff(params.coef, axis=0), 0.5 * np.diff(params.intercept)), dtype, centre)
    return Params(*(np.concatenate([-part, part]) for part in half))


def _joint_shift(problem: Glm, rows: Rows) -> Floats:
    """From where rows are measured: an intercept that is tied belongs to the rows as they are."""
    return approximate_centre(rows, True) if problem.balances else np.zeros(rows.shape[1])


def _select_joint_solver(
    problem: Glm, rows: Rows, classes: int, shift: Floats, seed: int, allowed: float
) -> CrammerSingerCd | CrammerSingerIpm:
    """Interior points where the Hessian of all classes is formed at little cost, which an ascent takes many epochs to
    match; an ascent else.
    """
    n, p = rows.shape
    size = classes * (p + 1)
    if size <= JOINT_SIZE and n * size**2 <= JOINT_PRODUCTS:
        return CrammerSingerIpm(problem, rows, classes, shift, allowed)
    return CrammerSingerCd(problem, rows, classes, seed, allowed)


def _by_proximal(machine: Machine, rows: Rows, tol: float, limits: Limits, dtype: Any) -> Fitted:
    wider, problem = machine.wider(rows), machine.problem
    shift = approximate_centre(wider, True) if problem.intercept else np.zeros(wider.shape[1])
    rule = l1_glm.GapRule(problem, tol, scale_of(problem, wider), 0.5 * problem.loss.lipschitz)
    start, centre = Params(np.zeros((1, wider.shape[1])), np.zeros(1)), _centre(machine, rows, dtype)

    def outside(params: Params) -> Params:
        return machine.outside(shift_intercept(params, -shift))

    def certify(solution: Solution) -> Fitted:
        params, status = round_to_dtype(outside(solution.params), dtype, centre), solution.status.value
        try:
            certificate = gap(problem, wider, machine.inside(params), status=status, dtype=dtype)
        except KeyboardInterrupt:
            certificate = not_judged("gap")
        return Fitted(params, certificate, "proximal newton", solution.iterations, solution.trace)

    callback = limits.callback
    if callback is not None:
        limits = replace(limits, callback=lambda record, params: callback(record, outside(params)))
    return solve_until_certified(
        l1_glm.steps(problem, wider, start, shift, rule, fresh=True),
        certify,
        rule.tighten,
        limits.max_iter,
        limits.time_limit,
        limits.callback,
    )[1]


def worst(certificates: list[Certificate]) -> Certificate:
    """The worst certificate of several problems of one fit, with the values of all."""
    if len(certificates) == 1:
        return certificates[0]
    certificate = max(certificates, key=lambda one: one.value / one.allowed)
    return replace(certificate, parts=tuple(one.value for one in certificates), _coef=None)
