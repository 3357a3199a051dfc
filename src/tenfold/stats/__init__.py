"""Mergeable statistics of the samples: lifted from blocks and merged in any number.

Each is a commutative monoid. A compiled loop lifts NumPy and CSR blocks; the same lift in the Array API serves every
other namespace, and the tests run both.
"""
