"""An ocean model in Numba-CUDA kernels, and a film of it: see README.md."""
