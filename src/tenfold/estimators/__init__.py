"""Thin scikit-learn classes: validate into Rows, build the problem, run the plan, store attributes. No mathematics in
them.
"""
