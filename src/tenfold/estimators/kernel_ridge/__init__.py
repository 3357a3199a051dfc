"""Kernel ridge regression and classification: ridge in the feature space of a kernel."""
