"""Least squares that is regularised by stopping early."""
