"""Solvers: one algorithm a file. They consume a problem and rows, and are never trusted."""
