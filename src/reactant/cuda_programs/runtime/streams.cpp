// Streams and events. Operations are done when they are submitted, in order; only functions of the host run later.
#include <algorithm>
#include <thread>

#include "host_functions.h"

namespace reactant {

namespace { thread_local bool in_host_function = false; }

bool inside_host_function() { return in_host_function; }

uint64_t HostFunctions::add(std::function<void()> function) {
    std::lock_guard lock(mutex);
    queue.push_back(std::move(function));
    if (!running) {
        running = true;
        std::thread([this] { serve(); }).detach();
    }
    return ++added;
}

void HostFunctions::serve() {
    in_host_function = true;
    std::unique_lock lock(mutex);
    while (!queue.empty()) {
        auto next = std::move(queue.front());
        queue.pop_front();
        lock.unlock();
        next();
        lock.lock();
        ++finished;
        changed.notify_all();
    }
    running = false;
}

bool HostFunctions::done(uint64_t position) {
    std::lock_guard lock(mutex);
    return finished >= position;
}

uint64_t HostFunctions::position() {
    std::lock_guard lock(mutex);
    return added;
}

void HostFunctions::wait(uint64_t position) {
    if (in_host_function) return;
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return finished >= position; });
}

}  // namespace reactant

using namespace reactant;

namespace {

struct Streams {
    std::mutex mutex;
    std::vector<CUstream_st *> live;
    std::vector<CUevent_st *> events;
    std::atomic<unsigned long long> numbers{2};
    std::atomic<int> host_functions{0};             // streams that have had any
    CUstream_st legacy, of_thread;
};

Streams &streams() {
    static Streams *const made = new Streams;
    return *made;
}

constexpr int least_priority = 0, greatest_priority = -5;

void wait_for(CUstream_st &stream) {
    if (stream.host_functions) stream.host_functions->wait(stream.host_functions->position());
}

bool pending(CUstream_st &stream) {
    return stream.host_functions && !stream.host_functions->done(stream.host_functions->position());
}

bool live(cudaEvent_t event) {
    Streams &all = streams();
    std::lock_guard lock(all.mutex);
    return event && std::find(all.events.begin(), all.events.end(), event) != all.events.end();
}

}  // namespace

