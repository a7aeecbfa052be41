"""An ocean model in Numba-CUDA kernels, its adjoint, and a film: see README.md."""
