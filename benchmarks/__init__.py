"""Measure Tenfold beside scikit-learn and the best peers, at equal quality: ``python -m benchmarks --help``."""
