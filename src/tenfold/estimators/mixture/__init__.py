"""Mixtures, and the driver of EM that fits them."""
