// Grids that device code launches.
#include <cstdlib>

#include "runtime.h"

using namespace reactant;

namespace { thread_local int last_error = 0; }

extern "C" {

void *reactant_parameter_buffer(uint64_t bytes) { return aligned_alloc(64, bytes ? (bytes + 63) / 64 * 64 : 64); }

int reactant_launch_from_device(const ReactantLaunched *launched, void *parameters, const uint32_t grid[3], const uint32_t block[3],
                                uint32_t shared) {
    Function *function = launched->kernel ? function_of_row(launched->kernel) : function_named(launched->name);
    const Launch launch{function, dim3{grid[0], grid[1], grid[2]}, dim3{block[0], block[1], block[2]}, shared, false};
    cudaError_t error = check(launch);
    if (error == cudaSuccess) {
        const ReactantKernel &kernel = *kernel_of(*function);
        std::vector<void *> arguments;
        for (uint32_t k = 0; k < kernel.parameter_count; ++k) arguments.push_back((char *)parameters + kernel.parameters[k].offset);
        error = run(launch, arguments.data());
    } else {
        explain("a launch by device code: %s (%s)", cudaGetErrorName(error), cudaGetErrorString(error));
    }
    free(parameters);
    if (error != cudaSuccess) last_error = error;
    return error;
}

int reactant_last_error_of_device(int clear) {
    const int error = last_error;
    if (clear) last_error = 0;
    return error;
}

}
