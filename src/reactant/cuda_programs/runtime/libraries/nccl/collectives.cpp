// Collectives of one rank: what is sent arrives.
#include <cstdio>
#include <cstring>

#include "common/libraries.h"
#include "nccl.h"

using namespace reactant;
using namespace reactant::libraries;

struct ncclComm { int rank = 0; };

namespace {

// Sends and receives of a group meet at its end, in order.
struct Message { const void *from; void *to; size_t bytes; cudaStream_t stream; };
thread_local int depth = 0;
thread_local std::vector<Message> sent, received;

size_t bytes_of(ncclDataType_t type) {
    constexpr size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return type >= 0 && type < ncclNumTypes ? sizes[type] : 0;
}

ncclResult_t copied(const void *from, void *to, size_t bytes, cudaStream_t stream) {
    if (from == to || bytes == 0) return ncclSuccess;
    if (!from || !to) return ncclInvalidArgument;
    return in_stream(stream, [=] { std::memmove(to, from, bytes); }) ? ncclUnhandledCudaError : ncclSuccess;
}

ncclResult_t collective(const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t communicator,
                        cudaStream_t stream) {
    if (!communicator || !bytes_of(type) || root != 0) return ncclInvalidArgument;
    return copied(from, to, count * bytes_of(type), stream);
}

ncclResult_t reduction(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                       ncclComm_t communicator, cudaStream_t stream) {
    if (op < 0 || op >= ncclNumOps) return ncclInvalidArgument;
    return collective(from, to, count, type, root, communicator, stream);
}

ncclResult_t matched() {
    ncclResult_t result = sent.size() == received.size() ? ncclSuccess : ncclInvalidUsage;
    for (size_t k = 0; k < std::min(sent.size(), received.size()); ++k) {
        if (sent[k].bytes != received[k].bytes) result = ncclInvalidUsage;
        else if (ncclResult_t failed = copied(sent[k].from, received[k].to, sent[k].bytes, received[k].stream)) result = failed;
    }
    sent.clear(), received.clear();
    return result;
}

ncclResult_t message(std::vector<Message> &list, const Message &made, ncclDataType_t type, int peer, ncclComm_t communicator) {
    if (!communicator || !bytes_of(type) || peer != 0) return ncclInvalidArgument;
    if (depth == 0) {
        explain("a send to oneself waits for its receive: both belong into one group");
        return ncclInvalidUsage;
    }
    list.push_back(made);
    return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int *version) {
    if (!version) return ncclInvalidArgument;
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
    if (!id) return ncclInvalidArgument;
    std::memset(id, 0, sizeof *id);
    snprintf(id->internal, sizeof id->internal, "reactant %llu", (unsigned long long)nanoseconds());
    return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t *communicator, int ranks, ncclUniqueId, int rank) {
    if (!communicator) return ncclInvalidArgument;
    if (ranks != 1 || rank != 0) {
        fprintf(stderr, "reactant: NCCL: a communicator has one rank here, since there is one device; %d were asked for\n",
                ranks);
        return ncclInvalidArgument;
    }
    *communicator = new ncclComm;
    return ncclSuccess;
}
ncclResult_t ncclCommInitAll(ncclComm_t *communicators, int devices, const int *list) {
    if (list && devices == 1 && list[0] != 0) return ncclInvalidArgument;
    return ncclCommInitRank(communicators, devices, ncclUniqueId(), 0);
}
ncclResult_t ncclCommFinalize(ncclComm_t communicator) { return communicator ? ncclSuccess : ncclInvalidArgument; }
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
    if (!communicator) return ncclInvalidArgument;
    delete communicator;
    return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t communicator) { return ncclCommDestroy(communicator); }
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t *error) {
    if (!communicator || !error) return ncclInvalidArgument;
    *error = broken() ? ncclUnhandledCudaError : ncclSuccess;
    return ncclSuccess;
}
#define TELL(NAME, VALUE)                                                                                      \
    ncclResult_t NAME(const ncclComm_t communicator, int *value) {                                             \
        if (!communicator || !value) return ncclInvalidArgument;                                               \
        *value = VALUE;                                                                                        \
        return ncclSuccess;                                                                                    \
    }
TELL(ncclCommCount, 1)
TELL(ncclCommCuDevice, 0)
TELL(ncclCommUserRank, 0)
const char *ncclGetErrorString(ncclResult_t result) {
    constexpr const char *texts[] = {"no error", "unhandled cuda error", "unhandled system error", "internal error",
                                     "invalid argument", "invalid usage", "remote process exited or there was a network error",
                                     "NCCL operation in progress"};
    return result >= 0 && result < ncclNumResults ? texts[result] : "unknown result code";
}
const char *ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGroupStart(void) { ++depth; return ncclSuccess; }
ncclResult_t ncclGroupEnd(void) {
    if (depth == 0) return ncclInvalidUsage;
    return --depth ? ncclSuccess : matched();
}
ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,
                      cudaStream_t stream) {
    return message(sent, {from, nullptr, count * bytes_of(type), stream}, type, peer, communicator);
}
ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator, cudaStream_t stream) {
    return message(received, {nullptr, to, count * bytes_of(type), stream}, type, peer, communicator);
}
ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t communicator, cudaStream_t stream) {
    return reduction(from, to, count, type, op, root, communicator, stream);
}
ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t communicator, cudaStream_t stream) {
    return reduction(from, to, count, type, op, 0, communicator, stream);
}
ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t communicator, cudaStream_t stream) {
    return reduction(from, to, count, type, op, 0, communicator, stream);
}
ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t communicator,
                           cudaStream_t stream) {
    return collective(from, to, count, type, root, communicator, stream);
}
ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t communicator,
                       cudaStream_t stream) {
    return collective(buffer, buffer, count, type, root, communicator, stream);
}
ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream) {
    return collective(from, to, count, type, 0, communicator, stream);
}

}  // extern "C"
