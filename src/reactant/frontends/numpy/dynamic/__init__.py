"""NumPy's functions of arrays of run-time extent."""
