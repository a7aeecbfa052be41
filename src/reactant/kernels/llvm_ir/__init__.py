"""LLVM IR of kernels: read, completed by device libraries and inline assembly, cleaned up."""
