"""Traced arrays: storage with views, indexing, promotion, ufuncs."""
