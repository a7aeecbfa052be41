"""Sorts as native code."""
