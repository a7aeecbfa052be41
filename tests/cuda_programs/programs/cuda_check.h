// Every call of the CUDA runtime is checked; the first that fails ends the program and says where.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CUDA_CHECK(call)                                                                                   \
    do {                                                                                                   \
        const cudaError_t error_ = (call);                                                                 \
        if (error_ != cudaSuccess) {                                                                       \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
            std::exit(2);                                                                                  \
        }                                                                                                  \
    } while (0)
