"""Python written in the traced language: dicts, sets and heaps with run-time keys."""
