"""Ops that become calls of BLAS and of NumPy's own functions."""
