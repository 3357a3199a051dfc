"""Certificates: how good parameters are, computed from problem, parameters and rows alone, in float64. Imports no
solver.

Kinds, and the rule by which each is called ok (`RULES`):

residual
    Direct solves. With r the residual of the penalised system [X; sqrt(alpha) I] w = [y; 0], the number is the
    largest cosine between r and a column: zero exactly at a solution, free of units, and a bound on the backward
    error of that column.
dual residual
    Kernel methods with square loss. What is left of the system for the dual coefficients, relative to the targets: by
    how much the targets would have to differ for the coefficients to be exact.
gap
    Convex problems. Objective minus the dual value at a point that is made feasible here: no parameters whatever can
    be better by more.
count
    Models that are meant to separate classes. The mistakes of the returned model, counted again, ties by exact sums;
    the note has the smallest margin.
exact
    Results that follow from the data by a formula. The largest distance to a second formula.
spectral
    Components. The largest residual of an eigenvector; a component with a larger variance that was left out makes it
    infinite, and the note says where that there is none holds with a probability, or is not proved.
fixed point
    Methods that repeat a step, as Lloyd's and EM. How far the objective falls in one exact step from the returned
    parameters: nothing at rest, which need not be the best place.
stationarity
    Losses that are not convex. The norm of the gradient, or of its distance to the penalty's subdifferential: zero
    where the objective is at rest, which need not be the best place.
"""
