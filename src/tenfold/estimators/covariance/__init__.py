"""Estimators of covariances and precisions."""
