"""Nearest neighbours, and densities and means by windows."""
