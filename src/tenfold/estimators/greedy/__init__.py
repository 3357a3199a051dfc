"""The family of greedy selection."""
