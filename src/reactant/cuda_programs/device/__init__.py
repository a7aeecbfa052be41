"""Device code of CUDA programs: clang's IR for GPUs becomes an object file for this CPU."""
