// Graphs: captured from streams or built by hand, instantiated, launched, updated.
#include <algorithm>
#include <unordered_map>

#include "runtime.h"

using namespace reactant;

struct CUgraphNode_st {};           // a handle is the address of a reactant::Node

struct CUgraphExec_st {
    std::unique_ptr<CUgraph_st> graph;
    std::unordered_map<const Node *, Node *> of_source;     // nodes of the graph that it was made of
    std::vector<const Node *> order;
};

namespace {

Node *node_of(cudaGraphNode_t handle) { return (Node *)handle; }
cudaGraphNode_t handle_of(const Node *node) { return (cudaGraphNode_t)node; }

// Captured graphs are shared with the capture while it lasts, and with graphs that have them as children.
std::mutex mutex;
std::unordered_map<CUgraph_st *, std::shared_ptr<CUgraph_st>> graphs;

cudaGraph_t keep(std::shared_ptr<CUgraph_st> graph) {
    std::lock_guard lock(mutex);
    cudaGraph_t handle = graph.get();
    graphs[handle] = std::move(graph);
    return handle;
}

std::shared_ptr<CUgraph_st> graph_of(cudaGraph_t handle) {
    std::lock_guard lock(mutex);
    auto found = graphs.find(handle);
    return found == graphs.end() ? nullptr : found->second;
}

void copy_content(const Node &from, Node *to) {
    to->type = from.type;
    to->launch = from.launch, to->copy = from.copy, to->fill = from.fill;
    to->host = from.host, to->data = from.data, to->child = from.child, to->event = from.event;
    to->values.clear(), to->arguments.clear();
    if (from.type == cudaGraphNodeTypeKernel) to->keep_arguments(from.arguments.data());
}

std::unique_ptr<CUgraph_st> clone(const CUgraph_st &graph, std::unordered_map<const Node *, Node *> *made) {
    auto result = std::make_unique<CUgraph_st>();
    for (auto &node : graph.nodes) {
        result->nodes.push_back(std::make_unique<Node>());
        Node *fresh = result->nodes.back().get();
        copy_content(*node, fresh);
        if (fresh->child) fresh->child = clone(*fresh->child, made);
        fresh->graph = result.get();
        (*made)[node.get()] = fresh;
    }
    for (auto &node : graph.nodes)
        for (Node *before : node->after) (*made)[node.get()]->after.push_back((*made)[before]);
    return result;
}

template <class Fill>
cudaError_t add(cudaGraphNode_t *handle, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, Fill fill) {
    return call([&]() -> cudaError_t {
        auto owner = graph_of(graph);
        if (!handle || !owner || (count && !after)) return cudaErrorInvalidValue;
        auto node = std::make_unique<Node>();
        for (size_t k = 0; k < count; ++k) {
            if (!after[k] || node_of(after[k])->graph != graph) return cudaErrorInvalidValue;
            node->after.push_back(node_of(after[k]));
        }
        node->graph = graph;
        if (cudaError_t error = fill(*node)) return error;
        *handle = handle_of(node.get());
        owner->nodes.push_back(std::move(node));
        return cudaSuccess;
    });
}

cudaError_t set_kernel(Node &node, const cudaKernelNodeParams &p) {
    Launch launch{function_of(p.func), p.gridDim, p.blockDim, p.sharedMemBytes, node.launch.cooperative};
    if (cudaError_t error = check(launch)) return error;
    if (!p.kernelParams && kernel_of(*launch.function)->parameter_count) return cudaErrorInvalidValue;
    node.type = cudaGraphNodeTypeKernel;
    node.launch = launch;
    node.keep_arguments(p.kernelParams);
    return cudaSuccess;
}

cudaError_t set_fill(Node &node, const cudaMemsetParams &p) {
    if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) return cudaErrorInvalidValue;
    Fill fill{p.dst, p.pitch, 0, p.value, p.elementSize, p.width * p.elementSize, p.height, 1};
    if (cudaError_t error = check(fill)) return error;
    node.type = cudaGraphNodeTypeMemset;
    node.fill = fill;
    return cudaSuccess;
}

cudaError_t set_copy(Node &node, void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    Copy copy{to, bytes, bytes, from, bytes, bytes, bytes, 1, 1, kind};
    if (cudaError_t error = check(copy)) return error;
    node.type = cudaGraphNodeTypeMemcpy;
    node.copy = copy;
    return cudaSuccess;
}

