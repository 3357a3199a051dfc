"""Naive Bayes: columns that are independent within each class."""
