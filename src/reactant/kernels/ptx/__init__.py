"""Kernels as PTX, for NVIDIA's GPUs."""