// The executable's node of a source node, of the wanted type.
Node *counterpart(cudaGraphExec_t executable, cudaGraphNode_t handle, cudaGraphNodeType type) {
    if (!executable || !handle) return nullptr;
    auto found = executable->of_source.find(node_of(handle));
    return found == executable->of_source.end() || found->second->type != type ? nullptr : found->second;
}

std::atomic<unsigned long long> captures{0};

}  // namespace

namespace reactant {

bool in_order(const CUgraph_st &graph, std::vector<const Node *> *order) {
    std::unordered_map<const Node *, size_t> missing;
    std::unordered_map<const Node *, std::vector<const Node *>> followers;
    for (auto &node : graph.nodes) {
        missing[node.get()] = node->after.size();
        for (Node *before : node->after) followers[before].push_back(node.get());
    }
    order->clear();
    for (auto &node : graph.nodes)
        if (node->after.empty()) order->push_back(node.get());
    for (size_t k = 0; k < order->size(); ++k)
        for (const Node *follower : followers[(*order)[k]])
            if (--missing[follower] == 0) order->push_back(follower);
    return order->size() == graph.nodes.size();
}

}  // namespace reactant

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
    return call([&] {
        CUstream_st *stream = stream_of(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if ((unsigned)mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
        if (handle == nullptr || handle == cudaStreamLegacy) return cudaErrorStreamCaptureUnsupported;
        if (stream->capture) return cudaErrorIllegalState;
        stream->capture = std::make_shared<Capture>();
        stream->capture->graph = std::make_shared<CUgraph_st>();
        stream->capture->origin = stream;
        stream->capture->number = ++captures;
        stream->tail.clear();
        return cudaSuccess;
    });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *graph) {
    return call([&] {
        CUstream_st *stream = stream_of(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (!graph) return cudaErrorInvalidValue;
        if (!stream->capture) return cudaErrorIllegalState;
        auto capture = stream->capture;
        if (capture->origin != stream) return cudaErrorStreamCaptureUnmatched;
        // What other streams did last has to come before what the origin does next.
        std::vector<Node *> reached(stream->tail);
        for (size_t k = 0; k < reached.size(); ++k)
            for (Node *before : reached[k]->after)
                if (std::find(reached.begin(), reached.end(), before) == reached.end()) reached.push_back(before);
        bool unjoined = false;
        for (CUstream_st *other : capture->joined) {
            if (!stream_of(other) || other->capture != capture) continue;
            for (Node *node : other->tail)
                unjoined = unjoined || std::find(reached.begin(), reached.end(), node) == reached.end();
            other->capture = nullptr;
            other->tail.clear();
        }
        stream->capture = nullptr;
        stream->tail.clear();
        *graph = nullptr;
        if (unjoined) return cudaErrorStreamCaptureUnjoined;
        if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
        *graph = keep(capture->graph);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus *status, unsigned long long *number) {
    return call([&] {
        CUstream_st *stream = stream_of(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (!status) return cudaErrorInvalidValue;
        *status = !stream->capture ? cudaStreamCaptureStatusNone
                  : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
        if (number) *number = stream->capture ? stream->capture->number : 0;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus *status) {
    return cudaStreamGetCaptureInfo(handle, status, nullptr);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *mode) {
    return call([&] {
        thread_local cudaStreamCaptureMode now = cudaStreamCaptureModeGlobal;
        if (!mode || (unsigned)*mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
        std::swap(now, *mode);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags) {
    return call([&] {
        if (!graph || flags) return cudaErrorInvalidValue;
        *graph = keep(std::make_shared<CUgraph_st>());
        return cudaSuccess;
    });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    return call([&] {
        std::lock_guard lock(mutex);
        return graphs.erase(graph) ? cudaSuccess : cudaErrorInvalidValue;
    });
}

cudaError_t cudaGraphClone(cudaGraph_t *copy, cudaGraph_t graph) {
    return call([&] {
        auto source = graph_of(graph);
        if (!copy || !source) return cudaErrorInvalidValue;
        std::unordered_map<const Node *, Node *> made;
        *copy = keep(clone(*source, &made));
        return cudaSuccess;
    });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const cudaKernelNodeParams *parameters) {
    return add(node, graph, after, count, [&](Node &made) {
        return parameters ? set_kernel(made, *parameters) : cudaErrorInvalidValue;
    });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const cudaMemcpy3DParms *parameters) {
    return add(node, graph, after, count, [&](Node &made) {
        if (!parameters) return cudaErrorInvalidValue;
        made.type = cudaGraphNodeTypeMemcpy;
        cudaError_t error = make_copy(*parameters, &made.copy);
        return error != cudaSuccess ? error : check(made.copy);
    });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                     size_t count, void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    return add(node, graph, after, count, [&](Node &made) { return set_copy(made, to, from, bytes, kind); });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                   const cudaMemsetParams *parameters) {
    return add(node, graph, after, count, [&](Node &made) {
        return parameters ? set_fill(made, *parameters) : cudaErrorInvalidValue;
    });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
                                 const cudaHostNodeParams *parameters) {
    return add(node, graph, after, count, [&](Node &made) {
        if (!parameters || !parameters->fn) return cudaErrorInvalidValue;
        made.type = cudaGraphNodeTypeHost;
        made.host = parameters->fn, made.data = parameters->userData;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count) {
    return add(node, graph, after, count, [](Node &) { return cudaSuccess; });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                       size_t count, cudaGraph_t child) {
    return add(node, graph, after, count, [&](Node &made) {
        auto source = graph_of(child);
        if (!source) return cudaErrorInvalidValue;
        std::unordered_map<const Node *, Node *> copies;
        made.type = cudaGraphNodeTypeGraph;
        made.child = clone(*source, &copies);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     size_t count) {
    return call([&] {
        if (!graph_of(graph) || (count && (!from || !to))) return cudaErrorInvalidValue;
        for (size_t k = 0; k < count; ++k)
            if (!from[k] || !to[k] || node_of(from[k])->graph != graph || node_of(to[k])->graph != graph)
                return cudaErrorInvalidValue;
        for (size_t k = 0; k < count; ++k) node_of(to[k])->after.push_back(node_of(from[k]));
        return cudaSuccess;
    });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t handle) {
    return call([&] {
        if (!handle) return cudaErrorInvalidValue;
        Node *node = node_of(handle);
        auto &nodes = node->graph->nodes;
        for (auto &other : nodes)
            other->after.erase(std::remove(other->after.begin(), other->after.end(), node), other->after.end());
        nodes.erase(std::find_if(nodes.begin(), nodes.end(), [&](auto &each) { return each.get() == node; }));
        return cudaSuccess;
    });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    return call([&] {
        auto found = graph_of(graph);
        if (!found || !count) return cudaErrorInvalidValue;
        for (size_t k = 0; nodes && k < *count; ++k)
            nodes[k] = k < found->nodes.size() ? handle_of(found->nodes[k].get()) : nullptr;
        if (!nodes || *count > found->nodes.size()) *count = found->nodes.size();
        return cudaSuccess;
    });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    return call([&] {
        auto found = graph_of(graph);
        if (!found || !count) return cudaErrorInvalidValue;
        size_t roots = 0;
        for (auto &node : found->nodes) {
            if (!node->after.empty()) continue;
            if (nodes && roots < *count) nodes[roots] = handle_of(node.get());
            ++roots;
        }
        if (!nodes || *count > roots) *count = roots;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count) {
    return call([&] {
        auto found = graph_of(graph);
        if (!found || !count) return cudaErrorInvalidValue;
        size_t edges = 0;
        for (auto &node : found->nodes)
            for (Node *before : node->after) {
                if (from && to && edges < *count) from[edges] = handle_of(before), to[edges] = handle_of(node.get());
                ++edges;
            }
        if (!from || *count > edges) *count = edges;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType *type) {
    return call([&] {
        if (!node || !type) return cudaErrorInvalidValue;
        *type = node_of(node)->type;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t handle, cudaKernelNodeParams *parameters) {
    return call([&] {
        if (!handle || !parameters || node_of(handle)->type != cudaGraphNodeTypeKernel) return cudaErrorInvalidValue;
        Node &node = *node_of(handle);
        *parameters = cudaKernelNodeParams{(void *)node.launch.function->stub, node.launch.grid, node.launch.block,
                                           (unsigned)node.launch.shared, node.arguments.data(), nullptr};
        return cudaSuccess;
    });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams *parameters) {
    return call([&] { return node && parameters ? set_kernel(*node_of(node), *parameters) : cudaErrorInvalidValue; });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *executable, cudaGraph_t graph, unsigned long long) {
    return call([&] {
        auto source = graph_of(graph);
        if (!executable || !source) return cudaErrorInvalidValue;
        auto made = std::make_unique<CUgraphExec_st>();
        made->graph = clone(*source, &made->of_source);
        if (!in_order(*made->graph, &made->order)) {
            explain("the graph's nodes wait for each other in a cycle");
            return cudaErrorInvalidValue;
        }
        *executable = made.release();
        return cudaSuccess;
    });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    return call([&] {
        if (!executable) return cudaErrorInvalidValue;
        delete executable;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *result) {
    return call([&] {
        auto source = graph_of(graph);
        if (!executable || !source || !result) return cudaErrorInvalidValue;
        auto refuse = [&](cudaGraphExecUpdateResult why, const Node *node) {
            *result = cudaGraphExecUpdateResultInfo{why, handle_of(node), nullptr};
            return cudaErrorGraphExecUpdateFailure;
        };
        auto &nodes = executable->graph->nodes;
        if (nodes.size() != source->nodes.size()) return refuse(cudaGraphExecUpdateErrorTopologyChanged, nullptr);
        std::unordered_map<const Node *, size_t> place;
        for (size_t k = 0; k < nodes.size(); ++k) place[nodes[k].get()] = place[source->nodes[k].get()] = k;
        for (size_t k = 0; k < nodes.size(); ++k) {
            const Node &fresh = *source->nodes[k];
            if (nodes[k]->type != fresh.type) return refuse(cudaGraphExecUpdateErrorNodeTypeChanged, &fresh);
            if (nodes[k]->after.size() != fresh.after.size())
                return refuse(cudaGraphExecUpdateErrorTopologyChanged, &fresh);
            for (size_t e = 0; e < fresh.after.size(); ++e)
                if (place[nodes[k]->after[e]] != place[fresh.after[e]])
                    return refuse(cudaGraphExecUpdateErrorTopologyChanged, &fresh);
        }
        for (size_t k = 0; k < nodes.size(); ++k) {
            copy_content(*source->nodes[k], nodes[k].get());
            executable->of_source[source->nodes[k].get()] = nodes[k].get();
        }
        *result = cudaGraphExecUpdateResultInfo{cudaGraphExecUpdateSuccess, nullptr, nullptr};
        return cudaSuccess;
    });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams *parameters) {
    return call([&] {
        Node *found = counterpart(executable, node, cudaGraphNodeTypeKernel);
        return found && parameters ? set_kernel(*found, *parameters) : cudaErrorInvalidValue;
    });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void *to,
                                               const void *from, size_t bytes, cudaMemcpyKind kind) {
    return call([&] {
        Node *found = counterpart(executable, node, cudaGraphNodeTypeMemcpy);
        return found ? set_copy(*found, to, from, bytes, kind) : cudaErrorInvalidValue;
    });
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaMemsetParams *parameters) {
    return call([&] {
        Node *found = counterpart(executable, node, cudaGraphNodeTypeMemset);
        return found && parameters ? set_fill(*found, *parameters) : cudaErrorInvalidValue;
    });
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                           const cudaHostNodeParams *parameters) {
    return call([&] {
        Node *found = counterpart(executable, node, cudaGraphNodeTypeHost);
        if (!found || !parameters || !parameters->fn) return cudaErrorInvalidValue;
        found->host = parameters->fn, found->data = parameters->userData;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    return call([&]() -> cudaError_t {
        if (!executable) return cudaErrorInvalidValue;
        bool capturing;
        if (cudaError_t error = ready(stream, &capturing)) return error;
        if (capturing) {
            Node node;
            std::unordered_map<const Node *, Node *> made;
            node.type = cudaGraphNodeTypeGraph;
            node.child = clone(*executable->graph, &made);
            return submit(stream, std::move(node));
        }
        for (const Node *node : executable->order) {
            ready(stream, &capturing, false);
            if (node->execute(stream) != cudaSuccess) break;       // said by the next call
        }
        return cudaSuccess;
    });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
    return call([&] {
        bool capturing;
        return executable ? ready(stream, &capturing) : cudaErrorInvalidValue;
    });
}

}
