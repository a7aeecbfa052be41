"""Waves in a curved cavity: discontinuous Galerkin methods of any order in Numba-CUDA kernels, beside exact modes."""
