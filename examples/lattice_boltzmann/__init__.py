"""Flow around a body by a D3Q19 lattice in CUDA C++ kernels: its drag, and the shape that has least of it."""
