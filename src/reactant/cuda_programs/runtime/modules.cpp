// Modules of the driver API: images that hold a shared object with this processor's code, as text. Each load is one of its
// own, with its own variables.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "driver.h"
#include "reactant_frame.h"

using namespace reactant;

struct CUmod_st {
    void *library = nullptr;
    std::vector<const ReactantModule *> parts;
    std::map<std::string, Function *> functions;
};

namespace {

const char marker[] = "//reactant-module ";

// What device objects call is linked into every program that loads modules.
[[gnu::used]] void *const needed[] = {
    (void *)reactant_device_malloc, (void *)reactant_device_free, (void *)reactant_device_printf, (void *)reactant_device_assert,
    (void *)reactant_device_trap, (void *)reactant_device_clock, (void *)reactant_device_nanoseconds, (void *)reactant_scratch,
    (void *)reactant_grid_wait, (void *)reactant_texture, (void *)reactant_texture_fetch, (void *)reactant_texture_gather,
    (void *)reactant_surface, (void *)reactant_parameter_buffer, (void *)reactant_launch_from_device,
    (void *)reactant_last_error_of_device, (void *)reactant_register_module, (void *)&reactant_zero,
    (void *)reactant_run_block, (void *)reactant_reduce_block, (void *)reactant_answer_warp};

CUresult refused(CUresult error, const char *why) {
    fprintf(stderr, "reactant: cuModuleLoad: %s\n", why);
    return error;
}

int digit(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : c >= '0' && c <= '9' ? c - '0' + 52 :
           c == '+' ? 62 : c == '/' ? 63 : -1;
}

std::vector<char> decoded(const char *text) {
    std::vector<char> made;
    unsigned bits = 0, count = 0;
    for (; digit(*text) >= 0; ++text) {
        bits = bits << 6 | (unsigned)digit(*text), count += 6;
        if (count >= 8) made.push_back((char)(bits >> (count -= 8) & 255));
    }
    return made;
}

CUresult load(CUmodule *module, const char *image) {
    if (!module || !image) return CUDA_ERROR_INVALID_VALUE;
    unsigned magic;
    memcpy(&magic, image, 4);
    if (magic == 0x464c457fu || magic == 0xba55ed50u)
        return refused(CUDA_ERROR_NO_BINARY_FOR_GPU, "this is machine code for GPUs; `reactant nvcc -cubin` or -ptx makes modules for this processor");
    const char *found = strstr(image, marker);
    if (!found)
        return refused(strstr(image, ".version") ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE,
                       "this is PTX for GPUs, or no module at all, and cannot run on this processor; give the CUDA source to nvrtc, or compile "
                       "it by `reactant nvcc -ptx`");
    const std::vector<char> code = decoded(found + strlen(marker));
    const char *folder = getenv("TMPDIR");
    std::string path = std::string(folder && *folder ? folder : "/tmp") + "/reactant-module-XXXXXX";
    const int file = mkstemp(&path[0]);
    if (file < 0) return refused(CUDA_ERROR_OPERATING_SYSTEM, "no temporary file can be written (TMPDIR)");
    const bool written = write(file, code.data(), code.size()) == (ssize_t)code.size();
    close(file);
    auto *made = new CUmod_st;
    list_modules(&made->parts);
    made->library = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    list_modules(nullptr);
    const char *why = made->library ? "" : dlerror();
    unlink(path.c_str());
    if (!made->library) {
        fprintf(stderr, "reactant: cuModuleLoad: %s (programs that load modules are linked by reactant nvcc, or with -rdynamic)\n", why ? why : "");
        delete made;
        return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
    }
    *module = made;
    return CUDA_SUCCESS;
}

Function *function_of(CUfunction function) { return (Function *)function; }
dim3 extent(unsigned x, unsigned y, unsigned z) { return dim3{x, y, z}; }

CUresult launched(CUfunction f, dim3 grid, dim3 block, unsigned shared, CUstream stream, void **parameters, void **extra, bool cooperative) {
    Function *function = function_of(f);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    const ReactantKernel &kernel = *kernel_of(*function);
    std::vector<void *> places;
    if (!parameters && extra) {
        char *buffer = nullptr;
        size_t bytes = 0;
        for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
            if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = (char *)extra[1];
            else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *(size_t *)extra[1];
            else return CUDA_ERROR_INVALID_VALUE;
        }
        for (uint32_t k = 0; k < kernel.parameter_count; ++k) {
            if (!buffer || kernel.parameters[k].offset + kernel.parameters[k].size > bytes) return CUDA_ERROR_INVALID_VALUE;
            places.push_back(buffer + kernel.parameters[k].offset);
        }
        parameters = places.data();
    }
    if (!parameters && kernel.parameter_count) return CUDA_ERROR_INVALID_VALUE;
    return result_of(launch(Launch{function, grid, block, shared, cooperative}, parameters, stream));
}

}  // namespace

