"""Generalised linear models: deviances, robust losses, quantiles."""
