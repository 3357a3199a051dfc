"""Nearest neighbours, kernel density and kernel regression, histograms."""
