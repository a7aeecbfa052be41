"""Kernels in lock step: all threads of a launch do each operation together, as one tensor operation."""
