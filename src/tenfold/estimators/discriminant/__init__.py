"""Discriminants: Gaussian classes, linear and quadratic, nearest centroids, and classes whose densities are known."""
