"""NumPy semantics over StableHLO: traced arrays, mutable storage with views, and NumPy's functions by family."""
