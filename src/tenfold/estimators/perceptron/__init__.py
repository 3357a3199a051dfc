"""Perceptrons: Rosenblatt's, the mean of its weights, and their votes."""
