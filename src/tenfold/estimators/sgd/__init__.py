"""Stochastic gradient descent: linear models that learn from one sample at a time."""
