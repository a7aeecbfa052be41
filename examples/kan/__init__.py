"""A Kolmogorov-Arnold network in a NumPy class that changes itself, beside JAX."""