extern "C" {

CUresult cuModuleLoadData(CUmodule *module, const void *image) { return load(module, (const char *)image); }
CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) { return load(module, (const char *)image); }
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
    for (unsigned k = 0; k < count; ++k)            // there is nothing to tell: logs are empty
        if (options[k] == CU_JIT_INFO_LOG_BUFFER || options[k] == CU_JIT_ERROR_LOG_BUFFER) *(char *)values[k] = 0;
    return load(module, (const char *)image);
}
CUresult cuModuleLoad(CUmodule *module, const char *name) {
    FILE *file = name ? fopen(name, "rb") : nullptr;
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    std::string text;
    char part[65536];
    for (size_t count; (count = fread(part, 1, sizeof part, file)) > 0;) text.append(part, count);
    fclose(file);
    return load(module, text.size() < 4 ? "    " : text.c_str());
}
CUresult cuModuleUnload(CUmodule module) {
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    wait_for_all();
    for (const ReactantModule *part : module->parts) forget(part);
    dlclose(module->library);
    for (auto &[name, function] : module->functions) delete function;
    delete module;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    if (!function || !name) return CUDA_ERROR_INVALID_VALUE;
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    Function *&made = module->functions[name];
    for (const ReactantModule *part : module->parts)
        for (uint64_t k = 0; k < part->kernel_count && !made; ++k)
            if (!strcmp(part->kernels[k].name, name)) {
                made = new Function;
                made->stub = nullptr, made->name = name, made->identity = part->identity, made->kernel = &part->kernels[k];
            }
    if (!made) {
        explain("there is no kernel %s in this module", name);
        module->functions.erase(name);
        return CUDA_ERROR_NOT_FOUND;
    }
    *function = (CUfunction)made;
    return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name) {
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    if (!module) return CUDA_ERROR_INVALID_HANDLE;
    for (const ReactantModule *part : module->parts)
        for (uint64_t k = 0; k < part->symbol_count; ++k)
            if (!strcmp(part->symbols[k].name, name)) {
                if (address) *address = (CUdeviceptr)part->symbols[k].address;
                if (bytes) *bytes = part->symbols[k].size;
                return CUDA_SUCCESS;
            }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction f) {
    Function *function = function_of(f);
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    const ReactantKernel &kernel = *kernel_of(*function);
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = kernel.max_threads ? (int)kernel.max_threads : 1024; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)kernel.static_shared; break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)kernel.local_bytes; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = kernel.registers ? (int)kernel.registers : 32; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = 80; break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = function->max_dynamic_shared - (int)kernel.static_shared; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = function->carveout; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value) {
    Function *function = function_of(f);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value < 0 || (size_t)value + kernel_of(*function)->static_shared > 166912) return CUDA_ERROR_INVALID_VALUE;
        function->max_dynamic_shared = value > 49152 ? value : 49152;
    } else if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
        if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
        function->carveout = value;
    } else {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
CUresult cuFuncSetCacheConfig(CUfunction f, CUfunc_cache) { return f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }
CUresult cuFuncGetName(const char **name, CUfunction f) {
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    return f ? (*name = function_of(f)->name.c_str(), CUDA_SUCCESS) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared, CUstream stream, void **parameters, void **extra) {
    return launched(function, extent(grid_x, grid_y, grid_z), extent(block_x, block_y, block_z), shared, stream, parameters, extra, false);
}
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared, CUstream stream, void **parameters) {
    return launched(function, extent(grid_x, grid_y, grid_z), extent(block_x, block_y, block_z), shared, stream, parameters, nullptr, true);
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int block, size_t shared) {
    if (!blocks || block <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    *blocks = (int)blocks_per_processor(*function_of(f), block, shared);
    return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction f, CUoccupancyB2DSize shared_of, size_t shared, int limit) {
    if (!grid || !block) return CUDA_ERROR_INVALID_VALUE;
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    const ReactantKernel &kernel = *kernel_of(*function_of(f));
    int most = kernel.max_threads ? (int)kernel.max_threads : 1024, best = 0;
    if (limit > 0 && limit < most) most = limit;
    for (int size = 32; size <= most; size += 32) {
        const int threads = size * (int)blocks_per_processor(*function_of(f), size, shared_of ? shared_of(size) : shared);
        if (threads >= best) best = threads, *block = size, *grid = threads / size * processors();
    }
    return best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}
