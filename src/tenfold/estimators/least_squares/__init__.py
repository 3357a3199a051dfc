"""The family of least squares."""
