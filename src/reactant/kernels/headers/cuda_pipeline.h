// Asynchronous copies into shared memory, done at once.
#pragma once
#include "reactant_names_aside.h"

__RT_DEVICE void __pipeline_memcpy_async(void *to, const void *from, size_t size, size_t zeros = 0) {
    __builtin_memcpy(to, from, size - zeros);
    if (zeros) __builtin_memset((char *)to + size - zeros, 0, zeros);
}
__RT_DEVICE void __pipeline_commit() {}
__RT_DEVICE void __pipeline_wait_prior(size_t) {}
#include "reactant_names_back.h"
