"""A blast wave in a gas: Lagrangian hydrodynamics in CUDA C++ kernels, beside the exact solution."""
