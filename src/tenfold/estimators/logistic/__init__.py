"""Logistic regression of two classes and more."""
