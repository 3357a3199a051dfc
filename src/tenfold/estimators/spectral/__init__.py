"""Spectral embedding and clustering."""
