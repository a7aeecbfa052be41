"""Where kernels come from: Numba-CUDA, CUDA C++, C and C++, LLVM IR."""
