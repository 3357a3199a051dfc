"""The family of the Lasso."""
