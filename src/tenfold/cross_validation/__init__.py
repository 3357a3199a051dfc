"""Choosing hyper-parameters nearly for free: exact leave-one-out, exact k-fold and whole paths from one
factorisation.
"""
