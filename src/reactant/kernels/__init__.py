"""GPU kernels, C and LLVM IR as parts of compiled functions: raised to tensors, or compiled for the CPU."""
