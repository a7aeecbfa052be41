// Handles, and the parameters of Jacobi's methods.
#include "dense.h"

using namespace reactant;

extern "C" {

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle) {
    NEED(handle);
    if (broken() || !libraries::openblas("cuSOLVER")) return CUSOLVER_STATUS_NOT_INITIALIZED;
    *handle = new cusolverDnContext;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
    NEED_HANDLE(handle);
    delete handle;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
    NEED_HANDLE(handle);
    handle->stream = stream;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t *stream) {
    NEED_HANDLE(handle);
    NEED(stream);
    *stream = handle->stream;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverGetVersion(int *version) {
    NEED(version);
    *version = CUSOLVER_VERSION;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int *value) {
    NEED(value && type >= MAJOR_VERSION && type <= PATCH_LEVEL);
    constexpr int parts[] = {CUSOLVER_VER_MAJOR, CUSOLVER_VER_MINOR, CUSOLVER_VER_PATCH};
    *value = parts[type];
    return CUSOLVER_STATUS_SUCCESS;
}

#define JACOBI(NAME, TYPE, MADE, SMALL)                                                                        \
    cusolverStatus_t cusolverDnCreate##NAME##Info(TYPE *info) {                                                \
        NEED(info);                                                                                            \
        *info = new MADE;                                                                                      \
        return CUSOLVER_STATUS_SUCCESS;                                                                        \
    }                                                                                                          \
    cusolverStatus_t cusolverDnDestroy##NAME##Info(TYPE info) {                                                \
        delete info;                                                                                           \
        return CUSOLVER_STATUS_SUCCESS;                                                                        \
    }                                                                                                          \
    cusolverStatus_t cusolverDnX##SMALL##SetTolerance(TYPE info, double) {                                     \
        NEED(info);                                                                                            \
        return CUSOLVER_STATUS_SUCCESS;                                                                        \
    }                                                                                                          \
    cusolverStatus_t cusolverDnX##SMALL##SetMaxSweeps(TYPE info, int) {                                        \
        NEED(info);                                                                                            \
        return CUSOLVER_STATUS_SUCCESS;                                                                        \
    }                                                                                                          \
    cusolverStatus_t cusolverDnX##SMALL##SetSortEig(TYPE info, int sort) {                                     \
        NEED(info);                                                                                            \
        info->sorted = sort;                                                                                   \
        return CUSOLVER_STATUS_SUCCESS;                                                                        \
    }
JACOBI(Syevj, syevjInfo_t, syevjInfo, syevj)
JACOBI(Gesvdj, gesvdjInfo_t, gesvdjInfo, gesvdj)

}  // extern "C"
