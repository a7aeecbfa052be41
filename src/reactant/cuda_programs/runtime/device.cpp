// The device: a CPU, described as a GPU of compute capability 8.0 so that programs find what they ask for.
#include <cstdio>
#include <cstring>

#include "runtime.h"

using namespace reactant;

namespace {

std::string processor_name() {
    std::string name;
    if (FILE *file = fopen("/proc/cpuinfo", "r")) {
        char line[256];
        while (name.empty() && fgets(line, sizeof line, file))
            if (!strncmp(line, "model name", 10))
                if (const char *colon = strchr(line, ':')) name = colon + 2;
        fclose(file);
    }
    while (!name.empty() && name.back() <= ' ') name.pop_back();
    return name;
}

const cudaDeviceProp &described() {
    static const cudaDeviceProp made = [] {
        cudaDeviceProp p;
        memset(&p, 0, sizeof p);
        std::string cpu = processor_name();
        snprintf(p.name, sizeof p.name, "Reactant: this CPU as a CUDA device (%s, %d threads)",
                 cpu.empty() ? "x86-64" : cpu.c_str(), processors());
        memcpy(p.uuid.bytes, "reactant-cpu-dev", 16);
        p.totalGlobalMem = memory_bytes();
        p.sharedMemPerBlock = 49152, p.sharedMemPerBlockOptin = 166912, p.sharedMemPerMultiprocessor = 167936;
        p.reservedSharedMemPerBlock = 1024;
        p.regsPerBlock = p.regsPerMultiprocessor = 65536;
        p.warpSize = 32;
        p.memPitch = 2147483647;
        p.maxThreadsPerBlock = 1024, p.maxThreadsPerMultiProcessor = 2048, p.maxBlocksPerMultiProcessor = 32;
        p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024, p.maxThreadsDim[2] = 64;
        p.maxGridSize[0] = 2147483647, p.maxGridSize[1] = p.maxGridSize[2] = 65535;
        p.clockRate = clock_khz(), p.memoryClockRate = 1600000, p.memoryBusWidth = 128;
        p.totalConstMem = 65536;
        p.major = 8, p.minor = 0;
        p.textureAlignment = p.surfaceAlignment = 512, p.texturePitchAlignment = 32;
        p.deviceOverlap = p.integrated = p.canMapHostMemory = p.concurrentKernels = p.unifiedAddressing = 1;
        p.multiProcessorCount = processors();
        p.asyncEngineCount = 2;
        p.maxTexture1D = p.maxTexture2D[0] = 131072, p.maxTexture2D[1] = 65536, p.maxTexture1DLinear = 268435456;
        p.maxTexture3D[0] = p.maxTexture3D[1] = p.maxTexture3D[2] = 16384;
        p.maxSurface1D = 32768, p.maxSurface2D[0] = 131072, p.maxSurface2D[1] = 65536;
        p.maxSurface3D[0] = p.maxSurface3D[1] = p.maxSurface3D[2] = 16384;
        p.l2CacheSize = cache_bytes();
        p.streamPrioritiesSupported = p.globalL1CacheSupported = p.localL1CacheSupported = 1;
        p.managedMemory = p.hostNativeAtomicSupported = p.pageableMemoryAccess = p.concurrentManagedAccess = 1;
        p.computePreemptionSupported = p.canUseHostPointerForRegisteredMem = p.cooperativeLaunch = 1;
        p.pageableMemoryAccessUsesHostPageTables = p.directManagedMemAccessFromHost = 1;
        p.hostRegisterSupported = p.hostRegisterReadOnlySupported = p.memoryPoolsSupported = 1;
        p.singleToDoublePrecisionPerfRatio = 2;
        return p;
    }();
    return made;
}

cudaError_t only_device(int device) {
    if (device == 0) return cudaSuccess;
    explain("there is no device %d: the CPU is device 0, and the only one", device);
    return cudaErrorInvalidDevice;
}

std::atomic<unsigned> device_flags{0};

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int *count) {
    return call([&] { return count ? (*count = 1, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t cudaGetDevice(int *device) {
    return call([&] { return device ? (*device = 0, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t cudaSetDevice(int device) {
    return call([&] { return only_device(device); });
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }

cudaError_t cudaSetValidDevices(int *devices, int length) {
    return call([&] {
        for (int k = 0; k < length; ++k)
            if (cudaError_t error = only_device(devices[k])) return error;
        return cudaSuccess;
    });
}

cudaError_t cudaChooseDevice(int *device, const cudaDeviceProp *wanted) {
    return call([&] { return device && wanted ? (*device = 0, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    return call([&] {
        if (!properties) return cudaErrorInvalidValue;
        if (cudaError_t error = only_device(device)) return error;
        *properties = described();
        return cudaSuccess;
    });
}

cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp *properties, int device) {
    return cudaGetDeviceProperties(properties, device);
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
    return call([&] {
        if (!value) return cudaErrorInvalidValue;
        if (cudaError_t error = only_device(device)) return error;
        switch ((int)attribute) {
#define REACTANT_ATTRIBUTE(NAME, NUMBER, VALUE) case NUMBER: *value = VALUE; return cudaSuccess;
#include "reactant_program/attributes.inc"
#undef REACTANT_ATTRIBUTE
        default: return cudaErrorInvalidValue;
        }
    });
}

cudaError_t cudaDeviceGetP2PAttribute(int *, cudaDeviceP2PAttr, int, int) { return report(cudaErrorInvalidDevice); }

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    return call([&] {
        if (!can) return cudaErrorInvalidValue;
        if (cudaError_t error = only_device(device)) return error;
        if (cudaError_t error = only_device(peer)) return error;
        *can = 0;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return report(cudaErrorInvalidDevice); }
cudaError_t cudaDeviceDisablePeerAccess(int) { return report(cudaErrorInvalidDevice); }

cudaError_t cudaDeviceSynchronize(void) {
    if (!inside_kernel()) wait_for_all(), look();
    return call([] { return cudaSuccess; });
}

cudaError_t cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }

cudaError_t cudaDeviceReset(void) {
    wait_for_all();
    fflush(stdout);
    return call([] { return cudaSuccess; });
}

cudaError_t cudaThreadExit(void) { return cudaDeviceReset(); }

cudaError_t cudaSetDeviceFlags(unsigned flags) {
    return call([&] {
        if (flags & ~(unsigned)(cudaDeviceScheduleMask | cudaDeviceMapHost | cudaDeviceLmemResizeToMax))
            return cudaErrorInvalidValue;
        device_flags = flags;
        return cudaSuccess;
    });
}

cudaError_t cudaGetDeviceFlags(unsigned *flags) {
    return call([&] { return flags ? (*flags = device_flags | cudaDeviceMapHost, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
    return call([&] { return (unsigned)config > 3 ? cudaErrorInvalidValue : cudaSuccess; });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache *config) {
    return call([&] { return config ? (*config = cudaFuncCachePreferNone, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
    return call([&] { return (unsigned)config > 2 ? cudaErrorInvalidValue : cudaSuccess; });
}

cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig *config) {
    return call([&] { return config ? (*config = cudaSharedMemBankSizeFourByte, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device) {
    return call([&] {
        if (cudaError_t error = only_device(device)) return error;
        if (!text || length < 13) return cudaErrorInvalidValue;
        snprintf(text, (size_t)length, "0000:00:00.0");
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text) {
    return call([&] {
        if (!device || !text) return cudaErrorInvalidValue;
        if (strcmp(text, "0000:00:00.0") != 0) return cudaErrorInvalidDevice;
        *device = 0;
        return cudaSuccess;
    });
}

cudaError_t cudaDriverGetVersion(int *version) {
    return call([&] { return version ? (*version = CUDART_VERSION, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t cudaRuntimeGetVersion(int *version) { return cudaDriverGetVersion(version); }

cudaError_t cudaProfilerStart(void) { return call([] { return cudaSuccess; }); }
cudaError_t cudaProfilerStop(void) { return call([] { return cudaSuccess; }); }

}
