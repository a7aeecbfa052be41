"""Which groups of ops pay as native code."""