namespace reactant {

CUstream_st *stream_of(cudaStream_t handle) {
    Streams &all = streams();
    if (handle == nullptr || handle == cudaStreamLegacy) return &all.legacy;
    if (handle == cudaStreamPerThread) return &all.of_thread;
    std::lock_guard lock(all.mutex);
    return std::find(all.live.begin(), all.live.end(), handle) != all.live.end() ? handle : nullptr;
}

void wait_for_all() {
    catch_up();
    Streams &all = streams();
    if (all.host_functions.load(std::memory_order_relaxed) == 0 || inside_host_function()) return;
    std::vector<CUstream_st *> each;
    {
        std::lock_guard lock(all.mutex);
        each = all.live;
    }
    for (CUstream_st *stream : each) wait_for(*stream);
    wait_for(all.legacy);
    wait_for(all.of_thread);
}

cudaError_t ready(cudaStream_t handle, bool *capturing, bool catches_up) {
    if (catches_up) catch_up();
    CUstream_st *stream = stream_of(handle);
    *capturing = false;
    if (!stream) {
        explain("there is no stream %p, or it is destroyed", (void *)handle);
        return cudaErrorInvalidResourceHandle;
    }
    if (stream->capture) { *capturing = true; return cudaSuccess; }
    if (streams().host_functions.load(std::memory_order_relaxed) == 0) return cudaSuccess;
    if (stream == &streams().legacy) wait_for_all();
    else {
        wait_for(*stream);
        if (!(stream->flags & cudaStreamNonBlocking)) wait_for(streams().legacy);
    }
    return cudaSuccess;
}

cudaError_t submit(cudaStream_t handle, Node &&node) {
    bool capturing;
    if (cudaError_t error = ready(handle, &capturing, false)) return error;
    if (!capturing) return node.execute(handle);
    CUstream_st &stream = *stream_of(handle);
    if (stream.capture->invalid) return cudaErrorStreamCaptureInvalidated;
    CUgraph_st &graph = *stream.capture->graph;
    node.after = stream.tail;
    node.graph = &graph;
    graph.nodes.push_back(std::make_unique<Node>(std::move(node)));
    stream.tail.assign(1, graph.nodes.back().get());
    return cudaSuccess;
}

cudaError_t record(cudaEvent_t event, CUstream_st &stream) {
    event->recorded = true;
    if (stream.capture) {
        event->capture = stream.capture;
        event->tail = stream.tail;
        return cudaSuccess;
    }
    event->capture = nullptr;
    event->after = nullptr;
    catch_up();
    if (!(event->flags & cudaEventDisableTiming)) look();       // what is measured is over
    event->time = nanoseconds();
    if (pending(stream)) {
        event->after = stream.host_functions;
        event->position = stream.host_functions->add([event] { event->time = nanoseconds(); });
    }
    return cudaSuccess;
}

}  // namespace reactant

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
    return call([&] {
        if (!stream || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
        auto *made = new CUstream_st;
        made->flags = flags;
        made->priority = std::clamp(priority, greatest_priority, least_priority);
        made->number = ++streams().numbers;
        std::lock_guard lock(streams().mutex);
        streams().live.push_back(made);
        *stream = made;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    return call([&] {
        CUstream_st *stream = stream_of(handle);
        if (!stream || handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread)
            return cudaErrorInvalidResourceHandle;
        wait_for(*stream);
        std::lock_guard lock(streams().mutex);
        auto &all = streams().live;
        all.erase(std::find(all.begin(), all.end(), handle));
        delete stream;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    look();
    return call([&] {
        CUstream_st *stream = stream_of(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (stream->capture) { stream->capture->invalid = true; return cudaErrorStreamCaptureUnsupported; }
        bool capturing;
        return ready(handle, &capturing);
    });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
    look();
    return call([&] {
        CUstream_st *stream = stream_of(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (stream->capture) { stream->capture->invalid = true; return cudaErrorStreamCaptureUnsupported; }
        return pending(*stream) ? cudaErrorNotReady : cudaSuccess;
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags) {
    return call([&] {
        CUstream_st *stream = stream_of(handle);
        if (!stream || !live(event)) return cudaErrorInvalidResourceHandle;
        if (flags > cudaEventWaitExternal) return cudaErrorInvalidValue;
        if (event->capture) {
            if (stream->capture && stream->capture != event->capture) return cudaErrorStreamCaptureMerge;
            if (!stream->capture) {
                stream->capture = event->capture;
                stream->tail.clear();
                stream->capture->joined.push_back(stream);
            }
            for (Node *node : event->tail)
                if (std::find(stream->tail.begin(), stream->tail.end(), node) == stream->tail.end())
                    stream->tail.push_back(node);
            return cudaSuccess;
        }
        if (stream->capture && event->recorded) return cudaErrorStreamCaptureIsolation;
        if (event->after) event->after->wait(event->position);
        return cudaSuccess;
    });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void *data) {
    return call([&] {
        CUstream_st *stream = stream_of(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (!function) return cudaErrorInvalidValue;
        Node node;
        node.type = cudaGraphNodeTypeHost;
        node.host = function, node.data = data;
        if (stream->capture) return submit(handle, std::move(node));
        return node.execute(handle);
    });
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void *data, unsigned flags) {
    return call([&] {
        CUstream_st *stream = stream_of(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (!callback || flags) return cudaErrorInvalidValue;
        if (stream->capture) return cudaErrorStreamCaptureUnsupported;
        std::lock_guard lock(streams().mutex);
        if (!stream->host_functions) stream->host_functions = std::make_shared<HostFunctions>();
        ++streams().host_functions;
        stream->host_functions->add([=] { callback(handle, broken(), data); });
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned *flags) {
    return call([&] {
        CUstream_st *stream = stream_of(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (!flags) return cudaErrorInvalidValue;
        *flags = stream->flags;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int *priority) {
    return call([&] {
        CUstream_st *stream = stream_of(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (!priority) return cudaErrorInvalidValue;
        *priority = stream->priority;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long *number) {
    return call([&] {
        CUstream_st *stream = stream_of(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (!number) return cudaErrorInvalidValue;
        *number = handle == nullptr || handle == cudaStreamLegacy ? 1 : handle == cudaStreamPerThread ? 2 : stream->number;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    return call([&] {
        if (least) *least = least_priority;
        if (greatest) *greatest = greatest_priority;
        return cudaSuccess;
    });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    return call([&] {
        if (!event || flags > 7) return cudaErrorInvalidValue;
        auto *made = new CUevent_st;
        made->flags = flags;
        std::lock_guard lock(streams().mutex);
        streams().events.push_back(made);
        *event = made;
        return cudaSuccess;
    });
}

cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return call([&] {
        if (!live(event)) return cudaErrorInvalidResourceHandle;
        if (event->after) event->after->wait(event->position);
        std::lock_guard lock(streams().mutex);
        auto &all = streams().events;
        all.erase(std::find(all.begin(), all.end(), event));
        delete event;
        return cudaSuccess;
    });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned flags) {
    return call([&] {
        CUstream_st *stream = stream_of(handle);
        if (!stream || !live(event)) return cudaErrorInvalidResourceHandle;
        if (flags > cudaEventRecordExternal) return cudaErrorInvalidValue;
        return record(event, *stream);
    });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) { return cudaEventRecordWithFlags(event, handle, 0); }

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    look();
    return call([&] {
        if (!live(event)) return cudaErrorInvalidResourceHandle;
        if (event->capture) return cudaErrorCapturedEvent;
        if (event->after) event->after->wait(event->position);
        return cudaSuccess;
    });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    look();
    return call([&] {
        if (!live(event)) return cudaErrorInvalidResourceHandle;
        if (event->capture) return cudaErrorCapturedEvent;
        return event->after && !event->after->done(event->position) ? cudaErrorNotReady : cudaSuccess;
    });
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
    return call([&] {
        if (!milliseconds) return cudaErrorInvalidValue;
        if (!live(start) || !live(end)) return cudaErrorInvalidResourceHandle;
        for (cudaEvent_t event : {start, end}) {
            if (!event->recorded || event->capture || event->flags & cudaEventDisableTiming) {
                explain("an event %s", event->recorded ? "was made without timing, or recorded in a graph"
                                                       : "has not been recorded");
                return cudaErrorInvalidResourceHandle;
            }
            if (event->after && !event->after->done(event->position)) return cudaErrorNotReady;
        }
        *milliseconds = (float)((double)((int64_t)end->time - (int64_t)start->time) * 1e-6);
        return cudaSuccess;
    });
}

}

// What a node does. Here, since functions of the host need the stream.
namespace reactant {

cudaError_t Node::execute(cudaStream_t handle) const {
    switch (type) {
    case cudaGraphNodeTypeKernel: {
        std::vector<void *> given(arguments);
        cudaError_t error = run_or_keep(launch, given.data());
        return error;
    }
    case cudaGraphNodeTypeMemcpy: run(copy); return cudaSuccess;
    case cudaGraphNodeTypeMemset: run(fill); return cudaSuccess;
    case cudaGraphNodeTypeHost: {
        look();
        CUstream_st *stream = stream_of(handle);
        std::lock_guard lock(streams().mutex);
        if (!stream->host_functions) stream->host_functions = std::make_shared<HostFunctions>();
        ++streams().host_functions;
        stream->host_functions->add([function = host, argument = data] { function(argument); });
        return cudaSuccess;
    }
    case cudaGraphNodeTypeEventRecord: return record(event, *stream_of(handle));
    case cudaGraphNodeTypeGraph: {
        std::vector<const Node *> order;
        in_order(*child, &order);
        for (const Node *node : order) {
            bool capturing;
            ready(handle, &capturing, false);
            if (cudaError_t error = node->execute(handle)) return error;
        }
        return cudaSuccess;
    }
    default: return cudaSuccess;
    }
}

void Node::keep_arguments(void *const *given) {
    const ReactantKernel &kernel = *kernel_of(*launch.function);
    size_t bytes = 0;
    for (uint32_t k = 0; k < kernel.parameter_count; ++k)
        bytes = std::max<size_t>(bytes, kernel.parameters[k].offset + kernel.parameters[k].size);
    values.assign(bytes + 16, 0);
    char *start = (char *)(((uintptr_t)values.data() + 15) & ~(uintptr_t)15);
    arguments.assign(kernel.parameter_count, nullptr);
    for (uint32_t k = 0; k < kernel.parameter_count; ++k) {
        arguments[k] = start + kernel.parameters[k].offset;
        std::copy_n((const char *)given[k], kernel.parameters[k].size, (char *)arguments[k]);
    }
}

}  // namespace reactant
