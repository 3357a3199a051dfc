"""Linear support vector machines: which method a loss, a penalty and the shape of the data get.

| | few columns | many columns |
|---|---|---|
| squared losses | Newton's method and L-BFGS on the primal | ascent of the dual, or L-BFGS where rows are many |
| losses with kinks | interior points | ascent of the dual |
| squared hinge, L1 | proximal Newton steps | the same on working sets of columns |
| joint hinge of several classes | interior points | ascent of the dual |

L-BFGS on many columns that does not end goes to the dual: the classes are nearly separate then.

An intercept that is penalised is tied to zero; beside an L1 penalty it is the weight of a constant column.
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
from tenfold.judge.linear_models import gap, prepare
from tenfold.judge.objective_points import LOOSE
from tenfold.losses.classification import JointHinge
from tenfold.losses.loss import Loss
from tenfold.penalties import L2, ElasticNet
from tenfold.plans import glm, l1_glm, piecewise_linear
from tenfold.plans.coordinates import NEWTON_COLUMNS, approximate_centre, shift_intercept
from tenfold.plans.result import Fitted, certified, not_judged, stored
from tenfold.problems import Glm
from tenfold.solvers.crammer_singer_cd import JointAscent
from tenfold.solvers.crammer_singer_ipm import JointInterior
from tenfold.solvers.dual_cd import DualAscent
from tenfold.solvers.loop import Solution, Status, Step, Watch, run
from tenfold.stats.derivatives import Params

ENOUGH = 0.8
"""The gap at which an ascent of the dual ends, as a share of what the judge allows: it is the judge's own number."""

USUAL = 1e-4
"""The tolerance for which this is so; a smaller one asks for a gap that is smaller in proportion."""

CROWDED, PROBE = 1.5, 10
"""Inner products of more rows than columns are singular. Where after so many steps so many times as many rows as
columns have a part in the weights, an ascent would take hundreds of epochs to a gap that L-BFGS has after some tens of
passes; where classes can nearly be separated it is the other way round.
"""

PATIENCE = 400
"""L-BFGS that has not ended after so many steps meets such classes."""

HINT, HINT_STEPS = 0.1, 2000
"""The same where a dual point is all that is wanted, for weights that come without one; and at most so many steps."""


JOINT_SIZE, JOINT_PRODUCTS = 512, 3e10
"""Up to so many coefficients of all classes, and products for their Hessian, interior points solve a joint loss."""


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

    def judged(self, rows: Rows, params: Params, *, dual: Floats | None = None, **options: Any) -> Certificate:
        """The judge's word; where no dual point comes along, and parameters do not tell it (the loss has kinks, or
        columns are too many for a square matrix), one is looked for.
        """
        problem, rows, params = self.problem, self.wider(rows), self.inside(params)
        wide = _at_hand(rows) and rows.shape[1] > NEWTON_COLUMNS
        if dual is not None or self.sparse or not (self.loss.nonsmooth or wide):
            found = gap(problem, rows, params, dual=dual, **options)
            if found.ok or not self.loss.nonsmooth or wide:
                return found
            return gap_at_kinks(problem, rows, params, hint=dual, **options)
        if not wide:
            return piecewise_linear.judge_at_kinks(problem, rows, params, **options)
        found = gap(problem, rows, params, search=0, **options)
        if found.ok:
            return found
        # whoever finds a dual point, the judge does not trust it
        ascent = _ascent(self, rows, 0, HINT * RULES["gap"].tol)
        tight = run(ascent.steps(), HINT_STEPS).status is Status.CONVERGED
        other = gap(problem, rows, params, dual=ascent.slopes, **options)
        best = other if other.value < found.value else found
        return best if best.ok or tight else replace(best, note=f"{best.note} {LOOSE}".strip())

    def judged_jointly(self, rows: Rows, params: Params, **options: Any) -> Certificate:
        """The judge's word on the joint hinge loss of all classes, for weights that come without a dual point."""
        problem = self.joint
        if not _at_hand(rows):
            return crammer_singer_gap(problem, rows, params, **options)
        if rows.shape[1] <= NEWTON_COLUMNS:
            found = crammer_singer_gap(problem, rows, params, **options)
            if found.ok:
                return found
        shift = _joint_shift(problem, rows)
        way = _joint_way(problem, rows, len(params.intercept), shift, 0, HINT * RULES["gap"].tol)
        tight = run(way.steps(), HINT_STEPS).status is Status.CONVERGED
        found = crammer_singer_gap(problem, rows, params, shares=way.shares, **options)
        return found if found.ok or tight else replace(found, note=f"{found.note} {LOOSE}".strip())


