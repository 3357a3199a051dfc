"""Gaussian processes: regression, and classification by the Laplace approximation."""
