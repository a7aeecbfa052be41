/* The functions of the runtime API that there are, C. What is not declared here is an error of the compiler that names it. */
#ifndef REACTANT_PROGRAM_API_H
#define REACTANT_PROGRAM_API_H
#include "types.h"

#ifdef __cplusplus
#define REACTANT_DEFAULT(VALUE) = VALUE
extern "C" {
#else
#define REACTANT_DEFAULT(VALUE)
#endif
#define REACTANT_STREAM cudaStream_t stream REACTANT_DEFAULT(0)
#define REACTANT_FLAGS(VALUE) unsigned int flags REACTANT_DEFAULT(VALUE)

/* ---- errors ---- */
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

/* ---- devices ---- */
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags);
cudaError_t cudaSetValidDevices(int *devices, int length);
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int from, int to);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaThreadSynchronize(void);
cudaError_t cudaThreadExit(void);
cudaError_t cudaSetDeviceFlags(unsigned int flags);
cudaError_t cudaGetDeviceFlags(unsigned int *flags);
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit);
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config);
cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config);
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);
cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device);
cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *text);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

/* ---- memory ---- */
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMallocHost(void **memory, size_t bytes);
cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned int flags);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaHostRegister(void *memory, size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void *memory);
cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags);
cudaError_t cudaHostGetFlags(unsigned int *flags, void *host);
cudaError_t cudaMallocManaged(void **memory, size_t bytes, REACTANT_FLAGS(cudaMemAttachGlobal));
cudaError_t cudaMallocPitch(void **memory, size_t *pitch, size_t width, size_t height);
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *memory, struct cudaExtent extent);
cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream);
cudaError_t cudaMallocFromPoolAsync(void **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *memory);
cudaError_t cudaMemAdvise(const void *memory, size_t bytes, enum cudaMemoryAdvise advice, int device);
cudaError_t cudaMemPrefetchAsync(const void *memory, size_t bytes, int device, REACTANT_STREAM);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *memory, size_t bytes REACTANT_DEFAULT(0),
                                     REACTANT_FLAGS(cudaMemAttachSingle));

/* ---- copies ---- */
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, REACTANT_STREAM);
cudaError_t cudaMemcpyPeer(void *to, int device, const void *from, int source, size_t bytes);
cudaError_t cudaMemcpyPeerAsync(void *to, int device, const void *from, int source, size_t bytes, REACTANT_STREAM);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, REACTANT_STREAM);
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *parameters);
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *parameters, REACTANT_STREAM);
cudaError_t cudaMemset(void *memory, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, REACTANT_STREAM);
cudaError_t cudaMemset2D(void *memory, size_t pitch, int value, size_t width, size_t height);
cudaError_t cudaMemset2DAsync(void *memory, size_t pitch, int value, size_t width, size_t height, REACTANT_STREAM);
cudaError_t cudaMemset3D(struct cudaPitchedPtr memory, int value, struct cudaExtent extent);
cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr memory, int value, struct cudaExtent extent, REACTANT_STREAM);
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset REACTANT_DEFAULT(0),
                               enum cudaMemcpyKind kind REACTANT_DEFAULT(cudaMemcpyHostToDevice));
cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset REACTANT_DEFAULT(0),
                                 enum cudaMemcpyKind kind REACTANT_DEFAULT(cudaMemcpyDeviceToHost));
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                                    enum cudaMemcpyKind kind, REACTANT_STREAM);
cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                      enum cudaMemcpyKind kind, REACTANT_STREAM);
cudaError_t cudaGetSymbolAddress(void **address, const void *symbol);
cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol);

/* ---- arrays ---- */
struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f);
cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *format, cudaArray_const_t array);
cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format, size_t width,
                            size_t height REACTANT_DEFAULT(0), REACTANT_FLAGS(0));
cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *format, struct cudaExtent extent,
                              REACTANT_FLAGS(0));
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *format, struct cudaExtent *extent, unsigned int *flags,
                             cudaArray_t array);
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *array, const struct cudaChannelFormatDesc *format,
                                     struct cudaExtent extent, unsigned int levels, REACTANT_FLAGS(0));
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *level_array, cudaMipmappedArray_const_t array, unsigned int level);
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array);
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromArray(void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                  size_t height, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                     size_t height, enum cudaMemcpyKind kind, REACTANT_STREAM);
cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                       size_t height, enum cudaMemcpyKind kind, REACTANT_STREAM);
cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                   size_t from_y, size_t bytes,
                                   enum cudaMemcpyKind kind REACTANT_DEFAULT(cudaMemcpyDeviceToDevice));
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                     size_t from_y, size_t width, size_t height,
                                     enum cudaMemcpyKind kind REACTANT_DEFAULT(cudaMemcpyDeviceToDevice));

/* ---- textures and surfaces ---- */
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *description, const struct cudaResourceViewDesc *view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource, cudaTextureObject_t texture);
cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *description, cudaTextureObject_t texture);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const struct cudaResourceDesc *resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t surface);
cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *resource, cudaSurfaceObject_t surface);

/* ---- streams and events ---- */
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, REACTANT_FLAGS(0));
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned int flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority);
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *number);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, REACTANT_STREAM);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, REACTANT_STREAM, REACTANT_FLAGS(0));
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);

/* ---- launches ---- */
#ifdef __CUDA_ARCH__
int cudaConfigureCall(dim3 grid, dim3 block, size_t shared = 0, struct CUstream_st *stream = 0); /* clang asks for it */
#endif
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared REACTANT_DEFAULT(0),
                                     struct CUstream_st *stream REACTANT_DEFAULT(0));
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                             size_t shared REACTANT_DEFAULT(0), REACTANT_STREAM);
cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                        size_t shared REACTANT_DEFAULT(0), REACTANT_STREAM);
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments);
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function);
cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config);
cudaError_t cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig config);
cudaError_t cudaFuncGetName(const char **name, const void *function);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block, size_t shared);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int block,
                                                                   size_t shared, unsigned int flags);
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks, int block);

/* ---- graphs ---- */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *number REACTANT_DEFAULT(0));
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode);
cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaKernelNodeParams *parameters);
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaMemcpy3DParms *parameters);
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                     size_t count, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaMemsetParams *parameters);
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                 const struct cudaHostNodeParams *parameters);
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count);
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                       size_t count, cudaGraph_t child);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     size_t count);
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type);
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *parameters);
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *parameters);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *result);
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const struct cudaKernelNodeParams *parameters);
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void *to,
                                               const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const struct cudaMemsetParams *parameters);
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                           const struct cudaHostNodeParams *parameters);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream);

#ifdef __cplusplus
}
#else
#define cudaGraphInstantiate(EXECUTABLE, GRAPH, FLAGS) cudaGraphInstantiateWithFlags(EXECUTABLE, GRAPH, FLAGS)
#endif

static inline struct cudaExtent make_cudaExtent(size_t w, size_t h, size_t d) {
    struct cudaExtent r; r.width = w; r.height = h; r.depth = d; return r;
}
static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
    struct cudaPos r; r.x = x; r.y = y; r.z = z; return r;
}
static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *memory, size_t pitch, size_t xsize, size_t ysize) {
    struct cudaPitchedPtr r; r.ptr = memory; r.pitch = pitch; r.xsize = xsize; r.ysize = ysize; return r;
}
#endif
