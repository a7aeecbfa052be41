// Calls of libraries in the order of streams.
#include "libraries.h"

namespace reactant::libraries {

cudaError_t submit(cudaStream_t stream, const Work &work) {
    if (cudaError_t error = broken()) return error;
    bool capturing;
    if (cudaError_t error = ready(stream, &capturing)) return error;
    if (!capturing) { work.run(work.object); return cudaSuccess; }
    Node node;
    node.type = cudaGraphNodeTypeHost;
    node.host = [](void *data) { ((Work *)data)->run(((Work *)data)->object); };
    node.data = new Work{work.copied(work.object), work.run, work.copied};      // graphs that hold it may live on
    return reactant::submit(stream, std::move(node));
}

}  // namespace reactant::libraries
