"""Mergeable statistics of rows: lifted from a block, merged in any number, asked many questions.

Each is a commutative monoid. A compiled loop lifts NumPy and CSR blocks; the same lift in the Array API serves every
other namespace, and the tests run both.
"""
