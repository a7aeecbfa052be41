"""A small transformer in NumPy that learns a language and writes it, beside JAX and PyTorch."""
