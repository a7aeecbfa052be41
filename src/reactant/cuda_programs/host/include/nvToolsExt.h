/* Marks for NVIDIA's profilers: nobody listens here. */
#ifndef REACTANT_PROGRAM_NVTX_H
#define REACTANT_PROGRAM_NVTX_H
#include <stddef.h>
#include <stdint.h>
#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
typedef uint64_t nvtxRangeId_t;
typedef enum { NVTX_COLOR_UNKNOWN = 0, NVTX_COLOR_ARGB = 1 } nvtxColorType_t;
typedef enum { NVTX_MESSAGE_UNKNOWN = 0, NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_UNICODE = 2 } nvtxMessageType_t;
typedef union { const char *ascii; const wchar_t *unicode; } nvtxMessageValue_t;
typedef struct {
    uint16_t version, size; uint32_t category; int32_t colorType; uint32_t color; int32_t payloadType, reserved0;
    union { uint64_t ullValue; int64_t llValue; double dValue; uint32_t uiValue; int32_t iValue; float fValue; } payload;
    int32_t messageType; nvtxMessageValue_t message;
} nvtxEventAttributes_t;
static inline int nvtxRangePushA(const char *text) { (void)text; return 0; }
static inline int nvtxRangePushEx(const nvtxEventAttributes_t *event) { (void)event; return 0; }
static inline int nvtxRangePop(void) { return 0; }
static inline nvtxRangeId_t nvtxRangeStartA(const char *text) { (void)text; return 0; }
static inline void nvtxRangeEnd(nvtxRangeId_t range) { (void)range; }
static inline void nvtxMarkA(const char *text) { (void)text; }
static inline void nvtxNameOsThreadA(uint32_t thread, const char *text) { (void)thread, (void)text; }
#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxMark nvtxMarkA
#endif
