"""The delta rule: linear models that learn from one row at a time."""