@dataclass(frozen=True)
class Limits:
    """When a fit ends at the latest, and who is told of its steps."""

    max_iter: int
    time_limit: float | None = None
    callback: Watch | None = None


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
    """Minimise. `dual` says whether the dual is ascended; None: where the shape of the data suggests it."""
    given: dict[str, Any] = vars(limits) | {"dtype": dtype}
    if machine.sparse:
        return _by_proximal(machine, rows, tol, limits, dtype)
    if dual and _at_hand(rows):
        return _by_dual(machine, rows, tol, limits, seed, dtype)
    if dual is None and _ascends(rows, machine):
        begin = time.perf_counter()
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
    """Newton's method or L-BFGS; where the latter takes long, as for classes that are nearly separate, the dual."""
    begin, hesitant = time.perf_counter(), hesitant and limits.max_iter > PATIENCE
    given = given | {"max_iter": PATIENCE if hesitant else limits.max_iter}
    found = glm.fit(
        rows,
        machine.loss,
        L2(machine.strength),
        machine.intercept,
        solver="lbfgs",
        tol=tol,
        intercept_penalty=machine.intercept_penalty,
        **given,
    )
    if not hesitant or found.certificate.ok or found.certificate.status != Status.MAX_ITER.value:
        return found
    rest = replace(limits, time_limit=_left(given["time_limit"], begin))
    ascended = _by_dual(machine, rows, tol, rest, seed, given["dtype"])
    return min(ascended, found, key=lambda fitted: fitted.certificate.value)


def _ascends(rows: Rows, machine: Machine) -> bool:
    """Whether an ascent of the dual is tried: rows in memory with more columns than a square matrix is formed of, and
    with a squared loss not so many that they will crowd.
    """
    n, p = rows.shape
    return _may_ascend(rows, machine) and (machine.loss.nonsmooth or n < 2 * CROWDED * p)


def _may_ascend(rows: Rows, machine: Machine) -> bool:
    if not _at_hand(rows):
        return False
    return rows.shape[1] > NEWTON_COLUMNS if machine.loss.nonsmooth else not glm.forms_hessian(rows, machine.strength)


class Crowded(Exception):
    """Too many rows have a part in the weights for an ascent of the dual."""


def _unless_crowded(ascent: DualAscent, columns: int) -> Iterator[Step]:
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
    ascent = _ascent(machine, rows, seed, _allowed(tol))
    centre = _centre(machine, rows, dtype)
    path = _unless_crowded(ascent, rows.shape[1]) if probed else ascent.steps()

    def judged(solution: Solution) -> Fitted:
        params, status = stored(solution.params, dtype, centre), solution.status.value
        try:
            certificate = machine.judged(rows, params, dual=ascent.slopes, status=status, dtype=dtype)
        except KeyboardInterrupt:
            certificate = not_judged("gap")
        return Fitted(params, certificate, "dual ascent", solution.iterations, solution.trace)

    return certified(path, judged, ascent.tighten, limits.max_iter, limits.time_limit, limits.callback)[1]


def _centre(machine: Machine, rows: Rows, dtype: Any) -> Floats | None:
    """Where rounding the weights to `dtype` is to change no prediction."""
    return approximate_centre(rows, True) if machine.intercept and dtype != np.float64 else None


def _ascent(machine: Machine, rows: Rows, seed: int, allowed: float) -> DualAscent:
    """The ascent of the dual, until its gap is `allowed`, in units of the judge."""
    problem = machine.problem
    # without weights every margin of classes costs one
    scale = 1.0 if machine.loss.signs else prepare(problem, rows).scale
    return DualAscent(problem, rows, seed, allowed * scale)


