"""Regularised risks in the space of a kernel."""
