"""Learners of kernel coefficients that look at samples one after the other."""