def _allowed(tol: float) -> float:
    """The gap at which an ascent ends: enough to be certified, and less where the tolerance is less than usual."""
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
    """Minimise the joint hinge loss of all classes, whose numbers are the targets of the rows."""
    problem = machine.joint
    shift = _joint_shift(problem, rows)
    way = _joint_way(problem, rows, classes, shift, seed, _allowed(tol))
    inside = isinstance(way, JointInterior)
    centre = _centre(machine, rows, dtype)

    def outside(params: Params) -> Params:
        return shift_intercept(params, -shift) if inside else params

    def judged(solution: Solution) -> Fitted:
        params, status = _stored_jointly(outside(solution.params), dtype, centre), solution.status.value
        try:
            certificate = crammer_singer_gap(problem, rows, params, shares=way.shares, status=status, dtype=dtype)
        except KeyboardInterrupt:
            certificate = not_judged("gap")
        name = "interior point" if inside else "joint ascent"
        return Fitted(params, certificate, name, solution.iterations, solution.trace)

    callback = limits.callback
    heard: Watch | None = None if callback is None else lambda record, params: callback(record, outside(params))
    return certified(way.steps(), judged, way.tighten, limits.max_iter, limits.time_limit, heard)[1]


def _stored_jointly(params: Params, dtype: Any, centre: Floats | None) -> Params:
    """As they will be stored: of two classes the difference, and the shortest weights with it are opposite."""
    if len(params.intercept) != 2:
        return stored(params, dtype, centre)
    half = stored(Params(0.5 * np.diff(params.coef, axis=0), 0.5 * np.diff(params.intercept)), dtype, centre)
    return Params(*(np.concatenate([-part, part]) for part in half))


def _joint_shift(problem: Glm, rows: Rows) -> Floats:
    """From where rows are measured: an intercept that is tied belongs to the rows as they are."""
    return approximate_centre(rows, True) if problem.balances else np.zeros(rows.shape[1])


def _joint_way(
    problem: Glm, rows: Rows, classes: int, shift: Floats, seed: int, allowed: float
) -> JointAscent | JointInterior:
    """Interior points where the Hessian of all classes is formed at little cost, which an ascent takes many epochs to
    match; an ascent else.
    """
    n, p = rows.shape
    size = classes * (p + 1)
    if size <= JOINT_SIZE and n * size**2 <= JOINT_PRODUCTS:
        return JointInterior(problem, rows, classes, shift, allowed)
    return JointAscent(problem, rows, classes, seed, allowed)


def _by_proximal(machine: Machine, rows: Rows, tol: float, limits: Limits, dtype: Any) -> Fitted:
    wider, problem = machine.wider(rows), machine.problem
    shift = approximate_centre(wider, True) if problem.intercept else np.zeros(wider.shape[1])
    rule = l1_glm.GapRule(problem, tol, prepare(problem, wider).scale, 0.5 * problem.loss.lipschitz)
    start, centre = Params(np.zeros((1, wider.shape[1])), np.zeros(1)), _centre(machine, rows, dtype)

    def outside(params: Params) -> Params:
        return machine.outside(shift_intercept(params, -shift))

    def judged(solution: Solution) -> Fitted:
        params, status = stored(outside(solution.params), dtype, centre), solution.status.value
        try:
            certificate = gap(problem, wider, machine.inside(params), status=status, dtype=dtype)
        except KeyboardInterrupt:
            certificate = not_judged("gap")
        return Fitted(params, certificate, "proximal newton", solution.iterations, solution.trace)

    callback = limits.callback
    if callback is not None:
        limits = replace(limits, callback=lambda record, params: callback(record, outside(params)))
    return certified(
        l1_glm.steps(problem, wider, start, shift, rule, fresh=True),
        judged,
        rule.tighten,
        limits.max_iter,
        limits.time_limit,
        limits.callback,
    )[1]


def worst(certificates: list[Certificate]) -> Certificate:
    """That of several problems of one fit: the worst, with the numbers of all."""
    if len(certificates) == 1:
        return certificates[0]
    found = max(certificates, key=lambda one: one.value / one.allowed)
    return replace(found, parts=tuple(one.value for one in certificates), _coef=None)
